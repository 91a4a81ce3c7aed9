"""How the GPUs of a machine are joined, as `nvidia-smi topo` shows it, and what stands out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

from gpudiag.rule import DEVICE, Fires, measured, rule
from gpudiag.window import Window
from gpudiag.words import units

NEAR_TO_FAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
NO_ACCESS = ("CNS", "GNS", "TNS", "NS", "DR", "U")
"""States of `topo -p2p` in which two GPUs do not read each other's memory."""
TEXT = "pasted text"
FEWEST = 3  # GPUs that are all joined to each other, beside which another one stands out
MADE_FOR_IT = ("SXM", "HBM", "GB200", "GB300", "B200", "B300")

Pair = tuple[int, int]


@rule(severity="info", rank=DEVICE, given=("pasted",), confidence="proven", maturity="experimental")
def gpu_topology(node: Window) -> Fires | None:
    """How the GPUs are joined: over NVLink or PCIe, and whether one of them stands apart."""
    rows = {gpu.index: gpu.reading.joined for gpu in node.gpus.values() if gpu.reading.joined}
    pairs = {(a, b): how for a, b in combinations(sorted(rows), 2) if (how := rows[a].get(f"GPU{b}"))}
    if not pairs:
        return None
    closed = [pair for pair, how in pairs.items() if how in NO_ACCESS]
    if closed:
        names = [f"{a}-{b}" for a, b in closed]
        return _fires("peers", measured("access_state", pairs[closed[0]], source=TEXT), pairs=_short(names))
    links = {pair: int(how[2:]) for pair, how in pairs.items() if how.startswith("NV")}
    if set(pairs.values()) <= {"OK"}:
        return None
    if not links:
        return _over_pcie(node, pairs)
    return _apart(rows.keys(), links) or _far_from_network(rows) or _joined(rows.keys(), pairs, links)


def _fires(variant: str | None, *evidence: object, **words: object) -> Fires:
    severity = "warning" if variant in (None, "fewer", "missing") else "info"
    confidence = {None: "likely", "fewer": "likely", "missing": "possible"}.get(variant, "proven")
    return Fires(evidence, severity=severity, confidence=confidence, variant=variant, words=words)  # type: ignore[arg-type]


def _over_pcie(node: Window, pairs: dict[Pair, str]) -> Fires:
    """No NVLink at all: how far the GPUs are from each other."""
    farthest = max(pairs.values(), key=_distance)
    names = [gpu.reading.name or "" for gpu in node.gpus.values()]
    if names and all(any(mark in name for mark in MADE_FOR_IT) for name in names):
        return _fires("missing", measured("farthest", farthest, source=TEXT))
    near = [pair for pair, how in pairs.items() if how != "SYS"]
    gpus = {gpu for pair in pairs for gpu in pair}
    return _fires("pcie", measured("farthest", farthest, source=TEXT), **_grouped(gpus, near))


def _apart(gpus: Iterable[int], links: dict[Pair, int]) -> Fires | None:
    """GPUs with no NVLink, or with fewer, where all the others are joined to each other alike."""
    usual = Counter(links.values()).most_common(1)[0][0]
    weak = [gpu for gpu in gpus if all(count < usual for pair, count in links.items() if gpu in pair)]
    others = [gpu for gpu in gpus if gpu not in weak]
    if not weak or len(others) < FEWEST or len(weak) >= len(others):
        return None
    if any(links.get(pair) != usual for pair in combinations(sorted(others), 2)):
        return None
    left = {links.get((min(a, b), max(a, b)), 0) for a in weak for b in others}
    if len(left) > 1:
        return None
    count = left.pop()
    found = measured("nvlinks_active", count, of=usual, source=TEXT)
    return _fires("fewer" if count else None, found, gpus=_named(weak))


def _far_from_network(rows: dict[int, dict[str, str]]) -> Fires | None:
    """GPUs whose nearest network card is on the other side of the machine."""
    nearest = {
        gpu: min((_distance(how) for name, how in row.items() if not name.startswith("GPU")), default=None)
        for gpu, row in rows.items()
    }
    far = [gpu for gpu, distance in nearest.items() if distance == _distance("SYS")]
    return _fires("nic", measured("nearest_card", "SYS", source=TEXT), gpus=_named(far)) if far else None


def _joined(gpus: Iterable[int], pairs: dict[Pair, str], links: dict[Pair, int]) -> Fires:
    if len(links) == len(pairs):
        return _fires(
            "even",
            measured("nvlinks_between", _short(sorted({f"NV{n}" for n in links.values()})), source=TEXT),
        )
    most = max(links.values())
    return _fires("partly", measured("nvlinks_between", f"NV{most}", source=TEXT), **_grouped(gpus, links))


def _distance(how: str) -> int:
    return NEAR_TO_FAR.index(how) if how in NEAR_TO_FAR else -1


def _grouped(gpus: Iterable[int], near: Iterable[Pair]) -> dict[str, str]:
    """GPUs that are near to each other, by way of others as well: `0-3 | 4-7`, and the largest of them."""
    groups = [{gpu} for gpu in sorted(gpus)]
    for pair in near:
        merged = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in merged] + [set().union(*merged)]
    groups.sort(key=min)
    largest = max(groups, key=len)
    return {
        "groups": " | ".join(map(units.runs, groups)),
        "largest": ",".join(map(str, sorted(largest))),
    }


def _named(gpus: Iterable[int]) -> str:
    return f"GPU {units.runs(gpus)}"


def _short(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" (+{len(names) - most})" if len(names) > most else "")
