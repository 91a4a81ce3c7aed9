"""The job waits for a disk or a network file system."""

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.rules.load.evidence import fed_too_late, feeders, low_utilization
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow

FILE_WAITS = ("io_schedule", "nfs", "rpc", "folio", "wait_on_page", "xfs", "ext4", "lustre", "ceph", "fuse")


@rule(severity="warning", rank=INEFFICIENT, given=("loaded", "underused"), also="low-util-under-load")
def storage_bound(
    gpu: GpuWindow,
    *,
    min_pressure_percent: float = 10.0,
    min_waiting_share: float = 0.5,
    min_disk_busy_ratio: float = 0.9,
) -> Fires | None:
    """The job waits for disk or NFS."""
    load = fed_too_late(gpu)
    if load is None:
        return None
    host = gpu.node.host
    waits = next((p for p in feeders(gpu, load) if _waits(p, min_waiting_share)), None)
    reading = gpu.node.latest.host if gpu.node.latest else None
    pressure = disk = None
    if reading is not None and reading.io_pressure_full is not None:
        pressure = host.over("io_pressure_full", W5).mean
    if reading is not None and reading.disk_busy_ratio is not None:
        disk = host.over("disk_busy_ratio", W5).mean
    if waits is None and pressure is None and disk is None:
        raise NotMeasured("host.io_pressure_full")
    stalls = (pressure or 0.0) > min_pressure_percent
    if not stalls and waits is None:
        return None
    evidence = [low_utilization(gpu), *load.evidence]
    if disk is not None:
        evidence.insert(0, measured("disk_busy_ratio", round(disk, 2), window=W5, source="/proc/diskstats"))
    if pressure is not None:
        evidence.insert(0, measured("io_pressure_percent", round(pressure), window=W5, source="PSI"))
    sure = (waits is not None) + stalls + ((disk or 0.0) >= min_disk_busy_ratio) >= 2
    words = {}
    if waits is not None:
        state = f"{waits.reading.wait_channel or 'D'}"
        evidence.insert(0, measured("waits_in", state, source="/proc"))
        words = {"process": waits.reading.name or "-", "pid": str(waits.reading.pid)}
    return Fires(
        tuple(evidence),
        confidence="likely" if sure else "possible",
        variant=None if waits is None else "file-wait",
        words=words,
    )


def _waits(process: ProcessWindow, min_share: float) -> bool:
    """It sits in a file system call most of the time: state D with a file's wait channel."""
    if process.reading.state is None:
        return False
    channels = [process.reading.wait_channel, *(t.wait_channel for t in process.reading.threads or ())]
    in_files = any(channel and channel.startswith(FILE_WAITS) for channel in channels)
    return in_files and process.over("uninterruptible", W5).mean >= min_share
