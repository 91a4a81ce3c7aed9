"""The bot's own sentences, English and Korean side by side. What rules say comes from the API.

A language is a column: `say("ko", "stale", age="4분")`. Korean puts no particle on a placeholder.
"""
# ruff: noqa: E501  (one sentence, one line)

from __future__ import annotations

import re

SENTENCES: dict[str, tuple[str, str]] = {
    # states
    "ok": ("Normal", "정상"),
    "info": ("Good to know", "참고"),
    "warning": ("Needs a look", "확인 필요"),
    "critical": ("Act now", "즉시 조치"),
    "unknown": ("Not enough data", "자료 부족"),
    "resolved": ("Resolved", "해결됨"),
    "gone": ("Gone", "사라짐"),
    "cell.ok": ("ok", "정상"),
    "cell.info": ("note", "참고"),
    "cell.warning": ("LOOK", "확인"),
    "cell.critical": ("ACT NOW", "즉시 조치"),
    "cell.unknown": ("NO DATA", "자료 없음"),
    # kinds of a number, confidence
    "measured": ("measured", "측정"),
    "calculated": ("calculated", "계산"),
    "inferred": ("inferred", "추정"),
    "declared": ("declared", "사람이 알림"),
    "simulated": ("simulated", "시뮬레이션"),
    "proven": ("proven", "입증됨"),
    "likely": ("likely", "유력"),
    "possible": ("possible", "가능"),
    # a diagnosis
    "node.headline": ("{node}: {headline}", "{node}: {headline}"),
    "age": ("data {age} old", "자료 나이 {age}"),
    "age.unknown": ("data age unknown", "자료 나이 알 수 없음"),
    "as.of": ("as of {time}", "{time} 기준"),
    "rule": ("rule {rule}", "규칙 {rule}"),
    "confidence": ("confidence {confidence}", "확신도 {confidence}"),
    "simulated.data": ("simulated data", "시뮬레이션 데이터"),
    "since": ("since {time}", "{time}부터"),
    "evidence": ("Evidence", "근거"),
    "next": ("What to do next", "다음에 할 일"),
    "also": ("Also seen", "함께 보이는 것"),
    "not.mean": ("This does not mean: {text}", "이런 뜻은 아닙니다: {text}"),
    "unjudged": (
        "Rules that could not judge: {count}; missing: {missing}.",
        "판단하지 못한 규칙 {count}개, 없는 자료: {missing}.",
    ),
    "stale": (
        "{node}: no fresh data for {age}, so the state now is not known",
        "{node}: {age} 동안 새 자료가 없어 지금 상태를 알 수 없습니다",
    ),
    "stale.was": (
        "When it last reported, {age} ago: {headline}.",
        "{age} 전 마지막 보고 당시: {headline}.",
    ),
    "stale.step": (
        "Check that the node and its agent are up, then ask again.",
        "노드와 에이전트가 살아 있는지 확인한 뒤 다시 물어보십시오.",
    ),
    "nothing": ("Nothing.", "할 일이 없습니다."),
    "acked": ("acknowledged", "접수됨"),
    # buttons
    "b.runbook": ("Runbook", "런북"),
    "b.refresh": ("Refresh", "새로 고침"),
    "b.share": ("Post to channel", "채널에 올리기"),
    "b.mute": ("Mute 1 h", "1시간 음소거"),
    "b.ack": ("Acknowledge", "접수"),
    "b.why": ("Why?", "왜?"),
    "b.chart": ("Timeline", "추이"),
    "b.problems": ("Only problems", "문제만"),
    "b.idle": ("Idle GPUs", "유휴 GPU"),
    "b.fleet": ("Fleet", "전체 현황"),
    "b.run": ("Run it", "실행"),
    "b.whymenu": ("Why…", "왜…"),
    "b.fp8": ("fp8 KV", "fp8 KV"),
    "b.double": ("Double context", "컨텍스트 두 배"),
    "b.compare": ("Compare with {node}", "{node} 노드와 비교"),
    "mute.title": ("Mute this diagnosis?", "이 진단을 음소거할까요?"),
    "mute.text": (
        "{node} stays quiet about rule {rule} for 1 hour. Everyone in this channel sees that you muted it.",
        "{node} 노드의 {rule} 규칙 알림을 1시간 동안 끕니다. 누가 껐는지 이 채널의 모두에게 보입니다.",
    ),
    "mute.yes": ("Mute", "음소거"),
    "mute.no": ("Keep", "그대로"),
    # fleet
    "fleet": ("{nodes} nodes, {gpus} GPUs: {state}", "노드 {nodes}개, GPU {gpus}개: {state}"),
    "fleet.nogpus": ("{nodes} nodes: {state}", "노드 {nodes}개: {state}"),
    "fleet.critical": ("{count} must be acted on now", "즉시 조치 {count}개"),
    "fleet.warning": ("{count} need a look", "확인 필요 {count}개"),
    "fleet.unknown": ("{count} without enough data", "자료 부족 {count}개"),
    "fleet.ok": ("nothing needs action", "조치할 것이 없습니다"),
    "fleet.empty": ("No node has reported yet", "아직 보고한 노드가 없습니다"),
    "fleet.empty.step": (
        "Start an agent on a GPU node: `gpudiag agent --api URL`.",
        "GPU 노드에서 에이전트를 시작하십시오: `gpudiag agent --api URL`.",
    ),
    "fleet.age": (
        "newest data {newest} old, oldest {oldest}",
        "가장 새 자료 {newest} 전, 가장 오래된 자료 {oldest} 전",
    ),
    "fleet.silent": ("{count} silent", "응답 없음 {count}개"),
    "fleet.more": ("{count} more nodes are not shown.", "표시하지 않은 노드가 {count}개 더 있습니다."),
    "fleet.problems": (
        "{count} of {nodes} nodes need attention",
        "노드 {nodes}개 가운데 {count}개에 주의가 필요합니다",
    ),
    "c.node": ("Node", "노드"),
    "c.state": ("State", "상태"),
    "c.gpus": ("GPUs", "GPU"),
    "c.why": ("Why", "이유"),
    "c.age": ("Age", "나이"),
    "c.gpu": ("GPU", "GPU"),
    "c.process": ("Process", "프로세스"),
    "c.user": ("User", "사용자"),
    "c.owner": ("Owner", "소유자"),
    "c.memory": ("Memory", "메모리"),
    "c.util": ("Util", "사용률"),
    "c.power": ("Power", "전력"),
    "c.for": ("For", "기간"),
    "c.pid": ("PID", "PID"),
    # processes and idle
    "top.memory": (
        "{count} processes hold {total} on {where}",
        "프로세스 {count}개가 {total} 점유 중입니다 ({where})",
    ),
    "top.unknown": (
        "{count} processes use the GPUs of {where}",
        "프로세스 {count}개가 GPU 사용 중입니다 ({where})",
    ),
    "top.none": ("No process is seen on {where}", "보이는 프로세스가 없습니다 ({where})"),
    "top.by": ("sorted by {by}", "{by} 순서"),
    "by.memory": ("memory", "메모리"),
    "by.utilization": ("utilization", "사용률"),
    "by.power": ("power", "전력"),
    "all.nodes": ("{count} nodes", "노드 {count}개"),
    "looked": (
        "Looked at {seen} of {count} nodes; {missed} did not answer in time.",
        "노드 {count}개 가운데 {seen}개를 보았고, {missed}개는 제때 답하지 않았습니다.",
    ),
    "idle.some": (
        "{count} GPUs hold memory but have been idle for {span} or longer: {total} reserved",
        "GPU {count}개가 {span} 이상 쉬면서 메모리를 잡고 있습니다: 예약 {total}",
    ),
    "idle.none": (
        "No GPU has been reserved and idle for {span} or longer",
        "{span} 이상 예약된 채 쉬고 있는 GPU가 없습니다",
    ),
    "idle.note": (
        "Idle and reserved is not a fault: a serving engine keeps its pool. Ask the owner before you free anything.",
        "예약된 채 쉬는 것은 고장이 아닙니다. 서빙 엔진은 풀을 계속 잡고 있습니다. 비우기 전에 소유자에게 물어보십시오.",
    ),
    "owner.none": (
        "No GPU process of {target} is seen on the {count} nodes",
        "노드 {count}개에서 {target} 관련 GPU 프로세스를 찾지 못했습니다",
    ),
    "owner.where": ("{target} runs on {where}", "{target} 실행 위치: {where}"),
    "owner.step": ("See what runs: {command}", "실행 중인 것 보기: {command}"),
    # calculator
    "kv.fits": (
        "{what}: {total} of KV cache, fits on {card}",
        "{what}: KV 캐시 {total}, {card} 카드에 들어갑니다",
    ),
    "kv.over": (
        "{what}: {total} of KV cache, does not fit on {card}: {over} too much",
        "{what}: KV 캐시 {total}, {card} 카드에 들어가지 않습니다: {over} 초과",
    ),
    "kv.plain": ("{what}: {total} of KV cache", "{what}: KV 캐시 {total}"),
    "kv.token": ("{what}: {token} of KV cache per token", "{what}: 토큰당 KV 캐시 {token}"),
    "kv.what": (
        "{model} × {tokens} tokens × {requests} requests",
        "{model} × 토큰 {tokens}개 × 요청 {requests}개",
    ),
    "kv.what.model": ("{model}", "{model}"),
    "kv.pertoken": ("KV per token", "토큰당 KV"),
    "kv.perrequest": ("KV per request", "요청당 KV"),
    "kv.batch": ("Largest batch at {tokens} tokens", "토큰 {tokens}개일 때 최대 동시 요청"),
    "kv.context": ("Longest context at x{requests}", "요청 {requests}개일 때 최대 컨텍스트"),
    "kv.formula": ("Formula", "계산식"),
    "kv.requests": ("{count} requests", "요청 {count}개"),
    "kv.tokens": ("{count} tokens", "토큰 {count}개"),
    "kv.mha": ("If every head had its own KV", "모든 헤드가 KV를 따로 가진다면"),
    "kv.note": (
        "Calculated from the model's config, not measured on a GPU. Assumed: {assumptions}",
        "모델 설정에서 계산한 값이며 GPU에서 측정하지 않았습니다. 가정: {assumptions}",
    ),
    "kv.note.plain": (
        "Calculated from the model's config, not measured on a GPU.",
        "모델 설정에서 계산한 값이며 GPU에서 측정하지 않았습니다.",
    ),
    "p.weights": ("weights", "가중치"),
    "p.kv_pool": ("KV cache", "KV 캐시"),
    "p.kv_pool.live": ("KV pool", "KV 풀"),
    "p.runtime": ("overhead", "실행 부하"),
    "p.other_process": ("other", "다른 프로세스"),
    "p.unaccounted": ("unknown", "불명"),
    "p.driver": ("driver", "드라이버"),
    "p.free": ("free", "여유"),
    "p.of": ("{size} of {total}", "{total} 중 {size}"),
    "p.filled": ("{percent} filled", "{percent} 사용 중"),
    "p.card": ("card", "카드"),
    "p.edge": ("edge of the card", "카드 끝"),
    "over": ("OVER BY {size}", "{size} 초과"),
    "kv.compared": ("{node}: {pool} of KV pool measured", "{node}: 측정된 KV 풀 {pool}"),
    # watching
    "watch.on": (
        "This channel now watches {what}: warnings and faults are posted here, one message each",
        "이 채널에서 {what} 감시를 시작했습니다. 경고와 장애가 건마다 메시지 하나로 올라옵니다",
    ),
    "watch.off": ("This channel no longer watches {what}", "이 채널에서 {what} 감시를 끝냈습니다"),
    "watch.none": ("This channel watches nothing", "이 채널에서 감시하는 것이 없습니다"),
    "watch.list": ("This channel watches {what}", "이 채널에서 감시 중: {what}"),
    "watch.all": ("all nodes", "모든 노드"),
    "watch.by": ("{what}: set by {who}, {time}", "{what}: 설정한 사람 {who}, {time}"),
    "watch.open": (
        "Already open, and told only when it changes: {nodes}",
        "이미 열려 있어 바뀔 때만 알립니다: {nodes}",
    ),
    "watch.invite": (
        "Is the bot in this channel? If not: `/invite @gpudiag`, or alerts cannot be posted.",
        "봇이 이 채널에 없으면 알림을 올릴 수 없습니다: `/invite @gpudiag`.",
    ),
    "watch.nochat": (
        "Watching needs a chat channel; nothing can be posted from here",
        "감시하려면 채팅 채널이 필요합니다. 여기서는 알림을 올릴 수 없습니다",
    ),
    "by.whom": ("by {who}", "{who}"),
    "muted": (
        "{what} is muted until {until}",
        "{what} 알림을 {until}까지 껐습니다",
    ),
    "unmuted": ("{what} is no longer muted", "{what} 알림을 다시 켰습니다"),
    "mute.none": ("Nothing is muted", "음소거된 것이 없습니다"),
    "mute.list": ("{count} mutes, each with an end", "음소거 {count}건, 모두 끝나는 때가 있습니다"),
    "mute.line": ("{what} until {until}, by {who}: {reason}", "{what}, {until}까지, {who}: {reason}"),
    "mute.notfound": ("{what} is not muted", "{what} 음소거가 없습니다"),
    "reason": ("reason: {reason}", "이유: {reason}"),
    "noreason": ("no reason given", "이유 없음"),
    "ack.done": ("{what} is acknowledged", "{what} 접수했습니다"),
    "a.firing": ("Firing: {headline} on {where}", "발생: {headline}, {where}"),
    "a.again": ("Firing again: {headline} on {where}", "다시 발생: {headline}, {where}"),
    "a.acknowledged": ("Acknowledged: {headline} on {where}", "접수됨: {headline}, {where}"),
    "a.resolved": ("Resolved: {headline} on {where}", "해결됨: {headline}, {where}"),
    "a.gone": ("Gone: {headline} on {where}", "사라짐: {headline}, {where}"),
    "a.nodata": (
        "No data: {where}; last known: {headline}",
        "자료 없음: {where}, 마지막으로 알려진 것: {headline}",
    ),
    "a.many": ("{count} nodes: {headline}", "노드 {count}개: {headline}"),
    "a.many.left": (
        "{open} of {count} nodes still: {headline}",
        "노드 {count}개 중 {open}개 계속: {headline}",
    ),
    "a.many.done": ("Resolved on {count} nodes: {headline}", "노드 {count}개에서 해결됨: {headline}"),
    "a.digest": (
        "{count} alerts together, {open} still open",
        "알림 {count}건을 모았습니다. 아직 열린 것 {open}건",
    ),
    "s.firing": ("firing", "발생 중"),
    "s.acknowledged": ("acknowledged", "접수됨"),
    "s.resolved": ("resolved", "해결됨"),
    "s.gone": ("gone", "사라짐"),
    "s.nodata": ("no data", "자료 없음"),
    "a.after": ("after {span}", "{span} 만에"),
    "a.times": ("{count} times", "{count}회"),
    "a.flapping": ("comes and goes: {count} times in {span}", "반복됨: {span} 동안 {count}회"),
    "a.nodata.fact": (
        "no data since {time}: not resolved, not known",
        "{time}부터 자료 없음: 해결된 것이 아니라 알 수 없는 상태입니다",
    ),
    "a.ackby": ("acknowledged by {who}", "접수: {who}"),
    "a.explains": ("also caused by this: {rules}", "같은 원인으로 함께 보임: {rules}"),
    # doctor
    "d.ok": ("Everything needed is there", "필요한 것이 모두 있습니다"),
    "d.bad": ("{count} things to fix", "고칠 것 {count}개"),
    "d.api.yes": ("the gpudiag API answers", "gpudiag API 응답 확인"),
    "d.api.empty": (
        "the gpudiag API answers; no node has reported yet",
        "gpudiag API 응답 확인, 아직 보고한 노드가 없음",
    ),
    "d.api.no": ("the gpudiag API does not answer", "gpudiag API 응답 없음"),
    "d.s.ok": ("[ok]", "[정상]"),
    "d.s.bad": ("[FIX]", "[수정]"),
    "d.s.off": ("[off]", "[꺼짐]"),
    "d.token.no": ("SLACK_BOT_TOKEN is not set", "SLACK_BOT_TOKEN 값이 없습니다"),
    "d.token.cure": (
        "Install the app to the workspace and take the “Bot User OAuth Token” (xoxb-…): api.slack.com/apps, OAuth & Permissions.",
        "워크스페이스에 앱을 설치하고 “Bot User OAuth Token”(xoxb-…)을 넣으십시오: api.slack.com/apps, OAuth & Permissions.",
    ),
    "d.way": ("transport: {ways}", "연결 방식: {ways}"),
    "d.way.no": (
        "neither SLACK_SIGNING_SECRET nor SLACK_APP_TOKEN is set",
        "SLACK_SIGNING_SECRET, SLACK_APP_TOKEN 둘 다 없습니다",
    ),
    "d.way.cure": (
        "For HTTP set SLACK_SIGNING_SECRET (Basic Information); behind a firewall set SLACK_APP_TOKEN with connections:write.",
        "HTTP 방식은 SLACK_SIGNING_SECRET(Basic Information), 방화벽 안에서는 connections:write 권한의 SLACK_APP_TOKEN을 설정하십시오.",
    ),
    "d.auth": ("Slack knows the token: {team}", "Slack 토큰 확인: {team}"),
    "d.auth.no": ("Slack refuses the token ({code})", "Slack이 토큰을 거부했습니다 ({code})"),
    "d.kind.no": ("the token is no bot token", "봇 토큰이 아닙니다"),
    "d.slack.no": ("Slack cannot be reached", "Slack 연결 불가"),
    "d.slack.cure": (
        "Allow outgoing HTTPS to slack.com, or set HTTPS_PROXY.",
        "slack.com 으로 나가는 HTTPS를 허용하거나 HTTPS_PROXY를 설정하십시오.",
    ),
    "d.scopes": ("scopes: {scopes}", "권한: {scopes}"),
    "d.scopes.unknown": (
        "Slack did not say which scopes the token has",
        "Slack이 토큰 권한을 알려 주지 않았습니다",
    ),
    "d.scope.no": ("the scope {scope} is missing", "{scope} 권한이 없습니다"),
    "d.scope.cure": (
        "Add the scope {scope} (OAuth & Permissions) and install the app again.",
        "{scope} 권한을 추가하고(OAuth & Permissions) 앱을 다시 설치하십시오.",
    ),
    "d.use.im": ("answers in direct messages", "다이렉트 메시지 답변"),
    "d.use.users": ("each person's own language and time zone", "사람별 언어와 시간대"),
    "d.use.pictures": ("timeline pictures", "추이 그림"),
    "d.use.files": ("reading attached nvidia-smi files", "첨부된 nvidia-smi 파일 해설"),
    "d.clock": ("the clock agrees with Slack's", "시계가 Slack과 맞습니다"),
    "d.clock.no": ("the clock is {seconds} s off Slack's", "시계가 Slack과 {seconds}초 차이 납니다"),
    "d.clock.cure": (
        "Set the clock (NTP): Slack's signatures are refused when it is five minutes off.",
        "시계를 맞추십시오(NTP). 5분 이상 어긋나면 Slack 서명이 거부됩니다.",
    ),
    "d.socket": ("Socket Mode connects", "Socket Mode 연결 확인"),
    "d.socket.no": ("Socket Mode is refused ({code})", "Socket Mode 거부됨 ({code})"),
    "d.socket.cure": (
        "Make an app-level token with connections:write (Basic Information) and switch Socket Mode on.",
        "connections:write 권한의 앱 토큰을 만들고(Basic Information) Socket Mode를 켜십시오.",
    ),
    "d.validate": (
        "Slack accepts our {count} example messages",
        "예시 메시지 {count}개를 Slack이 받아들입니다",
    ),
    "d.validate.no": ("Slack refuses our message “{name}”", "Slack이 “{name}” 메시지를 거부합니다"),
    "d.validate.off": (
        "Slack did not judge our messages ({code})",
        "Slack이 메시지를 검사하지 않았습니다 ({code})",
    ),
    "d.channel.no": (
        "channel {channel} cannot be written to ({code})",
        "{channel} 채널에 쓸 수 없습니다 ({code})",
    ),
    "d.channel.cure": (
        "Invite the bot to channel {channel}: `/invite @gpudiag`.",
        "{channel} 채널에 봇을 초대하십시오: `/invite @gpudiag`.",
    ),
    "d.lost": ("{count} answers did not arrive (see the log)", "전달되지 않은 답 {count}건 (로그 참고)"),
    "d.more": ("{count} optional things are off", "선택 기능 {count}개가 꺼져 있습니다"),
    # help and problems
    "help": ("Ask what your GPUs are doing, and why", "GPU 장비가 무엇을 하는지, 왜 그런지 물어보십시오"),
    "help.note": (
        "Answers are only for you; end with `here` to answer in the channel. `lang=ko` answers in Korean.",
        "답은 본인에게만 보입니다. 끝에 `여기`를 붙이면 채널에 올라갑니다. `lang=en`은 영어로 답합니다.",
    ),
    "h.status": ("the fleet, worst first", "전체 현황, 나쁜 것부터"),
    "h.why": (
        "why a node or GPU, a pod, a job or a pid is as it is; also the past",
        "노드, GPU, 파드, 작업, 프로세스 진단. 과거 시점도 가능",
    ),
    "h.kv": ("will this model fit, and how many requests", "모델이 들어가는지, 요청은 몇 개까지 되는지"),
    "h.explain": ("read pasted nvidia-smi output", "붙여 넣은 nvidia-smi 출력 해설"),
    "h.top": ("who holds the GPUs", "누가 GPU를 쓰는지"),
    "h.idle": ("reserved, but idle for so many minutes", "예약만 하고 쉬는 GPU"),
    "h.chart": ("the last minutes as a picture", "최근 추이 그림"),
    "h.watch": (
        "alerts in this channel: a node, `all`, `list`, `off`",
        "이 채널에 알림: 노드, `전체`, `목록`, `끄기`",
    ),
    "h.mute": ("quiet for a while (at most 7 d)", "잠시 알림 끄기 (최대 7일)"),
    "h.ack": ("say that you are on it", "처리 중이라고 알리기"),
    "h.runbook": ("a rule's page", "규칙 설명과 조치"),
    "h.language": ("the language of this channel", "이 채널의 언어"),
    "h.doctor": ("is the bot set up well", "봇 설정 점검"),
    "h.help": ("this page", "이 도움말"),
    "q.meant": ("Did you mean {command}?", "{command} 명령을 뜻하셨습니까?"),
    "q.unknown": ("I do not know {word}", "{word} 명령은 모릅니다"),
    "q.unknown.step": (
        "Try {command}, or {help} for everything.",
        "{command} 또는 {help} 명령을 써 보십시오.",
    ),
    "q.missing": (
        "{verb} needs one thing more, for example {command}",
        "{verb} 명령에 하나가 더 필요합니다. 예: {command}",
    ),
    "q.option": ("I do not know the option {word}", "{word} 옵션은 모릅니다"),
    "q.duration": (
        "How long? A mute always ends, after at most 7 days: {command}",
        "얼마 동안입니까? 음소거는 길어도 7일 안에 끝납니다: {command}",
    ),
    "q.time": (
        "I cannot read {word} as a time that has been; try {command}",
        "{word} 시각을 지난 시각으로 읽을 수 없습니다. 예: {command}",
    ),
    "q.node": ("There is no node {word}", "{word} 노드가 없습니다"),
    "q.near": ("Nearest names: {names}", "비슷한 이름: {names}"),
    "q.model": ("{detail}", "{detail}"),
    "q.paste": (
        "Paste the output after the command, or use the message shortcut “Explain nvidia-smi”",
        "명령 뒤에 출력을 붙여 넣거나 메시지 단축키 “Explain nvidia-smi”를 쓰십시오",
    ),
    "e.away": (
        "The gpudiag API cannot be reached, so I know nothing about the GPUs right now. Is `gpudiag serve` running?",
        "gpudiag API 서버에 연결할 수 없어 지금 GPU 상태를 알 수 없습니다. `gpudiag serve` 실행 여부를 확인하십시오.",
    ),
    "e.slow": (
        "The gpudiag API did not answer in time. Ask again in a moment.",
        "gpudiag API 서버가 제때 답하지 않았습니다. 잠시 뒤 다시 물어보십시오.",
    ),
    "e.nonsense": (
        "The gpudiag API gave an answer I cannot read. Is GPUDIAG_API_URL the address of a gpudiag server?",
        "gpudiag API 응답을 읽을 수 없습니다. GPUDIAG_API_URL 값이 gpudiag 서버 주소인지 확인하십시오.",
    ),
    "e.token": (
        "The gpudiag API refuses the bot's token. Make a new one: `gpudiag token create --role reader`.",
        "gpudiag API 서버가 봇의 토큰을 거부합니다. 새로 만드십시오: `gpudiag token create --role reader`.",
    ),
    "e.forbidden": (
        "The bot's token may not decide this. Give the bot one that may: `gpudiag token create --role admin`.",
        "봇의 토큰으로는 할 수 없는 일입니다. 권한이 있는 토큰을 주십시오: `gpudiag token create --role admin`.",
    ),
    "e.refused": ("{detail}", "{detail}"),
    "e.ours": (
        "Something went wrong in the bot while answering this (noted in its log as {reference}).",
        "답하는 중에 봇에서 문제가 생겼습니다 (로그 번호 {reference}).",
    ),
    "e.allowed": (
        "You may not use {verb} here. Ask the people who run gpudiag, or use it in a channel that is allowed.",
        "여기서는 {verb} 명령을 쓸 수 없습니다. gpudiag 운영자에게 요청하거나 허용된 채널에서 쓰십시오.",
    ),
    "asking": ("Asking…", "확인하는 중입니다…"),
    "chart.refused": (
        "Slack did not take the picture ({code}). The bot needs the scope files:write and must be in the channel.",
        "Slack이 그림을 받지 않았습니다 ({code}). 봇에 files:write 권한이 있고 봇이 채널에 있어야 합니다.",
    ),
    "paste.file": (
        "I could not read the attached file ({code}). The bot needs the scope files:read; or paste the text.",
        "첨부 파일을 읽지 못했습니다 ({code}). 봇에 files:read 권한이 필요합니다. 텍스트로 붙여 넣어도 됩니다.",
    ),
    "m.empty": ("Paste some output, or attach a file.", "출력을 붙여 넣거나 파일을 첨부하십시오."),
    "m.title": ("Explain nvidia-smi", "nvidia-smi 해설"),
    "m.submit": ("Explain", "해설"),
    "m.close": ("Cancel", "취소"),
    "m.text": (
        "Paste the output here (up to 3,000 characters)",
        "출력을 여기에 붙여 넣으십시오 (3,000자까지)",
    ),
    "m.file": ("or attach it as a file", "또는 파일로 붙이십시오"),
    "language.set": ("From now on I answer in English here", "이제 여기서는 한국어로 답합니다"),
    "runbook.is": ("Runbook of {rule}", "{rule} 런북"),
    "runbook.none": ("There is no rule {word}", "{word} 규칙이 없습니다"),
    "shared.by": ("posted by {who}", "올린 사람: {who}"),
    "chart.title": ("{node}: the last {span}", "{node}: 최근 {span}"),
    "chart.none": ("{node}: no history to draw yet", "{node}: 아직 그릴 기록이 없습니다"),
    "chart.nochat": (
        "A picture needs a chat channel; see {url}",
        "그림은 채팅 채널이 필요합니다. {url} 주소를 보십시오",
    ),
    "updated": ("updated {time}", "{time} 갱신"),
    "more.left": ("{count} more", "{count}개 더"),
}


ONE = re.compile(
    r"(?<![\d.,])1 (?:(nodes|GPUs|requests|tokens|alerts|mutes|answers|things|rules|commands)|(processes)|(need)\b)"
)
SINGULAR = {"processes": "process", "need": "needs"}


def say(lang: str, key: str, **values: object) -> str:
    """The sentence `key` in `lang` (English where the language is not known)."""
    if lang == "ko":
        return SENTENCES[key][1].format(**values)
    english = SENTENCES[key][0].format(**values)
    return (
        ONE.sub(lambda one: f"1 {singular(one[1] or one[2] or one[3])}", english)
        if "1 " in english
        else english
    )


def singular(word: str) -> str:
    return SINGULAR.get(word) or word.removesuffix("s")
