"""A CPU core at 100 % beside an idle GPU: the engine's polling loop."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.rules.engines import asked, each, only_gpu
from gpudiag.window import W5, EngineWindow, NotMeasured, ProcessWindow, Window


@rule(severity="ok", rank=HINT, given=("engine",))
def idle_cpu_spin(
    node: Window, *, min_thread_percent: float = 90.0, min_quiet_share: float = 0.95
) -> list[Fires]:
    """A busy CPU core beside an idle GPU is the engine's polling loop."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if not reading.metrics_ok or reading.requests_running or reading.sleeping or not engine.covers(W5):
            return None
        pids = engine.pids
        mine = [process for process in node.processes.values() if process.reading.pid in pids]
        if mine and all(process.reading.threads is None for process in mine):
            raise NotMeasured("threads")
        hot = next((process for process in mine if _spins(process, min_thread_percent)), None)
        if hot is None or not _quiet(node, engine, min_quiet_share) or asked(engine):
            return None
        return Fires(
            (
                measured(
                    "hottest_thread_percent",
                    round(hot.over("hottest_thread_percent", W5).mean),
                    window=W5,
                    source="/proc",
                ),
                measured("requests_running", 0, source=reading.name),
            ),
            key=reading.name,
            gpu=only_gpu(engine),
            words={
                "process": hot.reading.name or "-",
                "pid": str(hot.reading.pid),
                "engine": reading.name,
            },
        )

    return each(node.engines.values(), judged)


def _spins(process: ProcessWindow, min_percent: float) -> bool:
    threads = process.reading.threads
    if not threads or (threads[0].cpu_percent or 0.0) < min_percent:
        return False
    return process.over("hottest_thread_percent", W5).mean >= min_percent


def _quiet(node: Window, engine: EngineWindow, min_share: float) -> bool:
    """Nothing runs on any of its GPUs."""
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in (engine.reading.gpus or ())]
    return bool(gpus) and all(gpu.share("quiet", W5) >= min_share for gpu in gpus)
