"""Some nodes of a pool run another driver than the rest."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from gpudiag.fleet import Fleet
from gpudiag.rule import HINT, Fires, calculated, measured, rule
from gpudiag.window import Window


@rule(severity="info", rank=HINT, confidence="proven")
def driver_skew_fleet(fleet: Fleet, *, min_nodes: int = 5, min_share: float = 0.8) -> Iterator[Fires]:
    """The driver, or a card's VBIOS, differs from what most nodes of the pool have."""
    pools: dict[str, list[Window]] = {}
    for window in fleet.windows.values():
        if window.latest is not None and window.latest.source != "pasted":
            labels = window.latest.labels or {}
            pools.setdefault(labels.get("pool", ""), []).append(window)
    for pool, windows in sorted(pools.items()):
        yield from _of(pool, "driver", {w.node: _driver(w) for w in windows}, min_nodes, min_share)
        by_model: dict[str, dict[str, str | None]] = defaultdict(dict)
        for window in windows:
            cards = [(gpu.reading.name, gpu.reading.vbios) for gpu in window.gpus.values()]
            for name, vbios in dict.fromkeys(cards):
                if name:
                    by_model[name][window.node] = vbios
        for model, values in sorted(by_model.items()):
            yield from _of(pool, f"VBIOS ({model})", values, min_nodes, min_share)


def _driver(window: Window) -> str | None:
    return window.latest.driver_version if window.latest else None


def _of(
    pool: str, what: str, values: dict[str, str | None], min_nodes: int, min_share: float
) -> Iterator[Fires]:
    known = {node: value for node, value in values.items() if value is not None}
    if len(known) < min_nodes:
        return
    usual, count = Counter(known.values()).most_common(1)[0]
    odd = sorted(node for node, value in known.items() if value != usual)
    if not odd or count < min_share * len(known):
        return
    yield Fires(
        (
            calculated("odd_nodes", len(odd), of=len(known)),
            measured("odd_version", known[odd[0]], of=usual, source="agents"),
        ),
        key=f"{pool}/{what}",
        words={"what": what, "pool": pool or "-", "nodes": ", ".join(odd[:8]), "first": odd[0]},
    )
