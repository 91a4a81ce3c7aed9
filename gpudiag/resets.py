"""When a GPU was reset while its machine went on: by the driver's own word, never by a guess.

A driver that asked for a reset (NVML's recovery action, Xid 154) and then asks for nothing has had it.
Counters that fell to zero prove no reset: `nvidia-smi -p 0` clears them, and without persistence mode they
end with the last program on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpudiag.model import KernelEvent
from gpudiag.window import Window
from gpudiag.xid import ACTION

ACTIONS = frozenset({"gpu_reset", "drain_and_reset", "bus_reset"})
"""What a reset of the GPU settles; a node that is to be rebooted is asked for more."""


def resets(node: Window) -> dict[int, float]:
    """GPU index → the last moment that lies before its latest reset, for those that had one."""
    if node.pasted:
        return {}  # its lines need not be dated
    found = {gpu.index: gpu.reset_after for gpu in node.gpus.values() if gpu.reset_after is not None}
    for gpu, at in _by_log(node):
        found[gpu] = max(at, found.get(gpu, at))
    return found


def settled(event: KernelEvent, resets: dict[int, float]) -> bool:
    """Whether the GPU of an event was reset since."""
    return event.gpu in resets and (event.last_at or event.at or 0.0) <= resets[event.gpu]


def _by_log(node: Window) -> Iterator[tuple[int, float]]:
    """Where the log says that the recovery action of a GPU changed from a reset to none."""
    asked: set[int] = set()
    for event in node.events:
        if event.number not in ACTION or event.gpu is None or event.action is None:
            continue
        if event.action == "none" and event.gpu in asked and event.at is not None:
            yield event.gpu, event.at
        (asked.add if event.action in ACTIONS else asked.discard)(event.gpu)
