"""Error lines of nvidia-smi and its neighbours, and what the text around a table tells.

Tables of facts: a pattern, and what it says. Order matters: the first that fits a line wins.
"""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gpudiag.model import Reason

LONGEST_LINE = 500
MOST_LINES = 20
MOST_GPUS = 64

# kind (of `PasteReading.errors`), words of which a line has one (quick to look for), and the pattern that decides
ERRORS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, tuple(words.split()), re.compile(pattern, re.IGNORECASE))
    for kind, words, pattern in (
        ("library_mismatch", "mismatch",
         r"driver/library version mismatch|API mismatch|NVML/RM version mismatch|LibRmVersionMismatch|LIB_RM_VERSION_MISMATCH"),
        ("no_devices", "devices", r"No devices were found"),
        ("driver_not_loaded", "communicate",
         r"couldn.t communicate with the NVIDIA driver"),
        ("driver_not_loaded", "initialize", r"Failed to initialize NVML: Driver Not Loaded"),
        ("driver_not_loaded", "loaded",
         r"nvml error: driver not loaded|NVML_?Error_DriverNotLoaded|NVML_ERROR_DRIVER_NOT_LOADED|nvidia_?driver[_ ]not[_ ]loaded"),
        ("driver_not_loaded", "modprobe modinfo",
         r"modinfo: ERROR: Module nvidia not found|modprobe: (?:FATAL: Module nvidia\b|ERROR: could not insert '?nvidia\b)"),
        ("library_not_found", "libnvidia-ml library",
         r"couldn.t find (?:the )?libnvidia-ml|libnvidia-ml\.so(?:\.1)?: cannot open|NVML Shared Library Not Found|NVML_ERROR_LIBRARY_NOT_FOUND"),
        ("command_not_found", "nvidia-smi",
         r"nvidia-smi['’\"]?: (?:command )?not found|command not found: nvidia-smi|Command 'nvidia-smi' not found|"
         r"'nvidia-smi' is not recognized|Unknown command:? '?nvidia-smi|nvidia-smi.{0,40}No such file|"
         r"\"nvidia-smi\": executable file not found|"
         r"nvidia-smi['’]?: (?:명령.{0,10}(?:없습니다|없음)|그런 파일이나)|'nvidia-smi' ?(?:을|를|을\(를\)) 찾을 수 없|"
         r"'nvidia-smi' ?은\(는\) 내부 또는 외부|'nvidia-smi' 용어가|nvidia-smi: コマンドが見つかりません|"
         r"nvidia-smi[:：] ?未找到命令"),
        ("not_supported", "determine",
         r"Unable to determine the device handle for GPU.{0,60}Not Supported"),
        ("device_handle", "determine", r"Unable to determine the device handle for GPU"),
        ("gpu_is_lost", "lost fallen",
         r"GPU is lost|NVML_ERROR_GPU_IS_LOST|GPU_IS_LOST|GPU has fallen off the bus"),
        ("reset_required", "reset", r"GPU requires reset|NVML_ERROR_RESET_REQUIRED"),
        ("unknown_error", "initialize",
         r"Failed to initialize NVML: Unknown Error"),
        ("insufficient_permissions", "insufficient",
         r"Initialize NVML: Insufficient Permissions|\[Insufficient Permissions\]"),
        ("access_blocked", "initialize",
         r"Failed to initialize NVML: GPU access blocked by the operating system"),
        ("nvml_init", "initialize", r"Failed to initialize NVML"),
        ("uncorrectable_ecc", "uncorrectable",
         r"(?:error|failed|exception)\b.{0,80}\buncorrectable ECC error encountered|\b(?:CUDA_ERROR_ECC_UNCORRECTABLE|cudaErrorECCUncorrectable)\b"),
        ("system_not_ready", "802 initialized not_ready notready",
         r"\berror 802\b|: system not yet initialized|\b(?:CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady)\b"),
        ("inforom_corrupted", "corrupted", r"infoROM is corrupted"),
        # What a program or a container was refused: it tells little of the GPUs.
        ("cuda_driver_too_old", "804 system insufficient unsupported unsatisfied compatibility",
         r"NVIDIA driver on your system is too old|CUDA driver version is insufficient|PTX was compiled with an unsupported toolchain|unsatisfied condition: cuda ?>|\berror 804\b|"
         r"forward compatibility was attempted|cudaErrorInsufficientDriver"),
        ("cuda_driver_mismatch", "803 unsupported mismatch",
         r"\berror 803\b|unsupported display driver / cuda driver combination|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|cudaErrorSystemDriverMismatch"),
        ("cuda_no_device", "available cuda-capable no_device nodevice",
         r"No CUDA GPUs are available|Current node has no GPU available|no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|cudaErrorNoDevice"),
        ("cuda_busy", "unavailable",
         r"CUDA-capable device\(?s?\)? (?:is/are|is|are) busy or unavailable|cudaErrorDevicesUnavailable"),
        ("tool_hangs", "nvidia-smi", r"nvidia-smi\b.{0,80}(?:timed out|TimeoutExpired)|TimeoutExpired.{0,80}nvidia-smi"),
        ("cuda_launch_timeout", "launch", r"the launch timed out and was terminated|(?:CUDA_ERROR_|cudaError)(?:LAUNCH_TIMEOUT|LaunchTimeout)\b"),
        ("windows_driver_reset", "nvlddmkm",
         r"\bnvlddmkm\b.{0,80}(?:stopped responding|has successfully|cannot be found|Event ID|Error)|"
         r"(?:Source|Provider|Event ID)\b.{0,80}\bnvlddmkm\b"),
        ("laptop_power", "nvidia-powerd", r"nvidia-powerd\b.{0,80}(?:ERROR|[Ff]ailed|exited|disable Dynamic Boost)"),
        ("nodes_offer", "gpu gpus", r"^(?:NODE|NAME) +GPUS? *$"),
        ("cuda_fault", "cudnn_status_execution_failed cublas_status_execution_failed",
         r"\b(?:CUBLAS|CUDNN)_STATUS_EXECUTION_FAILED"),
        ("kernel_resources", "resource:", r"out of resource: ?(?:shared memory|threads|registers|tensor memory)"),
        ("toolkit_too_old", "ptxas architecture", r"ptxas fatal .{0,20}Value 'sm_\w+' is not defined for option|Unsupported gpu architecture 'compute_"),
        ("vfio_no_reset", "vfio-pci", r"vfio-pci .{0,80}(?:not ready|giving up|Unable to change power state|device inaccessible)"),
        ("other_driver", "bound probe", r"NVRM: .{0,60}already bound to (?:nouveau|vfio-pci|nvidiafb|rivafb)|NVRM: The NVIDIA probe routine was not called"),
        ("driver_no_memory", "nv_err_no_memory", r"NVRM: .{0,200}NV_ERR_NO_MEMORY"),
        ("vgpu_no_licence", "license", r"vGPU license state: Unlicensed|nvidia-gridd.{0,80}(?:Failed to acquire license|Unlicensed)"),
        ("task_killed", "killed", r"srun: error: .{1,80}: task[s ].{1,40}: Killed"),
        ("pod_probe", "probe", r"\b(?:Liveness|Startup|Readiness) probe failed: |\bfailed (?:liveness|startup) probe, will be restarted"),
        ("cuda_fault", "illegal misaligned launch assert",
         r"an illegal (?:memory access|instruction) was encountered|misaligned address|unspecified launch failure|device-side assert triggered|"
         r"(?:CUDA_ERROR_|cudaError)(?:ILLEGAL_ADDRESS|IllegalAddress|LAUNCH_FAILED|LaunchFailure|ASSERT\b|Assert\b)"),
        ("cuda_unknown", "unknown failure:",
         r"CUDA unknown error|library init failure: 999|CUDA_ERROR_UNKNOWN\b|cudaErrorUnknown\b"),
        ("container_without_gpus", "runtime",
         r"no runtime for .?nvidia.? is configured|[Uu]nknown(?: or invalid)? runtime(?: name)?:? .?nvidia"),
        ("container_without_gpus", "[[gpu",
         r"could not select device driver .{0,40}\[\[gpu[a-z ]{0,60}\]\]"),
        ("container_cdi", "cdi", r"unresolvable CDI devices .{0,80}nvidia\.com/gpu"),
        ("container_unknown_gpu", "container-cli",
         r"nvidia-container-cli: device error|nvidia-container-cli: .{0,80}unknown device"),
        ("container_refused", "container-cli", r"nvidia-container-cli: [a-z ]{3,40} error"),
        ("pod_without_gpu", "nvidia.com/",
         r"Insufficient nvidia\.com/|requested number of devices unavailable for nvidia\.com/"),
        ("pod_refused", "failed unexpectedadmission", r"\bUnexpectedAdmissionError\b|\bAllocate failed due to\b"),
        ("pod_pending", "nodes pending",
         r"\d+/\d+ nodes are available: |\s\d+/\d+\s+Pending\s+\d"),
        ("pod_evicted", "evicted resource: ephemeral",
         r"\s\d+/\d+\s+Evicted\s+\d|^\s*Reason: {1,20}Evicted|\bThe node was low on resource: |\bPod ephemeral local storage usage exceeds"),
        ("pod_image", "image",
         r"\s\d+/\d+\s+(?:Init:)?(?:ErrImagePull|ImagePullBackOff)\s|^\s*Reason: {1,20}(?:ErrImagePull|ImagePullBackOff)|\bFailed to pull image\b"),
        ("slurm_fewer_gpus", "gres/gpu", r"gres/gpu count (?:repor|too l)"),
        ("slurm_kill_failed", "kill signals",
         r"\bKill task failed\b|DUE TO JOB NOT ENDING WITH SIGNALS|Unable to kill job step"),
        ("slurm_time_limit", "cancelled timeout", r"CANCELLED AT .{1,40} DUE TO TIME LIMIT|^\d{1,10}[\w.+]{0,20} +.{0,80}\bTIMEOUT\b"),
        ("slurm_node_failed", "cancelled srun node_fail",
         r"^\d{1,10}[\w.+]{0,20} +.{0,80}\bNODE_FAIL\b|CANCELLED AT .{1,40} DUE TO NODE FAILURE|srun: error: Node failure on "),
        ("slurm_preempted", "preemption", r"CANCELLED AT .{1,40} DUE TO PREEMPTION"),
        ("slurm_not_to_be_had", "requested generic",
         r"Requested node configuration is not available|Invalid generic resource \(gres\) specification"),
        ("slurm_waiting", "reqnodenotavail pd",
         r"\(ReqNodeNotAvail|\sPD\s.{1,60}\((?:Resources|Priority|Nodes required|BadConstraints|QOS\w{3,40}|Assoc\w{3,40}|Partition\w{3,40})"),
        ("slurm_drained", "nodelist drain prolog epilog",
         r"^\s*REASON +USER +TIMESTAMP +NODELIST|^\s*State=\S{0,40}DRAIN|\bProlog (?:failure on node|error)|\bEpilog error\b"),
        ("mig_empty", "instances devices", r"No (?:GPU|compute) instances found|No MIG devices found"),
        ("mig_no_room", "insufficient",
         r"Unable to create a (?:GPU|compute) instance.{0,120}Insufficient Resources"),
        ("needs_root", "permission",
         r"Unable to .{3,60} for GPU .{5,40}: Insufficient Permissions|does not have permission to change"),
        ("not_supported", "supported", r"Unable to .{3,60} for GPU .{5,40}: Not Supported|is not supported for GPU\b"),
        ("mig_in_use", "unable another",
         r"Unable to (?:enable|disable) MIG Mode|In use by another client"),
        ("not_supported", "supported", r"Not supported on the device\(s\)"),
        ("cuda_no_kernel", "kernel pytorch no_binary",
         r"no kernel image is available for execution|is not compatible with the current PyTorch installation|"
         r"(?:CUDA_ERROR_|cudaError)(?:NO_BINARY_FOR_GPU|NoKernelImageForDevice)"),
        ("cuda_no_such_gpu", "invalid",
         r"invalid device ordinal|CUDA_ERROR_INVALID_DEVICE\b|cudaErrorInvalidDevice\b"),
        ("no_cuda_in_program", "compiled registering discovered",
         r"Torch not compiled with CUDA enabled|Skipping registering GPU devices|no compatible GPUs were discovered"),
        ("cuda_library", "_status_ cudnn convolution",
         r"\b(?:CUBLAS|CUDNN)_STATUS_(?:ALLOC_FAILED|NOT_INITIALIZED)|Could not create cudnn handle|Failed to get convolution algorithm"),
        ("duplicate_gpu", "duplicate", r"NCCL WARN Duplicate GPU detected"),
        ("collective_nvls", "nvls", r"Failed to bind NVLink SHARP \(NVLS\)"),
        ("engine_stalled", "throughput watchdog detokenizer",
         r"Scheduler watchdog timeout|couldn't get a response from detokenizer|Avg prompt throughput: 0\.0 tokens/s, Avg generation throughput: 0\.0 tokens/s, Running: [1-9]|"
         r"#running-req: [1-9].{0,120}gen throughput \(token/s\): 0\.0{1,3}\b"),
        ("engine_cache_full", "preempted retract waiting: pending:",
         r"is preempted by .{0,80}not enough KV cache|KV cache pool is full\. Retract|"
         r"(?:Waiting|Pending): [1-9]\d* reqs.{0,60}KV cache usage: (?:9[5-9]\.\d|100\.0)%"),
        ("collective_timeout", "watchdog waiting",
         r"Watchdog caught collective operation timeout|Timed out waiting \d{1,9} ?ms for (?:recv|send) operation|"
         r"detected by watchdog at work: \d|ProcessGroupNCCL's watchdog got stuck"),
        ("collective_unreached", "connect interface",
         r"(?:socket\w{0,20}Connect\w{0,10}|NCCL WARN): ?.{0,20}Connect to \S{3,60}<\d{1,5}> (?:failed|returned)|NCCL WARN Connect to \S{3,60} failed|"
         r"NCCL WARN .{0,40}no socket interface found"),
        ("collective_fabric", "net/ib ibv_",
         r"NET/IB ?: ?Got completion from peer|NET/IB ?: .{0,40}Got async (?:fatal )?event|ibv_(?:modify_qp|poll_cq|reg_mr\w{0,12}) failed"),
        ("collective_no_meeting", "socket waiting rendezvous checked",
         r"The client socket has (?:timed out after|failed to connect)|rank \d{1,6} of \d{1,6} ranks has already checked in|Timed out after \d{1,9} seconds waiting for clients|"
         r"DistNetworkError: The (?:client|server) socket|RendezvousConnectionError|RendezvousTimeoutError"),
        ("port_taken", "listen eaddrinuse errno",
         r"failed to listen on any local network address|EADDRINUSE|errno: 98 - Address already in use|\[Errno 98\]"),
        ("shared_memory", "/dev/shm/nccl",
         r"Error while creating shared memory segment /dev/shm/nccl|Error: failed to extend /dev/shm/nccl"),
        ("collective_failed", "nccl unhandled",
         r"ncclRemoteError|ncclSystemError|ncclUnhandledCudaError|ncclInternalError|unhandled (?:system|cuda) error|"
         r"NCCL WARN .{0,40}Connection closed by remote peer"),
        ("engine_dead", "enginedead encountered failed unexpectedly",
         r"EngineDeadError|Worker proc \S{1,40} died unexpectedly|EngineCore (?:encountered an issue|failed to start)|Engine core initialization failed"),
        ("shared_memory", "shared /dev/shm",
         r"out of shared memory|unable to open shared memory object|No space left on device.{0,40}/dev/shm|/dev/shm.{0,60}No space left"),
        ("fabric_manager", "fabricmanager",
         r"(?:nvidia|nv)-fabricmanager.{0,160}(?:failed|error|don't match with driver version)"),
        ("partly_on_cpu", "cpu/gpu 100% offloaded",
         r"\d{1,2}%/\d{1,2}% CPU/GPU|\s100% CPU\s|offloaded (\d{1,3})/(?!\1 )\d{1,3} layers to GPU"),
        ("cuda_no_device", "available:", r"^Is CUDA available: False"),
        ("host_memory", "allocat alloc_buffer",
         r"DefaultCPUAllocator: (?:can't allocate|not enough) memory|ggml_backend_cpu_buffer_type_alloc_buffer: failed|"
         r"failed to allocate CPU buffer|unable to allocate CPU buffer|OOM when allocating tensor .{0,200}by allocator (?:mkl)?cpu\b"),
        ("out_of_memory", "allocating", r"OOM when allocating tensor"),
        ("oom_kill", "oom srun out_of_me",
         r"^\d{1,10}[\w.+]{0,20} +.{0,80}\bOUT_OF_ME|Detected \d{1,6} oom[-_]kill event|srun: error: .{1,80}: Out Of Memory|Reason: {1,12}OOMKilled|\s\d+/\d+\s+(?:Init:)?OOMKilled\s"),
        ("pod_crash_loop", "crashloopbackoff back-off",
         r"\s\d+/\d+\s+(?:Init:)?CrashLoopBackOff\s|^\s*Reason: {1,20}CrashLoopBackOff|\bBack-off restarting failed container\b"),
        ("bus_no_answer", "controller",
         r"\b(?:VGA compatible|3D|Display) controller(?: \[\w{4}\])?: NVIDIA .{0,160}\(rev ff\)"),
    )
)  # fmt: skip
_WORDS = tuple({word for _, words, _ in ERRORS for word in words})
NVML_AS_A_WHOLE: dict[str, Reason] = {
    "library_mismatch": "library_mismatch",
    "no_devices": "not_found",
    "driver_not_loaded": "driver_not_loaded",
    "library_not_found": "library_not_found",
    "unknown_error": "unknown_error",
    "access_blocked": "no_permission",
    "nvml_init": "unknown_error",
}
OF_ONE_GPU: dict[str, Reason] = {
    "device_handle": "unknown_error",
    "gpu_is_lost": "gpu_is_lost",
    "reset_required": "reset_required",
}
_BUS = re.compile(
    r"GPU ?(?:(\d{1,3}): ?|at )?((?:[0-9a-fA-F]{3,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])", re.IGNORECASE
)

# name, words of which one has to be there (quick to look for), and the pattern that decides
_HINTS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (name, tuple(words.split()), re.compile(pattern, re.IGNORECASE))
    for name, words, pattern in (
        ("container", "docker podman kube container pod 容器 컨테이너 コンテナ @ colab",
         r"\b(?:docker|podman|kubectl|containers?|containerd|kubernetes|pod-\d|dockerd)\b|\bpods?\b|\w@[0-9a-f]{12}:|@[\w.-]{1,60}:/(?:app|workspace|workdir)\b[^#$\n]{0,60}[#$]|\bcolab\b|容器|컨테이너|コンテナ"),
        ("out_of_memory", "memory oom",
         r"out of memory|OutOfMemory|CUDA_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation|\bOOM\b.{0,20}(?:error|kill)"),
        ("aborted", "abort dumped fault check traceback sig error illegal",
         r"\bAborted\b|core dumped|Segmentation fault|Check failed|Traceback \(most recent|SIGABRT|SIGSEGV|"
         r"CUDA error|RuntimeError|illegal memory access"),
        ("hung", "timeout timed hang hung stuck deadlock",
         r"Watchdog caught collective operation timeout|NCCL (?:operation )?time(?:d )?out|"
         r"collective operation timeout|\bhangs\b|\bhung\b|\bstuck at\b|deadlock"),
        ("wsl", "wsl", r"microsoft-standard-WSL|\bWSL2?\b"),
        ("jetson", "nvgpu jetson tegra orin", r"\(nvgpu\)|\bJetson\b|\bTegra\b|\bOrin\b"),
        ("ended", "crash kill shut stop exit terminat interrupt ctrl 崩溃 杀 退出 종료 終了 クラッシュ",
         r"\b(?:crash\w*|kill(?:ed|ing)?|shut ?down|shutting down|stopp(?:ed|ing)|ctrl ?[-+]? ?c|exit(?:ed|ing|s)?|"
         r"terminat\w{1,10}|interrupt\w*)\b|崩溃|杀|退出|종료|終了|クラッシュ"),
        ("still_held", "freed free releas clear still should let 释放 占 해제 비워 解放",
         r"(?:\bnot|n't|\bnever) (?:fully |properly |being |be |been |get ){0,2}(?:freed?|releas\w{1,3}|cleared)\b|"
         r"\bwon't (?:release|free|let go)|\bstill (?:hold|occup|us(?:e|ing)\b|in use|there\b)|"
         r"\bshould be (?:close to )?(?:0\b|zero|freed?|released|empty)|没有?释放|未释放|仍然?占|해제되지|비워지지|解放され(?:ない|ず|ません)"),
        ("cannot_kill", "kill",
         r"(?:can.?t|cannot|can not|could not|unable to|nothing\b.{0,20}can) (?:be )?kill|unkillable|"
         r"kill -9.{0,40}(?:not|no )"),
    )
)  # fmt: skip


@dataclass(slots=True)
class Complaints:
    """Error lines of a text: kinds, the lines themselves, and GPUs that they name."""

    kinds: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    nvml: Reason | None = None  # why, when the library as a whole fails
    gpus: list[tuple[str | None, Reason]] = field(default_factory=list)  # bus id, why
    places: dict[str, int] = field(default_factory=dict)  # bus id → the GPU's number, where a line says both
    corrupted: list[str] = field(default_factory=list)  # bus ids whose infoROM is named corrupted


def complaints_of(lines: Sequence[str]) -> Complaints:
    """What lines complain of, each once, in the order of the text."""
    found = Complaints()
    for number, kind in _kinds_of(lines):
        line = lines[number]
        if kind == "device_handle" and _next_written(lines, number) == "Not Supported":
            kind = "not_supported"  # a command that this GPU does not know, wrapped
        if kind not in found.kinds:
            found.kinds.append(kind)
        if len(found.lines) < MOST_LINES:
            found.lines.append(line.strip())
        bus = _BUS.search(line)
        if kind in NVML_AS_A_WHOLE:
            found.nvml = found.nvml or NVML_AS_A_WHOLE[kind]
        elif kind in OF_ONE_GPU and "NVRM" not in line and len(found.gpus) < MOST_GPUS:
            lost = "lost" in line.lower()
            found.gpus.append((bus[2] if bus else None, "gpu_is_lost" if lost else OF_ONE_GPU[kind]))
            if bus and bus[1]:
                found.places[bus[2]] = int(bus[1])
        elif kind == "inforom_corrupted" and bus:
            found.corrupted.append(bus[2])
    if _offers_fewer(lines):
        found.kinds.append("node_offers_fewer")
    return found


def _kinds_of(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(number of the line, kind) of each line that complains."""
    text = "\n".join(dict.fromkeys(lines)).lower()  # a log says the same again and again
    there = {word for word in _WORDS if word in text}
    errors = [error for error in ERRORS if not there.isdisjoint(error[1])] if there else []
    for number, line in enumerate(lines if errors else ()):
        if not 6 < len(line) <= LONGEST_LINE:
            continue
        lowered = line.lower()
        if not any(word in lowered for word in there):
            continue
        for kind, words, pattern in errors:
            if any(word in lowered for word in words) and pattern.search(line):
                yield number, kind
                break


_PART = re.compile(r"\s{0,8}(Capacity|Allocatable|Allocated resources|System Info|Conditions):\s*")
_OFFERED = re.compile(r"\s{1,12}nvidia\.com/gpu: {1,30}(\d{1,4})\s*")


def _offers_fewer(lines: Sequence[str]) -> bool:
    """Whether `kubectl describe node` shows fewer GPUs to be used than the node has."""
    part, had = "", None
    if not any(line.startswith("Allocatable:") for line in lines):
        return False
    for line in lines:
        begins = _PART.fullmatch(line) if ":" in line and len(line) < 60 else None
        part = begins[1] if begins else part
        offered = _OFFERED.fullmatch(line) if "nvidia.com/gpu" in line else None
        if offered is None:
            continue
        if part == "Allocatable" and had is not None and int(offered[1]) < had:
            return True
        had = int(offered[1]) if part == "Capacity" else had
    return False


def _next_written(lines: Sequence[str], number: int) -> str:
    return next((line.strip() for line in lines[number + 1 : number + 3] if line.strip()), "")


def hints_of(lines: Sequence[str]) -> list[str]:
    """What the text around the tool's output says of the circumstances: a person's words, no proof."""
    text = "\n".join(line[:LONGEST_LINE] for line in lines[:4000])
    lowered = text.lower()
    return [
        name
        for name, triggers, pattern in _HINTS
        if any(trigger in lowered for trigger in triggers) and pattern.search(text)
    ]
