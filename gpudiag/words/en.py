"""English sentences that belong to no rule."""

from __future__ import annotations

SEVERITY = {
    "ok": "normal",
    "info": "note",
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
STATE = {"open": "open", "acknowledged": "acknowledged", "resolved": "resolved", "gone": "subject gone"}
SOURCE = {"agent": "agent", "local": "this machine", "pasted": "pasted text", "simulated": "simulated"}

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
}

ENABLE = {  # what to switch on, by metric or source
    "samples": "wait: a pattern needs more time than one sample",
    "engine": "let the agent reach the server's /metrics, or declare its address in the settings",
    "processes": "run the agent on the host with access to all processes (hostPID in Kubernetes)",
    "kernel_log": "let the agent read /dev/kmsg",
    "host": "run the agent on the host itself",
    "sm_active_ratio": "nothing on GPUs before Hopper; else let the agent read GPM metrics",
}
ENABLE_BY_REASON = {
    "too_short": "wait {wait}: then there are enough samples",
    "not_supported": "nothing: this GPU or driver does not report it",
    "no_permission": "run the agent with the rights to read it",
    "function_not_found": "a newer driver reports it",
    "timeout": "see why NVML does not answer (`dmesg -T | grep -i nvrm`)",
    "not_shown": "paste `nvidia-smi -q`, or install the agent",
    "cut": "paste the whole output",
    "unreachable": "check that the server's metrics port can be reached from the agent",
    "not_enabled": "start the engine with its metrics switched on",
}
ENABLE_ELSE = "install the agent, which reads it"

NOT_ENOUGH = "cannot tell yet: {missing}"
NOT_ENOUGH_BARE = "cannot tell: nothing that decides was visible"
MISSING_LIST = "{names} not visible"
ALSO = "also seen"
OVER = "over {window}"
ONE_SAMPLE = "one sample"

LABEL = {  # headings of every surface
    "evidence": "Evidence",
    "means": "What it means",
    "does_not_mean": "What it does not mean",
    "next": "What to do next",
    "seen": "What is seen",
    "sources": "Sources",
    "memory": "Memory",
    "also": "Also seen",
    "unjudged": "Not judged",
    "runbook": "Runbook",
    "rule": "rule",
    "confidence": "confidence",
    "data_age": "data {age} old",
    "fleet": "Fleet",
    "processes": "Processes",
    "example": "Worked example",
    "simulated": "simulated data",
    "missing": "missing",
    "enable": "to enable",
    "gpu": "GPU",
    "since": "since",
    "no_nodes": "No node has reported yet.",
    "experimental": "experimental rule",
    "free": "free",
    "total": "total",
    "over_capacity": "does not fit: {size} over",
    "driver_reserved": "driver reserve",
    "filled": "filled",
    "next_command": "more",
}
PARTS = {
    "weights": "weights",
    "kv_pool": "KV pool",
    "runtime": "runtime",
    "other_process": "other process",
    "unaccounted": "unaccounted",
}
