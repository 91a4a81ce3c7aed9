"""`nvidia-smi pmon` and `dmon`: columns named by their `#` lines, one row a process or GPU, over and over.

A new sample begins where a row's GPU (pmon: GPU and process) comes again. `-` is a value that this GPU does
not give, or an idle one: never 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import CLOCKS_EVENT
from gpudiag.smi import values as v
from gpudiag.smi.sheet import Row, Sheet
from gpudiag.smi.values import Absent

_DMON = {
    "pwr": ("power_watts", v.watts),
    "gtemp": ("temperature_celsius", v.celsius),
    "temp": ("temperature_celsius", v.celsius),
    "mtemp": ("temperature_memory_celsius", v.celsius),
    "sm": ("utilization_percent", v.percent),
    "mem": ("memory_utilization_percent", v.percent),
    "enc": ("encoder_percent", v.percent),
    "dec": ("decoder_percent", v.percent),
    "mclk": ("memory_clock_megahertz", v.megahertz),
    "pclk": ("sm_clock_megahertz", v.megahertz),
    "fb": ("memory_used_bytes", v.mib),
    "bar1": ("bar1_used_bytes", v.mib),
    "sbecc": ("ecc_corrected_volatile", v.count),
    "dbecc": ("ecc_uncorrected_volatile", v.count),
    "pci": ("pcie_replay_count", v.count),
}
_VIOLATIONS = {"pviol": CLOCKS_EVENT["sw_power_cap"], "tviol": CLOCKS_EVENT["sw_thermal"]}
"""What held the clocks: power for so many percent of the time, and whether heat did."""
_KNOWN = frozenset((*_DMON, "pid", "pviol", "tviol", "rxpci", "txpci"))
"""Columns of which a header names one at least; `-s` chooses them."""

_TIMES = ("date", "time")
_CELLS = re.compile(r", *| +")  # `--format csv` writes commas


class MonitorReader:
    """Reads the lines of a text; `sheets` are the samples found, in order."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self.sheet: Sheet | None = None
        self.columns: list[str] = []
        self.pmon = False
        self.seen: set[tuple[int, int | None]] = set()

    def read(self, lines: Sequence[str]) -> list[int]:
        used = []
        for number, line in enumerate(lines):
            if len(line) < 400 and self._line(line):
                used.append(number)
        self._end()
        return used

    def _line(self, line: str) -> bool:
        text = line.strip()
        if text.startswith("#"):
            words = _CELLS.split(text.lstrip("# ").lower())
            if "gpu" in words[:3] and not _KNOWN.isdisjoint(words):
                if words != self.columns:
                    self._end()
                    self.columns, self.sheet, self.seen = words, None, set()
                    self.pmon = "pid" in words
                return True
            return (bool(words) and words[0] == "idx") or words[:2] == ["yyyymmdd", "hh:mm:ss"]
        if not self.columns or not text[:1].isdigit():
            if self.columns and text and not text.startswith("#"):
                self._end()
                self.columns = []
            return False
        return self._row(text)

    def _row(self, text: str) -> bool:
        wanted = len(self.columns)
        cells = _CELLS.split(text, wanted - 1 if self.pmon else 0)
        if len(cells) != wanted or not all(
            _cell_fits(c, cell) for c, cell in zip(self.columns, cells, strict=True)
        ):
            if (
                len(cells) < wanted
                and self.sheet is not None
                and all(c[:1].isdigit() or c in "-CG+" for c in cells)
            ):
                self.sheet.missing.add("row")
                return True
            return False
        shown = dict(zip(self.columns, cells, strict=True))
        if not shown["gpu"].isdigit():
            return False
        gpu = int(shown["gpu"])
        pid = shown.get("pid", "")
        key = (gpu, int(pid) if pid.isdigit() else None)
        if self.sheet is None or key in self.seen:
            self.sheet = Sheet("pmon" if self.pmon else "dmon", at=_time(shown))
            self.sheets.append(self.sheet)
            self.seen = set()
        self.seen.add(key)
        if self.pmon:
            self._process(self.sheet, gpu, shown)
        else:
            self._device(self.sheet, gpu, shown)
        return True

    def _device(self, sheet: Sheet, gpu: int, shown: dict[str, str]) -> None:
        draft = sheet.gpu_at(gpu)
        for column, text in shown.items():
            if column in _DMON:
                name, convert = _DMON[column]
                draft.read(name, convert, text, False)
            elif column in _VIOLATIONS and text.isdigit():
                draft.reason(_VIOLATIONS[column], int(text) > 0)
            elif column in ("rxpci", "txpci") and text.isdigit():
                side = "rx" if column == "rxpci" else "tx"
                draft.give(f"pcie_{side}_bytes_per_second", float(text) * 1e6)
        draft.finish()

    def _process(self, sheet: Sheet, gpu: int, shown: dict[str, str]) -> None:
        sheet.gpu_at(gpu)
        if not shown["pid"].isdigit():
            sheet.process_list = sheet.process_list or "none"
            return
        row = Row(pid=int(shown["pid"]), gpu=gpu, memory_gap="not_shown")
        row.name = (shown.get("command") or shown.get("name") or "").strip() or None
        row.type = shown.get("type") if shown.get("type") != "-" else None
        row.sm, row.encoder, row.decoder = (_percent(shown.get(name)) for name in ("sm", "enc", "dec"))
        if "fb" in shown:
            try:
                row.memory, row.memory_gap = v.mib(shown["fb"], False), None
            except Absent as absent:
                row.memory_gap = absent.reason
        sheet.add(row)
        sheet.process_list = "listed"

    def _end(self) -> None:
        """A last sample with fewer rows than the one before was cut."""
        if len(self.sheets) > 1 and not self.pmon:
            before, last = self.sheets[-2], self.sheets[-1]
            if before.format == last.format == "dmon" and len(last.gpus) < len(before.gpus):
                last.missing.add("row")
        self.sheet = None


def _cell_fits(column: str, cell: str) -> bool:
    if column in ("command", "name", "type", *_TIMES):
        return True
    return cell == "-" or cell.replace(".", "", 1).isdigit()


def _percent(text: str | None) -> float | None:
    return v.or_none(v.percent, text or "", False)


def _time(shown: dict[str, str]) -> float | None:
    date, time = shown.get("date"), shown.get("time")
    if date is None or time is None or len(date) != 8:
        return None
    return v.moment(f"{date[:4]}/{date[4:6]}/{date[6:]} {time}")
