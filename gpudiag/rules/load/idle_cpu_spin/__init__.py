"""A CPU core at 100 % beside an idle GPU: the engine's polling loop."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.rules.engines import asked
from gpudiag.window import W5, GpuWindow, NotMeasured


@rule(severity="ok", rank=HINT, given=("idle", "engine"))
def idle_cpu_spin(
    gpu: GpuWindow, *, min_thread_percent: float = 90.0, min_quiet_share: float = 0.95
) -> Fires | None:
    """A busy CPU core beside an idle GPU is the engine's polling loop."""
    engines = [engine for engine in gpu.engines if engine.reading.metrics_ok]
    if not engines or not gpu.covers(W5) or gpu.share("quiet", W5) < min_quiet_share:
        return None
    pids = {e.reading.pid for e in engines} | {p for e in engines for p in e.reading.worker_pids or ()}
    mine = [p for p in gpu.node.processes.values() if p.reading.pid in pids]
    hot = next((p for p in mine if p.reading.threads and _spins(p, min_thread_percent)), None)
    if hot is None:
        if mine and all(process.reading.threads is None for process in mine):
            raise NotMeasured("threads")
        return None
    if any(asked(engine) for engine in engines):
        return None
    return Fires(
        (
            measured(
                "hottest_thread_percent",
                round(hot.over("hottest_thread_percent", W5).mean),
                window=W5,
                source="/proc",
            ),
            measured("quiet_ratio", gpu.share("quiet", W5), window=W5),
            measured("requests_running", 0, source=engines[0].reading.name),
        ),
        words={"process": hot.reading.name or "-", "pid": str(hot.reading.pid)},
    )


def _spins(process: object, min_percent: float) -> bool:
    return bool(process.over("hottest_thread_percent", W5).mean >= min_percent)  # type: ignore[attr-defined]
