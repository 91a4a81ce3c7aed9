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
NOTHING_IN = "cannot tell more: nothing stands out in {shown}; {missing}"
UNHEARD = {  # a verdict's headline where a node's newest report is old
    "silent": "cannot tell: {node} does not report any more",
    "too_short": "cannot tell yet: no report from {node} since this server began to listen",
    "catching_up": "cannot tell yet: {node} is still sending old reports, kept while it was cut off",
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
