"""One GPU of a story: what it does, and what its counters show as time goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from tests.doubles.nvml import Gpu, MigSlice

TX, RX = 197, 198  # NVML's counters of bytes over PCIe


class GpuTale:
    """One GPU: what it does, and counters that go on with time."""

    def __init__(self, gpu: Gpu) -> None:
        self.double = gpu
        self._wave: list[tuple[int, float]] = []  # percent and watts, second by second
        self._rates: dict[int, float] = {}  # field number → increase per second
        self._counted: dict[int, float] = {}
        self.hidden_bytes = 0
        self.idle_watts = gpu.state.power_mw / 1000

    def rests(self, *, watts: float | None = None) -> Self:
        """Nothing runs."""
        self._wave = []
        self.double.computes(0, watts=watts or self.idle_watts)
        self.double.sets(temperature_c=34, pstate=0 if not self.double.state.fans else 8)
        return self

    def computes(self, percent: int, *, watts: float, memory_percent: int = 40, celsius: int = 58) -> Self:
        """Kernels run for this share of the time."""
        self._wave = []
        self.double.computes(percent, memory_percent, watts=watts).sets(temperature_c=celsius, pstate=0)
        return self

    def in_bursts(
        self, percents: Sequence[int], *, watts: float, memory_percent: int = 40, celsius: int = 45
    ) -> Self:
        """Works in a pattern of seconds that repeats; draws `watts` in a full second."""
        self.computes(max(percents), watts=watts, memory_percent=memory_percent, celsius=celsius)
        self._wave = [(p, self.idle_watts + (watts - self.idle_watts) * p / 100) for p in percents]
        return self

    def spins(self, *, watts: float = 130.0) -> Self:
        """Kernels only wait for each other: 100 % at low power, and hardly a unit works."""
        return self.computes(100, watts=watts, memory_percent=0).units_work(sm=3)

    def copies(self, *, received: float = 0.0, sent: float = 0.0) -> Self:
        """Bytes per second over PCIe, from and to the host."""
        return self.counts(TX, sent).counts(RX, received)

    def counts(self, field: int, per_second: float) -> Self:
        """One of NVML's counters rises so fast."""
        self._rates[field] = per_second
        return self

    def says(self, **values: Any) -> Self:
        """Members of the double's state, in NVML's units: clocks_event_reasons, margin_c, pcie_width …"""
        self.double.sets(**values)
        return self

    def clocks(self, megahertz: int) -> Self:
        """The SM clock."""
        for clock in (0, 1, 3):
            self.double.state.clock_mhz[clock] = megahertz
        return self

    def units_work(self, *, sm: float, tensor: float = 0.0, memory: float = 0.0) -> Self:
        """What the counters inside the chip show, percent."""
        self.double.gpm(2, sm).gpm(5, tensor).gpm(10, memory)
        return self

    def remaps(self, *, uncorrectable: int = 0, pending: bool = False, failed: bool = False) -> Self:
        """What the row remapper says."""
        for place, value in ((1, uncorrectable), (2, pending), (3, failed)):
            self.double.state.remapped[place] = int(value)
        return self

    def links_fail(self, *links: int) -> Self:
        """These NVLinks go down."""
        for link in links:
            self.double.nvlink(link, up=False)
        return self

    def is_sliced(self, *slices: MigSlice) -> Self:
        """MIG is on: the driver tells no utilization any more."""
        self.double.is_sliced(*slices)
        self.double.lacks(
            "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetSamples", "nvmlDeviceGetProcessUtilization"
        )
        return self

    def prepares(self, before: float, moment: float) -> None:
        """Brings pattern and counters to a moment."""
        if self._wave:
            percent, watts = self._wave[int(moment) % len(self._wave)]
            self.double.sets(gpu_percent=percent).draws(watts)
        for field, rate in self._rates.items():
            if rate:
                self._counted[field] = self._counted.get(field, 1e9) + rate * (moment - before)
                self.double.field(field, self._counted[field])
