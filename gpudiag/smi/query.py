"""`nvidia-smi -q`: whole, in parts (`-d`), or a few lines of it.

    GPU 00000000:19:00.0
        FB Memory Usage
            Total                             : 81559 MiB

The same key stands in many sections, so a value counts only under its own (`fields.QUERY`). Sections are
told by indentation; where a chat took that away, the last line without a value is the section.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpudiag.smi import values as v
from gpudiag.smi.fields import QUERY, REASON_BITS
from gpudiag.smi.sheet import Draft, Row, Sheet
from gpudiag.smi.values import Absent, reason_of

LONGEST = 400
BANNER = "==============NVSMI LOG"
_GPU = re.compile(r"GPU ((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s*$")
_MARKS = re.compile(r"^(\s*)(?:[>#*|]\s?)+(?=\s*\S)")
_ASKED = re.compile(r"nvidia-smi\b.{0,80}?\s(?:-i|--id)[ =]?(\d{1,3})(?![\w,:.])")

_REASONS = ("clocks_event_reasons", "clocks_throttle_reasons", "hw_slowdown")
_HEADS = frozenset(
    [
        "timestamp",
        "driver_version",
        "cuda_version",
        "attached_gpus",
        "kmd_version",
        "cuda_umd_version",
        "process_id",
        "used_gpu_memory",
    ]
)
SECTIONS = frozenset(
    [
        "clocks_event_reasons",
        "clocks_throttle_reasons",
        "clocks_event_reasons_counters",
        "fb_memory_usage",
        "bar1_memory_usage",
        "utilization",
        "ecc_mode",
        "ecc_errors",
        "retired_pages",
        "remapped_rows",
        "temperature",
        "power_readings",
        "gpu_power_readings",
        "clocks",
        "max_clocks",
        "applications_clocks",
        "mig_mode",
        "driver_model",
        "pci",
        "gpu_link_info",
        "pcie_generation",
        "link_width",
        "encoder_stats",
        "processes",
        "fabric",
        "inforom_version",
        "gpu_virtualization_mode",
        "gpu_reset_status",
        "vgpu_software_licensed_product",
        "conf_compute_protected_memory_usage",
        "default_applications_clocks",
        "deferred_clocks",
        "max_customer_boost_clocks",
        "clock_policy",
        "voltage",
        "gpu_memory_power_readings",
        "module_power_readings",
        "bank_remap_availability_histogram",
    ]
)
_NOTE = re.compile(r"\s{1,40}(?:←|<-{1,9}|#|//|→|=>)\s.{0,300}$")  # what people write behind a value
_TITLE = re.compile(r"[A-Za-z][\w .()/,&+-]{0,60}")


def _key(text: str) -> str:
    key = "_".join(text.strip().lower().split())
    return "processes" if key == "compute_processes" else key  # as drivers before 350 call them


@dataclass(slots=True)
class _Line:
    indent: int
    key: str
    value: str | None  # None: a heading


class QueryReader:
    """Reads the lines of a text; `sheets` are the samples found."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self.sheet: Sheet | None = None
        self.gpu: Draft | None = None
        self.path: list[tuple[int, str]] = []
        self.row: Row | None = None
        self.full = False
        self.seen: set[str] = set()
        self.flat = False
        self.last: _Line | None = None
        self.last_number = -1
        self.asked: int | None = None  # the GPU that the command above names

    def read(self, lines: Sequence[str]) -> list[int]:
        """Read all lines; the numbers of those that were understood."""
        used = []
        self.flat = _is_flat(lines)
        for number, raw in enumerate(lines):
            if self._take(raw, number, lines):
                used.append(number)
        self._finish(lines)
        return used

    def _take(self, raw: str, number: int, lines: Sequence[str]) -> bool:
        if len(raw) > LONGEST:
            if raw.count(" : ") > 3 and ("MHz" in raw or "GPU" in raw or "MiB" in raw):
                self._current().missing.add("joined")
                return True
            return False
        if "nvidia-smi" in raw:
            asked = _ASKED.search(raw)
            self.asked = int(asked[1]) if asked else None
        if BANNER in raw:
            self._begin()
            return True
        text = _MARKS.sub(r"\1", raw) if raw.lstrip()[:1] in (">", "#", "*") else raw
        stripped = text.strip()
        if not stripped:
            return False
        if stripped in ("[...]", "...", "[…]", "…", "(...)", "[snip]", "<snip>"):
            if self.sheet is not None:
                self.sheet.missing.add("shortened")
            return self.sheet is not None
        gpu = _GPU.fullmatch(stripped)
        if gpu is not None:
            self._gpu(gpu[1])
            self.last, self.last_number = _Line(0, "gpu", ""), number
            return True
        line = _parsed(text)
        if line is None:
            return False
        return self._line(line, number, lines)

    # ---- structure

    def _begin(self) -> Sheet:
        self._close()
        self.sheet = Sheet("query")
        self.sheets.append(self.sheet)
        self.gpu, self.path, self.row = None, [], None
        self.last = None
        return self.sheet

    def _current(self) -> Sheet:
        return self.sheet or self._begin()

    def _gpu(self, bus: str) -> None:
        sheet = self._current()
        if any(draft.values.get("bus_id") == bus for draft in sheet.gpus):
            at, driver = sheet.at, sheet.driver
            sheet = self._begin()
            sheet.at, sheet.driver = at, driver
        self._close_gpu()
        sheet.numbered = self.asked is not None and not sheet.gpus
        index = self.asked if sheet.numbered and self.asked is not None else len(sheet.gpus)
        self.gpu = sheet.gpu_at(index)
        self.gpu.give("bus_id", bus)
        self.path, self.row, self.seen, self.full = [], None, set(), False

    def _subject(self) -> Draft:
        """The GPU that a value belongs to; one without a name when its line is not there."""
        if self.gpu is None:
            sheet = self._current()
            sheet.missing.add("gpu_line")
            self.gpu = sheet.gpu_at(len(sheet.gpus))
        return self.gpu

    def _line(self, line: _Line, number: int, lines: Sequence[str]) -> bool:
        known = self._known(line)
        if self.sheet is None and not known:
            return False
        if line.value is None and not known and not self.flat and line.indent == 0:
            return False  # a line of text between the tool's own
        self._current()
        if self.flat and line.value is None:
            self.path.clear()
        while not self.flat and self.path and self.path[-1][0] >= line.indent:
            self.path.pop()
        self.last, self.last_number = line, number
        if line.value is None:
            self.path.append((line.indent, line.key))
            self.seen.add(line.key)
            if line.key == "processes":
                self._current().process_list = self._current().process_list or "empty"
            return True
        if not self.flat:
            self.path.append((line.indent, line.key))
        value = "" if self._goes_on(number, lines) else line.value
        self._value(line, value)
        return True

    def _goes_on(self, number: int, lines: Sequence[str]) -> bool:
        """Whether the next line is the rest of this one: a wrap in the middle of a value."""
        if number + 1 >= len(lines):
            return False
        after = lines[number + 1].strip()
        if not after or len(after) > 40 or " : " in after or not after[0].isdigit():
            return False
        return re.fullmatch(r"[0-9.]{1,12}(?: ?(?:MiB|%|C|W|MHz|us|KB/s))?", after) is not None

    def _known(self, line: _Line) -> bool:
        key = line.key
        if line.value is None:
            return key in SECTIONS
        return (
            key in _HEADS
            or f"*{key}" in QUERY
            or key in SECTIONS
            or (bool(self.path) and (f"{self.path[-1][1]}/{key}" in QUERY or self.path[-1][1] in _REASONS))
        )

    # ---- values

    def _value(self, line: _Line, value: str) -> None:
        key, sheet = line.key, self._current()
        self.seen.add(key)
        if key in ("driver_version", "kmd_version") and not self.path_above():
            sheet.driver = sheet.driver or v.or_none(v.version, value)
        elif key in ("cuda_version", "cuda_umd_version") and not self.path_above():
            sheet.cuda = sheet.cuda or v.or_none(v.version, value)
        elif key == "timestamp" and not self.path_above():
            if sheet.gpus or sheet.at is not None:
                sheet = self._begin()
                self.last = line
            sheet.at = v.moment(value)
        elif key == "attached_gpus":
            sheet.announced = v.or_none(v.count, value)
        elif key in (
            "process_id",
            "type",
            "name",
            "used_gpu_memory",
            "gpu_instance_id",
            "compute_instance_id",
        ):
            self._process(key, value)
        elif key == "processes":
            sheet.process_list = "none" if value == "None" else "not_supported" if reason_of(value) else None
        else:
            self._gpu_value(key, value)

    def path_above(self) -> list[str]:
        """Sections above the line that is read."""
        names = [name for _, name in self.path]
        return names if self.flat else names[:-1]

    def _gpu_value(self, key: str, value: str) -> None:
        above = self.path_above()
        parent = above[-1] if above else ""
        if key == "product_name":
            if parent == "vgpu_software_licensed_product":
                return  # of the licence, not of the card
            self.full = True
        if parent in _REASONS and key in REASON_BITS:
            with contextlib.suppress(Absent):
                self._subject().reason(REASON_BITS[key], v.active(value))
            return
        if parent in ("volatile", "aggregate"):
            self._subject().ecc(parent, key, v.or_none(v.count, value))
        elif key == "total" and parent in ("single_bit", "double_bit") and len(above) > 1:
            kind = "corrected" if parent == "single_bit" else "uncorrected"
            if above[-2] in ("volatile", "aggregate"):
                self._subject().read(f"ecc_{kind}_{above[-2]}", v.count, value)
        field = QUERY.get(f"{parent}/{key}") or QUERY.get(f"*{key}")
        if field is not None:
            self._subject().put(field, value)

    def _process(self, key: str, value: str) -> None:
        if key == "process_id":
            pid = v.or_none(v.count, value)
            if pid is None:
                return
            gpu = self._subject()
            self.row = Row(pid=pid, gpu=gpu.index, memory_gap="cut")
            sheet = self._current()
            sheet.add(self.row)
            sheet.process_list = "listed"
            return
        row = self.row
        if row is None:
            return
        if key == "type":
            row.type = value or None
        elif key == "name":
            row.name = value or None
        elif key == "used_gpu_memory":
            try:
                row.memory, row.memory_gap = v.mib(value, True), None
            except Absent as absent:
                row.memory_gap = absent.reason
            self.row = None

    # ---- the end

    def _close_gpu(self) -> None:
        gpu = self.gpu
        if gpu is None:
            return
        gpu.finish()
        if self.full and not self.seen.intersection(("processes", "max_clocks")):
            gpu.cut = True
        if "cut" in gpu.gaps.values():
            gpu.cut = True

    def _close(self) -> None:
        self._close_gpu()
        sheet = self.sheet
        if sheet is None:
            return
        if self.row is not None and sheet.rows and sheet.rows[-1].memory_gap == "cut":
            sheet.missing.add("processes")
        if self.full and "processes" not in self.seen:
            sheet.missing.add("processes")
            sheet.process_list = sheet.process_list or "cut"
        if not sheet.gpus and (sheet.driver or sheet.announced):
            sheet.missing.add("gpus")

    def _finish(self, lines: Sequence[str]) -> None:
        """A last line without its value, or a heading without its lines, was cut."""
        last = self.last
        if (
            last is not None
            and self.sheet is not None
            and not any(line.strip() for line in lines[self.last_number + 1 :])
        ):
            ends_open = last.value is None or last.value == ""
            if ends_open and last.key != "processes":
                if self.gpu is not None:
                    self.gpu.cut = True
                self.sheet.missing.add("gpus")
        self._close()


def _parsed(text: str) -> _Line | None:
    """One line of `key : value` or a heading; None for anything else."""
    indent = len(text) - len(text.lstrip())
    left, colon, right = text.partition(" : ")
    if not colon:
        body = text.rstrip()
        if body.endswith(" :"):
            left, colon, right = body[:-2], ":", ""
    if colon:
        key = left.strip()
        if not key or not _TITLE.fullmatch(key):
            return None
        return _Line(indent, _key(key), _NOTE.sub("", right).strip())
    body = text.strip()
    if not _TITLE.fullmatch(body) or body.endswith("."):
        return None
    return _Line(indent, _key(body), None)


def _is_flat(lines: Iterable[str]) -> bool:
    """Whether the indentation was lost, or all but one blank: values of sections stand at the margin."""
    in_a_section = False
    for line in lines:
        if " : " in line and len(line) < LONGEST:
            bare = _MARKS.sub(r"\1", line)
            if bare[:2] == "  ":
                return False
            key = _key(bare.partition(" : ")[0])
            in_a_section |= key in ("total", "used", "current", "pending", "sm", "gpu")
    return in_a_section
