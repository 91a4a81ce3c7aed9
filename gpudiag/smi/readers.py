"""Every reader in turn: each gets the lines of one machine that the ones before it left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from gpudiag.kernel_lines import events_of
from gpudiag.model import MissingPart
from gpudiag.smi.cache_shortage import shortages_of
from gpudiag.smi.checks import read_checks
from gpudiag.smi.complaints import complaints_of, hints_of
from gpudiag.smi.csv import CsvReader
from gpudiag.smi.dcgm import read_dcgm_dmon, read_exporter
from gpudiag.smi.health import read_health
from gpudiag.smi.lists import (
    read_gpustat,
    read_holders,
    read_listing,
    read_models,
    read_ps,
    read_topology,
    read_versions,
)
from gpudiag.smi.messages import Log
from gpudiag.smi.mig import read_mig
from gpudiag.smi.monitor import MonitorReader
from gpudiag.smi.nvlink import read_dcgm_nvlinks, read_nvlinks
from gpudiag.smi.nvtop import read_nvtop
from gpudiag.smi.out_of_memory import failures_of, without_sizes
from gpudiag.smi.parts import Parts
from gpudiag.smi.query import QueryReader
from gpudiag.smi.sheet import LISTS, Sheet
from gpudiag.smi.table import TableReader
from gpudiag.smi.tegra import read_tegrastats

Found = TypeVar("Found")
ReadSheets = Callable[[Sequence[str]], tuple[list[Sheet], list[int]]]
"""Lines → sheets, and the numbers of the lines they were read from."""


def _by(reader: type[CsvReader | MonitorReader | TableReader | QueryReader]) -> ReadSheets:
    def read_sheets(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
        reads = reader()
        used = reads.read(lines)
        return reads.sheets, used

    return read_sheets


SHAPED: tuple[ReadSheets, ...] = (
    read_tegrastats,
    read_mig,  # before the table, whose bars it has
    _by(CsvReader),
    _by(MonitorReader),
    _by(TableReader),
)
LOOSE: tuple[ReadSheets, ...] = (
    read_dcgm_dmon,
    read_holders,
    read_gpustat,
    read_nvtop,
    read_nvlinks,
    read_dcgm_nvlinks,
    read_listing,
    read_models,
    read_topology,
    read_versions,
)
"""Those that are asked once error lines are found: what these want of a line is little."""
LAST: ReadSheets = _by(QueryReader)
"""`nvidia-smi -q`, of which any line `Key : value` may be one."""


def take_lines(parts: Parts, lines: list[str], logged: list[str]) -> Parts:
    """Read the lines of one machine, and of its kernel log, into its parts."""
    parts.events = events_of(logged)
    log = Log(lines)
    parts.failures, parts.shortages = failures_of(log), shortages_of(log)
    left = list(lines)
    untroubled = _take_tests(left, parts)
    exported, xids, used = read_exporter(left)
    parts.sheets += _take(left, exported, used)
    for read_sheets in SHAPED:
        parts.sheets += _take(left, *read_sheets(left))
    parts.complaints = complaints_of(left)
    if not parts.failures and without_sizes(log):
        parts.complaints.kinds.insert(0, "out_of_memory")  # others, as of NCCL, come of it
    for read_sheets in LOOSE:
        parts.sheets += _take(left, *read_sheets(left))
    parts.processes = _take(left, *read_ps(left))
    parts.sheets += _take(left, *LAST(left))
    parts.hints = hints_of(left)
    if untroubled and not parts.failed_tests:
        parts.complaints.kinds.append(untroubled)
    parts.formats = _formats_of(parts, tested=untroubled is not None)
    parts.missing |= _missing_of(parts)
    parts.events += xids
    return parts


def _take_tests(left: list[str], parts: Parts) -> str | None:
    """What is said where tests of GPUs found nothing; None where none is shown."""
    failed, tested, used = read_checks(left)
    parts.failed_tests += _take(left, failed, used)
    failed, watched, used = read_health(left)
    parts.failed_tests += _take(left, failed, used)
    if tested:
        return "tests_passed"
    return "health_not_watched" if watched else None


def _take(left: list[str], found: list[Found], used: Sequence[int]) -> list[Found]:
    """What a reader found; the lines that it used are blank for the next one."""
    for number in used:
        left[number] = ""
    return found


def _formats_of(parts: Parts, tested: bool) -> list[str]:
    formats = list(dict.fromkeys(sheet.format for sheet in parts.sheets))
    others = {
        "kernel_log": parts.events,
        "tests": tested,
        "error_lines": parts.complaints.kinds,
        "program_errors": parts.failures or parts.shortages,
    }
    return formats + [name for name, there in others.items() if there]


def _missing_of(parts: Parts) -> set[MissingPart]:
    missing: set[MissingPart] = set()
    if parts.sheets and all(sheet.format in LISTS for sheet in parts.sheets):
        missing.add("state")
    if any("[Insufficient" in line for line in parts.complaints.lines) and not parts.sheets:
        missing.add("columns")
    return missing
