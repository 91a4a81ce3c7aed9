"""One GPU as NVML numbers it, with what is known of it and what it is known to refuse."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pynvml

from gpudiag.agent.nvml.extras import EXTRAS, RARE_EXTRAS, Extra
from gpudiag.agent.nvml.fast import FAST, Fast
from gpudiag.agent.nvml.faults import DEVICE_FAULTS, LASTING, LIBRARY_FAULTS, NvmlFault, code_of, reason_of
from gpudiag.agent.nvml.metrics import FIELDS, RARE, SLOW, Row
from gpudiag.model import GpuReading, GpuUse

KEPT_SECONDS = 300.0  # that a value stays true on a driver that is too slow to be asked again
_IDENTITY = frozenset({"name", "architecture", "brand", "vbios", "memory_total_bytes"})
_ASKED_FOR = tuple(
    field for table in (SLOW, RARE, EXTRAS, RARE_EXTRAS) for row in table for field in row.fields
)


class Device:
    """What is kept of one GPU between calls."""

    def __init__(self, index: int, handle: Any, uuid: str | None, bus_id: str | None) -> None:
        self.index = index
        self.handle = handle
        self.uuid = uuid
        self.bus_id = bus_id
        self.minor: int | None = None  # the N of its /dev/nvidiaN
        self.error: str | None = None
        self.hangs = False
        self.known: dict[str, Any] = {}  # field → value, of all but the fast ones
        self.uses: dict[int, GpuUse] | None = None  # pid → what it does here; None: not looked at yet
        self.refused: dict[str, str] = {}  # field → reason, asked again after a while
        self.failed: dict[str, str] = {}  # field → reason, until it is asked again
        self.looked_at: float | None = None  # when all of `known` and `uses` was last asked for
        self.rare_at: float | None = None
        self.retry_at: float | None = None
        self.old_memory_call = False
        self.samples_seen = 0  # the driver's stamp of the last one, microseconds; 0 is none
        self.utilization_seen = 0
        self.gpm: list[Any] | None = None
        self.rows: list[tuple[float, list[Any]]] = []  # fast values, and when
        self.sample_seconds = 0.0  # that the last of them took
        self.harvested = False  # the first of `rows` was given away and serves only for rates
        self.asks_again()

    def asks_again(self) -> None:
        """Forgets refusals: a permission may have been given, MIG switched off."""
        self.refused.clear()
        self.fast: list[Fast] = list(FAST)
        self.slow: list[Row] = list(SLOW)
        self.rare: list[Row] = list(RARE)
        self.extras: list[Extra] = list(EXTRAS)
        self.rare_extras: list[Extra] = list(RARE_EXTRAS)
        self.field_ids = [row.id for row in FIELDS]

    def refuses(self, fields: Iterable[str], reason: str) -> bool:
        """Keeps why fields are missing; tells whether it is of the kind that lasts."""
        lasts = reason in LASTING
        for field in fields:
            self.known.pop(field, None)
            (self.refused if lasts else self.failed)[field] = reason
        return lasts

    def notes(self, fields: tuple[str, ...], error: Exception) -> bool:
        """Keeps why a call failed; True when it need not be made again for a while.

        What means the whole GPU goes into `error`; what means NVML as a whole is raised as NvmlFault.
        """
        reason = reason_of(error)
        if reason in LIBRARY_FAULTS:
            raise NvmlFault.of(error)
        if reason in DEVICE_FAULTS:
            self.error = reason
            return False
        if code_of(error) == pynvml.NVML_ERROR_UNINITIALIZED:
            raise NvmlFault("driver_not_loaded", pynvml.NVML_ERROR_UNINITIALIZED)
        if code_of(error) == pynvml.NVML_ERROR_CORRUPTED_INFOROM:
            self.known["inforom_corrupted"] = True
        return self.refuses(fields, reason)

    def forgets_failure(self, fields: Iterable[str]) -> None:
        """They are asked anew."""
        for field in fields:
            self.failed.pop(field, None)

    def reading(self) -> GpuReading:
        """Everything that is known but the samples; of a GPU that does not answer only what it is."""
        error = "timeout" if self.hangs else self.error
        reading = GpuReading(index=self.index, uuid=self.uuid, bus_id=self.bus_id, error=error)
        for field, value in self.known.items():
            if error is None or field in _IDENTITY:
                setattr(reading, field, value)
        return reading

    def missing(self, now: float) -> dict[str, str]:
        """Field → why it is not known. What a slow driver has not told for long is known no more."""
        found = {**self.refused, **self.failed}
        if self.error is not None or self.hangs:
            return found
        if self.looked_at is not None and now - self.looked_at > KEPT_SECONDS:
            self.known = {field: value for field, value in self.known.items() if field in _IDENTITY}
            self.uses = self.looked_at = None
        if self.looked_at is None:
            late = [field for field in _ASKED_FOR if field not in self.known and field not in found]
            found |= dict.fromkeys(late, "timeout")
        if self.uses is None:
            found.setdefault("processes", "timeout")
        return found
