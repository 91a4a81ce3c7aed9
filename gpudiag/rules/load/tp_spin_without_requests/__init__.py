"""Workers of a multi-GPU engine keep their GPUs at 100 % although nobody asks."""

from collections.abc import Iterator

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.engines import asked, each, reached_at, readable
from gpudiag.window import W5, EngineWindow, GpuWindow, Window


@rule(severity="info", rank=INEFFICIENT, given=("engine",), explains=("busy-but-inefficient", "stuck-job"))
def tp_spin_without_requests(
    node: Window,
    *,
    min_utilization_percent: float = 95.0,
    max_power_share: float = 0.40,
    idle_power_share: float = 0.10,
) -> list[Fires]:
    """Tensor-parallel workers keep GPUs at 100 % although there are no requests."""
    if not node.engines:
        return []

    def judged(engine: EngineWindow) -> Iterator[Fires]:
        reading = engine.reading
        if reading.sleeping or reading.requests_running or len(reading.gpus or ()) < 2:
            return
        gpus = [gpu for gpu in node.gpus.values() if gpu.index in (reading.gpus or ())]
        if any(gpu.over("utilization_percent", W5).mean < min_utilization_percent for gpu in gpus):
            return
        engine.require(W5)
        if asked(engine) or any(_others(gpu, engine) for gpu in gpus):
            return
        powers = [(gpu.over("power_watts", W5).mean, gpu.now("power_limit_watts")) for gpu in gpus]
        most = idle_power_share + max_power_share * (1 - idle_power_share)
        if any(power >= most * limit for power, limit in powers):
            return
        for gpu, (power, limit) in zip(gpus, powers, strict=True):
            yield Fires(
                (
                    measured(
                        "utilization_percent", round(gpu.over("utilization_percent", W5).mean), window=W5
                    ),
                    measured("requests_running", 0, window=W5, source=reading.name),
                    measured("power_watts", round(power), of=round(limit), window=W5),
                ),
                key=reading.name,
                gpu=gpu.index,
                words={"engine": reading.name, **reached_at(engine)},
            )

    return each(readable(node), judged)


def _others(gpu: GpuWindow, engine: EngineWindow) -> bool:
    """Another program works on this GPU as well."""
    own = engine.pids
    return any(p.reading.pid not in own and (p.memory_on(gpu.index) or 0) > 1 << 30 for p in gpu.processes)
