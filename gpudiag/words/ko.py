"""규칙에 속하지 않는 한국어 문장."""

from __future__ import annotations

SEVERITY = {"ok": "정상", "info": "참고", "warning": "경고", "critical": "심각", "unknown": "판단 불가"}
CONFIDENCE = {"proven": "확인됨", "likely": "유력", "possible": "가능성 있음"}
KIND = {
    "measured": "측정",
    "calculated": "계산",
    "inferred": "추정",
    "declared": "선언",
    "simulated": "시뮬레이션",
}
STATE = {"open": "열림", "acknowledged": "확인함", "resolved": "해결됨", "gone": "대상 없음"}
SOURCE = {"agent": "에이전트", "local": "이 머신", "pasted": "붙여넣은 텍스트", "simulated": "시뮬레이션"}

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
}

ENABLE = {
    "samples": "기다리십시오. 패턴은 샘플 하나로 판단할 수 없습니다",
    "engine": "에이전트가 서버의 /metrics에 접근할 수 있게 하거나 설정에 주소를 선언하십시오",
    "processes": "에이전트를 호스트에서 모든 프로세스를 볼 수 있게 실행하십시오(Kubernetes에서는 hostPID)",
    "kernel_log": "에이전트가 /dev/kmsg를 읽을 수 있게 하십시오",
    "host": "에이전트를 호스트에서 직접 실행하십시오",
    "sm_active_ratio": "Hopper 이전 GPU에는 없습니다. 그 외에는 에이전트가 GPM 메트릭을 읽게 하십시오",
}
ENABLE_BY_REASON = {
    "too_short": "{wait} 더 기다리면 샘플이 충분해집니다",
    "not_supported": "할 일이 없습니다. 이 GPU나 드라이버는 이 값을 보고하지 않습니다",
    "no_permission": "에이전트에 읽기 권한을 주십시오",
    "function_not_found": "더 새로운 드라이버가 이 값을 보고합니다",
    "timeout": "NVML이 응답하지 않는 이유를 확인하십시오(`dmesg -T | grep -i nvrm`)",
    "not_shown": "`nvidia-smi -q` 출력을 붙여넣거나 에이전트를 설치하십시오",
    "cut": "출력 전체를 붙여넣으십시오",
    "unreachable": "에이전트에서 서버의 메트릭 포트에 접근할 수 있는지 확인하십시오",
    "not_enabled": "엔진을 메트릭을 켠 상태로 시작하십시오",
}
ENABLE_ELSE = "이 값을 읽는 에이전트를 설치하십시오"

NOT_ENOUGH = "아직 판단할 수 없습니다: {missing}"
NOT_ENOUGH_BARE = "판단할 수 없습니다: 결정적인 값이 보이지 않습니다"
MISSING_LIST = "{names} 항목이 보이지 않습니다"
ALSO = "함께 보임"
OVER = "{window} 동안"
ONE_SAMPLE = "샘플 하나"

LABEL = {
    "evidence": "근거",
    "means": "의미",
    "does_not_mean": "의미하지 않는 것",
    "next": "다음에 할 일",
    "seen": "보이는 것",
    "sources": "출처",
    "memory": "메모리",
    "also": "함께 보임",
    "unjudged": "판단하지 못함",
    "runbook": "런북",
    "rule": "규칙",
    "confidence": "신뢰도",
    "data_age": "{age} 전 데이터",
    "fleet": "전체 노드",
    "processes": "프로세스",
    "example": "예시",
    "simulated": "시뮬레이션 데이터",
    "missing": "없는 것",
    "enable": "켤 것",
    "gpu": "GPU",
    "since": "시작",
    "no_nodes": "아직 보고한 노드가 없습니다.",
    "experimental": "실험적 규칙",
    "free": "남음",
    "total": "전체",
    "over_capacity": "들어가지 않습니다: {size} 초과",
    "driver_reserved": "드라이버 예약",
    "filled": "사용 중",
    "next_command": "자세히",
}
PARTS = {
    "weights": "가중치",
    "kv_pool": "KV 풀",
    "runtime": "런타임",
    "other_process": "다른 프로세스",
    "unaccounted": "확인되지 않음",
}
