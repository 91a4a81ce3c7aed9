"""규칙에 속하지 않는 한국어 문장."""

from __future__ import annotations

SEVERITY = {"ok": "정상", "info": "정보", "warning": "경고", "critical": "심각", "unknown": "알 수 없음"}
CONFIDENCE = {"proven": "확실", "likely": "유력", "possible": "가능성 있음"}
KIND = {
    "measured": "측정",
    "calculated": "계산",
    "inferred": "추정",
    "declared": "선언",
    "simulated": "시뮬레이션",
}
STATE = {"open": "열림", "acknowledged": "확인함", "resolved": "해결됨", "gone": "사라짐"}
SOURCE = {"agent": "에이전트", "local": "이 장비", "pasted": "붙여넣은 텍스트", "simulated": "시뮬레이션"}

READ_FROM = {
    "agent": "에이전트",
    "agents": "에이전트",
    "engine metrics": "엔진 메트릭",
    "findings": "진단",
    "kernel log": "커널 로그",
    "pasted": "붙여넣은 텍스트",
    "pasted text": "붙여넣은 텍스트",
    "server": "서버",
    "settings": "설정",
}

LABELS = {
    "utilization_percent": "GPU 사용률",
    "utilization_max_percent": "GPU 사용률 최댓값",
    "memory_utilization_percent": "메모리 사용률 (읽고 쓴 시간의 비율)",
    "memory_used_bytes": "사용 중인 메모리",
    "memory_free_bytes": "남은 메모리",
    "memory_used_ratio": "메모리 사용 비율",
    "memory_change_ratio": "메모리 변동 폭",
    "quiet_ratio": "아무것도 실행되지 않은 시간",
    "spinning_ratio": "사용률 95 % 이상인 시간",
    "power_watts": "전력",
    "power_limit_watts": "전력 제한",
    "sm_clock_megahertz": "SM 클럭",
    "temperature_celsius": "온도",
    "pstate": "성능 상태(P-state)",
    "requests_running": "처리 중인 요청",
    "requests_waiting": "대기 중인 요청",
    "kv_used_ratio": "KV 풀 사용률",
    "pool_bytes": "예약된 KV 풀",
    "generation_tokens_per_second": "생성 토큰",
    "generation_tokens": "생성 토큰",
    "requests_finished": "완료된 요청",
    "health": "서버 응답",
    "process": "프로세스",
    "process_memory_bytes": "프로세스 메모리",
    "owner": "소유자",
    "engine": "엔진",
    "model": "모델",
    "samples": "샘플",
    "age_seconds": "마지막 보고 후 경과",
    "hottest_thread_percent": "가장 바쁜 스레드",
    "next_thread_percent": "두 번째로 바쁜 스레드",
    "cpu_percent": "호스트 CPU 사용률",
    "best_percent": "이전의 최고 사용률",
    "sm_active_ratio": "일하는 멀티프로세서",
    "gpu_memory_utilization": "엔진이 쓸 수 있는 메모리 비율",
    "kernel_line": "커널 로그",
    "xid": "Xid",
    "followed_by": "뒤따른 결과(Xid)",
    "event_count": "로그에 나온 횟수",
}

MISSING = {
    "samples": "충분한 샘플",
    "plausible_values": "드라이버의 올바른 값",
    "utilization_percent": "GPU 사용률",
    "memory_used_bytes": "사용 중인 메모리",
    "memory_total_bytes": "전체 메모리",
    "power_watts": "전력",
    "power_limit_watts": "전력 제한",
    "clocks_event_reasons": "클럭 변경 이유",
    "engine": "추론 엔진의 메트릭",
    "processes": "GPU를 쓰는 프로세스",
    "kernel_log": "커널 로그",
    "app_clocks": "클럭 변경 이유",
    "hw_thermal": "클럭 변경 이유",
    "sw_thermal": "클럭 변경 이유",
    "hw_slowdown": "클럭 변경 이유",
    "power_brake": "클럭 변경 이유",
    "sw_power_cap": "클럭 변경 이유",
    "children": "데이터 로더 프로세스",
    "compute_mode": "컴퓨트 모드",
    "cpu_pressure_some": "호스트 CPU 압박",
    "cpu_quota_throttled_ratio": "컨테이너의 CPU 할당량",
    "ecc_mode": "ECC 모드",
    "ecc_uncorrected_volatile": "정정 불가능한 ECC 오류",
    "ecc_sram_uncorrected_aggregate": "누적 SRAM 오류",
    "fabric_health": "패브릭 상태 마스크",
    "fabric_state": "패브릭 상태",
    "fan_percent": "팬 속도",
    "host.acs_bridges": "브리지의 PCIe 접근 제어",
    "host.io_pressure_full": "호스트 디스크 압박",
    "host.memory_pressure_full": "호스트 메모리 압박",
    "host.modules": "로드된 커널 모듈",
    "host.numa_nodes": "호스트 NUMA 노드",
    "host.pci_gpu_count": "PCIe 버스의 GPU 수",
    "host.ports": "네트워크 포트",
    "inforom_corrupted": "InfoROM 검사",
    "load_1min": "호스트 부하",
    "mig_mode": "MIG 모드",
    "nvlink_crc_errors": "NVLink 오류 카운터",
    "nvlinks": "NVLink 상태",
    "nvml_sweep_seconds": "드라이버 호출 시간",
    "pcie_link_generation": "PCIe 세대",
    "pcie_link_generation_max": "PCIe 세대",
    "pcie_link_width": "PCIe 레인",
    "pcie_link_width_max": "PCIe 레인",
    "pcie_replay_count": "PCIe 오류 카운터",
    "pcie_rx_bytes_per_second": "PCIe 트래픽",
    "persistence_mode": "persistence 모드",
    "power_limit_default_watts": "기본 전력 제한",
    "quiet": "GPU 사용률",
    "recovery_action": "드라이버의 복구 조치",
    "retired_pages_double_bit": "제외된 메모리 페이지",
    "retired_pages_pending": "제외된 메모리 페이지",
    "reports": "서버가 듣기 시작한 뒤의 보고",
    "row_remap_failed": "행 리매핑",
    "row_remap_pending": "행 리매핑",
    "sample_under_load": "부하가 걸린 샘플",
    "sm_active_ratio": "GPU 내부 활동(SM active)",
    "sm_clock_max_megahertz": "최대 SM 클럭",
    "temperature_margin_celsius": "슬로다운까지 남은 온도",
    "temperature_memory_celsius": "메모리 온도와 한계",
    "temperature_memory_max_celsius": "메모리 온도와 한계",
    "tensor_active_ratio": "텐서 코어 활동",
    "threads": "프로세스의 스레드",
    "wait_channel": "프로세스가 커널 어디에서 기다리는지",
    "vgpu_licensed": "vGPU 라이선스 상태",
}

ENABLE = {
    "sample_under_load": "GPU 작업을 실행하고 그동안 다시 물어보십시오",
    "samples": "기다리십시오. 패턴은 샘플 하나로 판단할 수 없습니다",
    "engine": "에이전트가 서버의 /metrics에 접근할 수 있게 하거나 설정에 주소를 선언하십시오",
    "processes": "에이전트를 호스트에서 모든 프로세스를 볼 수 있게 실행하십시오(Kubernetes에서는 hostPID)",
    "kernel_log": "에이전트가 /dev/kmsg를 읽을 수 있게 하십시오",
    "host": "에이전트를 호스트에서 직접 실행하십시오",
    "sm_active_ratio": "Hopper 이전 GPU에는 없습니다. 그 외에는 에이전트가 GPM 메트릭을 읽게 하십시오",
}
ENABLE_BY_REASON = {
    "too_short": "{wait} 더 기다리십시오",
    "too_short_past": "{wait} 뒤의 시점이 이미 지났다면 그 시점으로 물어보십시오",
    "too_short_pasted": "{wait} 더 이어지는 샘플을 붙여넣거나(`nvidia-smi -l 1`) 에이전트를 설치하십시오",
    "catching_up": "기다리십시오. 에이전트가 보관해 둔 보고를 오래된 것부터 보내고 있습니다",
    "not_supported": "할 일이 없습니다. 이 GPU나 드라이버는 이 값을 보고하지 않습니다",
    "no_permission": "에이전트에 읽기 권한을 주십시오",
    "function_not_found": "더 새로운 드라이버가 이 값을 보고합니다",
    "timeout": "NVML이 응답하지 않는 이유를 확인하십시오(`sudo dmesg -T | grep -i nvrm`)",
    "not_shown": "`nvidia-smi -q` 출력을 붙여넣거나 에이전트를 설치하십시오",
    "cut": "출력 전체를 붙여넣으십시오",
    "nonsense": "다시 읽으십시오. 있을 수 없는 값이 나왔습니다",
    "unreachable": "에이전트에서 서버의 메트릭 포트에 접근할 수 있는지 확인하십시오",
    "not_enabled": "엔진을 메트릭을 켠 상태로 시작하십시오",
    "released": "에이전트가 요청에 따라 GPU를 놓았습니다. 다시 살펴보게 하는 명령: gpudiag agent resume",
}
ENABLE_ELSE = "이 값을 읽는 에이전트를 설치하십시오"
ENABLE_ELSE_BESIDE_AN_AGENT = "응답하는 GPU와 이 버전의 에이전트라면 이 값을 보고합니다"

REASON = {
    "not_supported": "지원되지 않음",
    "no_permission": "권한 없음",
    "function_not_found": "드라이버가 너무 오래됨",
    "timeout": "제시간에 응답 없음",
    "gpu_is_lost": "GPU를 찾을 수 없음",
    "reset_required": "리셋 필요",
    "unknown_error": "알 수 없는 오류",
    "driver_not_loaded": "드라이버가 로드되지 않음",
    "library_not_found": "드라이버 라이브러리가 없음",
    "library_mismatch": "커널 모듈과 라이브러리의 버전이 다름",
    "not_found": "장치를 찾지 못함",
    "unreachable": "연결할 수 없음",
    "not_enabled": "켜져 있지 않음",
    "nonsense": "있을 수 없는 값",
}

NOT_ENOUGH = "아직 판단할 수 없습니다: {missing}"
TOO_FEW_SAMPLES = "샘플이 아직 부족합니다"
NOT_ENOUGH_BARE = "판단할 수 없습니다: 결정적인 값이 보이지 않습니다"
MISSING_LIST = "{names} 항목이 보이지 않습니다"
NOTHING_IN = "더는 판단할 수 없습니다: {shown} 항목에는 눈에 띄는 것이 없습니다. {missing}"
UNHEARD = {
    "silent": "판단할 수 없습니다: {node} 노드가 더 이상 보고하지 않습니다",
    "too_short": "아직 판단할 수 없습니다: 이 서버가 보고를 받기 시작한 뒤 {node} 노드의 보고가 없습니다",
    "catching_up": "아직 판단할 수 없습니다: {node} 노드가 연결이 끊긴 동안 쌓인 보고를 보내는 중입니다",
}
ALSO = "함께 보임"
OVER = "{window} 동안"
ONE_SAMPLE = "샘플 하나"
IN_ONE_SAMPLE = {"quiet_ratio": "이 샘플에서 아무것도 실행되지 않음"}

LABEL = {
    "evidence": "근거",
    "means": "의미",
    "does_not_mean": "의미하지 않는 것",
    "next": "다음에 할 일",
    "typed_on": "{node} 노드에서:",
    "same_of": "{gpus}도 같습니다.",
    "commands_of": "명령은 GPU {gpu} 기준입니다.",
    "seen": "보이는 것",
    "sources": "출처",
    "memory": "메모리",
    "also": "함께 보임",
    "accounted": "위 진단으로 설명되어 따로 알리지 않은 규칙: {rules}",
    "unjudged": "판단하지 못함",
    "settles": "그러면 판단할 수 있는 규칙: {rules} ({missing})",
    "runbook": "런북",
    "rule": "규칙",
    "confidence": "신뢰도",
    "as_of": "{time} 기준",
    "data_age": "{age} 전 데이터",
    "lasts": "{span}째",
    "fleet": "전체 노드",
    "processes": "프로세스",
    "example": "예시",
    "simulated": "시뮬레이션 데이터",
    "missing": "없는 값",
    "enable": "켜는 방법",
    "gpu": "GPU",
    "since": "시작",
    "no_nodes": "아직 보고한 노드가 없습니다. 노드마다 에이전트를 시작하십시오: gpudiag agent --api URL",
    "experimental": "실험적 규칙",
    "free": "남음",
    "total": "전체",
    "over_capacity": "들어가지 않습니다: {size} 초과",
    "driver_reserved": "드라이버 예약",
    "filled": "사용 중",
    "expected": "계산값: {size}",
    "next_command": "자세히",
    "why_node": "노드 하나의 진단: {command}",
    "other_forms": "다른 답",
    "lookalikes": "비슷해 보이지만 아닌 것",
    "thresholds": "임계값",
}
FREE = {  # how the owner frees what is held, by kind of owner
    "pod": (
        "메모리를 비우려면: 이 프로세스는 파드 {namespace}/{pod} 소속입니다. 소유자에게 물어본 뒤 파드를 "
        "삭제하십시오. 파드 안의 모든 것이 중단됩니다. Deployment나 Job은 파드를 다시 시작하므로 그것을 "
        "줄이거나 종료하십시오."
    ),
    "pod-somewhere": (
        "메모리를 비우려면: 이 프로세스는 파드 {pod} 소속입니다. 네임스페이스와 소유자를 찾은 뒤 "
        "그곳에서 파드를 삭제하십시오. 파드 안의 모든 것이 중단됩니다."
    ),
    "slurm": (
        "메모리를 비우려면: 이 프로세스는 Slurm 작업 {job} 소속입니다. 소유자에게 물어본 뒤 작업을 "
        "취소하십시오. 이 작업은 실행 중인 모든 노드에서 종료됩니다."
    ),
    "container": (
        "그 노드에서 메모리를 비우려면: 이 프로세스는 컨테이너 {container} 안에서 실행됩니다. 소유자에게 "
        "물어본 뒤 컨테이너를 중지하십시오(podman과 nerdctl도 같습니다). 컨테이너 안의 모든 것이 "
        "중단됩니다."
    ),
    "unit": (
        "그 노드에서 메모리를 비우려면: systemd가 {unit} 유닛으로 실행합니다. 소유자에게 물어본 뒤 유닛을 "
        "다시 시작하십시오. 진행 중인 일이 끊기고 메모리를 다시 잡을 수 있습니다. 계속 비워 두려면 "
        "`systemctl stop`을 쓰십시오."
    ),
    "notebook": (
        "그 노드에서 메모리를 비우려면: 노트북 커널입니다(소유자: {owner}). 소유자가 노트북 메뉴에서 "
        "커널을 종료하게 하십시오. 여기서 종료하면 저장하지 않은 변수와 결과를 모두 잃습니다."
    ),
    "engine": (
        "그 노드에서 메모리를 비우려면: 서빙 엔진의 워커입니다(소유자: {owner}). 워커만 종료하면 서버가 "
        "망가집니다. 소유자에게 물어본 뒤 그 위의 서버(pid {parent})를 중지하십시오. 처리 중인 요청이 "
        "끊깁니다."
    ),
    "hidden": (
        "메모리를 비우려면: pid {pid} 프로세스는 여기서 보이지 않습니다. 호스트에서 확인하십시오. "
        "cgroup에 종료할 파드, 작업 또는 컨테이너가 나옵니다. 그것을 종료하면 그 안의 모든 것이 "
        "중단됩니다."
    ),
    "windows": (
        "그 노드에서 메모리를 비우려면: 소유자({owner})가 동의하면 pid {pid} 프로세스를 종료하십시오. "
        "저장하지 않은 것은 사라집니다."
    ),
    "process": (
        "그 노드에서 메모리를 비우려면: 소유자({owner})가 동의하면 pid {pid} 프로세스만 종료하십시오. "
        "마지막 체크포인트 이후의 작업을 잃고, 함께 계산하는 프로세스도 멈춥니다."
    ),
}
OWNER_UNKNOWN = "미확인"
FREE_MAYBE = (
    "{maybe}(pid {pid}) 프로세스가 드라이버 목록에 없는데도 장치를 열고 있습니다. 이 프로세스의 메모리일 "
    "수 있습니다."
)
CHANGED = {
    "last_ok": "마지막 정상({time}) 이후의 변화",
    "never": "첫 보고 이후의 변화 (정상이었던 적이 없습니다)",
    "opened": "발생",
    "resolved": "끝남",
    "gone": "GPU나 프로세스와 함께 사라짐",
}
DISAGREEMENT = (
    "{gpus}: 계산한 메모리와 측정한 메모리의 차이가 {share}입니다. 대개 엔진이 모델 설정과 다른 옵션으로 "
    "실행된 경우입니다. KV dtype이나 텐서 병렬 크기가 다르거나, 드래프트 모델이 있거나, 가중치를 적재하면서 "
    "양자화했거나, 다른 프로세스의 메모리가 함께 집계되었을 수 있습니다."
)
PARTS = {
    "weights": "가중치",
    "kv_pool": "KV 풀",
    "runtime": "런타임",
    "other_process": "다른 프로세스",
    "unaccounted": "확인되지 않음",
}
CHART = {
    "now": "지금",
    "ago": "{span} 전",
    "over": "{size} 초과",
    "filled": "{size} 사용 중",
    "card": "카드: {total}",
}
THIS_MACHINE = "이"  # the pages say {node} 노드
WHY_NOT = {
    "thresholds": "적용 중인 임계값: {values}",
    "none": "없음",
    "fleet": "여러 노드를 함께 보는 규칙입니다. 서버에 물어보십시오",
    "no-gpu": "{node} 노드에 GPU가 보이지 않아 판단할 대상이 없습니다",
    "not-asked": "해당 없음. 다음 조건이 아닌 것으로 측정되어 묻지 않았습니다: {gates}",
    "accounted": "따로 알리지 않습니다. {rule} 진단으로 설명됩니다",
    "missing": "판단할 수 없습니다. 없는 값: {names}",
    "wait": ". {seconds}초 더 기다리십시오",
    "clear": "해당 없음. 필요한 값이 모두 측정되었고 조건에 맞지 않습니다",
    "fires": "진단 있음({severity}). {seen}",
}
FAMILY = {
    "agent": "상태를 볼 수 있는지.",
    "clocks": "클럭, 열, 전력, 멈춘 작업.",
    "faults": "메모리 오류, Xid, 고장 난 장치.",
    "fleet": "여러 노드를 함께 볼 때 드러나는 것.",
    "links": "PCIe, NVLink, fabric, 네트워크 링크.",
    "load": "요청받은 일을 GPU가 어떻게 처리하는지.",
    "memory": "메모리를 누가 무엇에 쓰고 있으며 정상인지.",
    "paste": "붙여넣은 샘플 하나로 알 수 있는 것, 빠진 것, 알 수 없는 것.",
    "setup": "속도를 떨어뜨리거나 사실을 가리는 호스트 설정.",
}
