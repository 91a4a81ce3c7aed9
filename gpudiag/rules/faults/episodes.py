"""The kernel log of a node as episodes: one per GPU, complaint and cause, since the last boot or reset.

Shared by the rules on faults. Lines that follow another fault within a minute are attached to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from gpudiag.model import Evidence, KernelEvent
from gpudiag.resets import resets, settled
from gpudiag.rule import inferred, measured
from gpudiag.window import W24H, NotMeasured, Window, bus_key
from gpudiag.xid import FOLLOWERS, FOLLOWS_WITHIN_SECONDS, ROOTS, description_of

LOG = "kernel log"
SHOWN_SECONDS = 3600.0  # how long a note about one event is shown
BOOT_GRACE = 600.0  # links and firmware come up in the first ten minutes

SILENCED_BY_A_LOST_GPU = (
    "gpu-free", "healthy-busy", "kv-pool-reserved-idle", "weights-loaded-idle", "framework-prealloc-idle",
    "notebook-cached-memory", "idle-cpu-spin", "model-loading", "pcie-low-gen-idle", "power-cap-at-full-load",
    "mig-util-not-available", "memory-held-idle", "held-by-idle-process", "hidden-memory", "unknown-process",
    "orphaned-engine", "oom-risk", "low-util-under-load", "serving-wedged", "stuck-job", "nvlink-down",
    "nvlink-errors", "xid-nvlink", "pcie-errors", "pcie-width-degraded", "pcie-gen-degraded-under-load",
    "xid-hardware", "gsp-timeout", "gpu-needs-reset", "idle-power-high", "persistence-off", "sensor-error",
    "metric-not-supported",
)  # fmt: skip
"""Rules that say nothing of a GPU that does not answer."""


@dataclass(slots=True)
class Episode:
    """One complaint of one device. `root` is the Xid it follows; `named_only`: another line told of it."""

    kind: str
    number: int | None
    bus_id: str | None
    gpu: int | None
    text: str
    first: float
    last: float
    count: int = 0
    pids: set[int] = field(default_factory=set)
    processes: list[str] = field(default_factory=list)
    fatal: bool | None = None
    action: str | None = None
    root: int | None = None
    named_only: bool = False
    followers: set[int] = field(default_factory=set)  # Xids that are its consequences

    @property
    def bus(self) -> str:
        return bus_key(self.bus_id) if self.bus_id else ""

    @property
    def device(self) -> str:
        """The card as a person finds it: its index where known, its PCI address where the log gives it."""
        if self.gpu is None:
            return f"GPU {self.bus_id}" if self.bus_id else "GPU"
        return f"GPU {self.gpu} ({self.bus_id})" if self.bus_id else f"GPU {self.gpu}"

    @property
    def card(self) -> str:
        """What `nvidia-smi -i` takes: never a guessed index, which would name another card."""
        if self.gpu is not None:
            return str(self.gpu)
        if not self.bus_id:
            return "BUS_ID"
        return self.bus_id if "." in self.bus_id else f"{self.bus_id}.0"

    @property
    def key(self) -> str:
        return f"{self.bus}/{self.number if self.number is not None else self.kind}"

    def evidence(self) -> tuple[Evidence, ...]:
        """Number, times seen, the raw line, and what followed it."""
        found = [] if self.number is None else [self._number()]
        found.append(measured("event_count", self.count, source=LOG))
        found.append(measured("kernel_line", self.text, source=LOG))
        if self.followers:
            found.append(inferred("followed_by", ", ".join(map(str, sorted(self.followers))), source=LOG))
        return tuple(found)

    def _number(self) -> Evidence:
        if self.kind == "sxid":
            return measured("sxid", str(self.number), source=LOG)  # a name of five digits, not an amount
        return (inferred if self.named_only else measured)("xid", self.number, source=LOG)

    def words(self) -> dict[str, Any]:
        """Values for the page's sentences."""
        return {
            "device": self.device,
            "bus": self.bus_id or "?",
            "card": self.card,
            "fault": description_of(self.number) if self.number is not None else self.text,
        }


_CACHE: WeakKeyDictionary[Window, tuple[tuple[Any, ...], list[Episode]]] = WeakKeyDictionary()


def episodes(node: Window) -> list[Episode]:
    """What the log told since the last boot, or since the last reset of the card, oldest first."""
    if not node.events:
        return []
    booted = _booted_at(node)
    state = (len(node.events), id(node.events[-1]), booted, tuple(g.reset_after for g in node.gpus.values()))
    known = _CACHE.get(node)
    if known is None or known[0] != state:
        had = resets(node)
        since = [e for e in node.events if (e.at or booted) >= booted and not settled(e, had)]
        known = _CACHE[node] = (state, _gathered(since))
    return known[1]


def xids(node: Window, numbers: frozenset[int], span: float | None = None) -> list[Episode]:
    """Episodes with one of these Xids that follow no other fault. Raises NotMeasured when no log was read.

    `span` limits to the last so many seconds; pasted lines have no age.
    """
    return told(node, numbers, span=span)


def of_kind(node: Window, *kinds: str) -> list[Episode]:
    """Episodes of these kinds. Raises NotMeasured when no log was read."""
    return told(node, frozenset(), *kinds)


def told(node: Window, numbers: frozenset[int], *kinds: str, span: float | None = None) -> list[Episode]:
    """Episodes with one of the Xids or of one of the kinds, the numbered ones first.

    Where there are none, that says something only if the log was read: raises NotMeasured if not.
    """
    since = -1.0 if span is None or node.pasted else node.time - span
    found = [
        e
        for e in episodes(node)
        if (e.kind in kinds or (e.kind == "xid" and e.number in numbers and e.root is None))
        and e.last >= since
    ]
    if not found:
        require_log(node)
    return sorted(found, key=lambda episode: episode.kind != "xid") if kinds else found


def require_log(node: Window) -> None:
    """Raise NotMeasured unless the kernel log is read, or something of it was pasted."""
    snapshot = node.latest
    if node.pasted:
        if not node.events:
            raise NotMeasured("kernel_log", reason="not_shown")
        return
    agent = snapshot.agent if snapshot else None
    if agent is None or not agent.kernel_log_readable:
        raise NotMeasured("kernel_log", reason="no_permission" if agent else None)


def since(node: Window, episode: Episode) -> float | None:
    """When it began; None in pasted text, whose lines need not be dated."""
    return None if node.pasted else episode.first


def just_booted(node: Window, at: float) -> bool:
    """Whether `at` lies in the first minutes after boot, when links and firmware come up."""
    booted = _booted_at(node)
    return booted > 0 and at - booted < BOOT_GRACE


def in_the_last_day(node: Window, episode: Episode) -> bool:
    return node.pasted or episode.last >= node.time - W24H


def words_of_line(line: str) -> dict[str, Any]:
    """Values for the page's sentences from a tool's line: the card by its PCI address, where it is named."""
    match = _ADDRESS.search(line)
    bus = match[0] if match else None
    return {
        "device": f"GPU {bus}" if bus else "GPU",
        "bus": bus or "?",
        "card": bus or "BUS_ID",
        "fault": line,
    }


_ADDRESS = re.compile(r"(?<![0-9a-fA-F:])[0-9a-fA-F]{3,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


def _booted_at(node: Window) -> float:
    host = node.latest.host if node.latest else None
    return (host.booted_at or 0.0) - 5.0 if host else 0.0


def _gathered(events: list[KernelEvent]) -> list[Episode]:
    found: dict[tuple[Any, ...], Episode] = {}
    roots: list[KernelEvent] = []
    for event in events:
        root = _root_of(event, roots)
        _take(found, event, event.number, root)
        if event.caused_by is not None:
            _take(found, event, event.caused_by, None, named_only=True)
        if event.kind in ("xid", "fallen_off_bus") and (event.number in ROOTS or event.number is None):
            roots.append(event)
    told = {(e.bus, e.number) for e in found.values() if not e.named_only}
    kept = [e for e in found.values() if not (e.named_only and (e.bus, e.number) in told)]
    for follower in kept:
        if follower.root is not None and follower.number is not None:
            for episode in kept:
                if episode.number in (follower.root, None) and episode.bus in (follower.bus, ""):
                    episode.followers.add(follower.number)
    return kept


def _root_of(event: KernelEvent, roots: list[KernelEvent]) -> int | None:
    """The Xid that this event follows, or None."""
    if event.caused_by is not None:
        return event.caused_by
    if event.kind != "xid" or event.number not in FOLLOWERS:
        return None
    for root in roots:
        same = not event.bus_id or not root.bus_id or bus_key(event.bus_id) == bus_key(root.bus_id)
        if same and -1.0 <= _seconds_between(root, event) <= FOLLOWS_WITHIN_SECONDS:
            return root.number if root.number is not None else 79
    return None


def _seconds_between(root: KernelEvent, event: KernelEvent) -> float:
    """Distance by the log's own clock where both lines have it, else by the time of report."""
    if root.clock_seconds is not None and event.clock_seconds is not None:
        return event.clock_seconds - root.clock_seconds
    return (event.at or 0.0) - (root.at or 0.0)


def _take(
    found: dict[tuple[Any, ...], Episode],
    event: KernelEvent,
    number: int | None,
    root: int | None,
    named_only: bool = False,
) -> None:
    bus = bus_key(event.bus_id) if event.bus_id else ""
    key = (event.kind, number, bus or event.gpu, root, named_only)
    at = event.at or 0.0
    episode = found.get(key)
    if episode is None:
        episode = found[key] = Episode(
            kind=event.kind, number=number, bus_id=event.bus_id, gpu=event.gpu, text=event.text,
            first=at, last=at, root=root, named_only=named_only,
        )  # fmt: skip
    episode.last = max(episode.last, event.last_at or at)
    episode.count += event.count
    episode.gpu = event.gpu if event.gpu is not None else episode.gpu
    episode.action = event.action or episode.action
    if event.fatal is not None:
        episode.fatal = bool(episode.fatal) or event.fatal
    if event.pid is not None:
        episode.pids.add(event.pid)
    if event.process and event.process not in episode.processes:
        episode.processes.append(event.process)
