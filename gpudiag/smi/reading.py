"""Find what formats a text holds, have each read by its reader, and put the results together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpudiag.kernel_lines import events_of
from gpudiag.model import PasteReading, ProcessReading, Snapshot
from gpudiag.smi import xml
from gpudiag.smi.assembling import NODE, snapshots_of
from gpudiag.smi.cache_shortage import shortages_of
from gpudiag.smi.cleaning import cleaned, lines_of, log_lines, text_of
from gpudiag.smi.complaints import complaints_of, hints_of
from gpudiag.smi.csv import CsvReader
from gpudiag.smi.lists import read_gpustat, read_listing, read_models, read_ps, read_topology
from gpudiag.smi.machines import one_machine_of_log
from gpudiag.smi.messages import Log
from gpudiag.smi.monitor import MonitorReader
from gpudiag.smi.nvlink import read_nvlinks
from gpudiag.smi.out_of_memory import failures_of, without_sizes
from gpudiag.smi.parts import Parts
from gpudiag.smi.query import QueryReader
from gpudiag.smi.sheet import Row
from gpudiag.smi.strangers import refusal_of
from gpudiag.smi.table import TableReader
from gpudiag.window import Window
from gpudiag.workloads import workload_of

LISTS = ("nvlink", "listing", "topology")
"""Formats that name GPUs or links and never tell how the GPUs are."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pasted text says: snapshots in time order; several of them are one series."""

    snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def paste(self) -> PasteReading:
        """What the text says about itself."""
        paste = self.snapshots[-1].paste
        assert paste is not None
        return paste


def read(text: str | bytes, now: float | None = None) -> Reading:
    """Read pasted tool output.

    `now` is the time where the text shows none. Raises NothingOfAGpu, TooLarge, NotText or RefusedXml.
    """
    clean = cleaned(text_of(text))
    parts = _parts(clean)
    if not _of_a_gpu(parts):
        raise refusal_of(clean)
    return Reading(snapshots_of(parts, time.time() if now is None else now))


def window_of(text: str | bytes, now: float | None = None) -> Window:
    """The window of pasted tool output, ready to be examined."""
    window = Window(NODE)
    for snapshot in read(text, now).snapshots:
        window.add(snapshot)
    return window


def _parts(text: str) -> Parts:
    parts = Parts()
    text = _take_xml(text, parts)
    lines, left_out = lines_of(text)
    parts.missing |= left_out
    logged, others = one_machine_of_log(log_lines(text))
    if others:
        parts.missing.add("other_machine")
    parts.events = events_of(logged)
    log = Log(lines)
    parts.failures, parts.shortages = failures_of(log), shortages_of(log)
    left = list(lines)
    for _name, reader in (("csv", CsvReader), ("monitor", MonitorReader), ("table", TableReader)):
        found = reader()
        _blank(left, found.read(left))
        parts.sheets += found.sheets
    parts.complaints, _ = complaints_of(left)
    if not parts.failures and without_sizes(log):
        parts.complaints.kinds.append("out_of_memory")
    for take in (read_gpustat, read_nvlinks, read_listing, read_models, read_topology):
        sheets, used = take(left)
        _blank(left, used)
        parts.sheets += sheets
    rows, used = read_ps(left)
    _blank(left, used)
    parts.processes = rows
    query = QueryReader()
    _blank(left, query.read(left))
    parts.sheets += query.sheets
    parts.hints = hints_of(left)
    if parts.sheets and all(sheet.format in LISTS for sheet in parts.sheets):
        parts.missing.add("state")
    parts.formats = list(dict.fromkeys(sheet.format for sheet in parts.sheets))
    if parts.events:
        parts.formats.append("kernel_log")
    if parts.complaints.kinds:
        parts.formats.append("error_lines")
    if parts.failures or parts.shortages:
        parts.formats.append("program_errors")
    if any("[Insufficient" in line for line in parts.complaints.lines) and not parts.sheets:
        parts.missing.add("columns")
    return parts


def _take_xml(text: str, parts: Parts) -> str:
    """Read the XML documents of a text and take them out of it."""
    if xml.ROOT not in text:
        xml.refuse_declarations(text)
        return text
    xml.refuse_declarations(text)
    documents, rest, too_many = xml.documents(text)
    if too_many:
        parts.missing.add("long")
    parts.sheets += [xml.read(document) for document in documents]
    return rest


def _blank(lines: list[str], used: Sequence[int]) -> None:
    for number in used:
        lines[number] = ""


def _of_a_gpu(parts: Parts) -> bool:
    if parts.events or parts.complaints.kinds or parts.failures or parts.shortages:
        return True
    if any(sheet.gpus or sheet.rows or sheet.driver or sheet.cut_gpus or sheet.process_list or sheet.missing
           for sheet in parts.sheets):  # fmt: skip
        return True
    return any(_concerns_a_gpu(row) for row in parts.processes)


def _concerns_a_gpu(row: Row) -> bool:
    if "nvidia" in (row.wait or ""):
        return True
    return workload_of(ProcessReading(pid=row.pid, name=row.name)).kind == "engine"
