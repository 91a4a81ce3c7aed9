"""Pasted texts for cases: windows of one sample, or of lines alone, told in a few words.

one_sample(power_watts=300.0)                          `nvidia-smi -q` of an idle H100
pasted(gpus=2, process_list="absent")                  a table of H100s of which little else is known
sample(shown(pstate="P0"), processes=(runs(),))        a table of desktop cards
kernel_lines("NVRM: Xid (PCI:0000:19:00): 79, …")      lines of a kernel log, and nothing else
"""

from __future__ import annotations

from typing import Any

import msgspec

from gpudiag.kernel_lines import events_of
from gpudiag.model import Gap, GpuReading, GpuUse, PasteReading, ProcessReading, Snapshot
from gpudiag.rules.situations import GIB, START, idle_h100
from gpudiag.window import Window

# ------------------------------------------------------------------------------------- one sample


def one_sample(gpus: int = 1, **values: Any) -> Window:
    """One `nvidia-smi -q` of idle H100s, of which the first shows `values`."""
    readings = [idle_h100(index) for index in range(gpus)]
    readings[0] = msgspec.structs.replace(readings[0], **values)
    return sample_of(readings)


def sample_of(readings: list[GpuReading]) -> Window:
    """One `nvidia-smi -q` of these readings."""
    return _window(gpus=readings, paste=PasteReading(formats=["nvidia-smi -q"], process_list="none"))


def pasted(
    gpus: int = 1, process_list: str = "listed", hints: list[str] | None = None, **values: Any
) -> Window:
    """One table of H100s that show `values`; nothing else is known of the node."""
    return pasted_with([], gpus, process_list, hints, **values)


def pasted_with(
    processes: list[ProcessReading],
    gpus: int = 1,
    process_list: str = "listed",
    hints: list[str] | None = None,
    **values: Any,
) -> Window:
    """The same with its process list."""
    readings = [idle_h100(index) for index in range(gpus)]
    for reading in readings:
        reading.memory_reserved_bytes = reading.memory_free_bytes = reading.utilization_source = None
        for name, value in values.items():
            setattr(reading, name, value)
    paste = PasteReading(formats=["table"], gpus_announced=gpus, process_list=process_list, hints=hints)
    return _window(gpus=readings, processes=processes, paste=paste)


# ------------------------------------------------------------------------- a table of desktop cards


def shown(index: int = 0, **values: Any) -> GpuReading:
    """What a table shows of an idle, empty GPU of 24 GiB; `values` change it."""
    known: dict[str, Any] = {
        "name": "NVIDIA GeForce RTX 4090",
        "bus_id": f"00000000:{0x41 + index:02X}:00.0",
        "utilization_percent": 0.0,
        "memory_used_bytes": 2 << 20,
        "memory_total_bytes": 24 * GIB,
        "temperature_celsius": 35.0,
        "power_watts": 20.0,
        "power_limit_watts": 450.0,
        "pstate": "P8",
        "fan_percent": 30.0,
        "persistence_mode": True,
        "compute_mode": "default",
    }
    return GpuReading(index=index, **{**known, **values})


def runs(pid: int = 4242, name: str = "python", gpu: int = 0, **use: Any) -> ProcessReading:
    """One process row."""
    return ProcessReading(pid=pid, name=name, in_nvml=True, gpus=[GpuUse(gpu=gpu, **{"type": "C", **use})])


def sample(
    *gpus: GpuReading,
    processes: tuple[ProcessReading, ...] = (),
    gaps: dict[str, dict[str, str]] | None = None,
    **paste: Any,
) -> Window:
    """One table of these GPUs and processes. `gaps` is {subject: {metric: reason}}."""
    listed = "listed" if processes else "none"
    known = {"formats": ["table"], "gpus_whole": len(gpus), "process_list": listed}
    return _window(
        gpus=list(gpus),
        processes=list(processes),
        gaps=[
            Gap(subject=subject, metric=metric, reason=reason)
            for subject, metrics in (gaps or {}).items()
            for metric, reason in metrics.items()
        ],
        paste=PasteReading(**{**known, **paste}),
    )


# --------------------------------------------------------------------------------------- lines alone


def kernel_lines(*lines: str) -> Window:
    """Lines of a kernel log."""
    return _window(events=events_of(lines), paste=PasteReading(formats=["kernel log"]))


def error_line(kind: str, line: str) -> Window:
    """One error line of a tool or a program."""
    return _window(paste=PasteReading(formats=["error_lines"], errors=[kind], error_lines=[line]))


def _window(**snapshot: Any) -> Window:
    window = Window("pasted")
    window.add(Snapshot(node="pasted", taken_at=START, source="pasted", **snapshot))
    return window
