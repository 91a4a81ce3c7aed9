"""All that was found in a text, before it becomes snapshots."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudiag.model import CacheShortage, FailedTest, KernelEvent, MissingPart, OutOfMemory
from gpudiag.smi.complaints import Complaints
from gpudiag.smi.sheet import Row, Sheet


@dataclass(slots=True)
class Parts:
    """All that was found in a text."""

    sheets: list[Sheet] = field(default_factory=list)
    events: list[KernelEvent] = field(default_factory=list)
    complaints: Complaints = field(default_factory=Complaints)
    failures: list[OutOfMemory] = field(default_factory=list)
    shortages: list[CacheShortage] = field(default_factory=list)
    failed_tests: list[FailedTest] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    processes: list[Row] = field(default_factory=list)  # of ps
    formats: list[str] = field(default_factory=list)
    missing: set[MissingPart] = field(default_factory=set)
