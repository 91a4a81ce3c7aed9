"""A GPU fell off the PCIe bus: the driver cannot reach it any more."""

from collections.abc import Iterator
from typing import Any

from gpudiag.model import Confidence
from gpudiag.rule import DEVICE, Fires, measured, rule
from gpudiag.rules.faults.episodes import (
    SILENCED_BY_A_LOST_GPU,
    Episode,
    since,
    told,
    words_of_line,
)
from gpudiag.window import GpuWindow, NotMeasured, Window, bus_key
from gpudiag.xid import BUS

LOST = "gpu_is_lost"


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
    found = False
    named: set[Any] = set()
    for episode in _told(node):
        if episode.bus in named or (episode.gpu is not None and episode.gpu in named):
            continue
        if not episode.bus and found:
            continue  # the same in other words
        named |= {episode.bus, episode.gpu}
        found = True
        yield Fires(
            episode.evidence(),
            gpu=episode.gpu,
            key=episode.bus,
            since=since(node, episode),
            words=episode.words(),
        )
    for gpu in node.gpus.values():
        if gpu.index not in named and (_lost(gpu) or _silent(gpu)):
            found = True
            yield _by_nvml(gpu)
    if node.pasted and not found:
        yield from _pasted(node)
        yield from _before(node)


def _told(node: Window) -> list[Episode]:
    """What the log says; without a log the driver itself may still say it."""
    try:
        return told(node, BUS, "fallen_off_bus")
    except NotMeasured:
        if node.latest is not None and (node.latest.gpus or node.latest.paste):
            return []
        raise


def _lost(gpu: GpuWindow) -> bool:
    return gpu.present and (gpu.reading.error == LOST or gpu.node.gap(f"gpu:{gpu.index}", "*") == LOST)


def _silent(gpu: GpuWindow) -> bool:
    """Every value of a pasted GPU reads ERR!; where an error line names it, that line tells more."""
    paste = gpu.node.latest.paste if gpu.node.latest else None
    return bool(paste and gpu.present and gpu.reading.error == "unknown_error"
                and "device_handle" not in (paste.errors or ()))  # fmt: skip


def _by_nvml(gpu: GpuWindow) -> Fires:
    bus = gpu.reading.bus_id or "?"
    by_address = gpu.node.pasted and gpu.reading.bus_id  # the index of a pasted error line is not its own
    device = f"GPU {bus}" if by_address else f"GPU {gpu.index}"
    card = bus if by_address else str(gpu.index)
    words = {"device": device, "bus": bus, "card": card, "fault": "GPU is lost"}
    if not _lost(gpu):
        read = measured("readings", "ERR!", source="pasted text")
        return Fires((read,), gpu=gpu.index, variant="silent", confidence="likely", words=words)
    said = measured("nvml_error", "GPU is lost", source="NVML")
    return Fires((said,), gpu=gpu.index, variant="nvml", words=words)


def _before(node: Window) -> Iterator[Fires]:
    """An exporter's page has the Xid still, of a GPU whose values it reads."""
    for episode in told(node, frozenset(), "lost_before") if node.events else []:
        yield Fires(
            episode.evidence(),
            severity="warning",
            confidence="possible",
            variant="before",
            gpu=episode.gpu,
            words=episode.words(),
        )


def _pasted(node: Window) -> Iterator[Fires]:
    """A tool's error lines in pasted text name GPUs, or none."""
    paste = node.latest.paste if node.latest else None
    if paste is None:
        return
    lines = [line for line in paste.error_lines or () if "requires reset" not in line]
    lost = [line for line in lines if "lost" in line.lower() or "fallen off" in line]
    if lost and "gpu_is_lost" in (paste.errors or ()):
        yield _by_line(node, lost[0], "nvml", "proven")
    elif "device_handle" in (paste.errors or ()):
        by_card = {words_of_line(line)["card"]: line for line in reversed(lines) if "handle" in line}
        for line in reversed(by_card.values()):
            yield _by_line(node, line, "handle", "likely")


def _by_line(node: Window, line: str, variant: str, confidence: Confidence) -> Fires:
    words = words_of_line(line)
    named = (g.index for g in node.gpus.values() if bus_key(g.reading.bus_id or "") == bus_key(words["bus"]))
    return Fires(
        (measured("tool_error", line, source="pasted text"),),
        variant=variant,
        confidence=confidence,
        gpu=next(named, None),
        key=words["bus"],
        words=words,
    )
