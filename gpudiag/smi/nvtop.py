"""Screens of nvtop, and its `--snapshot`.

     Device 0 [NVIDIA GeForce RTX 3090] PCIe GEN 4@16x RX: 1.953 MiB/s TX: 0.000 KiB/s
     GPU 1695MHz MEM 9501MHz TEMP  61°C FAN  47% POW 287 / 350 W
     GPU[||||||||||||||||| 97%] MEM[||||||||||      18.320Gi/24.000Gi]
        PID USER DEV    TYPE  GPU        GPU MEM    CPU  HOST MEM Command
       4021 ann    0 Compute  97%  18560MiB  76%   101%   5120MiB python train.py

Devices stand side by side where the terminal is wide. Those of other makers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.smi import values as v
from gpudiag.smi.sheet import Draft, Row, Sheet

_DEVICE = re.compile(r"\bDevice (\d{1,3}) \[([^\]]{3,60})\]")
_CLOCK = r"(?:(\d{1,5})MHz|N/A) {0,10}"
_STATE = re.compile(
    rf"GPU {_CLOCK} MEM {_CLOCK} TEMP +(?:(\d{{1,3}})\W{{1,2}}C|N/A\S{{0,3}}) +(?:CPU-)?FAN *"
    r"(?:(\d{1,3})%|N/A%?)? +POW +(?:(\d{1,4})|N/A)(?: / +(\d{1,4}))? W"
)
_BARS = re.compile(
    r"GPU\[[| ]{0,200}?(\d{1,3})%\](?: +(?:ENC|DEC)\[[^\]]{0,60}\]){0,2} {0,40}"
    r"MEM\[[| ]{0,200}?(?:(\d{1,5}\.?\d{0,3})([KMGT]i)/(\d{1,5}\.?\d{0,3})([KMGT]i)|N/A)\]"
)
_HEAD = re.compile(r"\s*PID\s+USER\s+(?:DEV|GPU)\s+TYPE\s+.{4,80}Command\s*")
_PROCESS = re.compile(
    r"\s*(\d{1,10})\s+(\S{1,32})\s+(\d{1,3})\s+(Compute|Graphic|Both G\+C|C\+G)\s+(?:(\d{1,3})%|N/A)\s+"
    r"(?:(?:N/A|\d{1,3}%)\s+){0,2}?(?:(\d{1,7})MiB|N/A)\s+(?:\d{1,3}%\s+)?"
    r"\d{1,6}%\s+\d{1,8}MiB\s+(\S.{0,300})"
)
_TYPES = {"Compute": "C", "Graphic": "G", "Both G+C": "C+G", "C+G": "C+G"}
_OTHERS = re.compile(r"(?i)\b(?:amd|radeon|intel|apple|adreno|mali|habana|ascend)\b")
_SIZES = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_PAIR = re.compile(r'\s*"(device_name|gpu_clock|mem_clock|temp|power_draw|gpu_util)": ?"([^"]{1,80})",?\s*')
_SNAPSHOT = {
    "gpu_clock": ("sm_clock_megahertz", v.megahertz, "MHz"),
    "mem_clock": ("memory_clock_megahertz", v.megahertz, "MHz"),
    "temp": ("temperature_celsius", v.celsius, "C"),
    "power_draw": ("power_watts", v.watts, "W"),
    "gpu_util": ("utilization_percent", v.percent, "%"),
}


def read_nvtop(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """The samples of a screen or a snapshot, and the numbers of the lines that were understood."""
    sheets, used = _screens(lines)
    if sheets:
        return sheets, used
    return _snapshot(lines)


def _screens(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    sheets: list[Sheet] = []
    used: list[int] = []
    due: list[
        int | None
    ] = []  # the devices whose lines come next, from left to right; None is another maker's
    listed = False
    for number, line in enumerate(lines):
        if len(line) > 1000:
            continue
        devices = _DEVICE.findall(line)
        if devices:
            if not sheets or any(sheets[-1].has(int(index)) for index, _ in devices):
                sheets.append(Sheet("nvtop"))
            due = [
                None if _OTHERS.search(name) else _named(sheets[-1], int(index), name)
                for index, name in devices
            ]
            listed = False
        elif not sheets:
            continue
        elif _HEAD.fullmatch(line):
            sheets[-1].process_list, listed = "listed", True
        elif listed and (process := _PROCESS.fullmatch(line)) is not None:
            _process(sheets[-1], process)
        elif not (_take(sheets[-1], due, _STATE, line) or _take(sheets[-1], due, _BARS, line)):
            continue
        used.append(number)
    return [sheet for sheet in sheets if sheet.gpus], used


def _named(sheet: Sheet, index: int, name: str) -> int:
    sheet.gpu_at(index).read("name", v.plain_text, name)
    return index


def _take(sheet: Sheet, due: list[int | None], pattern: re.Pattern[str], line: str) -> bool:
    found = list(pattern.finditer(line))
    if len(found) != len(due):
        return False
    for index, match in zip(due, found, strict=True):
        if index is not None:
            (_state if pattern is _STATE else _load)(sheet.gpu_at(index), match)
    return bool(found)


def _state(gpu: Draft, match: re.Match[str]) -> None:
    for name, convert, text in (
        ("sm_clock_megahertz", v.megahertz, match[1]),
        ("memory_clock_megahertz", v.megahertz, match[2]),
        ("temperature_celsius", v.celsius, match[3]),
        ("fan_percent", v.fan, match[4]),
        ("power_watts", v.watts, match[5]),
        ("power_limit_watts", v.watts, match[6]),
    ):
        if text is not None:
            gpu.read(name, convert, text, False)


def _load(gpu: Draft, match: re.Match[str]) -> None:
    gpu.read("utilization_percent", v.percent, match[1], False)
    if match[2] is None:
        gpu.lacks("memory_used_bytes", "not_supported")
        return
    gpu.give("memory_used_bytes", round(float(match[2]) * _SIZES[match[3]]))
    gpu.give("memory_total_bytes", round(float(match[4]) * _SIZES[match[5]]))


def _process(sheet: Sheet, match: re.Match[str]) -> None:
    memory = None if match[6] is None else int(match[6]) * v.MIB
    sheet.add(
        Row(
            pid=int(match[1]), user=match[2], gpu=int(match[3]), type=_TYPES[match[4]], name=match[7].strip(),
            memory=memory, memory_gap=None if memory is not None else "not_supported",
        )
    )  # fmt: skip


def _snapshot(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`nvtop --snapshot`: a list of objects, one a device."""
    sheet, used = Sheet("nvtop"), []
    gpu: Draft | None = None
    place = -1
    for number, line in enumerate(lines):
        pair = _PAIR.fullmatch(line) if '"' in line and len(line) < 200 else None
        if pair is None:
            continue
        key, text = pair.groups()
        used.append(number)
        if key == "device_name":
            place += 1
            gpu = None if _OTHERS.search(text) else sheet.gpu_at(place)
            if gpu is not None:
                gpu.read("name", v.plain_text, text)
        elif gpu is not None and text.endswith(_SNAPSHOT[key][2]):
            name, convert, unit = _SNAPSHOT[key]
            gpu.read(name, convert, text.removesuffix(unit), False)
    return ([sheet], used) if sheet.gpus else ([], [])
