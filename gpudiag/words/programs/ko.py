"""프로그램이 스스로에 대해 하는 말, 한국어."""

from __future__ import annotations

REFUSED = {
    "nothing-of-a-gpu": (
        "이 텍스트에서 읽을 수 있는 GPU 정보가 없습니다. 다음 명령 가운데 하나의 출력을 그대로 "
        "붙여넣으십시오: "
        "`nvidia-smi`, `nvidia-smi -q`, `nvidia-smi --query-gpu=timestamp,index,"
        "utilization.gpu,memory.used,memory.total --format=csv -l 1`, "
        "`sudo dmesg -T | grep -i -E 'nvrm|xid'`. "
        "프로그램의 자체 오류는 CUDA out of memory 같은 GPU 메모리 오류와 Kubernetes, Slurm, NCCL의 "
        "일부 줄만 읽습니다. 메시지 전체를 "
        "붙여넣으십시오"
    ),
    "other-vendor": (
        "{tool} 출력으로 보입니다. gpudiag는 NVIDIA GPU만 읽으므로 이 장치에 대해서는 판단하지 못합니다"
    ),
    "other-tool": (
        "{tool} 출력으로 보이며, gpudiag는 이 내용을 읽지 않습니다. 같은 장비에서 드라이버가 알려 주는 것을 "
        "붙여넣으십시오: `nvidia-smi -q`, 실패가 있었다면 `sudo dmesg -T | grep -i -E 'nvrm|xid'`"
    ),
    "nothing-came": (
        "표준 입력이 비어 있습니다. 오류 메시지는 파이프를 지나지 않습니다. 함께 보내십시오: "
        "`nvidia-smi 2>&1 | gpudiag explain -`"
    ),
    "nothing-pasted": (
        "텍스트가 없습니다. nvidia-smi의 출력을 보내십시오: "
        "`nvidia-smi | curl --data-binary @- 주소/diagnose`"
    ),
    "too-large": (
        "붙여넣은 텍스트가 읽을 수 있는 크기({mebibytes} MiB)보다 큽니다. 마지막 부분이나 필요한 줄만 "
        "붙여넣으십시오(`grep -i nvrm`)"
    ),
    "not-text": (
        "텍스트가 아니라 바이너리 데이터입니다. `nvidia-smi`의 출력 자체를 붙여넣으십시오. .gz나 .zip은 먼저 "
        "푸십시오"
    ),
    "refused-xml": (
        "이 XML에는 nvidia-smi가 쓰지 않는 엔티티나 문서 형식 선언이 있어 읽지 않았습니다. "
        "`nvidia-smi -q -x`의 출력을 그대로 붙여넣으십시오"
    ),
    "no-such-file": (
        "explain: {name} 파일을 읽을 수 없습니다: {reason}. 파일을 지정하거나 출력을 파이프로 넘기십시오: "
        "nvidia-smi | gpudiag explain"
    ),
    "config-unreadable": (
        "config: {file} 파일을 읽을 수 없습니다({reason}). config.json의 경로를 지정하십시오"
    ),
    "no-such-command": "{name!r}: 없는 명령입니다. `gpudiag help`로 명령 목록을 보십시오",
    "no-such-command-ask": "{name!r}: 없는 명령입니다. 질문으로 물어보십시오: gpudiag ask {name}",
    "no-such-command-near": "{name!r}: 없는 명령입니다. 비슷한 명령: `gpudiag {near}`",
    "no-such-rule": "{name!r}: 없는 규칙입니다. `gpudiag rules`로 규칙 목록을 보십시오",
    "no-such-rule-near": (
        "{name!r}: 없는 규칙입니다. 비슷한 이름: {near}. `gpudiag rules`로 규칙 목록을 보십시오"
    ),
    "no-such-language": "{place}: en 또는 ko를 지정하십시오. 받은 값: {asked!r}",
    "no-such-time": "{text!r}: 읽을 수 없는 시각입니다. 15:43, 10m, 2026-11-29T03:12Z처럼 쓰십시오",
    "no-such-span": "{option}: 10s, 5m, 2h, 7d처럼 0보다 긴 시간을 지정하십시오. 받은 값: {text!r}",
    "empty-node": "노드 이름이 비어 있습니다. 이름을 지정하거나, 이 장비를 보려면 빼고 실행하십시오",
    "api-of-no-node": (
        "--api에는 NODE가 필요합니다. API에는 노드를 물어봅니다. 이 장비를 보려면 --api를 빼고 실행하십시오. "
        "전체 노드: gpudiag ask --api {api}"
    ),
    "past-of-no-node": "--at에는 NODE가 필요합니다. 과거는 API가 보관한 노드의 기록에서 찾습니다",
    "rule-of-a-node": "--explain-rule은 이 장비를 직접 살핍니다. NODE 없이 해당 장비에서 실행하십시오",
    "token-unreadable": (
        "토큰 파일 {file}: 읽을 수 없습니다({reason}). 서버에서 토큰을 만드십시오: "
        "조회는 `gpudiag token create reader`, 보고는 `gpudiag token create agent NODE`"
    ),
    "token-not-text": (
        "토큰 파일 {file}: 텍스트가 아닙니다. 서버에서 토큰을 만드십시오: "
        "조회는 `gpudiag token create reader`, 보고는 `gpudiag token create agent NODE`"
    ),
    "token-empty": (
        "토큰 파일 {file}: 비어 있습니다. 서버에서 토큰을 만드십시오: "
        "조회는 `gpudiag token create reader`, 보고는 `gpudiag token create agent NODE`"
    ),
    "recording-unreadable": "replay: {file} 파일을 읽을 수 없습니다: {reason}",
    "recording-broken": (
        "replay: {file} 파일의 {number}번째 줄은 스냅샷이 아닙니다: {reason}. "
        "`gpudiag record`로 저장한 파일만 읽습니다. 도구의 출력은 이렇게 물어보십시오: gpudiag explain {file}"
    ),
    "recording-empty": "replay: 파일에 그 노드의 스냅샷이 없거나 스냅샷이 하나도 없습니다",
    "recording-unwritable": "record: {file} 파일에 쓸 수 없습니다: {reason}",
    "api-no-address": "{url!r}: API 주소가 아닙니다. http://127.0.0.1:8000처럼 쓰십시오",
    "api-no-port": "{url!r}: 포트가 올바르지 않습니다",
    "api-nobody": "{url} 주소에서 실행 중인 서버가 없습니다. `gpudiag serve`로 시작하십시오",
    "api-no-host": "{host!r}: 없는 호스트입니다(주소 {url})",
    "api-silent": "{url} 주소의 API가 {seconds}초 안에 응답하지 않았습니다",
    "api-unreachable": "{url} 주소의 API에 연결할 수 없습니다({reason})",
    "api-cert-time": (
        "{url} 주소의 인증서가 지금 유효하지 않습니다({reason}). "
        "인증서를 갱신하거나 이 장비의 시계를 맞추십시오"
    ),
    "api-cert-name": (
        "{url} 주소의 인증서가 다른 이름의 것입니다({reason}). 인증서에 있는 주소를 지정하거나 "
        "이 주소의 인증서를 만드십시오"
    ),
    "api-cert-unknown": (
        "{url} 주소의 인증서를 이 장비가 신뢰하지 않습니다({reason}). 자체 인증 기관이 서명했다면 "
        "그 기관의 인증서 파일을 지정하십시오: SSL_CERT_FILE=/path/to/ca.pem"
    ),
    "api-no-tls": "{url} 주소의 서버는 TLS로 응답하지 않습니다. http:// 주소인지 확인하십시오",
    "api-not-http": "{url} 주소의 서버는 HTTP로 응답하지 않습니다({reason})",
    "api-endless": "{url} 주소의 API가 {mebibytes} MiB보다 긴 응답을 보냈습니다",
    "api-not-json": "API의 응답이 JSON이 아닙니다. 주소가 맞는지 확인하십시오",
    "api-other-form": (
        "API의 응답 형식이 이 버전에서 읽는 것과 다릅니다({reason}). 주소가 맞는지, 서버와 버전이 같은지 "
        "확인하십시오"
    ),
    "api-sends-on": (
        "{url} 주소가 {onward} 주소로 넘깁니다({told}). 따라가지 않으니 최종 주소를 지정하십시오"
    ),
    "api-body-too-large": (
        "{url} 주소의 API 앞에 있는 서버가 이 크기의 본문을 받지 않습니다({told}). 그 한도를 늘리십시오"
    ),
    "api-without-reason": "{url} 주소의 API나 그 앞의 프록시가 이유 없이 {told} 응답을 보냈습니다",
    "api-not-ours": (
        "{url} 주소의 서버는 gpudiag API가 아니거나, 그 앞의 프록시가 요청을 거부합니다({told}). 주소가 "
        "맞는지 확인하십시오. http://SERVER:8000과 같은 형식입니다"
    ),
    "api-unnamed": (
        "{said} ({url} 주소의 응답: {told}. gpudiag API라고 밝히지 않은 응답이니 주소가 맞는지 확인하십시오)"
    ),
    "settings-unreadable": "설정 파일 {file}: 읽을 수 없습니다({reason})",
    "settings-not-text": "설정 파일 {file}: UTF-8 텍스트가 아닙니다",
    "settings-not-toml": "설정 파일 {file}: 올바른 TOML이 아닙니다({reason})",
    "settings-no-table": "{place}: [{name}] 테이블은 없습니다. 쓸 수 있는 테이블: {known}",
    "settings-table": "{place}: 테이블이어야 합니다({example})",
    "settings-tables": "{place}: {example}처럼 이름이 있는 테이블이어야 합니다",
    "settings-no-option": "{place}: {name!r} 옵션은 없습니다. 쓸 수 있는 옵션: {known}",
    "threshold-no-rule": '"{rule}" 규칙은 없습니다. `gpudiag rules`로 규칙 목록을 보십시오',
    "threshold-none": 'rules.{rule}: "{name}" 임계값은 없습니다. 쓸 수 있는 임계값: {known}',
    "threshold-wants-number": "rules.{rule}.{name}: {example!r} 같은 숫자를 지정하십시오. 받은 값: {got!r}",
    "threshold-wants": "rules.{rule}.{name}: {example!r} 같은 값을 지정하십시오. 받은 값: {got!r}",
    "settings-threshold": "{place}: {wrong}",
    "wants-span": "{place}: 10s, 5m, 2h, 7d처럼 0보다 긴 시간을 지정하십시오. 받은 값: {got!r}",
    "wants-keeping": "{place}: 12h, 7d, 4w처럼 한 시간 이상을 지정하십시오. 받은 값: {got!r}",
    "wants-interval": "{place}: 10s, 1m처럼 0.1s 이상 1h 이하를 지정하십시오. 받은 값: {got!r}",
    "wants-port": ("{place}: 1 이상 65535 이하의 포트를 지정하십시오(0은 비어 있는 포트). 받은 값: {got!r}"),
    "wants-count": "{place}: 0 이상의 정수를 지정하십시오. 받은 값: {got!r}",
    "wants-address": "{place}: http://127.0.0.1:8000과 같은 주소를 지정하십시오. 받은 값: {got!r}",
    "wants-store": (
        "{place}: sqlite:///PATH 또는 postgresql://USER:PASSWORD@HOST/DATABASE 형식으로 지정하십시오. "
        "받은 값: {got!r}"
    ),
    "wants-language": "{place}: en 또는 ko를 지정하십시오. 받은 값: {got!r}",
    "wants-text": "{place}: 텍스트를 지정하십시오. 받은 값: {got!r}",
    "wants-gpus": "{place}: GPU 수를 지정하십시오. 받은 값: {got!r}",
    "wants-texts": "{place}: 텍스트의 목록을 지정하십시오. 받은 값: {got!r}",
    "no-agent": (
        "이 호스트에서 응답하는 에이전트가 없습니다(찾아본 곳: {folder}). 시작하는 명령: gpudiag agent"
    ),
    "no-agent-of-ours": (
        "이 호스트에서 응답하는 것은 이 버전의 에이전트가 아닙니다. 종료한 뒤 시작하십시오: gpudiag agent"
    ),
    "agent-not-allowed": "root와 에이전트를 실행한 사용자만 할 수 있습니다. sudo로 실행하십시오",
    "agent-failed": "이 호스트의 에이전트가 응답하지 못했습니다: {reason}",
    "another-agent": (
        "다른 에이전트가 이미 실행 중입니다(응답하는 곳: {path}). 둘 다 보고하므로 하나를 종료하십시오. "
        "pid를 확인하는 명령: gpudiag agent status"
    ),
    "no-door": "{path} 소켓을 열 수 없습니다({reason}). 이 호스트의 명령은 에이전트에 닿지 않습니다",
    "system-refused": "{where}: {reason}. 그 권한과 남은 공간을 확인하십시오",
    "bug": (
        "gpudiag 내부에서 실패했습니다({error}; {place}). 이것은 버그입니다. 무엇을 물었는지와 함께 이 줄을 "
        "보내 알려 주십시오. 자세한 내용은 PYTHONDEVMODE=1로 볼 수 있습니다"
    ),
    "spool-unusable": (
        "{folder} 폴더에 스냅샷을 보관할 수 없습니다({reason}). 공간을 비우거나 --spool로 다른 폴더를 "
        "지정하십시오"
    ),
    "spool-no-room": (
        "{folder} 폴더에 남은 공간이 없습니다. 기다리는 스냅샷 중 오래된 것부터 버리고 손실로 셉니다. "
        "공간을 비우거나 --spool로 다른 폴더를 지정하십시오"
    ),
}
DONE = {
    "agent-status": (
        "에이전트(pid {pid})가 {node} 이름으로 보고합니다. GPU: {held}.\n"
        "스냅샷 {snapshots}개, 전송 대기 {waiting}개, 손실 {lost}개."
    ),
    "agent-trouble": "대기하는 이유: {trouble}",
    "agent-holds": {
        "released": "놓아 줌",
        "watched": "관찰 중",
        "unreachable": "접근할 수 없거나 없음(gpudiag why)",
    },
    "agent-resumed": "에이전트가 GPU를 다시 관찰합니다.",
    "agent-released": (
        "에이전트가 {seconds}초 동안 GPU를 놓아 줍니다. 시간이 지나면 스스로 돌아옵니다.\n"
        "바로 되돌리려면: gpudiag agent resume\n"
        "리셋하려면 DCGM과 그 exporter 같은 다른 모니터도 GPU를 놓아야 합니다."
    ),
    "agent-hangs": (
        "에이전트에 전달했지만 드라이버 호출 하나가 아직 끝나지 않았습니다.\n"
        "호출이 끝날 때까지 리셋은 거부됩니다. 에이전트를 중지하면 풀릴 수 있습니다."
    ),
    "recorded": "{file} 파일에 스냅샷 {count}개를 썼습니다. 진단 보기: gpudiag replay {file}",
    "recorded-one": "{file} 파일에 스냅샷 {count}개를 썼습니다. 진단 보기: gpudiag replay {file}",
    "replayed": "{api} 주소로 스냅샷 {count}개를 보냈습니다.",
}
DOING = {
    "watching": "관찰하는 중",
    "looking": "이 장비를 살펴보는 중",
    "paste": "출력을 붙여넣고 새 줄에서 Ctrl-D를 누르십시오.",
}
AGENT = {
    "reports": "{node} 노드를 {seconds}초마다 {api} 주소로 보고합니다",
    "no-gpu": "이 호스트의 버스에 NVIDIA GPU가 없습니다. 그대로 보고합니다. 있어야 한다면: gpudiag why",
    "no-gpu-seen": "GPU가 보이지 않습니다: {reason}. 다음에 할 일: gpudiag why",
    "gpus-now": "이제 GPU가 보입니다: {count}개",
    "no-snapshot": "이번에는 스냅샷을 만들지 못했습니다: {error}",
    "driver-replaced": "드라이버가 교체되어 새 라이브러리로 다시 시작합니다",
    "refused": "API가 거절한 스냅샷을 버립니다: {error}",
    "wrong-token": "{error}. 이 노드의 토큰이 맞는지 확인하십시오: gpudiag token create agent NODE",
    "wrong-address": "{error} API의 주소가 맞는지 확인하십시오. http://SERVER:8000과 같은 형식입니다",
    "failed": "전송에 실패했습니다: {error}",
    "again": "다시 보고합니다. 전송 대기 중인 스냅샷: {count}개",
    "set-aside": (
        "API 앞에서 스냅샷 하나만 거부되고 다른 스냅샷은 통과합니다: {error}. 거부된 것은 {file} 파일에 따로 "
        "두었습니다. 통과할 수 있게 되면 보내십시오: gpudiag replay FILE --api URL --token-file FILE"
    ),
}
SYSTEM = {
    "EACCES": "권한 없음",
    "EADDRINUSE": "이미 사용 중인 주소",
    "EADDRNOTAVAIL": "이 장비에 없는 주소",
    "ECONNRESET": "상대가 연결을 끊음",
    "EEXIST": "이미 있는 파일",
    "EHOSTUNREACH": "호스트로 가는 경로 없음",
    "EIO": "입출력 오류",
    "EISDIR": "파일이 아니라 폴더",
    "EMFILE": "열린 파일이 너무 많음",
    "ENETUNREACH": "네트워크에 연결할 수 없음",
    "ENOENT": "파일이나 폴더가 없음",
    "ENOSPC": "남은 공간 없음",
    "ENOTDIR": "폴더가 아님",
    "EPERM": "허용되지 않음",
    "EPIPE": "연결이 끊김",
    "EROFS": "읽기 전용 파일 시스템",
}
