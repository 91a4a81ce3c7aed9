"""Ranks of a job wait for the network between the nodes."""

from gpudiag.model import NetworkPort
from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import W5, NotMeasured, Window


@rule(
    severity="warning",
    rank=INEFFICIENT,
    maturity="experimental",
    confidence="possible",
    explains=("busy-but-inefficient",),
)
def network_bound(
    node: Window,
    *,
    min_rate_share: float = 0.80,
    min_wait_ratio: float = 0.10,
    min_utilization_percent: float = 90.0,
    max_power_share: float = 0.60,
) -> Fires | None:
    """Ranks wait for the network."""
    ranked = [p for p in node.processes.values() if p.reading.ranks and p.reading.gpus]
    if not ranked or not any(_nodes(p.reading.ranks or {}) for p in ranked):
        return None
    indexes = {use.gpu for process in ranked for use in process.reading.gpus or ()}
    gpus = [gpu for gpu in node.gpus.values() if gpu.index in indexes]
    waiting = [
        gpu
        for gpu in gpus
        if gpu.over("utilization_percent", W5).mean >= min_utilization_percent
        and gpu.over("power_watts", W5).mean < max_power_share * gpu.now("power_limit_watts")
    ]
    if not waiting:
        return None
    host = node.latest.host if node.latest else None
    if host is None or host.ports is None:
        raise NotMeasured("host.ports")
    port = next((p for p in host.ports if _full(p, min_rate_share, min_wait_ratio)), None)
    if port is None:
        return None
    node.require(W5)
    power = sum(gpu.over("power_watts", W5).mean for gpu in waiting) / len(waiting)
    evidence = [
        measured("power_watts", round(power), of=round(waiting[0].now("power_limit_watts")), window=W5)
    ]
    if port.bytes_per_second is not None:
        limit = (port.rate_gigabits_per_second or 0) * 1e9 / 8 or None
        evidence.insert(
            0, measured("network_bytes_per_second", port.bytes_per_second, of=limit, source="sysfs")
        )
    if port.wait_ratio is not None:
        evidence.append(measured("wait_ratio", port.wait_ratio, source="sysfs"))
    held = [gpu.index for gpu in waiting]
    names = ", ".join(map(str, held))
    return Fires(tuple(evidence), words={"port": port.name, "names": names, "gpus": held})


def _nodes(ranks: dict[str, str]) -> bool:
    """The job spans nodes: its world is larger than what runs here."""
    world, local = ranks.get("WORLD_SIZE", ""), ranks.get("LOCAL_WORLD_SIZE", "")
    return world.isdigit() and (int(world) > int(local) if local.isdigit() else int(world) > 1)


def _full(port: NetworkPort, min_share: float, min_wait: float) -> bool:
    if (port.wait_ratio or 0.0) >= min_wait:
        return True
    rate = port.rate_gigabits_per_second
    return bool(rate and port.bytes_per_second and port.bytes_per_second * 8 >= min_share * rate * 1e9)
