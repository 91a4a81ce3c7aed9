"""One GPU as NVML numbers it, with what is known of it and what it is known to refuse.

What it is asked stands in `fast.py`, `slow.py` and `extras.py`; this knows nothing of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pynvml

from gpudiag.agent.nvml.faults import DEVICE_FAULTS, LASTING, LIBRARY_FAULTS, NvmlFault, code_of, reason_of
from gpudiag.model import GpuReading, GpuUse, Reason

KEPT_SECONDS = 300.0  # that a value stays true on a driver that is too slow to be asked again
_IDENTITY = frozenset({"name", "architecture", "brand", "vbios", "memory_total_bytes"})


class Device:
    """What is kept of one GPU between calls."""

    def __init__(self, index: int, handle: Any, uuid: str | None, bus_id: str | None) -> None:
        self.index = index
        self.handle = handle
        self.uuid = uuid
        self.bus_id = bus_id
        self.minor: int | None = None  # the N of its /dev/nvidiaN
        self.error: Reason | None = None
        self.hangs = False
        self.known: dict[str, Any] = {}  # field → value, of all but the fast ones
        self.uses: dict[int, GpuUse] | None = None  # pid → what it does here; None: not looked at yet
        self.refused: dict[str, Reason] = {}  # field → reason, asked again after a while
        self.failed: dict[str, Reason] = {}  # field → reason, until it is asked again
        self.spared: set[tuple[Any, ...]] = set()  # rows of the tables, not asked for a while
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

    def asks_again(self) -> None:
        """Forgets refusals: a permission may have been given, MIG switched off."""
        self.refused.clear()
        self.spared.clear()

    def refuses(self, fields: Iterable[str], reason: Reason) -> bool:
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

    def forgets_old(self, now: float) -> None:
        """What a slow driver has not told for long is known no more."""
        if self.looked_at is not None and now - self.looked_at > KEPT_SECONDS:
            self.known = {field: value for field, value in self.known.items() if field in _IDENTITY}
            self.uses = self.looked_at = None
