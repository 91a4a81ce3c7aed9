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
UNHEARD = {
    "silent": "판단할 수 없습니다: {node} 노드가 더 이상 보고하지 않습니다",
    "too_short": "아직 판단할 수 없습니다: 이 서버가 시작된 뒤 {node} 노드의 보고가 아직 없습니다",
    "catching_up": "아직 판단할 수 없습니다: {node} 노드가 연결이 끊긴 동안 쌓인 보고를 보내는 중입니다",
}
LINE = {
    "command_not_found": "판단할 수 없습니다: 셸이 nvidia-smi를 찾지 못합니다",
    "sxid": "판단할 수 없습니다: NVSwitch가 치명적이라고 하지 않은 이벤트를 보고했습니다",
    "out_of_memory": "판단할 수 없습니다: 프로그램이 GPU 메모리를 받지 못했으나 크기가 텍스트에 없습니다",
    "aer": "판단할 수 없습니다: PCIe 오류 보고는 있으나 GPU의 고장을 보여 주지는 않습니다",
    "oom_kill": "판단할 수 없습니다: 호스트 메모리 부족으로 종료된 프로그램이 GPU를 썼는지 보이지 않습니다",
    "cuda_driver_too_old": "GPU의 상태는 판단할 수 없습니다: 프로그램에 더 새로운 드라이버가 필요합니다",
    "cuda_driver_mismatch": "GPU의 상태는 판단할 수 없습니다: CUDA 라이브러리가 로드된 드라이버의 것이 "
    "아닙니다",
    "cuda_no_device": "판단할 수 없습니다: 프로그램에 GPU가 보이지 않으나 이유가 텍스트에 없습니다",
    "cuda_busy": "판단할 수 없습니다: CUDA가 GPU를 사용 중이거나 쓸 수 없다고 합니다",
    "cuda_fault": "판단할 수 없습니다: 프로그램의 커널이 실패했습니다. 대부분은 프로그램 자체의 문제입니다",
    "cuda_unknown": "판단할 수 없습니다: CUDA가 시작되지 않으나 이유를 말하지 않습니다",
    "container_without_gpus": "GPU의 상태는 판단할 수 없습니다: 컨테이너 엔진에 GPU 런타임이 없습니다",
    "container_cdi": "GPU의 상태는 판단할 수 없습니다: 컨테이너 엔진에 그 이름의 GPU가 없습니다(CDI)",
    "container_unknown_gpu": "판단할 수 없습니다: 컨테이너가 요청한 GPU를 드라이버가 보여 주지 않습니다",
    "container_refused": "판단할 수 없습니다: 드라이버가 컨테이너 도구에 응답하지 않아 컨테이너가 GPU를 "
    "받지 못했습니다",
    "pod_without_gpu": "GPU의 상태는 판단할 수 없습니다: Kubernetes가 파드에 줄 빈 GPU를 찾지 못합니다",
    "slurm_fewer_gpus": "판단할 수 없습니다: Slurm이 gres.conf에 적힌 것보다 적은 GPU를 찾아 노드를 "
    "drain 했습니다",
    "cuda_no_kernel": "GPU의 상태는 판단할 수 없습니다: 프로그램에 이 세대의 GPU용 코드가 없습니다",
    "cuda_no_such_gpu": "판단할 수 없습니다: 프로그램이 자신에게 보이지 않는 GPU의 번호를 요청합니다",
    "no_cuda_in_program": "GPU의 상태는 판단할 수 없습니다: 프로그램이 CUDA 없이 CPU에서 실행됩니다",
    "cuda_library": "판단할 수 없습니다: cuBLAS나 cuDNN이 시작되지 않았습니다. 대부분은 GPU 메모리가 "
    "가득 찬 것입니다",
    "collective_timeout": "어느 GPU인지 판단할 수 없습니다: 분산 작업의 집합 통신이 제시간에 끝나지 "
    "않았습니다",
    "collective_failed": "판단할 수 없습니다: NCCL이 포기했으나 이 줄에는 이유가 없습니다",
    "host_memory": "GPU의 상태는 판단할 수 없습니다: 프로그램이 호스트 메모리를 더 받지 못했습니다",
    "bus_no_answer": "판단할 수 없습니다: PCIe 버스에서 GPU가 응답하지 않습니다(rev ff). 꺼졌거나 잃은 "
    "것입니다",
    "mig_empty": "GPU의 상태는 판단할 수 없습니다: MIG 인스턴스가 없거나 MIG가 꺼져 있습니다",
    "mig_no_room": "GPU의 상태는 판단할 수 없습니다: 요청한 MIG 인스턴스를 둘 자리가 없습니다",
    "mig_in_use": "GPU의 상태는 판단할 수 없습니다: GPU를 열고 있는 것이 있어 MIG 모드가 바뀌지 않습니다",
    "engine_dead": "판단할 수 없습니다: 추론 엔진의 워커가 끝났으나 이 줄에는 이유가 없습니다",
    "shared_memory": "GPU의 상태는 판단할 수 없습니다: 호스트의 공유 메모리(/dev/shm)가 모자랍니다",
    "fabric_manager": "GPU의 상태는 판단할 수 없습니다: Fabric Manager가 동작하지 않습니다",
    "tests_passed": "GPU의 지금 상태는 판단할 수 없습니다: 이 텍스트의 테스트에서는 고장이 나오지 않았습니다",
    "partly_on_cpu": "GPU의 상태는 판단할 수 없습니다: 모델의 전부나 일부가 호스트 메모리에 있어 CPU에서 "
    "실행됩니다",
}
LINE_NEXT = {
    "command_not_found": (
        "GPU나 드라이버의 상태는 이것으로 알 수 없습니다. 도구가 설치되지 않았거나, PATH에 없거나, 이 "
        "컨테이너에 들어 있지 않을 수 있습니다. 다음: `lspci -nn -d 10de:`로 카드가 있는지, `cat "
        "/proc/driver/nvidia/version`으로 드라이버가 동작하는지 확인하십시오. 컨테이너는 `--gpus all`로 "
        "실행하면 도구가 들어옵니다. Windows에서는 C:\\Windows\\System32\\nvidia-smi.exe에 있습니다."
    ),
    "sxid": (
        "치명적이지 않은 SXid는 스위치가 스스로 복구하며, 하나만으로는 작업이 끝나지 않습니다. 같은 링크에서 "
        "자주 나오면 장애의 전조일 수 있습니다. 다음: `sudo dmesg -T | grep -i sxid`로 되풀이되는지와 어느 "
        "링크인지, `nvidia-smi nvlink -e`로 링크의 오류 수, `nvidia-smi -q`로 fabric 상태를 확인하고 그 "
        "출력을 붙여넣으십시오."
    ),
    "out_of_memory": (
        "크기가 없으면 작업이 너무 컸는지, 다른 프로세스가 메모리를 잡고 있었는지 알 수 없습니다. 다음: "
        "메시지 전체를 붙여넣으십시오(PyTorch의 메시지는 `Tried to allocate`로 이어지며 누가 얼마를 잡았는지 "
        "적습니다). 프로그램이 도는 동안 GPU에 누가 있는지도 보십시오: `nvidia-smi "
        "--query-compute-apps=pid,name,used_memory --format=csv`. 언어 모델에 필요한 메모리는 "
        "`gpudiag kv MODEL TOKENS xREQUESTS on GPU`로 계산합니다."
    ),
    "aer": (
        "정정된 보고는 한 번 다시 보낸 것으로 잃은 데이터가 없습니다. 30분 안에 많이 나오거나 정정되지 "
        "않은 보고가 있으면 링크가 나쁜 것입니다. 줄에 나온 장치가 "
        "GPU가 아닐 수도 있습니다. 다음: `lspci -nn -d 10de:`로 어느 주소가 GPU인지, `sudo dmesg -T | "
        "grep -i aer | tail "
        "-50`으로 얼마나 자주 나오는지 확인해 여기에 붙여넣으십시오. `nvidia-smi -q`에는 재전송 카운터가 "
        "있습니다."
    ),
    "oom_kill": (
        "GPU 메모리가 아니라 장비의 메모리나 컨테이너의 한도가 모자란 것입니다. 다음: `sudo dmesg -T | "
        "grep -i -A2 'oom-kill'`로 어떤 "
        "한도에 걸렸는지 확인하십시오. 그 프로그램이 GPU를 썼는지 소유자에게 묻고, 메모리를 늘리거나 "
        "데이터 로더 워커를 줄이십시오."
    ),
    "cuda_driver_too_old": (
        "프로그램의 CUDA가 드라이버가 지원하는 것보다 새롭습니다. 다음: `nvidia-smi`에 드라이버와 "
        "지원하는 가장 높은 CUDA 버전이 나옵니다. 드라이버를 "
        "올리거나, 그 버전에 맞는 빌드나 이미지를 쓰십시오."
    ),
    "cuda_driver_mismatch": (
        "대부분은 드라이버를 업데이트하고 재부팅하지 않았거나, 컨테이너에 다른 라이브러리가 들어 있는 "
        "경우입니다. 다음: `cat "
        "/proc/driver/nvidia/version`과 `ldconfig -p | grep libcuda`를 비교하고, 컨테이너라면 "
        "LD_LIBRARY_PATH에 "
        "cuda-compat이 있는지 보십시오. 업데이트한 뒤라면 작업이 끝난 다음 재부팅하십시오."
    ),
    "cuda_no_device": (
        "드라이버가 동작하지 않거나, 컨테이너를 GPU 없이 시작했거나, CUDA_VISIBLE_DEVICES가 가렸을 수 "
        "있습니다. 다음: 같은 곳에서 "
        "`nvidia-smi`를 실행해 출력을 붙여넣으십시오. `echo $CUDA_VISIBLE_DEVICES`에는 실제로 있는 GPU가 "
        "나와야 합니다. 컨테이너에는 "
        "`--gpus all`이 필요합니다."
    ),
    "cuda_busy": (
        "다른 프로세스가 전용 모드로 GPU를 쓰고 있거나, MIG가 켜져 있는데 인스턴스가 없거나, GPU에 "
        "리셋이 필요할 수 있습니다. 다음: `nvidia-smi`와 "
        "`nvidia-smi -q | grep -E -A2 'Compute Mode|MIG Mode'`의 출력을 붙여넣으십시오."
    ),
    "cuda_fault": (
        "이런 오류로 프로그램은 끝나지만 GPU는 대부분 정상입니다. 다음: `sudo dmesg -T | grep -i xid`로 "
        "드라이버가 함께 기록한 것을 확인하십시오. "
        "13, 31, 43은 프로그램의 문제이고, 다른 번호가 있으면 여기에 붙여넣으십시오. "
        "`compute-sanitizer`는 프로그램의 어디가 잘못되었는지 보여 줍니다."
    ),
    "cuda_unknown": (
        "컨테이너 안이나 절전 뒤처럼 장치 파일이 없거나, GPU가 응답하지 않을 수 있습니다. 다음: 같은 "
        "곳에서 실행한 `nvidia-smi`와 `sudo dmesg -T "
        "| grep -i -E 'nvrm|xid' | tail -30`의 출력을 붙여넣으십시오. `ls -l /dev/nvidia*`에는 "
        "nvidia-uvm이 있어야 합니다."
    ),
    "container_without_gpus": (
        "NVIDIA Container Toolkit이 없거나 컨테이너 엔진에 설정되지 않았습니다. 다음: 설치한 뒤 `sudo "
        "nvidia-ctk runtime configure --runtime=docker`(또는 `containerd`)를 실행하고 재시작하십시오. "
        "재시작하면 실행 중인 컨테이너가 끝날 수 있습니다. GPU의 상태는 호스트의 `nvidia-smi`에 나옵니다."
    ),
    "container_cdi": (
        "컨테이너용 장치 목록(CDI)이 없거나, 드라이버 업데이트 뒤처럼 오래된 것입니다. 다음: `sudo "
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`로 다시 만들고, `nvidia-ctk cdi list`로 "
        "이름을 확인하십시오. GPU의 상태는 호스트의 `nvidia-smi`에 나옵니다."
    ),
    "container_unknown_gpu": (
        "번호나 UUID가 다른 장비나 교체된 카드의 것이거나, 카드를 잃었을 수 있습니다. 다음: 호스트의 "
        "`nvidia-smi -L`을 컨테이너의 `--gpus`나 NVIDIA_VISIBLE_DEVICES와 비교하십시오. 빠진 GPU가 있으면 "
        "`sudo dmesg -T | grep -i -E 'nvrm|xid' | tail -30`의 출력과 함께 붙여넣으십시오."
    ),
    "container_refused": (
        "호스트의 드라이버가 동작하지 않거나, GPU가 드라이버에 응답하지 않는 것입니다. 다음: 호스트에서 "
        "실행한 `nvidia-smi`의 출력을 붙여넣으십시오. 그것이 되면 `sudo nvidia-container-cli -k -d "
        "/dev/tty info`에 도구가 어디서 멈추는지 나옵니다."
    ),
    "pod_without_gpu": (
        "모두 사용 중이거나, device plugin이 동작하지 않거나, Xid 뒤에 GPU를 비정상으로 세는 것일 수 "
        "있습니다. 다음: `kubectl get nodes -o "
        "custom-columns=NODE:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu`로 노드마다 내놓은 "
        "GPU 수를 확인하십시오. 실제보다 적으면 플러그인이나 GPU의 문제이니 그 노드의 `nvidia-smi`와 "
        "플러그인의 로그를 보십시오. 빠진 것이 없으면 `kubectl describe node NODE`에 누가 쓰는지 나옵니다."
    ),
    "slurm_fewer_gpus": (
        "GPU를 잃었거나, slurmd가 시작될 때 드라이버가 준비되지 않았거나, gres.conf가 틀렸을 수 있습니다. "
        "다음: 그 노드에서 `nvidia-smi -L`을 실행하십시오. 모두 있으면 slurmd를 재시작하고 `scontrol "
        "update nodename=NODE state=resume`을 실행하십시오. 빠진 것이 있으면 `sudo dmesg -T | grep -i -E "
        "'nvrm|xid'`의 출력을 붙여넣으십시오."
    ),
    "cuda_no_kernel": (
        "다른 compute capability로 빌드된 것입니다. 카드가 프로그램보다 새롭거나, 너무 오래된 것입니다. "
        "다음: `nvidia-smi --query-gpu=name,compute_cap --format=csv`로 카드에 필요한 값을, PyTorch라면 "
        "`python -c 'import torch; print(torch.cuda.get_arch_list())'`로 빌드에 있는 값을 확인하고, 그 "
        "값이 들어 있는 빌드를 설치하십시오."
    ),
    "cuda_no_such_gpu": (
        "프로그램은 CUDA_VISIBLE_DEVICES, 컨테이너, 작업이 준 GPU만 0부터 셉니다. 그중 하나를 잃었을 수도 "
        "있습니다. 다음: 같은 곳에서 `nvidia-smi -L`로 몇 개가 있는지, `echo $CUDA_VISIBLE_DEVICES`로 어느 "
        "것이 세어지는지 확인하십시오. GPU보다 많은 랭크(`--nproc_per_node`, tensor parallel 크기)도 "
        "이렇게 됩니다."
    ),
    "no_cuda_in_program": (
        "대부분은 CPU용 빌드이거나 CUDA 라이브러리를 찾지 못한 것이며, GPU에는 묻지도 않습니다. 다음: 같은 "
        "곳에서 `nvidia-smi`로 드라이버가 정상인지 확인하십시오. PyTorch라면 `python -c 'import torch; "
        "print(torch.version.cuda)'`가 CPU용 빌드에서 None을 출력합니다."
    ),
    "cuda_library": (
        "시작할 때 자신의 메모리가 필요하며, PyTorch나 TensorFlow가 잡은 것은 쓰지 못합니다. 앞선 커널에서 "
        "인덱스가 범위를 벗어나도 이렇게 보입니다. 다음: 프로그램이 도는 동안 GPU에 누가 있는지 보십시오: "
        "`nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv`. 그다음 "
        "`CUDA_LAUNCH_BLOCKING=1`로 실행하면 처음 실패한 호출이 나옵니다."
    ),
    "collective_timeout": (
        "알리는 랭크는 기다린 쪽이고, 기다리게 한 랭크는 따로 있습니다. 다음: 모든 랭크의 SeqNum과 "
        "OpType을 비교하십시오. 뒤처지거나, 다른 연산을 하거나, 아무 말이 없는 랭크가 의심됩니다. 그 "
        "노드에서 작업이 멈춰 있는 동안의 `nvidia-smi`와 `sudo dmesg -T | grep -i -E 'nvrm|xid'`의 출력을 "
        "붙여넣으십시오. 모든 랭크가 같으면 그 사이의 네트워크를 보십시오."
    ),
    "collective_failed": (
        "remote error는 결과입니다. 다른 랭크가 먼저 끝났습니다. 다음: 모든 랭크에서 가장 이른 오류를 "
        "찾으십시오. `NCCL_DEBUG=INFO`로 실행하면 이 줄 앞에 WARN이 있는 줄이 나오고 거기에 이유가 "
        "있습니다. 그 줄과, 먼저 끝난 노드의 `sudo dmesg -T | grep -i -E 'nvrm|xid'` 출력을 붙여넣으십시오."
    ),
    "host_memory": (
        "GPU 메모리가 아니라 장비의 메모리입니다. 다음: 불러오는 동안 `free -h`를 보십시오. 데이터 로더 "
        "워커나 CPU에 두는 레이어를 줄이고, 메모리 매핑(`mmap`)을 쓰거나, 컨테이너의 한도를 늘리면 도움이 "
        "됩니다."
    ),
    "bus_no_answer": (
        "노트북은 GPU를 이렇게 끕니다. 서버라면 카드를 잃은 것입니다. 다음: `nvidia-smi`와 `sudo dmesg -T "
        "| grep -i -E 'nvrm|xid|fallen'`의 출력을 붙여넣으십시오. 잃은 카드는 장비의 전원을 껐다 켜야 "
        "돌아오며, 그러면 그 장비의 작업이 모두 끝납니다."
    ),
    "mig_empty": (
        "MIG가 켜져 있는데 인스턴스가 없으면 어떤 프로그램도 그 GPU를 쓸 수 없습니다. 다음: `nvidia-smi "
        "-L`로 GPU마다 인스턴스를, `nvidia-smi --query-gpu=index,mig.mode.current --format=csv`로 MIG가 "
        "켜져 있는지 확인하십시오. `sudo nvidia-smi mig -cgi PROFILE -C`로 만들 수 있고, 실행 중인 것이 "
        "없으면 `sudo nvidia-smi -mig 0`으로 MIG를 끌 수 있습니다."
    ),
    "mig_no_room": (
        "슬라이스가 모두 쓰이고 있거나, 빈 슬라이스가 이 프로필이 시작할 수 있는 자리에 없을 수 있습니다. "
        "다음: `nvidia-smi mig -lgi`로 쓰이고 있는 슬라이스를, `nvidia-smi mig -lgipp`로 프로필마다 시작할 "
        "수 있는 자리를 확인하십시오. 가운데에 있는 작은 인스턴스가 큰 것을 막습니다. 그것을 지우고 큰 "
        "것부터 만드십시오. 그 위에서 실행 중인 것은 끝납니다."
    ),
    "mig_in_use": (
        "프로그램, DCGM 같은 모니터, 또는 persistence 데몬이 열고 있습니다. 다음: `sudo fuser -v "
        "/dev/nvidia*`에 이름이 나옵니다. 모니터를 멈추고 작업을 비운 뒤 다시 하십시오. 모드가 대기 중으로 "
        "남으면 그 GPU를 리셋해야(`sudo nvidia-smi --gpu-reset -i N`) 적용됩니다."
    ),
    "engine_dead": (
        "서버는 워커가 사라진 것만 알아챈 것입니다. 다음: 위쪽에서 워커(`EngineCore`, `Worker_TP0`, "
        "`scheduler`)의 첫 오류를 찾아 앞뒤 열 줄과 함께 붙여넣으십시오. 강제로 종료된 프로세스는 거기에 "
        "아무것도 남기지 않습니다: `sudo dmesg -T | grep -i -E 'oom|killed|nvrm|xid' | tail -30`. 워커가 "
        "아직 메모리를 잡고 있는지 `nvidia-smi`로 확인하십시오."
    ),
    "shared_memory": (
        "데이터 로더 워커와 NCCL이 여기에서 데이터를 주고받으며, 컨테이너에는 따로 정하지 않으면 64 "
        "MiB뿐입니다. 다음: 같은 곳에서 `df -h /dev/shm`을 보십시오. 컨테이너는 `--shm-size=16g`나 "
        "`--ipc=host`로 시작하고, Kubernetes에서는 `medium: Memory`인 emptyDir를 /dev/shm에 마운트하거나, "
        "워커를 줄이십시오."
    ),
    "fabric_manager": (
        "NVSwitch가 있는 장비에서는 CUDA가 시작되기 전에 필요합니다. 없는 장비에서는 할 일이 없어 끝나며, "
        "고장이 아닙니다. 다음: `lspci -d 10de: | grep -i bridge`와 `nvidia-smi -q | grep -A3 Fabric`으로 "
        "스위치가 있는지 확인하십시오. 있으면 버전이 드라이버와 같아야 합니다. `nvidia-smi "
        "--query-gpu=driver_version --format=csv`와 `nv-fabricmanager --version`을 비교한 뒤 `sudo "
        "systemctl restart nvidia-fabricmanager`를 실행하십시오."
    ),
    "tests_passed": (
        "통과한 테스트는 그 몇 분 동안, 그것이 거는 부하에 대해서만 알려 줍니다. DCGM의 가장 짧은 "
        "테스트(`-r 1`)는 설정만 봅니다. 지금의 부하, 메모리, 작업에 대해서는 말하지 않습니다. 다음: "
        "`nvidia-smi -q`의 출력과, 실패한 것이 있으면 `sudo dmesg -T | grep -i -E 'nvrm|xid'`의 출력을 "
        "붙여넣으십시오."
    ),
    "partly_on_cpu": (
        "그러면 토큰마다 CPU를 기다리므로 답이 느리고 GPU는 대부분 쉽니다. GPU의 고장이 아닙니다. 대부분은 "
        "모델과 컨텍스트가 남아 있던 메모리보다 큰 것입니다. 다음: `nvidia-smi`로 또 누가 메모리를 잡고 "
        "있는지 보십시오. 컨텍스트(`num_ctx`, `-c`)를 줄이거나 더 작은 양자화나 모델을 쓰면 더 많은 "
        "레이어가 들어갑니다. 필요한 메모리는 `gpudiag kv MODEL TOKENS on GPU`로 계산합니다. 모두 CPU에서 "
        "실행된다면 서버 로그에서 GPU를 찾았는지 확인하십시오."
    ),
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
