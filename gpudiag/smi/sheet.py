"""What a reader gets out of one sample of one format, before samples become snapshots.

A `Sheet` is one sample: GPUs as `Draft`s, process rows, and what is missing. Readers only fill sheets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from gpudiag.model import MigDevice, MissingPart, Reason
from gpudiag.smi.fields import ECC_SUMS, ENOUGH_REASONS, Field
from gpudiag.smi.values import Absent, Convert

Format = Literal[
    "xml", "query", "csv", "table", "dmon", "dcgm", "pmon", "apps", "gpustat", "nvtop", "tegrastats",
    "nvlink", "listing", "mig", "topology", "lines",
]  # fmt: skip
FORMATS: tuple[Format, ...] = get_args(Format)
"""Where two show the same value, the one that stands first is believed; `lines` is a text without any."""
LISTS: tuple[Format, ...] = ("nvlink", "listing", "mig", "topology")
"""Those that name GPUs or links and never tell how the GPUs are."""

BUCKET_SECONDS = 10.0
"""Samples that lie closer than this become one snapshot, as an agent sends them."""

MOST_GPUS = 128
MOST_ROWS = 1_000

MOVING = ("temperature_celsius", "power_watts", "pstate", "utilization_percent", "memory_used_bytes")
"""Values that every GPU which answers gives some of."""
FEWEST_FAILED = 3
_GONE: tuple[Reason, ...] = ("gpu_is_lost", "reset_required")

LIST_RANK = ("absent", "empty", "not_supported", "none", "cut", "listed")


@dataclass(slots=True)
class Draft:
    """One GPU of one sample while it is read. `gaps` names why a value is not there."""

    index: int | None = None
    values: dict[str, Any] = field(default_factory=dict)
    gaps: dict[str, Reason] = field(default_factory=dict)
    mig: list[MigDevice] = field(default_factory=list)
    cut: bool = False
    lost: Reason | None = None
    samples: dict[str, list[Any]] = field(default_factory=dict)  # of a bucket that its reader folded
    _order: dict[str, int] = field(default_factory=dict)
    _reasons: dict[int, bool] = field(default_factory=dict)
    _ecc: dict[tuple[str, str], int | None] = field(default_factory=dict)

    def put(self, known: Field, text: str, strict: bool = True) -> None:
        """Read `text` as the field says; the better of several names for one value wins."""
        if self._order.get(known.name, 99) <= known.order:
            return
        try:
            value = known.convert(text, strict)
        except Absent as absent:
            if known.name not in self.values:
                self.gaps.setdefault(known.name, absent.reason)
            return
        self.give(known.name, value, known.order)

    def read(self, name: str, convert: Convert, text: str, strict: bool = True) -> None:
        self.put(Field(name, convert, 0), text, strict)

    def give(self, name: str, value: Any, order: int = 0) -> None:
        if self._order.get(name, 99) <= order:
            return
        self.values[name] = value
        self._order[name] = order
        if self.gaps:
            self.gaps.pop(name, None)

    def lacks(self, name: str, reason: Reason) -> None:
        if name not in self.values:
            self.gaps[name] = reason

    def is_nonsense(self, *names: str) -> None:
        """What was read of these cannot be: no measurement, also not in its samples."""
        for name in names:
            if self.values.pop(name, None) is not None or name in self.samples:
                self.samples.pop(name, None)
                self.gaps[name] = "nonsense"

    def reason(self, bit: int, is_active: bool) -> None:
        """One of the clocks event reasons."""
        self._reasons[bit] = is_active

    def ecc(self, scope: str, name: str, value: int | None) -> None:
        """One of the ECC counters: `scope` is volatile or aggregate."""
        self._ecc[scope, name] = value

    def finish(self) -> None:
        """Put together what is printed in parts."""
        self.lost = self.lost or self._lost()
        if self._reasons and "clocks_event_reasons" not in self.values:
            mask = sum(bit for bit, is_active in self._reasons.items() if is_active)
            if mask or len(self._reasons) >= ENOUGH_REASONS:
                self.give("clocks_event_reasons", mask)
        if not self._ecc:
            return
        for name, (scope, parts) in ECC_SUMS.items():
            shown = [self._ecc[scope, part] for part in parts if (scope, part) in self._ecc]
            known = [value for value in shown if value is not None]
            if (known and len(known) == len(shown) and not self.cut) or any(known):
                self.values.setdefault(name, sum(known))
            elif shown and not known:
                self.lacks(name, "not_supported")

    def _lost(self) -> Reason | None:
        """Why the device is gone, where its cells say so: one failed cell is a sensor, all are the device."""
        for said in _GONE:
            if said in self.gaps.values():
                return said
        failed = [name for name in MOVING if self.gaps.get(name) == "unknown_error"]
        silent = len(failed) >= FEWEST_FAILED and not any(name in self.values for name in MOVING)
        # Heat, power and clock state fail together: what memory and load still read is a remembered value.
        return "unknown_error" if silent or failed[:3] == list(MOVING[:3]) else None

    @property
    def identity(self) -> str | None:
        """What tells this GPU from the others of the text, where it is shown."""
        return self.values.get("uuid") or self.values.get("bus_id")

    @property
    def shown(self) -> set[str]:
        """What its format has a place for, with a value or without."""
        return {*self.values, *self.gaps}

    @property
    def measures(self) -> bool:
        """Whether anything but the GPU's identity was read."""
        return bool(self.values.keys() - {"uuid", "bus_id", "name"}) or bool(self.gaps)


@dataclass(slots=True)
class Row:
    """One process on one GPU, which is named by its index."""

    pid: int
    gpu: int | None = None
    name: str | None = None
    type: str | None = None
    memory: int | None = None
    memory_gap: str | None = None
    sm: float | None = None
    encoder: float | None = None
    decoder: float | None = None
    gpu_instance: int | None = None
    compute_instance: int | None = None
    user: str | None = None
    parent: int | None = None
    state: str | None = None
    wait: str | None = None


@dataclass(slots=True)
class Sheet:
    """One sample of one format."""

    format: Format
    at: float | None = None
    driver: str | None = None
    cuda: str | None = None
    announced: int | None = None
    gpus: list[Draft] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    process_list: str | None = None
    missing: set[MissingPart] = field(default_factory=set)
    count: int = 1  # samples that its reader folded into it
    loose: list[float] = field(default_factory=list)  # utilization of rows whose GPU is cut off
    headed: bool = False  # it begins a list of its own, and no command above says who asked
    numbered: bool = False  # its one GPU has the number that was asked for
    shared_memory: tuple[int, int] | None = (
        None  # bytes in use and in all, of a board without memory of its own
    )
    cut_gpus: int = 0  # GPUs of which not even a line is whole

    def gpu_at(self, index: int) -> Draft:
        """The GPU with this index, made when it is new; no machine has more than `MOST_GPUS`."""
        for draft in self.gpus:
            if draft.index == index:
                return draft
        draft = Draft(index)
        if len(self.gpus) < MOST_GPUS:
            self.gpus.append(draft)
        else:
            self.missing.add("long")
        return draft

    def add(self, row: Row) -> None:
        """A process row; no machine has more than `MOST_ROWS` that anybody reads."""
        if len(self.rows) < MOST_ROWS:
            self.rows.append(row)
        else:
            self.missing.add("long")

    def has(self, index: int) -> bool:
        return any(draft.index == index for draft in self.gpus)

    @property
    def bare(self) -> bool:
        return not (self.gpus or self.rows or self.process_list or self.missing or self.cut_gpus)
