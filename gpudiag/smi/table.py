"""The table of `nvidia-smi`, of every driver since 3xx, and what looks like it (nvitop's upper half).

    |   0  Tesla T4            Off  | 00000000:00:1E.0 Off |                    0 |    first line of a GPU
    | N/A   40C    P0    26W /  70W |   1032MiB / 15360MiB |      0%      Default |    second line
    |                               |                      |                  N/A |    third, since 450
    |    0   N/A  N/A      5762      C   python                           1005MiB |    a process

Columns are told apart by the bars alone: widths, blanks and headings differ from driver to driver. A cell
counts only between two bars; whatever is cut off is no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpudiag.model import MigDevice
from gpudiag.smi import values as v
from gpudiag.smi.sheet import Draft, Row, Sheet
from gpudiag.smi.table_cells import (
    MEMORY,
    STATE,
    UTIL,
    decisive_cell_is_cut,
    name_and_memory,
    read_ecc,
    read_load,
    read_memory,
    read_mig_mode,
    read_nvitop,
    read_state,
)

LONGEST = 400
NARROWEST = 79  # no table is narrower than its first driver made it
_MODE = r"(On|Off|N/A|ERR!|TCC|WDDM|MCDM|Unknown Error)"
_WHO = re.compile(rf"(\d{{1,3}})\s+(\S.*?)\s+{_MODE}")
_VGPU_WHO = re.compile(r"(\d{1,3})\s+(\S.*)")
_WHERE = re.compile(r"(\S+)\s+(On|Off|N/A|ERR!|Unknown Error)")
_PROCESS = re.compile(
    r"(\d{1,3})\s+(?:(N/A|\d{1,3})\s+(N/A|\d{1,3})\s+)?(\d{1,10})\s+(C\+G|G\+C|M\+C|C\+M|C|G|M|Unknown)\s+(\S.*)"
)
_OLD_PROCESS = re.compile(r"(\d{1,3})\s+(\d{1,10})\s+(\S.*)")
_NO_PROCESS_VALUES = re.compile(r"(\d{1,3})\s+(?:N/A\s+N/A\s+)?(?:N/A\s+)?(?:N/A\s+)?Not Supported")
_MIG_WHO = re.compile(r"(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})")
_VERSIONS = re.compile(r"(?:Driver|KMD) Version: {0,20}([0-9.]+)")
_CUDA = re.compile(r"CUDA (?:UMD |Driver )?Version: {0,20}(\d+\.\d+)")
_COMPUTE_MODES = ("Default", "E. Process", "E. Thread", "Prohibited")
_BORDER = frozenset("+-=| ")


def starts(line: str) -> bool:
    """Whether a line may belong to a table."""
    return "|" in line or "+--" in line or "+==" in line


class TableReader:
    """Reads lines, one after the other; `sheets` are the samples found so far."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self.sheet: Sheet | None = None
        self.part = ""  # gpus, processes, mig
        self.at: float | None = None
        self.gpu: Draft | None = None  # the one whose second line is due
        self.waits_for = 0  # 2: its second line, 3: its third
        self.mig: MigDevice | None = None
        self.old_processes = False
        self.columns: list[str] = []  # of nvitop's process part, behind the user
        self.headed = False
        self.body = False

    # ---- lines

    def read(self, lines: Iterable[str]) -> list[int]:
        """Read all lines; the numbers of those that were understood."""
        used, last, before = [], "", ""
        for number, line in enumerate(lines):
            if line:
                last, before = line, last
                if self.line(line):
                    used.append(number)
        closes = before.strip()[:1] == "|" and len(last.strip()) >= NARROWEST  # as hands draw it
        corners = 4 if self.part == "gpus" and self.body and not closes else 2
        if self.sheet is not None and _ends_open(last, 4 if self.part == "gpus" else 2, corners):
            self.sheet.missing.add("document")
        self.finish()
        return used

    def line(self, line: str) -> bool:
        if len(line) > LONGEST:
            return False
        if "|" not in line:
            return self._frame_or_time(line)
        inner, closed = _inside(line)
        if inner is None:
            return False
        if ("NVIDIA-SMI" in inner or "NVITOP" in inner) and "ersion" in inner:
            self._head(inner)
            return True
        if set(inner) <= _BORDER:
            return self._border(inner, closed)
        cells = inner.split("|")
        return (
            self._titles(inner)
            or self._mig_row(cells, closed)
            or self._gpu_row(cells, closed)
            or self._process_row(inner, closed)
        )

    def _frame_or_time(self, line: str) -> bool:
        at = line.find("+-")
        if at < 0:
            at = line.find("+=")
        if at >= 0 and set(line[at:].rstrip(" \\'`\"")) <= _BORDER:
            return self._border(line[at:], line.rstrip(" \\'`\"").endswith("+"))
        if "20" in line and ":" in line and len(line) < 200:
            moment = v.moment(line)
            if moment is not None:
                self.at = moment
        return False

    def _border(self, line: str, closed: bool) -> bool:
        self.gpu, self.waits_for, self.mig = None, 0, None
        if "=" in line and not (self.part == "processes" and self.body):  # nvitop closes with it too
            self.body = True
            if self.part == "processes" and self.sheet and self.sheet.process_list is None:
                self.sheet.process_list = "cut"
        elif self.part == "processes" and self.body and self.sheet:
            if closed and self.sheet.process_list == "cut":
                self.sheet.process_list = "listed" if self.sheet.rows else "empty"
            if closed:
                self.part = "done"
        return self.sheet is not None or self.part != ""

    # ---- headings

    def _new(self, headed: bool = False) -> Sheet:
        self.finish()
        self.sheet = Sheet("table", at=self.at)
        self.at = None
        self.sheets.append(self.sheet)
        self.part, self.body, self.headed = "gpus", False, headed
        self.old_processes = False
        return self.sheet

    def _current(self) -> Sheet:
        return self.sheet or self._new()

    def _head(self, inner: str) -> None:
        sheet = self.sheet
        if sheet is None or not sheet.bare or sheet.driver:
            sheet = self._new(headed=True)
        self.headed = True
        driver, cuda = _VERSIONS.search(inner), _CUDA.search(inner)
        if driver and inner[driver.end() : driver.end() + 1] in (" ", "|"):
            sheet.driver = driver[1]
        if cuda and inner[cuda.end() : cuda.end() + 1] in (" ", "|"):
            sheet.cuda = cuda[1]

    def _titles(self, inner: str) -> bool:
        text = inner.strip()
        if text.startswith(("Processes:", "Compute processes:")):
            if self.sheet is not None and (self.sheet.rows or self.sheet.process_list):
                self._new(headed=self.headed)
            sheet = self._current()
            self.part, self.body = "processes", False
            sheet.process_list = "cut"
            self.old_processes = text.startswith("Compute")
            return True
        if text.startswith("MIG devices:"):
            self._current()
            self.part, self.body = "mig", False
            return True
        if text.startswith(("GPU", "Fan ", "ID ")):
            if "USER" in text and "COMMAND" in text:
                self.columns = text[text.index("USER") :].split()[1:]
            if "PID" in text and self.part != "processes":
                self._current().process_list = "cut"
                self.part, self.body = "processes", False
            if "Name" in text and "Bus-Id" in text:
                if self.sheet is not None and (self.sheet.gpus or self.sheet.rows):
                    self._new()
                self._current()
                self.headed = True
            return True
        return "MIG M." in text or "Shared" in text or text.strip("| ") in ("ECC", "")

    # ---- GPUs

    def _gpu_row(self, cells: list[str], closed: bool) -> bool:
        if self.part in ("processes", "mig") and self.body and len(cells) < 3:
            return False
        whole = len(cells) if closed else len(cells) - 1  # cells between two bars
        if self.waits_for == 2 and self.gpu is not None:
            return self._second(self.gpu, cells, whole)
        if self.waits_for == 3 and self.gpu is not None and whole >= 3 and not cells[0].strip():
            read_mig_mode(self.gpu, cells[2].strip())
            self.waits_for = 0
            return True
        return self._first(cells, whole)

    def _first(self, cells: list[str], whole: int) -> bool:
        who = _WHO.fullmatch(cells[0].strip()) if whole >= 1 else None
        where = _WHERE.fullmatch(cells[1].strip()) if whole >= 2 else None
        if who is None or where is None:
            return self._vgpu_row(cells, whole) or self._not_first(cells, whole, who is not None)
        index = int(who[1])
        sheet = self._current()
        if sheet.has(index) or sheet.rows or self.part == "processes":
            sheet = self._new()
        self.part = "gpus"
        gpu = self.gpu = sheet.gpu_at(index)
        gpu.read("name", v.plain_text, who[2])
        gpu.read("bus_id", v.bus_id, where[1])
        gpu.read("display_active", v.enabled, where[2])
        if who[3] in ("TCC", "WDDM", "MCDM"):
            gpu.read("driver_model", v.driver_model, who[3])
        else:
            gpu.read("persistence_mode", v.enabled, who[3])
        if whole >= 3:
            read_ecc(gpu, cells[2].strip())
        gpu.cut = True  # until its second line is whole
        self.waits_for = 2
        return True

    def _vgpu_row(self, cells: list[str], whole: int) -> bool:
        """A GPU in the table of `nvidia-smi vgpu`: its load, and nothing else of its state."""
        if whole < 3 or not self.body or self.part != "gpus":
            return False
        who, load = _VGPU_WHO.fullmatch(cells[0].strip()), UTIL.fullmatch(cells[2].strip())
        where = cells[1].strip()
        if who is None or load is None or load[2] or len(who[1]) > 3 or where.count(":") != 2:
            return False
        gpu = self._current().gpu_at(int(who[1]))
        gpu.read("name", v.plain_text, who[2])
        gpu.read("bus_id", v.bus_id, where)
        gpu.read("utilization_percent", v.percent, load[1])
        return True

    def _not_first(self, cells: list[str], whole: int, named: bool) -> bool:
        """A row that lost a part: its GPU is counted, and nothing is said of it."""
        begins = named or re.match(r"\s*\d{1,3}\s{1,3}[A-Z]", cells[0]) is not None
        if len(cells) >= 2 and not self.body and self.part not in ("gpus", ""):
            return False
        if (
            whole < 3
            and begins
            and self.part in ("gpus", "")
            and (len(cells) > 1 or self.body or self.headed)
        ):
            self._current().cut_gpus += 1
            return True
        if whole >= 1 and self.part in ("gpus", "", "done"):
            stray = MEMORY.fullmatch(cells[max(0, whole - 2)].strip()) if whole >= 2 else None
            load = UTIL.fullmatch(cells[whole - 1].strip())
            if load is not None and (stray or load[2] in _COMPUTE_MODES):
                return self._stray_second(load[1])
            if whole >= 3 and (STATE.search(cells[0]) or MEMORY.search(cells[1])):
                return self._stray_second("")
        return False

    def _stray_second(self, load: str) -> bool:
        """A second line whose first line is not there: a GPU without a name."""
        sheet = self._new() if self.part == "done" else self._current()
        sheet.cut_gpus += 1
        if load.endswith("%"):
            sheet.loose += [known for known in [v.or_none(v.percent, load)] if known is not None]
        return True

    def _second(self, gpu: Draft, cells: list[str], whole: int) -> bool:
        self.waits_for = 3
        state = read_state(gpu, cells[0].strip()) if whole >= 1 else None
        if whole >= 2:
            read_memory(gpu, cells[1].strip())
        if whole >= 3:
            read_load(gpu, cells[2].strip())
        gpu.cut = state is None or whole < 3 or decisive_cell_is_cut(gpu)
        if state is not None and _answers_nothing(gpu):
            gpu.lost = "unknown_error"  # one cell is a sensor; all of them are the device
        return True

    # ---- MIG

    def _mig_row(self, cells: list[str], closed: bool) -> bool:
        if self.part != "mig" or self.sheet is None:
            return False
        whole = len(cells) if closed else len(cells) - 1
        if whole < 2:
            return False
        who = _MIG_WHO.fullmatch(cells[0].strip())
        if who is None:
            return self.body and not cells[0].strip()  # its BAR1, which only looks like memory
        gpu = self.sheet.gpu_at(int(who[1]))
        device = MigDevice(index=int(who[4]), gpu_instance=int(who[2]), compute_instance=int(who[3]))
        memory = MEMORY.fullmatch(cells[1].strip())
        if memory is not None:
            device.memory_used_bytes = v.or_none(v.mib, memory[1])
            device.memory_total_bytes = v.or_none(v.mib, memory[2])
        gpu.mig.append(device)
        return True

    # ---- processes

    def _process_row(self, inner: str, closed: bool) -> bool:
        text = inner.strip()
        if "running" in text and "processes found" in text:
            self._current().process_list = "none"
            return True
        if self.part == "mig" or "|" in inner:
            return False
        match = _PROCESS.fullmatch(text)
        if self.part == "gpus":  # a hand left only rows: no heading stands between them
            if match is None or not closed or self.sheet is None or not self.sheet.gpus:
                return False
            self.part, self.sheet.process_list = "processes", "cut"
        if match is not None:
            gpu, gi, ci, pid, kind, rest = match.groups()
        elif self.old_processes and (old := _OLD_PROCESS.fullmatch(text)):
            gpu, gi, ci, pid, kind, rest = old[1], None, None, old[2], None, old[3]
        else:
            return self._odd_process(text)
        row = Row(pid=int(pid), gpu=int(gpu), type=kind)
        row.gpu_instance = int(gi) if gi and gi.isdigit() else None
        row.compute_instance = int(ci) if ci and ci.isdigit() else None
        if self.columns:
            read_nvitop(row, rest, self.columns)
        elif closed:
            row.name, row.memory, row.memory_gap = name_and_memory(rest)
        else:
            whole = "  " in inner[inner.find(rest) :]
            row.name = rest.split("  ")[0].rstrip() if whole else f"{rest.rstrip()}..."
            row.memory_gap = "cut"
        sheet = self._current()
        if self.part == "":
            self.part = "processes"
        if sheet.process_list not in ("cut",) and not sheet.rows:
            sheet.process_list = "cut"
        if not closed:
            sheet.missing.add("processes")
        sheet.add(row)
        return True

    def _odd_process(self, text: str) -> bool:
        match = _NO_PROCESS_VALUES.fullmatch(text)
        if match is not None and self.part == "processes":
            sheet = self._current()
            sheet.process_list = "not_supported"
            return True
        if self.part == "processes" and self.body and text[:1].isdigit():
            self._current().missing.add("processes")
            return True
        return False

    # ---- the end

    def finish(self) -> None:
        """Close the sample that is being read."""
        sheet = self.sheet
        if sheet is None:
            return
        if sheet.bare and sheet.driver is None:
            self.sheets.remove(sheet)
        if sheet.process_list == "cut" or (self.part == "processes" and sheet.process_list == "listed"):
            sheet.missing.add("processes")
        if not self.headed and (sheet.gpus or sheet.cut_gpus):
            sheet.missing.add("header")
        if (sheet.rows and not sheet.gpus and not sheet.cut_gpus) or (sheet.process_list and not sheet.gpus):
            sheet.missing.add("gpu_part")
        if (sheet.driver and sheet.bare) or (
            self.headed and not (sheet.gpus or sheet.process_list or sheet.cut_gpus)
        ):
            sheet.missing.add("gpus")
        self.sheet, self.part, self.gpu, self.waits_for = None, "", None, 0


def _answers_nothing(gpu: Draft) -> bool:
    """Whether heat and clock state fail, and power too or nothing but memory is there: that is no answer."""
    failed = [name for name in ("temperature_celsius", "pstate", "power_watts")
              if gpu.gaps.get(name) == "unknown_error"]  # fmt: skip
    if failed[:2] != ["temperature_celsius", "pstate"]:
        return False
    return len(failed) == 3 or not any(name in gpu.values for name in ("power_watts", "utilization_percent"))


def _inside(line: str) -> tuple[str | None, bool]:
    """What stands between the first bar and the last, and whether the last one closes the line."""
    first = line.find("|")
    if first < 0:
        return None, False
    rest = line[first + 1 :].rstrip(" \\'`\"")
    if rest.endswith("|"):
        return rest[:-1], True
    if rest.endswith("+") and set(rest) <= _BORDER:
        return rest, True
    return line[first + 1 :], False


def _ends_open(line: str, bars: int, corners: int) -> bool:
    """Whether the last line of a text belongs to a table and is not closed: the text was cut in it."""
    text = line.strip()
    if text[:1] == "|" and text.count("|") < bars and "=" not in text and "--" not in text:
        return True
    if text[:2] == "+-" and text.count("+") < corners:
        return True
    return text[:1] in ("|", "+") and text.rstrip(" \\'`\"")[-1:] not in ("|", "+") and len(text) <= LONGEST
