"""A GPU fell off the PCIe bus: the driver cannot reach it any more."""

import re
from collections.abc import Iterator
from typing import Any

from gpudiag.rule import DEVICE, Fires, measured, rule
from gpudiag.rules.faults.episodes import (
    SILENCED_BY_A_LOST_GPU,
    Episode,
    of_kind,
    since,
    xids,
)
from gpudiag.window import GpuWindow, NotMeasured, Window
from gpudiag.xid import BUS

LOST = "gpu_is_lost"
BUS_ID = re.compile(
    r"\b[0-9a-fA-F]{3,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]|(?<=GPU)[0-9a-fA-F]{3,8}:\S+\.[0-7]"
)


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=SILENCED_BY_A_LOST_GPU,
)
def gpu_lost_bus(node: Window) -> Iterator[Fires]:
    """The GPU does not answer on the bus any more (Xid 79, or NVML: GPU is lost)."""
    told = _told(node)
    named = set()
    for episode in told:
        if episode.key in named or (episode.gpu is not None and episode.gpu in named):
            continue
        named |= {episode.key, f"{episode.bus}/79", f"{episode.bus}/fallen_off_bus", episode.gpu}
        yield Fires(
            episode.evidence(),
            gpu=episode.gpu,
            key=episode.bus,
            since=since(node, episode),
            words=episode.words(),
        )
    for gpu in node.gpus.values():
        if gpu.index not in named and _lost(gpu):
            yield _by_nvml(gpu)
    yield from _pasted(node, bool(named))


def _told(node: Window) -> list[Episode]:
    """What the log says; without a log the driver itself may still say it."""
    try:
        return xids(node, BUS) + of_kind(node, "fallen_off_bus")
    except NotMeasured:
        if node.latest is not None and (node.latest.gpus or node.latest.paste):
            return []
        raise


def _lost(gpu: GpuWindow) -> bool:
    return gpu.present and (gpu.reading.error == LOST or gpu.node.gap(f"gpu:{gpu.index}", "*") == LOST)


def _by_nvml(gpu: GpuWindow) -> Fires:
    bus = gpu.reading.bus_id or "?"
    by_address = gpu.node.pasted and gpu.reading.bus_id  # the index of a pasted error line is not its own
    device = f"GPU {bus}" if by_address else f"GPU {gpu.index}"
    card = bus if by_address else str(gpu.index)
    return Fires(
        (measured("nvml_error", "GPU is lost", source="NVML"),),
        gpu=gpu.index,
        variant="nvml",
        words={"device": device, "bus": bus, "card": card, "fault": "GPU is lost"},
    )


def _pasted(node: Window, named: bool) -> Iterator[Fires]:
    """A tool's error line in pasted text names a GPU, or none."""
    paste = node.latest.paste if node.latest else None
    errors = (paste.errors if paste else None) or []
    lines = (paste.error_lines if paste else None) or []
    if named or not node.pasted:
        return
    for kind, variant in (("gpu_is_lost", "nvml"), ("device_handle", "handle")):
        if kind in errors:
            line = next((line for line in lines if "lost" in line or "handle" in line), kind)
            yield Fires(
                (measured("tool_error", line, source="pasted text"),),
                variant=variant,
                confidence="likely" if variant == "handle" else "proven",
                words=_words(line),
            )
            return


def _words(line: str) -> dict[str, Any]:
    """The card that a tool's line names by its PCI address, where it does."""
    match = BUS_ID.search(line)
    bus = match[0] if match else None
    return {
        "device": f"GPU {bus}" if bus else "GPU",
        "bus": bus or "?",
        "card": bus or "BUS_ID",
        "fault": line,
    }
