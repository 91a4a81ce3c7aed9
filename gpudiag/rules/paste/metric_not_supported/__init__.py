"""A value that decides reads N/A: not given by this GPU, driver model or account; no 0, no fault."""

from collections.abc import Iterator

from gpudiag.model import GpuReading, Snapshot
from gpudiag.rule import TEXT, Fires, measured, rule
from gpudiag.window import Window

DECISIVE = ("utilization_percent", "memory_used_bytes", "memory_total_bytes")
FULL_SHARE = 0.95  # of the memory that CPU and GPU share (our judgement)
NOT_GIVEN = ("not_supported", "no_permission", "function_not_found")


@rule(severity="info", rank=TEXT, confidence="proven", maturity="experimental")
def metric_not_supported(node: Window, *, min_busy_percent: float = 50.0) -> Iterator[Fires]:
    """A value that decides is not available on this GPU or driver model: N/A, not 0 and not a fault."""
    snapshot = node.latest
    if snapshot is None or snapshot.paste is None:
        return
    for gpu in snapshot.gpus:
        found = _of_gpu(snapshot, gpu, min_busy_percent)
        if found is not None:
            yield found
    if not snapshot.gpus and "insufficient_permissions" in (snapshot.paste.errors or ()):
        yield Fires((measured("cell", "[Insufficient Permissions]", source="pasted text"),), variant="rights")
    if "not_supported" in (snapshot.paste.errors or ()):
        yield Fires((measured("cell", "Not Supported", source="pasted text"),), variant="command")


def _of_gpu(snapshot: Snapshot, gpu: GpuReading, min_busy_percent: float) -> Fires | None:
    if gpu.error:
        return None
    gaps = {gap.metric: gap.reason for gap in snapshot.gaps if gap.subject == f"gpu:{gpu.index}"}
    lacks = [name for name in DECISIVE if gaps.get(name) in NOT_GIVEN]
    if gpu.mig_mode or gpu.mig_devices:
        lacks = [name for name in lacks if name != "utilization_percent"]  # mig-util-not-available
    if (gpu.utilization_percent or 0.0) >= min_busy_percent and gaps.get("power_watts") in NOT_GIVEN:
        lacks.append("power_watts")
    if "memory_used_bytes" in lacks and (board := _of_a_board(snapshot, gpu)) is not None:
        return board
    if lacks:
        seen = tuple(measured(name, "N/A", source="pasted text") for name in lacks)
        held = any(
            use.gpu == gpu.index and use.memory_used_bytes for p in snapshot.processes for use in p.gpus or ()
        )
        variant = _variant(gpu, lacks, gaps, held)
        return Fires(seen, gpu=gpu.index, key=str(gpu.index), variant=variant)
    if _processes_without_memory(snapshot, gpu.index) or (
        snapshot.paste is not None and snapshot.paste.process_list == "not_supported"
    ):
        seen = (measured("process_memory_bytes", "N/A", source="pasted text"),)
        return Fires(seen, gpu=gpu.index, key=str(gpu.index), variant="process-memory")
    return None


def _of_a_board(snapshot: Snapshot, gpu: GpuReading) -> Fires | None:
    """How full the memory is that CPU and GPU share, where the text shows it."""
    host = snapshot.host
    if host is None or not host.memory_total_bytes or host.memory_available_bytes is None:
        return None
    used, total = host.memory_total_bytes - host.memory_available_bytes, host.memory_total_bytes
    return Fires(
        (measured("shared_memory_used_bytes", used, of=total, source="pasted text"),),
        severity="warning" if used >= FULL_SHARE * total else "info",
        gpu=gpu.index,
        key=str(gpu.index),
        variant="board",
    )


def _variant(gpu: GpuReading, lacks: list[str], gaps: dict[str, str], held: bool) -> str | None:
    if any(gaps.get(name) == "no_permission" for name in lacks):
        return "rights"
    if "memory_used_bytes" in lacks and (held or gpu.utilization_percent is not None):
        return "unified"
    return "power" if lacks == ["power_watts"] else None


def _processes_without_memory(snapshot: Snapshot, index: int) -> bool:
    """Whether every process of the GPU lacks its memory because the driver does not give it."""
    pids = [p.pid for p in snapshot.processes if any(use.gpu == index for use in p.gpus or ())]
    gaps = {gap.subject: gap.reason for gap in snapshot.gaps if gap.metric == "memory_used_bytes"}
    return bool(pids) and all(gaps.get(f"process:{pid}") in NOT_GIVEN for pid in pids)
