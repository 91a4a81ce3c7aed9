"""A network port between nodes is down, slow or flapping."""

from collections.abc import Iterator
from statistics import mode

from gpudiag.model import NetworkPort
from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import NotMeasured, Window

HELD_SECONDS = 30.0
FLAPPING_SECONDS = 600.0
UP = ("active", "up")


@rule(severity="warning", rank=INEFFICIENT)
def ib_link_problem(node: Window, *, min_downs: int = 2) -> Iterator[Fires]:
    """An InfiniBand or RoCE port that was up is down, is slower than its siblings, or flaps."""
    host = node.latest.host if node.latest else None
    if host is None or host.ports is None:
        if node.pasted or len(node.gpus) < 2 or (host is not None and node.gap("host", "ports") is None):
            return
        raise NotMeasured("host.ports", reason=node.gap("host", "ports"))
    fabric = [port for port in host.ports if port.kind == "infiniband"]
    rates = [port.rate_gigabits_per_second for port in fabric if _up(port) and port.rate_gigabits_per_second]
    usual = mode(rates) if len(rates) >= 3 else None
    all_down = bool(fabric) and not any(_up(port) for port in fabric)
    for port in fabric:
        fires = _of(node, port, usual, all_down, min_downs)
        if fires is not None:
            yield fires


def _up(port: NetworkPort) -> bool:
    return (port.state or "").lower() in UP


def _of(node: Window, port: NetworkPort, usual: float | None, all_down: bool, min_downs: int) -> Fires | None:
    words = {"port": port.name, "adapter": port.name.split(":")[0]}
    downs = node.host.link_downs(port.name, FLAPPING_SECONDS)
    if downs >= min_downs:
        evidence = (measured("link_downs", downs, window=FLAPPING_SECONDS, source="/sys"),)
        return Fires(evidence, confidence="proven", variant="flapping", key=port.name, words=words)
    if not _up(port):
        seen = node.host.port_active_at.get(port.name)
        if seen is None or node.time - seen < HELD_SECONDS:
            return None  # never seen up: unused, or switched off on purpose
        evidence = (measured("port_state", port.state or "?", source="/sys"),)
        return Fires(
            evidence,
            severity="critical" if all_down else "warning",
            confidence="proven",
            key=port.name,
            words=words,
            since=seen,
        )
    rate = port.rate_gigabits_per_second
    if rate is not None and usual is not None and rate < usual:
        evidence = (measured("rate_gigabits_per_second", rate, of=usual, source="/sys"),)
        return Fires(evidence, variant="slow", key=port.name, words=words)
    return None
