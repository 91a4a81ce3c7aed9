"""Memory is held and nothing runs; what kind of program holds it is not known."""

from gpudiag.model import Severity
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.holders import GIB, quiet_share, require_all_processes, whose, working
from gpudiag.rules.load.evidence import partners_at_work
from gpudiag.rules.sight import confidence, seen_seconds
from gpudiag.window import W2, W5, GpuWindow, NotMeasured, ProcessWindow

ALL_BUT_ALWAYS = 0.99
"""Share of the time from which on what was quiet is said to run nothing."""


@rule(severity="info", rank=STATE, given=("idle",))
def memory_held_idle(
    gpu: GpuWindow,
    *,
    min_used_share: float = 0.05,
    min_used_bytes: int = GIB,
    min_context_bytes: int = 128 << 20,
    warn_used_share: float = 0.75,
    max_utilization_percent: float = 5.0,
) -> Fires | None:
    """Memory is held and nothing runs; the kind of its owner is not known."""
    if gpu.reading.error or not gpu.present:
        return None
    if any(engine.reading.metrics_ok for engine in gpu.engines):
        return None  # the owner is known, and whether anybody asks it
    owners = working(gpu)
    if gpu.reading.memory_used_bytes is None and gpu.gap("memory_used_bytes") == "not_supported":
        return _of_shared_memory(gpu, owners, min_used_bytes, max_utilization_percent)
    used = gpu.now("memory_used_bytes")
    total = gpu.reading.memory_total_bytes
    least = min_context_bytes if owners else _least(gpu, min_used_bytes, min_used_share * (total or 0))
    if used < least or _at_work(gpu) or _desktop_only(gpu, used, bool(owners)):
        return None
    utilization = gpu.over("utilization_percent", W2).mean
    if utilization > max_utilization_percent:
        return None
    quiet = quiet_share(gpu)
    span = seen_seconds(gpu)
    evidence = [
        measured("memory_used_bytes", used, of=total, window=span),
        measured("quiet_ratio", quiet, window=span),
    ]
    some_work = quiet < ALL_BUT_ALWAYS
    if some_work:
        evidence.append(measured("utilization_percent", utilization, window=seen_seconds(gpu, W2)))
    full = total is not None and used >= warn_used_share * total
    seen = gpu.node.pasted or gpu.covers(W5)  # an agent that has just begun may see a pause
    at_rest = full and seen and not some_work and not any(map(_may_go_on, owners))
    at_rest = at_rest and not partners_at_work(gpu)
    severity: Severity = "warning" if at_rest else "info"
    sure = confidence(gpu)
    memory = owners[0].memory_on(gpu.index) if owners else None
    if not owners or (memory is None and len(owners) > 1):  # any of them may be the one
        unseen = "owner-unseen-some-work" if some_work else "owner-unseen"
        return Fires(tuple(evidence), severity=severity, confidence=sure, variant=unseen)
    if memory is not None:
        evidence.append(measured("process_memory_bytes", memory, source="NVML"))
    return Fires(
        tuple(evidence),
        severity=severity,
        confidence=sure,
        variant="some-work" if some_work else "one-sample" if span is None else None,
        words=whose(owners[0]),
    )


def _of_shared_memory(
    gpu: GpuWindow, owners: list[ProcessWindow], min_bytes: int, max_utilization_percent: float
) -> Fires | None:
    """Where CPU and GPU have one memory, only what each process holds of it is known."""
    held = owners[0].memory_on(gpu.index) if owners else None
    if held is None:
        raise NotMeasured("memory_used_bytes", reason="not_supported")
    if held < min_bytes or _at_work(gpu):
        return None
    utilization, span = gpu.over("utilization_percent", W2).mean, _load_seconds(gpu)
    if utilization > max_utilization_percent:
        return None
    evidence = (
        measured("process_memory_bytes", held, source="NVML"),
        measured("utilization_percent", utilization, window=span),
    )
    variant = "shared-memory-one-sample" if span is None else "shared-memory"
    return Fires(evidence, confidence=confidence(gpu), variant=variant, words=whose(owners[0]))


def _load_seconds(gpu: GpuWindow) -> float | None:
    load = gpu.over("utilization_percent", W2)
    return None if load.n < 2 else min(W2, load.seconds)


def _least(gpu: GpuWindow, some: float, share: float) -> float:
    """Where all processes can be seen and none is there, a driver's rest may be larger."""
    try:
        require_all_processes(gpu)
    except NotMeasured:
        return min(some, share) if share else some
    return max(some, share)


def _may_go_on(process: ProcessWindow) -> bool:
    """It is about to work: it prepares, or a person sits before it."""
    return process.workload.kind == "notebook" or _prepares(process)


def _prepares(process: ProcessWindow, min_cpu_percent: float = 50.0, min_rate: float = 50e6) -> bool:
    """It computes on the CPU, reads or writes: compiling, loading data, saving its state."""
    reading = process.reading
    for name, least in (
        ("cpu_percent", min_cpu_percent),
        ("read_bytes_per_second", min_rate),
        ("write_bytes_per_second", min_rate),
    ):
        if getattr(reading, name) is not None and process.over(name, W2).mean >= least:
            return True
    return False


def _at_work(gpu: GpuWindow) -> bool:
    """The video engines work, which GPU utilization does not count."""
    reading = gpu.reading
    return bool(reading.encoder_percent or reading.decoder_percent or reading.encoder_sessions)


def _desktop_only(gpu: GpuWindow, used: int, owners: bool) -> bool:
    """The memory is the desktop's own."""
    if owners or not gpu.processes:
        return False
    known = [process.memory_on(gpu.index) for process in gpu.processes]
    try:
        total = gpu.now("memory_total_bytes")
    except NotMeasured:
        return True
    if None in known:  # the driver model does not tell: a desktop may take a good part
        return used <= total / 2
    return used - sum(value or 0 for value in known) < GIB
