"""`tegrastats` of Jetson boards, whose GPU shares the memory of the CPU: a line a sample.

    07-25-2026 09:08:28 RAM 20642/62817MB (lfb 1x2MB) CPU [23%@2201] GR3D_FREQ 35%@[1300,1300] gpu@52.9C

The load may be left out (`GR3D_FREQ @[314,314,314]`): it is unknown then. A sensor at -256 is switched off.
Rails of power are not read: which of them feed the GPU alone differs from board to board.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.smi import values as v
from gpudiag.smi.sheet import Sheet

LONGEST_LINE = 2_000
COLDEST = -40.0

_MEMORY = re.compile(r"\bRAM (\d{1,7})/(\d{1,7})MB\b")
_ENGINE = re.compile(r"\bGR3D(?:_FREQ)? (?:(\d{1,3}(?:\.\d{1,3})?)%)?(?:@\[?(\d{1,5})\b)?")
_HEAT = re.compile(r"\bgpu@(-?\d{1,4}(?:\.\d{1,4})?)C", re.IGNORECASE)


def read_tegrastats(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """The samples, and the numbers of the lines."""
    sheets: list[Sheet] = []
    used: list[int] = []
    for number, line in enumerate(lines):
        if "GR3D" not in line or len(line) > LONGEST_LINE:
            continue
        memory, engine = _MEMORY.search(line), _ENGINE.search(line)
        if memory is None or engine is None:
            continue
        used.append(number)
        sheets.append(_sheet(engine, _HEAT.search(line)))
        sheets[-1].shared_memory = (int(memory[1]) * v.MIB, int(memory[2]) * v.MIB)
    return sheets, used


def _sheet(engine: re.Match[str], heat: re.Match[str] | None) -> Sheet:
    sheet = Sheet("tegrastats")
    gpu = sheet.gpu_at(0)
    gpu.give("name", "Jetson (tegrastats)")
    for name in ("memory_used_bytes", "memory_total_bytes"):
        gpu.lacks(name, "not_supported")
    if engine[1] is not None and float(engine[1]) <= 100:
        gpu.give("utilization_percent", float(engine[1]))
    else:
        gpu.lacks("utilization_percent", "not_supported")
    if engine[2] is not None:
        gpu.give("sm_clock_megahertz", float(engine[2]))
    if heat is not None and float(heat[1]) > COLDEST:
        gpu.give("temperature_celsius", float(heat[1]))
    return sheet
