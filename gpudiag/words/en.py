"""English sentences that belong to no rule."""

from __future__ import annotations

SEVERITY = {
    "ok": "normal",
    "info": "info",
    "warning": "warning",
    "critical": "critical",
    "unknown": "cannot tell",
}
CONFIDENCE = {"proven": "proven", "likely": "likely", "possible": "possible"}
KIND = {
    "measured": "measured",
    "calculated": "calculated",
    "inferred": "inferred",
    "declared": "declared",
    "simulated": "simulated",
}
STATE = {"open": "open", "acknowledged": "acknowledged", "resolved": "resolved", "gone": "gone"}
SOURCE = {"agent": "agent", "local": "this machine", "pasted": "pasted text", "simulated": "simulated"}

READ_FROM = {  # where evidence was read; names of files and interfaces stay as they are
    "agent": "agent",
    "agents": "agents",
    "engine metrics": "engine metrics",
    "findings": "findings",
    "kernel log": "kernel log",
    "pasted": "pasted text",
    "pasted text": "pasted text",
    "server": "server",
    "settings": "settings",
}

LABELS = {  # evidence
    "utilization_percent": "GPU utilization",
    "utilization_max_percent": "highest GPU utilization",
    "memory_utilization_percent": "memory utilization (time spent reading or writing)",
    "memory_used_bytes": "memory used",
    "memory_free_bytes": "memory free",
    "memory_used_ratio": "share of memory used",
    "memory_change_ratio": "memory moved by at most",
    "quiet_ratio": "share of time with nothing running",
    "spinning_ratio": "share of time at 95 % or more",
    "power_watts": "power",
    "power_limit_watts": "power limit",
    "sm_clock_megahertz": "SM clock",
    "temperature_celsius": "temperature",
    "pstate": "performance state",
    "requests_running": "requests running",
    "requests_waiting": "requests waiting",
    "kv_used_ratio": "KV pool in use",
    "pool_bytes": "KV pool reserved",
    "generation_tokens_per_second": "tokens generated",
    "generation_tokens": "tokens generated",
    "requests_finished": "requests finished",
    "health": "server answers",
    "process": "process",
    "process_memory_bytes": "memory of the process",
    "owner": "owner",
    "engine": "engine",
    "model": "model",
    "samples": "samples",
    "age_seconds": "age of the last report",
    "hottest_thread_percent": "hottest thread",
    "next_thread_percent": "next thread",
    "cpu_percent": "host CPU in use",
    "best_percent": "highest utilization before",
    "sm_active_ratio": "multiprocessors at work",
    "gpu_memory_utilization": "share of memory the engine may take",
    "kernel_line": "kernel log",
    "xid": "Xid",
    "followed_by": "consequences that followed (Xid)",
    "event_count": "times in the log",
}

MISSING = {  # what was not measured, by metric or source
    "samples": "enough samples",
    "plausible_values": "plausible values of the driver",
    "utilization_percent": "GPU utilization",
    "memory_used_bytes": "memory used",
    "memory_total_bytes": "memory total",
    "power_watts": "power draw",
    "power_limit_watts": "power limit",
    "clocks_event_reasons": "the reasons for clock changes",
    "engine": "metrics of the inference engine",
    "processes": "the processes on the GPU",
    "kernel_log": "the kernel log",
    "app_clocks": "the reasons for clock changes",
    "hw_thermal": "the reasons for clock changes",
    "sw_thermal": "the reasons for clock changes",
    "hw_slowdown": "the reasons for clock changes",
    "power_brake": "the reasons for clock changes",
    "sw_power_cap": "the reasons for clock changes",
    "children": "the data loader's processes",
    "compute_mode": "compute mode",
    "cpu_pressure_some": "CPU pressure of the host",
    "cpu_quota_throttled_ratio": "CPU quota of the container",
    "ecc_mode": "ECC mode",
    "ecc_uncorrected_volatile": "uncorrectable ECC errors",
    "ecc_sram_uncorrected_aggregate": "SRAM errors over the card's life",
    "fabric_health": "fabric health",
    "fabric_state": "fabric state",
    "fan_percent": "fan speed",
    "host.acs_bridges": "PCIe access control of the bridges",
    "host.io_pressure_full": "disk pressure of the host",
    "host.memory_pressure_full": "memory pressure of the host",
    "host.modules": "loaded kernel modules",
    "host.numa_nodes": "NUMA nodes of the host",
    "host.pci_gpu_count": "GPUs on the PCIe bus",
    "host.ports": "network ports",
    "inforom_corrupted": "check of the InfoROM",
    "load_1min": "load of the host",
    "mig_mode": "MIG mode",
    "nvlink_crc_errors": "NVLink error counters",
    "nvlinks": "state of the NVLinks",
    "nvml_sweep_seconds": "time the driver's calls take",
    "pcie_link_generation": "PCIe generation",
    "pcie_link_generation_max": "PCIe generation",
    "pcie_link_width": "PCIe lanes",
    "pcie_link_width_max": "PCIe lanes",
    "pcie_replay_count": "PCIe error counters",
    "pcie_rx_bytes_per_second": "PCIe traffic",
    "persistence_mode": "persistence mode",
    "power_limit_default_watts": "default power limit",
    "quiet": "GPU utilization",
    "recovery_action": "the driver's recovery action",
    "retired_pages_double_bit": "retired memory pages",
    "retired_pages_pending": "retired memory pages",
    "reports": "reports since the server began to listen",
    "row_remap_failed": "row remapping",
    "row_remap_pending": "row remapping",
    "sample_under_load": "a sample under load",
    "sm_active_ratio": "how much of the GPU works (SM active)",
    "sm_clock_max_megahertz": "highest SM clock",
    "temperature_margin_celsius": "degrees left to the slowdown limit",
    "temperature_memory_celsius": "memory temperature and its limit",
    "temperature_memory_max_celsius": "memory temperature and its limit",
    "tensor_active_ratio": "tensor core activity",
    "threads": "threads of the process",
    "wait_channel": "where in the kernel the process waits",
    "vgpu_licensed": "vGPU licence state",
}

ENABLE = {  # what to switch on, by metric or source
    "sample_under_load": "run any work on the GPU and ask again while it runs",
    "samples": "wait: a pattern needs more time than one sample",
    "engine": "let the agent reach the server's /metrics, or declare its address in the settings",
    "processes": "run the agent on the host with access to all processes (hostPID in Kubernetes)",
    "kernel_log": "let the agent read /dev/kmsg",
    "host": "run the agent on the host itself",
    "sm_active_ratio": "nothing on GPUs before Hopper; else let the agent read GPM metrics",
}
ENABLE_BY_REASON = {
    "too_short": "wait {wait}",
    "too_short_past": "ask about a moment {wait} later, if it has come",
    "too_short_pasted": "paste samples that cover {wait} more (`nvidia-smi -l 1`), or install the agent",
    "catching_up": "wait: its agent sends what it kept, oldest first",
    "not_supported": "nothing: this GPU or driver does not report it",
    "no_permission": "run the agent with the rights to read it",
    "function_not_found": "a newer driver reports it",
    "timeout": "see why NVML does not answer (`sudo dmesg -T | grep -i nvrm`)",
    "not_shown": "paste `nvidia-smi -q`, or install the agent",
    "cut": "paste the whole output",
    "nonsense": "read it again: what was shown is an impossible value",
    "unreachable": "check that the server's metrics port can be reached from the agent",
    "not_enabled": "start the engine with its metrics switched on",
    "released": "the agent was told to let go of the GPUs; it looks again after: gpudiag agent resume",
}
ENABLE_ELSE = "install the agent, which reads it"
ENABLE_ELSE_BESIDE_AN_AGENT = "a GPU that answers, and an agent of this version, would report it"

REASON = {  # why a value is not there, or NVML does not answer
    "not_supported": "not supported",
    "no_permission": "no permission",
    "function_not_found": "the driver is too old",
    "timeout": "no answer in time",
    "gpu_is_lost": "the GPU is lost",
    "reset_required": "a reset is required",
    "unknown_error": "unknown error",
    "driver_not_loaded": "the driver is not loaded",
    "library_not_found": "the driver's library is not found",
    "library_mismatch": "kernel module and library differ in version",
    "not_found": "no device found",
    "unreachable": "not reachable",
    "not_enabled": "not switched on",
    "nonsense": "an impossible value",
}

NOT_ENOUGH = "cannot tell yet: {missing}"
TOO_FEW_SAMPLES = "there are too few samples so far"
NOT_ENOUGH_BARE = "cannot tell: nothing that decides was visible"
MISSING_LIST = "{names} not visible"
UNHEARD = {  # a verdict's headline where a node's newest report is old
    "silent": "cannot tell: {node} does not report any more",
    "too_short": "cannot tell yet: no report from {node} since this server started",
    "catching_up": "cannot tell yet: {node} is still sending old reports, kept while it was cut off",
}
LINE = {  # a verdict's headline where a line of this kind is all that was pasted
    "command_not_found": "cannot tell: the shell does not find nvidia-smi",
    "sxid": "cannot tell: an NVSwitch reported an event that it does not call fatal",
    "out_of_memory": "cannot tell: a program got no more GPU memory, and the text does not say how much",
    "aer": "cannot tell: PCIe error reports that do not show a fault of a GPU",
    "oom_kill": "cannot tell: host memory ran out and Linux ended a program, perhaps not one of a GPU",
    "cuda_driver_too_old": "cannot tell how the GPUs are: the program asks for a newer driver",
    "cuda_driver_mismatch": "cannot tell how the GPUs are: CUDA's library is not the loaded driver's",
    "cuda_no_device": "cannot tell: a program sees no GPU, and the text does not say why",
    "cuda_busy": "cannot tell: CUDA calls the GPUs busy or unavailable",
    "cuda_fault": "cannot tell: a kernel of a program failed; most often that is the program's own fault",
    "cuda_unknown": "cannot tell: CUDA does not start, and does not say why",
    "container_without_gpus": "cannot tell how the GPUs are: the container engine knows no runtime for GPUs",
    "container_cdi": "cannot tell how the GPUs are: the container engine knows no GPU by that name (CDI)",
    "container_unknown_gpu": "cannot tell: a container asks for a GPU that the driver does not show",
    "container_refused": "cannot tell: the container got no GPU, because the driver did not answer the "
    "toolkit",
    "pod_without_gpu": "cannot tell how the GPUs are: Kubernetes finds no free GPU for a pod",
    "slurm_fewer_gpus": "cannot tell: Slurm found fewer GPUs on a node than gres.conf says, and drained it",
    "cuda_no_kernel": "cannot tell how the GPUs are: the program has no code for a GPU of this generation",
    "cuda_no_such_gpu": "cannot tell: a program asks for the number of a GPU that it does not see",
    "no_cuda_in_program": "cannot tell how the GPUs are: the program runs without CUDA, on the CPU",
    "cuda_library": "cannot tell: cuBLAS or cuDNN did not start; most often the GPU's memory was full",
    "collective_timeout": "cannot tell which GPU: a collective of a distributed job did not end in time",
    "collective_failed": "cannot tell: NCCL gave up, and this line does not say why",
    "host_memory": "cannot tell how the GPUs are: a program got no more host memory",
    "bus_no_answer": "cannot tell: a GPU answers nothing on the PCIe bus (rev ff): it is off or lost",
    "mig_empty": "cannot tell how the GPUs are: MIG has no instance there, or is off",
    "mig_no_room": "cannot tell how the GPUs are: the MIG instance that was asked for has no room",
    "mig_in_use": "cannot tell how the GPUs are: something keeps the GPU open, so its MIG mode does not "
    "change",
    "engine_dead": "cannot tell: the worker of an inference engine ended, and this line does not say why",
    "shared_memory": "cannot tell how the GPUs are: a program got no more shared memory of the host "
    "(/dev/shm)",
    "fabric_manager": "cannot tell how the GPUs are: the Fabric Manager does not run",
    "tests_passed": "cannot tell how the GPUs are now: the tests in this text found no fault",
    "partly_on_cpu": "cannot tell how the GPUs are: a model, or a part of it, lies in host memory and "
    "runs on the CPU",
}
LINE_NEXT = {  # and what to do next
    "command_not_found": (
        "It says nothing of the GPUs or of the driver: the tool may be missing, lie outside of PATH, or be "
        "left out of this container. Next: `lspci -nn -d 10de:` shows whether there is a card, `cat "
        "/proc/driver/nvidia/version` whether its driver runs. A container gets the tool by `--gpus all`; on "
        "Windows it is C:\\Windows\\System32\\nvidia-smi.exe."
    ),
    "sxid": (
        "The switch recovers from an SXid that is not fatal, and one alone ends no job; many on one link may "
        "come before a fault. Next: `sudo dmesg -T | grep -i sxid` shows whether it comes again and on "
        "which link, `nvidia-smi nvlink -e` counts the errors of the links, `nvidia-smi -q` has the fabric's "
        "state; paste them here."
    ),
    "out_of_memory": (
        "Without sizes it cannot be told whether the work was too large or somebody else held the memory. "
        "Next: paste the whole message (PyTorch's goes on with `Tried to allocate` and says who holds what), "
        "and see who is on the GPU while the program runs: `nvidia-smi "
        "--query-compute-apps=pid,name,used_memory --format=csv`. `gpudiag kv MODEL TOKENS xREQUESTS on GPU` "
        "calculates what a language model needs."
    ),
    "aer": (
        "A corrected report cost a repeat and lost nothing; many within half an hour, or one that was "
        "not corrected, tell of a bad link. The device that a line names need not be a GPU. Next: "
        "`lspci -nn -d 10de:` shows which addresses are GPUs, `sudo dmesg -T | grep -i aer | tail -50` "
        "how often it comes; paste that here, or `nvidia-smi -q`, which has the replay counters."
    ),
    "oom_kill": (
        "It is the machine's own memory or a container's limit, not the GPU's. Next: `sudo dmesg -T | "
        "grep -i -A2 'oom-kill'` shows which limit it met; ask the program's owner whether it used a "
        "GPU, and raise its memory or start fewer data loader workers."
    ),
    "cuda_driver_too_old": (
        "The program's CUDA is newer than the driver allows. Next: `nvidia-smi` shows the driver and "
        "the highest CUDA version that it runs; install a newer driver, or take a build or an image "
        "for that version."
    ),
    "cuda_driver_mismatch": (
        "Most often the driver was updated without a reboot, or a container brings a library of its "
        "own. Next: compare `cat /proc/driver/nvidia/version` with `ldconfig -p | grep libcuda`; in a "
        "container look for cuda-compat in LD_LIBRARY_PATH. After an update, reboot once the jobs have "
        "ended."
    ),
    "cuda_no_device": (
        "The driver may not run, the container may have been started without GPUs, or "
        "CUDA_VISIBLE_DEVICES may hide them. Next: run `nvidia-smi` in the same place and paste what "
        "it says; `echo $CUDA_VISIBLE_DEVICES` must name GPUs that are there; a container needs "
        "`--gpus all`."
    ),
    "cuda_busy": (
        "A process may hold the GPU in exclusive mode, MIG may be on without an instance, or the GPU "
        "may wait for a reset. Next: paste `nvidia-smi` and `nvidia-smi -q | grep -E -A2 'Compute "
        "Mode|MIG Mode'`."
    ),
    "cuda_fault": (
        "Such an error ends the program and mostly leaves the GPU well. Next: `sudo dmesg -T | grep -i "
        "xid` shows what the driver logged with it: 13, 31 and 43 are the program's; paste any other "
        "here. `compute-sanitizer` shows where the program went wrong."
    ),
    "cuda_unknown": (
        "Device files may be missing, as in a container or after sleep, or a GPU does not answer. "
        "Next: paste `nvidia-smi` from the same place and `sudo dmesg -T | grep -i -E 'nvrm|xid' | "
        "tail -30`; `ls -l /dev/nvidia*` has to show nvidia-uvm."
    ),
    "container_without_gpus": (
        "The NVIDIA Container Toolkit is missing, or the engine was not told of it. Next: install it, then "
        "`sudo nvidia-ctk runtime configure --runtime=docker` (or `containerd`) and restart it; that may end "
        "running containers. `nvidia-smi` on the host says how the GPUs are."
    ),
    "container_cdi": (
        "The list of devices for containers (CDI) is missing or old, as after a driver update. Next: `sudo "
        "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` writes it anew, `nvidia-ctk cdi list` "
        "shows the names. `nvidia-smi` on the host says how the GPUs are."
    ),
    "container_unknown_gpu": (
        "The number or UUID may be of another machine or of a card that was exchanged, or the card may be "
        "lost. Next: compare `nvidia-smi -L` on the host with `--gpus` or NVIDIA_VISIBLE_DEVICES of the "
        "container; if one is missing there, `sudo dmesg -T | grep -i -E 'nvrm|xid' | tail -30`. Paste "
        "both here."
    ),
    "container_refused": (
        "Either the driver of the host does not run, or a GPU does not answer it. Next: paste `nvidia-smi` "
        "of the host; if it works, `sudo nvidia-container-cli -k -d /dev/tty info` shows where the toolkit "
        "stops."
    ),
    "pod_without_gpu": (
        "All may be taken, the device plugin may not run, or it may count a GPU as unhealthy after an Xid. "
        "Next: `kubectl get nodes -o "
        "custom-columns=NODE:.metadata.name,GPUS:.status.allocatable.nvidia\\.com/gpu` shows how many each "
        "node offers: fewer than it has is a fault of the plugin or of a GPU, so look at `nvidia-smi` "
        "there and at the plugin's log. If none is missing, `kubectl describe node NODE` shows who has "
        "them."
    ),
    "slurm_fewer_gpus": (
        "A GPU may be lost, the driver may not have been ready when slurmd started, or gres.conf may be "
        "wrong. Next: `nvidia-smi -L` on that node; if all are there, restart slurmd and `scontrol update "
        "nodename=NODE state=resume`; if one is missing, paste `sudo dmesg -T | grep -i -E 'nvrm|xid'`."
    ),
    "cuda_no_kernel": (
        "The build was made for other compute capabilities: the card is newer than the program, or too old "
        "for it. Next: `nvidia-smi --query-gpu=name,compute_cap --format=csv` shows what the card needs; "
        "for PyTorch, `python -c 'import torch; print(torch.cuda.get_arch_list())'` what the build has. "
        "Install a build with that capability."
    ),
    "cuda_no_such_gpu": (
        "The program counts only the GPUs that CUDA_VISIBLE_DEVICES, the container or the job gave it, "
        "from 0; or one of them is lost. Next: `nvidia-smi -L` in the same place shows how many there are, "
        "`echo $CUDA_VISIBLE_DEVICES` which of them count; more ranks than GPUs (`--nproc_per_node`, "
        "tensor parallel size) give this, too."
    ),
    "no_cuda_in_program": (
        "Most often the build is one for the CPU, or it does not find CUDA's libraries; the GPU is not "
        "asked at all. Next: `nvidia-smi` in the same place says whether the driver is well; for PyTorch, "
        "`python -c 'import torch; print(torch.version.cuda)'` prints None in a build for the CPU."
    ),
    "cuda_library": (
        "They take memory of their own as they start, and what PyTorch or TensorFlow holds is not theirs "
        "to use. An index out of range in a kernel before shows like this, too. Next: see who is on the "
        "GPU while the program runs: `nvidia-smi --query-compute-apps=pid,name,used_memory --format=csv`; "
        "then run it with `CUDA_LAUNCH_BLOCKING=1`, which names the call that failed first."
    ),
    "collective_timeout": (
        "The rank that complains has waited; the one it waits for is another. Next: compare SeqNum and "
        "OpType of all ranks: one that is behind, does something else or says nothing is the suspect. On "
        "its node, paste `nvidia-smi` while the job hangs and `sudo dmesg -T | grep -i -E 'nvrm|xid'`. If "
        "all ranks are alike, look at the network between them."
    ),
    "collective_failed": (
        "A remote error is a consequence: another rank ended first. Next: look for the earliest error of "
        "all ranks; `NCCL_DEBUG=INFO` prints a line with WARN before this one, which has the reason. Paste "
        "that, and `sudo dmesg -T | grep -i -E 'nvrm|xid'` of the node that ended first."
    ),
    "host_memory": (
        "It is the machine's own memory, not the GPU's. Next: `free -h` while it loads; fewer data loader "
        "workers, fewer layers on the CPU, memory mapping (`mmap`), or a larger limit of the container "
        "help."
    ),
    "bus_no_answer": (
        "A laptop switches its GPU off like this; in a server the card is gone. Next: `nvidia-smi` and "
        "`sudo dmesg -T | grep -i -E 'nvrm|xid|fallen'`; paste them here. A lost card comes back only with "
        "a power cycle of the machine, which ends every job on it."
    ),
    "mig_empty": (
        "With MIG on and no instance made, no program can use that GPU. Next: `nvidia-smi -L` shows the "
        "instances of each GPU, `nvidia-smi --query-gpu=index,mig.mode.current --format=csv` whether MIG "
        "is on. `sudo nvidia-smi mig -cgi PROFILE -C` makes one; `sudo nvidia-smi -mig 0` switches MIG off "
        "once nothing runs there."
    ),
    "mig_no_room": (
        "The slices may be taken, or free ones may not lie where this profile has to begin. Next: "
        "`nvidia-smi mig -lgi` shows which slices are taken, `nvidia-smi mig -lgipp` where each profile "
        "may begin. Small instances in the middle keep out large ones: remove them, and make the large "
        "ones first. That ends what runs on them."
    ),
    "mig_in_use": (
        "A program, a monitor such as DCGM, or the persistence daemon holds it open. Next: `sudo fuser -v "
        "/dev/nvidia*` names them; stop monitors and drain jobs, then try again. Where the mode stays "
        "pending, a reset of that GPU (`sudo nvidia-smi --gpu-reset -i N`) puts it in force."
    ),
    "engine_dead": (
        "The server only notices that its worker is gone. Next: look further up for the first error of the "
        "worker (`EngineCore`, `Worker_TP0`, `scheduler`) and paste it with ten lines around; a process "
        "that was killed leaves none there: `sudo dmesg -T | grep -i -E 'oom|killed|nvrm|xid' | tail -30`. "
        "See with `nvidia-smi` whether a worker still holds the memory."
    ),
    "shared_memory": (
        "Data loader workers and NCCL exchange data there; a container has 64 MiB of it unless told "
        "otherwise. Next: `df -h /dev/shm` in the same place; start the container with `--shm-size=16g` or "
        "`--ipc=host`, in Kubernetes mount an emptyDir with `medium: Memory` at /dev/shm, or use fewer "
        "workers."
    ),
    "fabric_manager": (
        "A machine with NVSwitches needs it before CUDA starts; on one without them it has nothing to do "
        "and ends, which is no fault. Next: `lspci -d 10de: | grep -i bridge` and `nvidia-smi -q | grep "
        "-A3 Fabric` show whether there are switches; if so, its version has to be the driver's: "
        "`nvidia-smi --query-gpu=driver_version --format=csv` and `nv-fabricmanager --version`, then `sudo "
        "systemctl restart nvidia-fabricmanager`."
    ),
    "tests_passed": (
        "A passed test tells of its own minutes and of what it loads: the shortest of DCGM (`-r 1`) only "
        "looks at the set-up. It says nothing of load, memory or the jobs of now. Next: paste `nvidia-smi "
        "-q`, and `sudo dmesg -T | grep -i -E 'nvrm|xid'` where something failed."
    ),
    "partly_on_cpu": (
        "Each token then waits for the CPU: answers are slow and the GPU is mostly idle, which is no fault "
        "of it. Most often the model with its context is larger than what was free. Next: `nvidia-smi` "
        "shows who else holds memory; a smaller context (`num_ctx`, `-c`), a smaller quantization or model "
        "fits more layers. `gpudiag kv MODEL TOKENS on GPU` calculates what it needs. Where all runs on "
        "the CPU, look in the server's log whether it found the GPU."
    ),
}
ALSO = "also seen"
OVER = "over {window}"
ONE_SAMPLE = "one sample"
IN_ONE_SAMPLE = {
    "quiet_ratio": "nothing running in this sample"
}  # evidence of a share of time, and its only sample

LABEL = {  # headings of every surface
    "evidence": "Evidence",
    "means": "What it means",
    "does_not_mean": "What it does not mean",
    "next": "What to do next",
    "typed_on": "on {node}:",
    "same_of": "The same is true of {gpus}.",
    "commands_of": "The commands are those for GPU {gpu}.",
    "seen": "What is seen",
    "sources": "Sources",
    "memory": "Memory",
    "also": "Also seen",
    "accounted": "accounted for by the above, so not told on their own: {rules}",
    "unjudged": "Not judged",
    "settles": "This settles {rules} ({missing})",
    "runbook": "Runbook",
    "rule": "rule",
    "confidence": "confidence",
    "as_of": "as of {time}",
    "data_age": "data {age} old",
    "lasts": "for {span}",
    "fleet": "Fleet",
    "processes": "Processes",
    "example": "Worked example",
    "simulated": "simulated data",
    "missing": "missing",
    "enable": "to enable",
    "gpu": "GPU",
    "since": "since",
    "no_nodes": "No node has reported yet. Start an agent on each: gpudiag agent --api URL",
    "experimental": "experimental rule",
    "free": "free",
    "total": "total",
    "over_capacity": "does not fit: {size} over",
    "driver_reserved": "driver reserve",
    "filled": "filled",
    "expected": "calculated: {size}",
    "next_command": "more",
    "why_node": "Why a node is so: {command}",
    "other_forms": "It also says",
    "lookalikes": "Looks like it and is not",
    "thresholds": "Thresholds",
}
FREE = {  # how the owner frees what is held, by kind of owner
    "pod": (
        "To free it: it belongs to pod {namespace}/{pod}. Ask its owner, then delete the pod. This stops "
        "everything in the pod; a Deployment or Job starts it anew, so scale or end that one instead."
    ),
    "pod-somewhere": (
        "To free it: it belongs to pod {pod}. Find its namespace and its owner, then delete the pod "
        "there. That stops everything in the pod."
    ),
    "slurm": (
        "To free it: it belongs to Slurm job {job}. Ask its owner, then cancel the job. This ends all of "
        "it, on every node it runs on."
    ),
    "container": (
        "To free it, on its node: it runs in container {container}. Ask its owner, then stop the container "
        "(podman and nerdctl take the same words). This stops everything in it."
    ),
    "unit": (
        "To free it, on its node: systemd runs it as {unit}. Ask its owner, then restart the unit. This "
        "breaks off what it is doing, and it may take its memory again; `systemctl stop` keeps it away."
    ),
    "notebook": (
        "To free it, on its node: it is a notebook's kernel, owner {owner}. Let the owner shut it down in "
        "the notebook's menu. Ending it from here loses every variable and result that is not saved."
    ),
    "engine": (
        "To free it, on its node: it is a worker of a serving engine, owner {owner}. Ending the worker "
        "alone breaks the server; ask the owner, then stop the server above it (pid {parent}). This ends "
        "its running requests."
    ),
    "hidden": (
        "To free it: pid {pid} cannot be seen from here. Ask for it on the host: its cgroup names the "
        "pod, job or container to end. Ending that stops everything in it."
    ),
    "windows": (
        "To free it, on its node: end pid {pid}, owner {owner}, once its owner agrees. What it did not "
        "save is lost."
    ),
    "process": (
        "To free it, on its node: end only pid {pid}, owner {owner}, once its owner agrees. This loses "
        "what it did since its last checkpoint, and stops the processes that compute together with it."
    ),
}
OWNER_UNKNOWN = "unknown"
FREE_MAYBE = (
    "{maybe} (pid {pid}) has the device open although the driver does not list it, and may be the holder."
)
CHANGED = {  # what came and went on a node
    "last_ok": "Changed since it was last ok ({time})",
    "never": "Changed since it first reported (it has never been ok)",
    "opened": "opened",
    "resolved": "ended",
    "gone": "gone with its GPU or process",
}
DISAGREEMENT = (
    "{gpus}: calculated and measured memory differ by {share}. Usually the engine runs with other options "
    "than its model's config says: another KV dtype, another tensor parallel size, a draft model, weights "
    "that are quantised as they are loaded; or another process is counted with it."
)
PARTS = {
    "weights": "weights",
    "kv_pool": "KV pool",
    "runtime": "runtime",
    "other_process": "other process",
    "unaccounted": "unaccounted",
}
CHART = {  # in and above the pictures
    "now": "now",
    "ago": "{span} ago",
    "over": "{size} over",
    "filled": "{size} filled",
    "card": "card: {total}",
}
THIS_MACHINE = "this machine"  # the node of a pasted text, as {node} of the rules' pages
WHY_NOT = {  # why a rule fires or not on this machine; thresholds and evidence keep their names
    "thresholds": "thresholds in force: {values}",
    "none": "none",
    "fleet": "it looks at several nodes: ask the server",
    "no-gpu": "{node} shows no GPU, so there is none to judge",
    "not-asked": "clear; not asked, since this is measured not to hold: {gates}",
    "accounted": "not told by itself, since {rule} accounts for it",
    "missing": "cannot judge, missing {names}",
    "wait": "; wait {seconds} s",
    "clear": "clear; everything it needs was measured, and its condition does not hold",
    "fires": "fires as {severity}; {seen}",
}
FAMILY = {  # what the rules of a family are about
    "agent": "Whether we can see at all.",
    "clocks": "Clocks, heat, power and hangs.",
    "faults": "Memory errors, Xids and devices that fail.",
    "fleet": "What several nodes show together.",
    "links": "PCIe, NVLink, fabric and network links.",
    "load": "What the GPU does with the work that is asked of it.",
    "memory": "What the memory holds, for whom, and whether that is normal.",
    "paste": "What one pasted sample shows, what it lacks, and what it cannot show.",
    "setup": "Settings of the host that cost speed or hide facts.",
}
