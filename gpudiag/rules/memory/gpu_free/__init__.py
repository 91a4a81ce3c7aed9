"""Nothing runs on the GPU, nothing is held: it is free."""

from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.rules.holders import named_bytes, quiet_share, require_all_processes, working
from gpudiag.rules.sight import confidence, holds_nothing, seen_seconds
from gpudiag.window import QUIET_PERCENT, W2, GpuWindow, NotMeasured

GIB = 1 << 30
MINUTE = 60.0


@rule(severity="ok", rank=STATE, given=("idle",))
def gpu_free(
    gpu: GpuWindow,
    *,
    max_used_share: float = 0.03,
    max_used_bytes: int = GIB,
    max_rest_bytes: int = 256 << 20,
    min_quiet_share: float = 0.95,
    max_desktop_percent: float = 5.0,
) -> Fires | None:
    """Nothing runs here and no memory is held."""
    reading = gpu.reading
    if reading.mig_mode or reading.mig_devices or reading.error or not gpu.present:
        return None
    if working(gpu) or reading.encoder_percent or reading.decoder_percent or reading.encoder_sessions:
        return None
    quiet = quiet_share(gpu)
    if quiet < min_quiet_share and holds_nothing(gpu):
        return _without_a_program(gpu)
    if quiet < min_quiet_share and _just_left(gpu, max_rest_bytes):
        return _since_a_minute(gpu)
    desktop = any(w.kind == "desktop" for w in gpu.workloads) or bool(reading.display_active)
    if quiet < min_quiet_share and not (
        desktop and gpu.over("utilization_percent", W2).mean <= max_desktop_percent
    ):
        return None
    used, total = gpu.now("memory_used_bytes"), gpu.now("memory_total_bytes")
    if used > max_rest_bytes:
        require_all_processes(gpu)
    if used - _desktop_bytes(gpu, used, total) > max(max_used_share * total, max_used_bytes):
        return None
    span = seen_seconds(gpu)
    evidence = (
        measured("memory_used_bytes", used, of=total, window=span),
        measured("quiet_ratio", quiet, window=span),
    )
    return Fires(evidence, confidence=confidence(gpu))


def _just_left(gpu: GpuWindow, max_rest_bytes: int) -> bool:
    """Nobody is on it any more, its memory is at rest, and nothing has run for a minute."""
    if gpu.node.pasted or gpu.processes or gpu.now("memory_used_bytes") > max_rest_bytes:
        return False
    return gpu.over("utilization_percent", MINUTE).max <= QUIET_PERCENT


def _since_a_minute(gpu: GpuWindow) -> Fires:
    """What ran is over: what it did is not what the GPU does."""
    used, total = gpu.now("memory_used_bytes"), gpu.now("memory_total_bytes")
    return Fires(
        (
            measured("memory_used_bytes", used, of=total),
            measured("quiet_ratio", gpu.share("quiet", MINUTE), window=MINUTE),
        ),
        confidence=confidence(gpu),
        also_explains=(
            "healthy-busy",
            "power-cap-at-full-load",
            "busy-but-inefficient",
            "memory-bandwidth-bound",
        ),
    )


def _without_a_program(gpu: GpuWindow) -> Fires:
    """Utilization is there and nobody who could cause it: a load that just ended, or the driver's start."""
    return Fires(
        (
            measured("memory_used_bytes", gpu.now("memory_used_bytes"), of=gpu.now("memory_total_bytes")),
            measured("utilization_percent", gpu.now("utilization_percent")),
        ),
        severity="info",
        confidence="possible",
        variant="no-program",
    )


def _desktop_bytes(gpu: GpuWindow, used: int, total: int) -> int:
    """What the desktop holds; where the driver model does not tell, up to a quarter of a small card."""
    try:
        return named_bytes(gpu)
    except NotMeasured:
        return used if used <= total / 4 else 0
