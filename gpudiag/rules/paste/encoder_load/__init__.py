"""The video encoder or decoder works, which GPU utilization does not count."""

from gpudiag.model import Evidence
from gpudiag.rule import STATE, Fires, measured, rule
from gpudiag.window import GpuWindow


@rule(
    severity="ok",
    rank=STATE,
    confidence="proven",
    maturity="experimental",
    explains=("memory-held-idle", "low-util-under-load"),
)
def encoder_load(
    gpu: GpuWindow,
    *,
    min_percent: float = 10.0,
    max_utilization_percent: float = 40.0,
    min_power_share: float = 0.20,
) -> Fires | None:
    """The video encoder or decoder works; GPU utilization does not count it."""
    if gpu.reading.error or not gpu.present:
        return None
    seen = _at_work(gpu, min_percent)
    if seen:
        return Fires(tuple(seen))
    if not gpu.node.pasted or (gpu.reading.encoder_percent == 0 and not gpu.reading.decoder_percent):
        return None
    return _likely_program(gpu, max_utilization_percent, min_power_share)


def _at_work(gpu: GpuWindow, min_percent: float) -> list[Evidence]:
    """What its video units do, by the GPU's own numbers or by those of its processes."""
    reading = gpu.reading
    encoder, decoder = reading.encoder_percent or 0.0, reading.decoder_percent or 0.0
    if reading.encoder_percent is None or reading.decoder_percent is None:
        for process in gpu.processes:
            for use in process.reading.gpus or ():
                if use.gpu == gpu.index:
                    encoder = max(encoder, use.encoder_percent or 0.0)
                    decoder = max(decoder, use.decoder_percent or 0.0)
    source = "pasted text" if gpu.node.pasted else "NVML"
    seen = []
    if encoder > min_percent:
        seen.append(measured("encoder_percent", encoder, source=source))
    if decoder > min_percent:
        seen.append(measured("decoder_percent", decoder, source=source))
    if reading.encoder_sessions:
        seen.append(measured("encoder_sessions", reading.encoder_sessions, source=source))
    return seen


def _likely_program(gpu: GpuWindow, max_utilization_percent: float, min_power_share: float) -> Fires | None:
    """A program that encodes computes here, and the power is above rest at little utilization."""
    coders = [
        p
        for p in gpu.processes
        if p.workload.kind == "encoder"
        and any(use.gpu == gpu.index and "C" in (use.type or "C") for use in p.reading.gpus or ())
    ]
    reading = gpu.reading
    if not coders or (reading.utilization_percent or 0.0) > max_utilization_percent:
        return None
    power, limit = reading.power_watts, reading.power_limit_watts
    if power is not None and limit is not None and power < min_power_share * limit:
        return None
    seen = [measured("process", coders[0].reading.name or "encoder", source="pasted text")]
    if power is not None:
        seen.append(measured("power_watts", power, of=limit, source="pasted text"))
    return Fires(tuple(seen), severity="info", confidence="possible", variant="program")
