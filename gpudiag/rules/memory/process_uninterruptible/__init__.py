"""A process on a GPU is stuck in the kernel and cannot be ended."""

from gpudiag.rule import STUCK, Fires, measured, rule
from gpudiag.rules.engines import each
from gpudiag.rules.holders import name, owner
from gpudiag.window import W5, NotMeasured, ProcessWindow, Window

DRIVER = ("nv", "uvm", "os_", "rm_", "_nv", "gsp", "kgsp")
FILES = (
    "io_schedule",
    "nfs",
    "rpc",
    "folio",
    "wait_on_page",
    "xfs",
    "ext4",
    "jbd2",
    "fuse",
    "ceph",
    "lustre",
)


@rule(
    severity="critical",
    rank=STUCK,
    explains=("memory-held-idle", "held-by-idle-process", "model-loading"),
)
def process_uninterruptible(node: Window, *, min_stuck_share: float = 0.9) -> list[Fires]:
    """A process is stuck in the kernel and holds the GPU."""

    def judged(process: ProcessWindow) -> Fires | None:
        reading = process.reading
        channel = reading.wait_channel or ""
        in_driver = channel.startswith(DRIVER)
        if reading.state != "D" and not (in_driver and reading.state == "R"):
            return None
        if channel.startswith(FILES) or not (reading.gpus or reading.open_devices or node.pasted):
            return None
        if node.pasted:
            if in_driver:
                return _fires(process, None, "likely")
            return None
        process.require(W5)
        stuck = process.over("uninterruptible", W5).mean
        if reading.state == "D" and stuck >= min_stuck_share:
            if not channel and _gets_on(node, process):
                raise NotMeasured("wait_channel", reason="no_permission")
            return _fires(process, stuck, "likely" if in_driver else "possible")
        return None

    return each(node.processes.values(), judged)


def _gets_on(node: Window, process: ProcessWindow, min_percent: float = 2.0) -> bool:
    """Its CPU or its GPU works between one look and the next: it may read files from something slow."""
    if process.reading.cpu_percent is not None and process.over("cpu_percent", W5).mean >= min_percent:
        return True
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in process.gpus]
    return any(gpu.over("utilization_percent", W5).mean >= min_percent for gpu in gpus)


def _fires(process: ProcessWindow, stuck: float | None, confidence: str) -> Fires:
    reading = process.reading
    evidence = [measured("state", reading.state, source="/proc")]
    if stuck is not None:
        evidence.append(measured("stuck_ratio", stuck, window=W5, source="/proc"))
    if reading.wait_channel:
        evidence.append(measured("waits_in", reading.wait_channel, source="/proc"))
    gpus = [use.gpu for use in reading.gpus or ()] or list(reading.open_devices or ())
    return Fires(
        tuple(evidence),
        confidence=confidence,  # type: ignore[arg-type]
        key=f"pid:{reading.pid}:{reading.started_at or 0:.0f}",
        gpu=gpus[0] if len(gpus) == 1 else None,
        words={
            "process": name(process),
            "pid": str(reading.pid),
            "owner": owner(process),
            "channel": reading.wait_channel or "-",
            "gpus": gpus,
        },
    )
