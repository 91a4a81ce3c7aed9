"""What each CSV column of nvidia-smi means, and how its cells are read.

A series repeats its cells, so each text of a column is read once.
"""

from __future__ import annotations

from typing import Any

from gpudiag.model import Samples
from gpudiag.smi import values as v
from gpudiag.smi.fields import CSV, ECC_CSV, REASON_BITS, Field
from gpudiag.smi.sheet import Draft, Sheet
from gpudiag.smi.values import Absent, Convert

WITH_UNITS = (v.mib, v.percent, v.fan, v.watts, v.megahertz, v.nanoseconds)
NEVER_UNITS = (v.celsius, v.banks, v.width, v.count)
"""CSV prints these without a unit, also where others carry theirs."""

_MASKS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
_REASONS = ("clocks_event_reasons.", "clocks_throttle_reasons.")
_OF_SAMPLES = frozenset(Samples.__struct_fields__)


class Column:
    """A column whose cells are values of the GPU."""

    def __init__(self, field: Field) -> None:
        self.field = field
        self.never = field.convert in NEVER_UNITS
        self.sampled = field.name if field.name in _OF_SAMPLES else ""
        self._known: dict[str, Any] = {}

    def _read(self, cell: str, strict: bool) -> Any:
        """The value, or the Absent that says why there is none."""
        try:
            return self._known[cell]
        except KeyError:
            try:
                value = self.field.convert(cell, strict and not self.never)
            except Absent as absent:
                value = absent
            self._known[cell] = value
            return value

    def value(self, cell: str, strict: bool) -> Any:
        value = self._read(cell, strict)
        return None if value.__class__ is Absent else value

    def put(self, sheet: Sheet, draft: Draft, cell: str, strict: bool) -> None:
        value = self._read(cell, strict)
        if value.__class__ is not Absent:
            draft.give(self.field.name, value, self.field.order)
        elif self.field.name not in draft.values:
            draft.gaps.setdefault(self.field.name, value.reason)


class _Index(Column):
    """The GPU's index."""

    def put(self, sheet: Sheet, draft: Draft, cell: str, strict: bool) -> None:
        draft.index = self.value(cell, strict)


class _Head(Column):
    """A value of the machine: the driver's version, or how many GPUs there are."""

    def put(self, sheet: Sheet, draft: Draft, cell: str, strict: bool) -> None:
        value = self.value(cell, strict)
        if value is not None:
            setattr(sheet, self.field.name, value)


class _Reason(Column):
    """One of the clocks event reasons."""

    def __init__(self, bit: int) -> None:
        super().__init__(Field("", v.active, 0))
        self.bit = bit

    def put(self, sheet: Sheet, draft: Draft, cell: str, strict: bool) -> None:
        value = self.value(cell, strict)
        if value is not None:
            draft.reason(self.bit, value)


def _plain(name: str, convert: Convert) -> Column:
    return Column(Field(name, convert, 0))


def column_of(name: str) -> Column | None:
    """How a column is read; None for one that tells nothing we keep."""
    field = CSV.get(name)
    if field is not None:
        return Column(field)
    if name == "index":
        return _Index(Field("index", v.count, 0))
    if name == "driver_version":
        return _Head(Field("driver", v.version, 0))
    if name == "count":
        return _Head(Field("announced", v.count, 0))
    if name in _MASKS:
        return _plain("clocks_event_reasons", v.mask)
    for prefix in _REASONS:
        bit = REASON_BITS.get(name.removeprefix(prefix)) if name.startswith(prefix) else None
        if bit:
            return _Reason(bit)
    ecc = ECC_CSV.get(name)
    return _plain(ecc, v.count) if ecc else None
