"""Questions to the driver take much longer than usual, or do not come back at all."""

from gpudiag.rule import BLIND, Fires, measured, rule
from gpudiag.window import W5, W7D, NotMeasured, Window


@rule(severity="warning", rank=BLIND)
def nvml_slow(
    node: Window,
    *,
    min_times_usual: float = 5.0,
    min_sweep_seconds: float = 0.5,
    max_call_seconds: float = 10.0,
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
    if nvml.sweep_seconds is None or nvml.sweep_seconds <= min_sweep_seconds:
        return None
    recent = node.host.over("nvml_sweep_seconds", W5)
    if recent.mean <= min_sweep_seconds:
        return None
    node.require(W5)
    usual = node.host.over("nvml_sweep_seconds", W7D).min
    if recent.mean <= min_times_usual * usual:
        return None
    return Fires(
        (measured("sweep_seconds", round(recent.mean, 2), of=round(usual, 3), window=W5, source="agent"),)
    )
