"""One pasted sample, for the cases of this family and its neighbours."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudiag.model import GpuReading, PasteReading, Snapshot
from gpudiag.rules.situations import START, idle_h100
from gpudiag.window import Window


def one_sample(gpus: int = 1, **values: Any) -> Window:
    """A window of one pasted `nvidia-smi -q` of idle H100s, of which the first shows `values`."""
    readings = [idle_h100(index) for index in range(gpus)]
    readings[0] = msgspec.structs.replace(readings[0], **values)
    return of(readings)


def of(readings: list[GpuReading]) -> Window:
    """A window of these readings, pasted."""
    window = Window("pasted")
    paste = PasteReading(formats=["nvidia-smi -q"], process_list="none")
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", gpus=readings, paste=paste))
    return window
