"""API가 거절할 때 쓰는 한국어 문장: 무엇이, 어디서, 어떻게 하면 되는지."""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    # 질문의 쿼리와 본문
    "option": "여기에 {name!r} 옵션은 없습니다. 쓸 수 있는 옵션: {known}",
    "option.twice": "{name} 옵션이 여러 번 있습니다. 한 번만 쓰십시오",
    "lang": "lang={wanted!r} 언어로는 답할 수 없습니다. 쓸 수 있는 언어: {known}",
    "number": "{name}={text!r} 값은 {low} 이상 {high} 이하의 정수여야 합니다",
    "span": "{name}={text!r} 값은 0보다 긴 시간이어야 합니다. 예: 10s, 5m, 2h, 7d",
    "span.day": "{name}={text!r} 값이 하루보다 깁니다. 더 짧게 물어보십시오. 예: 6h",
    "moment": (
        "at={text!r} 값을 시각으로 읽을 수 없습니다. "
        "예: 2026-01-31T14:05:00Z, 14:05(UTC), Unix 초, 10m(10분 전)"
    ),
    "moment.future": "at={text!r} 시각은 아직 오지 않았습니다. 지난 시각을 물어보십시오",
    "cursor": "{name}={text!r} 값은 커서가 아닙니다. 이전 응답의 `next` 값을 쓰십시오",
    "format": "format={form!r} 형식은 없습니다. 쓸 수 있는 형식: json, text",
    "severity": "severity={severity!r} 값은 없습니다. 쓸 수 있는 값: {known}",
    "metric": "{metric!r} 메트릭은 기록이 없습니다. 기록이 있는 메트릭: {known}",
    "sent-at": "{header} 헤더에는 보내는 쪽의 시계를 Unix 초로 적어야 합니다",
    "body.object": "본문은 JSON 객체여야 합니다",
    "body.text": "{name} 항목에는 텍스트가 필요합니다",
    "body.long": "{name} 항목이 {longest}자보다 깁니다",
    # 전송된 본문
    "body.json": "본문이 올바른 JSON이 아닙니다: {error}",
    "body.nested": "본문이 너무 깊게 중첩되어 있습니다",
    "body.utf8": "본문이 UTF-8 텍스트가 아닙니다",
    "body.encoding": (
        "본문이 {encoding} 방식으로 인코딩되어 있습니다. gzip이나 zstd로 보내거나 압축하지 말고 보내십시오"
    ),
    "body.gzip": "본문이 올바른 gzip이 아닙니다({error})",
    "body.gzip.end": "gzip 본문이 중간에 끊겼습니다. 전체를 보내십시오",
    "body.gzip.more": "gzip 본문 뒤에 다른 데이터가 있습니다. gzip 멤버 하나만 보내십시오",
    "body.zstd": "본문이 올바른 zstd가 아닙니다({error})",
    "body.bomb": "본문의 압축을 풀면 {mebibytes} MiB보다 큽니다. 요청 하나에 스냅샷을 더 적게 보내십시오",
    "body.snapshot": ("{place} 압축을 풀면 {mebibytes} MiB입니다. 노드 하나는 {most} MiB까지 받습니다"),
    "body.objects": '{place} 안에 객체("{{")가 {count}개 있습니다. {most}개까지 받습니다',
    "body.values": '{place} 안에 값(",")이 {count}개 있습니다. {most}개까지 받습니다',
    "body.many": "요청 하나에 스냅샷이 {count}개 있습니다. 한 번에 {most}개까지 보낼 수 있습니다",
    "body.cut": "본문이 중간에 끊겼습니다. 전체를 보내십시오",
    "crowded": "아직 전송 중인 요청이 {most}개입니다. {seconds}초 뒤에 다시 시도하십시오",
    # 노드와 그 위에서 실행되는 것
    "node": "{name!r} 노드가 없습니다{hint}",
    "node.or.process": "{name!r} 이름의 노드도, 파드나 작업이나 pid도 없습니다{looked}{hint}",
    "fleet.option": (
        "전체 노드를 물어볼 때 {name!r} 옵션은 쓸 수 없습니다. 노드 하나는 /diagnose?node=NODE 주소로 "
        "물어보십시오. gpu, at, window 옵션을 쓸 수 있습니다"
    ),
    "near": ". 비슷한 이름: {names}",
    "nodes": ". 보고하는 노드: {names}",
    "nodes.more": "{names} 외 {more}개",
    "no.agent": ". 아직 보고한 에이전트가 없습니다. 노드에서 시작하십시오: gpudiag agent --api URL",
    "not.looked": ". 시간이 모자라 노드 {count}개는 살펴보지 못했습니다. 다시 물어보십시오",
    "process": (
        "보고하는 노드 {count}개의 GPU에서 {name} 프로세스를 찾지 못했습니다{looked}. "
        "아직 실행 중인지, 이름이 온전한지 확인하십시오"
    ),
    "several": (
        "{name!r} 이름이 여러 대상을 가리킵니다: {told}. 그 가운데 하나를 NODE:GPU 형식으로 물어보거나 "
        "job:ID, pid:N, NAMESPACE/POD처럼 종류를 붙여 물어보십시오"
    ),
    "pattern": "{name!r} 패턴에 맞는 노드가 없습니다('*'는 모든 노드){hint}",
    "gpu": "{node} 노드에 GPU {gpu}번이 없습니다. 있는 GPU: {known}",
    "gpu.none": "{node} 노드에 GPU {gpu}번이 없습니다. 이 노드에는 GPU가 없습니다",
    "never.reported": "{node} 노드의 보고 가운데 남아 있는 것이 없습니다",
    "not.kept": "{at} 시점의 {node} 기록이 남아 있지 않습니다{since}",
    "failed.node.note": (
        "이 노드의 보고를 보다가 gpudiag에 오류가 났습니다({name}). 이것은 버그입니다. 저장된 값과 그 전에 "
        "찾은 문제를 보여 드리며, 지금 판단한 것은 없습니다. 자세한 내용은 서버 로그에 있으니 버그를 알릴 때 "
        "함께 보내십시오."
    ),
    "failed.node": "판단할 수 없습니다: 이 노드의 보고를 보다가 gpudiag에 오류가 났습니다(서버 로그 참고)",
    "failed.paste": "판단할 수 없습니다: 이 텍스트를 보다가 gpudiag에 오류가 났습니다(서버 로그 참고)",
    "failed.paste.note": (
        "이 텍스트를 보다가 gpudiag에 오류가 났습니다({name}). 이것은 버그입니다. 읽은 값을 보여 드리며, "
        "판단한 것은 없습니다. 자세한 내용은 서버 로그에 있으니 버그를 알릴 때 텍스트와 함께 보내십시오."
    ),
    "paste.unreadable": (
        "이 텍스트를 읽다가 gpudiag에 오류가 났습니다({name}). 이것은 버그입니다. 자세한 내용은 서버 로그에 "
        "있으니 버그를 알릴 때 텍스트와 함께 보내십시오. 더 짧게 나누면 읽힐 수 있습니다"
    ),
    "judge.not.yet": "아직 판단할 수 없습니다: 첫 보고를 받아들이는 중입니다",
    "oldest": ". 남아 있는 가장 오래된 스냅샷: {at}",
    # 진단, 규칙, 사람이 정한 것
    "finding": "{finding!r} 진단이 없습니다. 목록은 /v1/findings 주소에 있습니다",
    "finding.ended": "{finding} 진단은 {at}에 끝났습니다. 확인할 것이 없습니다",
    "finding.closed": "{finding} 진단은 더 이상 열려 있지 않습니다",
    "rule": "{rule!r} 규칙이 없습니다{hint}",
    "rules": ". 목록은 /v1/rules 주소에 있습니다",
    "runbooks": ". 목록은 /runbooks 주소에 있습니다",
    "seconds": 'seconds 항목이 없습니다. 얼마 동안인지 적으십시오. 예: 7200 또는 "2h"',
    "seconds.long": "{name}={text!r} 값이 30일보다 깁니다. 끝나지 않으면 다음 고장을 가립니다",
    "mutes": (
        "음소거가 이미 {most}건 있습니다. 일부를 끝내거나(DELETE /v1/mutes/ID) 이름의 패턴으로 음소거하십시오"
    ),
    "mute": "{mute!r} 음소거는 없거나 이미 끝났습니다. 목록은 /v1/mutes 주소에 있습니다",
    # 권한
    "token.unknown": "여기서 모르는 토큰이거나 폐기된 토큰입니다. 확인하십시오: gpudiag token list",
    "token.missing": (
        "토큰이 필요합니다. 'Authorization: Bearer …' 헤더로 보내십시오. 서버에서 토큰을 "
        "만드십시오: 조회는 `gpudiag token create reader`, 보고는 `gpudiag token create agent NODE`"
    ),
    "token.missing.behind": (
        "이 서버의 public_url이 https://이므로 앞에 프록시가 있고, 127.0.0.1에서 온 요청도 누구의 것인지 "
        "알 수 없습니다. 토큰을 'Authorization: Bearer …' 헤더로 보내십시오. 서버에서 토큰을 만드십시오: "
        "조회는 `gpudiag token create reader`, 보고는 `gpudiag token create agent NODE`"
    ),
    "token.form": "Authorization 헤더는 'Bearer TOKEN' 형식이어야 합니다",
    "token.role": (
        "토큰의 역할은 {role}입니다. 여기에는 {needed} 역할이 필요합니다. "
        "그 역할의 토큰은 다음 명령으로 만듭니다: gpudiag token create {needed}"
    ),
    "token.node": (
        "이 토큰은 {bound} 이름으로 보고하는 토큰이며 {node} 이름으로는 보고할 수 없습니다. "
        "새로 만드십시오: gpudiag token create agent {node}"
    ),
    "simulated.only": (
        "이 서버는 시뮬레이션한 노드만 보여 주며 외부의 보고를 받지 않습니다. "
        "보고를 받는 서버는 이렇게 시작하십시오: gpudiag serve"
    ),
    "too.open": (
        "serve: {host} 주소는 다른 장비에서 접근할 수 있는데 아직 토큰이 없습니다. "
        "먼저 토큰을 만들거나(gpudiag token create reader, --store를 지정했다면 같은 --store로) "
        "127.0.0.1을 쓰십시오"
    ),
    "from.elsewhere": (
        "다른 사이트의 페이지가 보낸 양식이거나, 앞에 있는 프록시가 Host 헤더를 전달하지 않습니다. "
        "여기의 /login 페이지를 열어 다시 보내십시오"
    ),
    # 프레임워크가 거절한 것
    "http.404": "{path} 주소에는 아무것도 없습니다. 있는 것은 /openapi.json 주소에 나옵니다.",
    "http.405": (
        "{path} 주소에는 {method} 메서드를 쓸 수 없습니다. 쓸 수 있는 것은 /openapi.json 주소에 나옵니다."
    ),
    "http.413": "본문이 이 서버가 받는 크기(4 MiB)보다 큽니다.",
    "http.415": "{path} 주소에서 읽지 않는 종류의 본문입니다.",
    "http.other": "요청을 처리할 수 없습니다({status}): {description}",
    "bug": "gpudiag 내부에서 실패했습니다({name}). 버그이며 자세한 내용은 서버의 로그에 있습니다",
    "no.page": "`{path}` 주소에는 페이지가 없습니다.",
    # 저장소
    "store.psycopg": (
        "store: PostgreSQL에는 psycopg 패키지가 필요합니다. 설치하십시오: pip install 'gpudiag[postgresql]'"
    ),
    "store.folder": "store: {folder} 폴더를 만들 수 없습니다({reason}). 다른 곳을 지정하십시오: --store",
    "store.lock": (
        "저장소 {where}: 쓸 수 없습니다({reason}). 폴더의 권한을 이 사용자에게 주거나 --store로 다른 곳을 "
        "지정하십시오"
    ),
    "store.held": (
        "저장소 {where}: 다른 gpudiag 서버가 사용 중입니다. 그 서버를 중지하거나 이 서버의 저장소를 따로 "
        "지정하십시오: --store"
    ),
    "store.newer": (
        "store: 더 새로운 gpudiag가 쓴 저장소입니다(테이블 {version}, 이 버전이 아는 것 {known}). "
        "gpudiag를 업데이트하거나 다른 저장소를 지정하십시오: --store"
    ),
    "store.readonly": (
        "저장소 {where}: 읽기 전용입니다. 파일과 폴더의 쓰기 권한을 이 사용자에게 주거나 --store로 다른 곳을 "
        "지정하십시오"
    ),
    "store.full": ("저장소 {where}: 남은 공간이 없습니다. 공간을 비우거나 보관 기간을 줄이십시오: --keep 1d"),
    "store.damaged": "저장소 {where}: 손상되었습니다({reason})",
    "store.replaced": (
        "저장소 {where}: 서버가 열어 둔 동안 다른 프로그램이 파일을 지우거나 바꾸었습니다. "
        "그렇게 하기 전에는 서버를 멈추십시오"
    ),
    "store.log.kept": (
        "저장소 {where}: 로그에 있는 {mebibytes} MiB를 파일로 옮길 수 없고, 보고가 올 때마다 커집니다. "
        "파일에 열린 채로 남은 트랜잭션이 있기 때문입니다. 이 서버 말고 파일을 열어 둔 프로그램: {who}. "
        "그 프로그램이나 트랜잭션을 끝내십시오"
    ),
    "store.log.nobody": "이 사용자가 볼 수 있는 것은 없음",
    "store.log.removed": (
        "저장소: 서버가 실행되는 동안 다른 프로그램이 로그 {where} 파일을 지웠습니다. "
        "로그의 내용은 모두 파일로 옮겼고 새 로그를 시작했습니다. "
        "그 사이에 서버가 죽었다면 최근 보고를 잃었을 것입니다"
    ),
    "few.files": (
        "이 사용자는 파일을 한 번에 {most}개까지 열 수 있어 노드 {nodes}개 정도만 연결할 수 있습니다. "
        "더 허용하십시오: 유닛의 LimitNOFILE=, Docker의 --ulimit nofile=, ulimit -Hn"
    ),
    "clock.jumped": (
        "이 장비의 시계가 {span}만큼 앞으로 뛰었거나 장비가 절전 상태였습니다. 그 때문에 보관된 것을 지우지 "
        "않으며, 보고할 시간이 있기 전에는 어떤 노드도 조용하다고 하지 않습니다. "
        "확인: timedatectl, chronyc tracking"
    ),
    "clock.stood.still": (
        "이 서버가 {span} 동안 아무 일도 하지 못했습니다(중지되었거나 장비 또는 디스크가 응답하지 않음). "
        "다시 보고할 시간이 있기 전에는 어떤 노드도 조용하다고 하지 않습니다"
    ),
    "store.log.emptied": "저장소 {where}: 로그를 다시 파일로 옮깁니다",
    "store.network": (
        "저장소 {where}: 네트워크 파일 시스템({network})에 있습니다. 여기서는 SQLite 파일이 손상되거나 "
        "유실될 수 있으니 로컬 디스크를 지정하거나(--store) PostgreSQL을 쓰십시오"
    ),
    "store.busy": (
        "저장소 {where}: 다른 프로세스가 사용 중입니다. 같은 저장소로 실행 중인 gpudiag가 있는지 확인하십시오"
    ),
    "store.closed": (
        "저장소 {where}: 열 수 없습니다. 이 사용자에게 쓰기 권한이 있는지 확인하십시오(--store)"
    ),
    "store.disk": "저장소 {where}: 디스크를 읽거나 쓸 수 없습니다({reason}). dmesg를 확인하십시오",
    "store.standby": "저장소 {where}: 읽기 전용입니다. 대기 서버라면 주 서버를 지정하십시오: --store",
    "store.full.server": (
        "저장소 {where}: 데이터베이스 서버에 남은 공간이 없습니다. 비우거나 덜 보관하십시오: --keep 1d"
    ),
    "store.silent": (
        "저장소 {where}: 응답하지 않습니다({reason}). 데이터베이스 서버가 실행 중인지, --store가 맞는지 "
        "확인하십시오. 그동안 에이전트가 보고를 보관합니다"
    ),
    "store.crowded": (
        "저장소 {where}: 연결 {most}개가 모두 사용 중입니다. 응답이 느리거나 한꺼번에 너무 많이 물었습니다. "
        "몇 초 뒤에 다시 시도하십시오"
    ),
    "store.other": "저장소 {where}에서 오류가 났습니다: {reason}",
    # 한꺼번에 너무 많거나 쓰지 못한 것
    "stopping": "서버가 종료되는 중입니다. 몇 초 뒤에 다시 보내십시오",
    "stopping.act": "서버가 종료되는 중입니다. 몇 초 뒤에 다시 시도하십시오",
    "waiting": "이미 보고 {most}개가 기다리고 있습니다. {seconds}초 뒤에 다시 보내십시오",
    "slow": "지금 저장소가 느립니다. 저장이 확인되지 않았으니 보고를 다시 보내십시오",
    "slow.act": "지금 저장소가 느립니다. 처리가 확인되지 않았으니 되풀이하기 전에 결과를 확인하십시오",
    "set.aside": "저장소가 손상되어 따로 옮겨 두었습니다. 다시 보내십시오",
    "not.stored": "저장하지 못했습니다({name}). 서버의 로그를 확인하십시오",
    # 시작하는 프로그램과 명령
    "listen.nowhere": ("{host!r}: 이 장비에 없는 주소입니다. 127.0.0.1이나 0.0.0.0을 지정하십시오"),
    "listen.taken": (
        "{host} 주소의 {port}번 포트는 이미 사용 중입니다. 다른 포트를 지정하십시오: "
        "--port {other} 또는 GPUDIAG_PORT={other}"
    ),
    "listen.forbidden": (
        "이 사용자는 {port}번 포트를 열 수 없습니다. 1024번 이상의 포트를 지정하십시오: --port 8000"
    ),
    "listen.other": "{host}:{port} 주소를 열 수 없습니다({reason})",
    "serve.ready": (
        "gpudiag 서버 주소: {url}\n"
        "물어보기: curl '{url}/diagnose?lang=ko', 에이전트의 보고: gpudiag agent --api URL"
    ),
    "serve.damaged": ("gpudiag: 저장소가 손상되어 {file} 파일로 옮겨 두고 새 저장소를 씁니다"),
    "up.looks": (
        "gpudiag 서버 주소: {url}. {node} 노드를 살펴보고 있습니다. 약 {seconds}초 뒤에 물어볼 수 있습니다"
    ),
    "up.ready": (
        "gpudiag가 {node} 노드를 지켜봅니다. 페이지와 API: {url}\n"
        "물어보기: curl '{url}/diagnose?node={node}&lang=ko'"
    ),
    "up.nothing": "gpudiag 서버 주소: {url}. {node} 노드의 보고가 아직 없습니다",
    "demo.ready": (
        "시뮬레이션한 노드 8개가 {url} 주소로 보고합니다\n"
        "  페이지      {url}/    {url}/nodes/{node}\n"
        "  시뮬레이터  {url}/simulator    채팅  {url}/chat\n"
        "다른 터미널에서 이유를 물어보십시오:\n"
        "  curl '{url}/diagnose?node={node}&lang=ko'\n"
        "  {gpudiag} why node-7 --lang ko --api {url}\n"
        "Ctrl-C를 누르면 끝납니다. 아무것도 남지 않습니다."
    ),
    "adopt.weak": (
        "token: 토큰은 무작위 문자와 숫자 {shortest}자 이상이어야 합니다. 만드는 명령: openssl rand -hex 32"
    ),
    "adopt.revoked": "token: 이 토큰은 폐기된 토큰 {id}입니다. 새 토큰을 쓰십시오",
    "adopt.taken": ("token: 이 토큰은 이미 {id}번 토큰입니다({role}{of}). 용도마다 다른 토큰을 쓰십시오"),
    "adopt.taken.node": ", 노드 {node}",
    "token.no.store": (
        "token: {file} 저장소가 없어 토큰도 없습니다. 서버의 저장소를 --store로 지정하거나 첫 토큰을 "
        "만드십시오: gpudiag token create reader"
    ),
    "token.new.store": ("{file} 저장소를 새로 만들었습니다. 이 저장소를 쓰는 서버만 이 토큰을 받습니다"),
    "token.created": "id {id}, 역할 {role}{bound}. {shown}",
    "token.bound": ", 노드 {node}",
    "token.shown": "토큰은 지금 한 번만 보입니다",
    "token.out": "토큰은 {file} 파일에 있고, 소유자만 읽을 수 있습니다",
    "token.out.there": (
        "token: {file} 파일이 이미 있으며, 쓰고 있는 토큰일 수 있습니다. --out에는 없는 파일을 주십시오"
    ),
    "token.out.dash": (
        "token: --out에는 -가 아니라 새 파일의 이름을 주십시오. --out이 없으면 토큰을 한 번 출력합니다"
    ),
    "token.out.unwritable": (
        "token: {file} 파일을 만들 수 없습니다({reason}). --out에는 이미 있는 폴더의 파일을 주십시오"
    ),
    "token.in.file": "토큰은 파일에 있습니다",
    "token.reach": "이 토큰을 가진 사람은 {which} 이름으로 보고할 수 있습니다({now})",
    "token.every": "모든 노드의",
    "token.matching": "{pattern} 패턴에 맞는 모든 노드의",
    "token.known": "여기서 아는 노드 {all}개 가운데 {count}개",
    "token.none.known": "아직 아는 노드가 없습니다",
    "token.unreadable": (
        "token: {file} 파일을 읽을 수 없습니다({reason}). --from에는 토큰이 든 파일을 지정하십시오"
    ),
    "token.not.text": "텍스트가 아닙니다",
    "token.of.no.node": "token: {role} 토큰은 노드에 묶이지 않습니다. {node!r} 값을 빼십시오",
    "token.of.which.node": (
        "token: 에이전트의 토큰은 노드 하나나 이름 패턴에 묶입니다: "
        "gpudiag token create agent NODE. 여러 노드는 'gpu-*', 모든 노드는 '*'"
    ),
    "token.wide": (
        "token: {node!r} 패턴에는 이름의 문자나 숫자가 없어 어떤 노드든 될 수 있습니다. 'gpu-*'처럼 이름의 "
        "일부를 쓰고, 모든 노드라면 '*'를 쓰십시오"
    ),
    "token.no.name": (
        "token: {node!r} 값은 노드 이름이 될 수 없습니다. 문자, 숫자와 . _ : @ + - 기호를 쓸 수 있습니다"
    ),
    "token.none": "토큰이 없습니다. 만드는 명령: gpudiag token create reader",
    "token.valid": "유효",
    "token.revoked.at": "폐기 {at}",
    "token.not.valid": "token: {id!r} 토큰은 없거나 이미 폐기되었습니다. 목록: gpudiag token list",
    "token.revoked": "{id} 토큰을 폐기했습니다",
    "note.asked": "물어보신 대상({who})이 실행되는 곳: {where}.",
    "note.two.agents": (
        "에이전트 두 개가 {node} 이름으로 보고하고 있습니다. "
        "두 장비의 값이 섞일 수 있으니 각각 다른 --node 이름을 주십시오."
    ),
    "note.catches.up": "모두 지난 값입니다. {node} 노드가 연결이 끊긴 동안 보관한 보고를 보내는 중입니다.",
    "note.maintenance": "{until}까지 점검 중입니다(설정: {by}). 이 노드의 진단은 알리지 않습니다.",
    "note.store": "새 보고가 저장되지 않고 있습니다: {trouble}",
}
