"""CSV of `nvidia-smi --query-gpu=… --format=csv` and `--query-compute-apps=…`, once or as a series.

The columns come from the header, or with `noheader` from the command line when it was pasted too. Cells are
split at ", "; a row with too few or too many of them was cut, and is no row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpudiag.smi import values as v
from gpudiag.smi.columns import WITH_UNITS, Column, column_of
from gpudiag.smi.csv_samples import buckets_of, samples_of, times_of
from gpudiag.smi.fields import CSV, ECC_CSV
from gpudiag.smi.sheet import Draft, Row, Sheet
from gpudiag.smi.values import Absent, reason_of

_COMMAND = re.compile(r"--query-(?:gpu|compute-apps|accounted-apps)[= ]([a-zA-Z0-9_.,]{3,8000})")
_COLUMN = re.compile(r"([a-z][a-zA-Z0-9_.]{1,80}[a-zA-Z0-9_])(?: \[[a-zA-Z%/]{1,16}\])?")
_REASON = re.compile(r"clocks_(?:event|throttle)_reasons\.(\w+)")
_WORDS = frozenset(
    [
        "timestamp",
        "index",
        "count",
        "name",
        "gpu_name",
        "uuid",
        "gpu_uuid",
        "gpu_serial",
        "serial",
        "pid",
        "process_name",
        "used_gpu_memory",
        "used_memory",
        "driver_version",
        "gpu_bus_id",
        "pstate",
    ]
)
_HEADLESS = re.compile(r"(?:^|, )\d{1,7}(?:\.\d{1,2})? (?:MiB|MHz)(?:,|$)")  # cells, and no names for them
_ENDED = frozenset(("max_memory_usage", "gpu_util", "mem_util", "mem_utilization"))
"""Columns of `--query-accounted-apps`: its programs may have ended."""
_OTHER_CELL = re.compile(r"\d{4}/\d\d/\d\d \d\d:|GPU-[0-9a-f]{8}-|\b[0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:")
_IN_JSON = re.compile(r'(?:"[\w.-]{1,40}": ?)?"([^"]{3,8000})",?')  # one line of an output in a document
_HEAD_ONLY = re.compile(r"[a-zA-Z_.,\[\]%/ ]{1,400}")


@dataclass(slots=True)
class _Header:
    """The columns of a block of rows; `units` says per column whether cells carry their unit."""

    columns: list[str]
    with_units: bool | None = None
    named: bool = True  # False: the columns come from the command line
    width: int = 0  # of its line as it was written
    separated: bool = False  # a spreadsheet or a chat wrote quotes, semicolons or bars between the cells
    read: bool = False  # rows of it were read
    alone: bool = False  # no command above it says who asked, and how often

    @property
    def of_processes(self) -> bool:
        return "pid" in self.columns


class CsvReader:
    """Reads the lines of a text; `sheets` are the samples found, in order."""

    def __init__(self) -> None:
        self.sheets: list[Sheet] = []
        self.header: _Header | None = None
        self.commands: list[_Header] = []
        self.rows: list[list[str]] = []
        self.damaged = False
        self.torn = False
        self.asked = (
            False  # a command says who asked; of a loop over hosts the machines are told apart before
        )

    def read(self, lines: Sequence[str]) -> list[int]:
        used = []
        for number, line in enumerate(lines):
            if self._line(line):
                used.append(number)
        self._close()
        return used

    def _line(self, line: str) -> bool:
        text = line.strip()
        if not text:
            return False
        if text[0] == '"' and (inside := _IN_JSON.fullmatch(text)) is not None:
            text = inside[1]
        if "--query-" in text:
            command = _COMMAND.search(text)
            if command is not None:
                self._close()
                self.asked = True
                columns = [column for column in command[1].lower().split(",") if column]
                header = _Header(columns, "nounits" not in text, named=False)
                self.header = header
                return True
        bare = text.lstrip("#> ").strip() if text[0] in "#>" else text
        separated = _separated(bare)
        named = _columns(separated)
        if named is not None or (self.header is not None and self.header.separated):
            bare = separated
            if not set(text) - set("|-: "):
                return True  # below the header of a table in Markdown
        if self._is_torn(bare, len(line), named):
            return True
        if named is not None:
            known = self.header
            again = known is not None and known.columns == named and known.named
            if not again or (self.rows and "timestamp" not in named):
                self._close()
                self.header = _Header(
                    named, width=len(line), separated=bare not in line, alone=not self.asked
                )
            return True
        return self._row(bare)

    def _is_torn(self, text: str, width: int, named: list[str] | None) -> bool:
        """Whether a header goes on in this line: a terminal wrapped it, and no cell can be told by it."""
        header = self.header
        if self.torn:
            self.torn = named is not None or _HEAD_ONLY.fullmatch(text) is not None
            return self.torn
        if header is None or not header.named or header.read or self.rows:
            return False
        if named is None:
            goes_on = _HEAD_ONLY.fullmatch(text) is not None and width <= header.width
        else:  # an empty list of processes may stand before another list
            goes_on = named != header.columns and "pid" not in (*named, *header.columns)
        if goes_on:
            self.header, self.torn = None, True
            self.sheets.append(Sheet("csv", missing={"joined"}))
        return goes_on

    def _row(self, text: str) -> bool:
        header = self.header
        if header is None and _HEADLESS.search(text) and text.count(", ") > 1 and len(text) < 2000:
            if not any("columns" in sheet.missing for sheet in self.sheets):
                self.sheets.append(Sheet("csv", missing={"columns"}))
            return False
        if header is None or len(text) > 8000:
            return False
        cells = text.split(", " if ", " in text else ",")  # some are written anew without blanks
        if text.endswith(",") and ", " in text:
            cells[-1] = cells[-1][:-1]
            cells.append("")
        wanted = len(header.columns)
        if len(cells) > wanted and "process_name" in header.columns:
            at = header.columns.index("process_name")
            extra = len(cells) - wanted
            joined = ", ".join(cells[at : at + extra + 1])
            if _OTHER_CELL.search(joined):
                self.damaged = True  # two rows run together
                return True
            cells[at : at + extra + 1] = [joined]
        if header.of_processes and len(cells) == wanted and not _is_pid(cells[header.columns.index("pid")]):
            return False
        if len(cells) == wanted and (wanted > 1 or _fits_alone(header.columns[0], cells[0])):
            self.rows.append(cells)
            return True
        if len(cells) > 1 and self.rows and len(cells) < wanted:
            self.damaged = True
            return True
        if len(cells) > 1 and not self.rows and wanted > 2 and len(cells) * 2 > wanted:
            self.damaged = True
            return True
        if not self.rows and not header.named:
            return False
        if self.rows and len(cells) == 1:
            self._close()
        return False

    # ---- from rows to samples

    def _close(self) -> None:
        header, rows = self.header, self.rows
        damaged, self.rows, self.damaged = self.damaged, [], False
        if header is None or not (rows or damaged or (header.named and not header.read)):
            return
        header.read = True
        if header.of_processes:
            sheets = [self._processes(header, rows)]
        else:
            sheets = self._gpus(header, rows)
        if damaged and sheets:
            sheets[-1].missing.add("row")
        self.sheets += sheets
        if not header.named:
            self.header = None

    def _gpus(self, header: _Header, rows: list[list[str]]) -> list[Sheet]:
        columns = header.columns
        if not rows:
            sheet = Sheet("csv")
            sheet.missing.add("gpus")
            return [sheet]
        strict = header.with_units if header.with_units is not None else _carries_units(header, rows)
        plan = [column_of(column) for column in columns]
        times = times_of(columns, rows)
        groups = samples_of(columns, rows, times)
        sheets = [
            _sheet(bucket, rows, plan, times, strict) for bucket in buckets_of(groups, rows, times, columns)
        ]
        sheets[0].headed = header.alone
        return sheets

    def _processes(self, header: _Header, rows: list[list[str]]) -> Sheet:
        if not _ENDED.isdisjoint(header.columns):
            return Sheet("apps", missing={"accounted"})
        sheet = Sheet("apps", process_list="listed" if rows else "none")
        strict = header.with_units if header.with_units is not None else _carries_units(header, rows)
        for cells in rows:
            shown = dict(zip(header.columns, cells, strict=True))
            try:
                pid = v.count(shown["pid"])
            except Absent:
                sheet.missing.add("row")
                continue
            row = Row(pid=pid, name=shown.get("process_name") or shown.get("name") or None)
            identity = v.or_none(v.uuid, shown.get("gpu_uuid", "")) or v.or_none(
                v.bus_id, shown.get("gpu_bus_id", "")
            )
            memory = shown.get("used_gpu_memory", shown.get("used_memory"))
            try:
                row.memory = v.mib(memory or "", strict)
            except Absent as absent:
                row.memory_gap = absent.reason if memory is not None else "not_shown"
            row.gpu = self._gpu_of(sheet, shown, identity)
            sheet.add(row)
            sheet.at = v.moment(shown["timestamp"]) if "timestamp" in shown else sheet.at
        return sheet

    def _gpu_of(self, sheet: Sheet, shown: dict[str, str], identity: str | None) -> int | None:
        """The position of the row's GPU among those that the list names."""
        name = shown.get("gpu_name")
        if identity is None and name is None:
            return 0
        for draft in sheet.gpus:
            if draft.identity == identity if identity else draft.values.get("name") == name:
                return draft.index
        draft = sheet.gpu_at(len(sheet.gpus))
        if name:
            draft.read("name", v.plain_text, name)
        draft.read("uuid", v.uuid, shown.get("gpu_uuid", ""))
        draft.read("bus_id", v.bus_id, shown.get("gpu_bus_id", ""))
        return draft.index


# ------------------------------------------------------------------------------------------ columns


def _separated(text: str) -> str:
    """A line as the tool writes it: without the quotes, semicolons or bars of spreadsheets and chats."""
    if text[:1] == '"' and text[-1:] == '"':
        return ", ".join(re.split(r'" ?[,;] ?"', text[1:-1]))
    if text[:1] == "|" and text[-1:] == "|":
        return ", ".join(cell.strip() for cell in text[1:-1].split("|"))
    return ", ".join(cell.strip() for cell in text.split(";")) if text.count(";") > 1 else text


def _columns(text: str) -> list[str] | None:
    """The columns that a header line names, or None when it is none."""
    first = text[:1]
    if not ("a" <= first <= "z") or len(text) > 20_000:
        return None
    parts = [part.strip() for part in text.split(",")]
    names = []
    for part in parts:
        match = _COLUMN.fullmatch(part)
        if match is None:
            return None
        names.append(match[1].lower())
    known = sum(_knows(name) for name in names)
    if len(names) == 1:
        return names if "[" in text and known else None
    return names if known * 2 >= len(names) or known >= 2 else None


def _knows(column: str) -> bool:
    return column in CSV or column in _WORDS or column in ECC_CSV or _REASON.fullmatch(column) is not None


def _carries_units(header: _Header, rows: list[list[str]]) -> bool:
    """Whether cells carry units, by the first cell of a column that has them."""
    for cells in rows[:50]:
        for column, cell in zip(header.columns, cells, strict=True):
            field = CSV.get(column)
            memory = column in ("used_gpu_memory", "used_memory")
            if (field is not None and field.convert in WITH_UNITS) or memory:
                if cell.endswith((" MiB", " %", " W", " MHz", " us")):
                    return True
                if cell[:1].isdigit():
                    return False
    return False


def _is_pid(cell: str) -> bool:
    return cell.strip().isdigit() or reason_of(cell) is not None


def _fits_alone(column: str, cell: str) -> bool:
    """A row of one cell has to look like its column: any word would fit otherwise."""
    field = CSV.get(column)
    if field is None:
        return False
    if reason_of(cell) and cell.startswith("["):
        return True
    try:
        field.convert(cell, False)
    except Absent as absent:
        return absent.reason == "nonsense"
    return field.convert is not v.plain_text


def _sheet(
    bucket: list[list[int]],
    rows: list[list[str]],
    plan: list[Column | None],
    times: list[float | None],
    strict: bool,
) -> Sheet:
    """One bucket of samples: the last one in full, of the others what is sampled."""
    last = bucket[-1]
    sheet = Sheet("csv", at=times[last[0]], count=len(bucket))
    for number in last:
        draft = Draft(len(sheet.gpus))
        for column, cell in zip(plan, rows[number], strict=True):
            if column is not None:
                column.put(sheet, draft, cell, strict)
        if draft.index is None or sheet.has(draft.index):
            draft.index = 1 + max((d.index or 0 for d in sheet.gpus), default=-1)
        draft.finish()
        draft.cut = "cut" in draft.gaps.values()
        sheet.gpus.append(draft)
    if len(bucket) > 1:
        sampled = [(at, column) for at, column in enumerate(plan) if column is not None and column.sampled]
        for position, draft in enumerate(sheet.gpus):
            lines = [rows[group[position]] for group in bucket]
            for at, column in sampled:
                values = [column.value(cells[at], strict) for cells in lines]
                if any(value is not None for value in values):
                    draft.samples.setdefault(column.sampled, values)
    return sheet
