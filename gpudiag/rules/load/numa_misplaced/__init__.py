"""The process runs on CPUs that are far from its GPU."""

from gpudiag.rule import HINT, Fires, declared, measured, rule
from gpudiag.rules.load.evidence import starved
from gpudiag.window import W5, GpuWindow, NotMeasured, ProcessWindow


@rule(severity="info", rank=HINT, maturity="experimental", given=("process",))
def numa_misplaced(gpu: GpuWindow, *, min_pcie_rate: float = 5e9) -> Fires | None:
    """The process runs on the far CPU socket from its GPU."""
    near, nodes = gpu.reading.cpu_affinity, _nodes(gpu)
    if not near or nodes == 1 or (gpu.reading.numa_node is not None and gpu.reading.numa_node < 0):
        return None
    far = next((process for process in gpu.processes if _far(process, set(near))), None)
    if far is None:
        return None
    if nodes is None:
        raise NotMeasured("host.numa_nodes")
    rate = gpu.reading.pcie_rx_bytes_per_second or 0.0
    if rate < min_pcie_rate and starved(gpu) is None:
        return None  # nothing suffers from it
    gpu.require(W5)
    reading = far.reading
    return Fires(
        (
            declared("near_cpus", _ranges(near), source="NVML"),
            measured("allowed_cpus", _ranges(reading.cpus_allowed or []), source="/proc"),
        ),
        words={
            "process": reading.name or "-",
            "pid": str(reading.pid),
            "numa": str(gpu.reading.numa_node or 0),
        },
    )


def _nodes(gpu: GpuWindow) -> int | None:
    host = gpu.node.latest.host if gpu.node.latest else None
    return host.numa_nodes if host else None


def _far(process: ProcessWindow, near: set[int]) -> bool:
    allowed = process.reading.cpus_allowed
    return bool(allowed) and not near.intersection(allowed or ())


def _ranges(cpus: list[int]) -> str:
    """`0-15,32-47`"""
    parts: list[list[int]] = []
    for cpu in sorted(cpus):
        if parts and cpu == parts[-1][1] + 1:
            parts[-1][1] = cpu
        else:
            parts.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
