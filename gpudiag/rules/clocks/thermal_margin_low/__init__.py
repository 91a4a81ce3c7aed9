"""The GPU runs a few degrees below the temperature at which it must slow down."""

from gpudiag.rule import THERMAL, Fires, calculated, measured, rule
from gpudiag.window import W15, GpuWindow


@rule(severity="warning", rank=THERMAL, confidence="proven", maturity="experimental", given=("warm",))
def thermal_margin_low(gpu: GpuWindow, *, max_margin_celsius: float = 5.0) -> Fires | None:
    """Little margin to the device's own slowdown temperature for a quarter of an hour."""
    reading = gpu.reading
    if reading.temperature_margin_celsius is not None:
        if reading.temperature_margin_celsius > max_margin_celsius:
            return None
        margin: float | None = gpu.over("temperature_margin_celsius", W15).mean
    else:
        margin = _below(gpu, reading.temperature_slowdown_celsius)
    if margin is not None and margin <= max_margin_celsius:
        return _of(gpu, margin, None)
    operating = reading.temperature_operating_max_celsius
    if operating is not None and _now(gpu) >= operating - max_margin_celsius:
        return _of(gpu, operating - _now(gpu), "operating")
    if margin is None and operating is None:
        gpu.now("temperature_margin_celsius")  # says why it is not there
    return None


def _below(gpu: GpuWindow, limit: float | None) -> float | None:
    return None if limit is None else limit - gpu.over("temperature_celsius", W15).mean


def _now(gpu: GpuWindow) -> float:
    return float(gpu.now("temperature_celsius"))


def _of(gpu: GpuWindow, margin: float, variant: str | None) -> Fires:
    long_enough = gpu.covers(W15)
    window = W15 if long_enough else None
    return Fires(
        (
            calculated("temperature_margin_celsius", margin, window=window),
            measured("temperature_celsius", _now(gpu)),
        ),
        severity="info" if variant or not long_enough else "warning",
        confidence=None if long_enough else "possible",
        variant=variant,
    )
