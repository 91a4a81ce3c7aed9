"""Questions to the driver take much longer than usual, so long that samples come late, or never come back."""

from gpudiag.model import NvmlReading
from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import W5, W7D, NotMeasured, Window


@rule(severity="warning", rank=BLIND, clear_seconds=60.0)
def nvml_slow(
    node: Window,
    *,
    min_times_usual: float = 5.0,
    min_sweep_seconds: float = 0.5,
    max_call_seconds: float = 10.0,
    late_sweep_seconds: float = 1.0,
    late_look_seconds: float = 10.0,
) -> Fires | None:
    """GPU queries take much longer than usual."""
    nvml = node.latest.nvml if node.latest else None
    if nvml is None:
        if node.pasted:
            return None
        raise NotMeasured("nvml_sweep_seconds")
    if nvml.silent_seconds is not None and nvml.silent_seconds > max_call_seconds:
        silent = measured("silent_seconds", round(nvml.silent_seconds), source="agent")
        return Fires(
            (silent,), confidence="proven", variant="silent", words={"call": nvml.silent_call or "-"}
        )
    if nvml.sweep_seconds is not None and nvml.sweep_seconds > min_sweep_seconds:
        slow = _sweeps(node, min_sweep_seconds, min_times_usual, late_sweep_seconds)
        if slow is not None:
            return slow
    if nvml.silent_seconds is not None and nvml.look_seconds is None:
        raise NotMeasured("nvml_sweep_seconds", reason="timeout")
    return _looks(nvml, late_look_seconds)


def _sweeps(node: Window, quick: float, times_usual: float, late: float) -> Fires | None:
    """What is asked every second: slower than it was, or as slow as ever and too slow for that."""
    recent = node.host.over("nvml_sweep_seconds", W5).mean
    if recent <= quick:
        return None
    node.require(W5)
    usual = node.host.over("nvml_sweep_seconds", W7D).min
    seen = measured("sweep_seconds", round(recent, 2), of=round(usual, 3), window=W5, source="agent")
    if recent > times_usual * usual:
        return Fires((seen,))
    if recent >= late:
        return Fires((seen,), severity="info", confidence="possible", variant="late")
    return None


def _looks(nvml: NvmlReading, late: float) -> Fires | None:
    """What is asked once a report: so slow that it is old when it is told."""
    if nvml.look_seconds is None or nvml.look_seconds < late:
        return None
    seen = measured("look_seconds", round(nvml.look_seconds, 1), source="agent")
    return Fires((seen,), severity="info", confidence="possible", variant="lists")
