"""One simulated node: GPUs, processes, engines and host as functions of time."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gpudiag.model import (
    AgentReading,
    EngineReading,
    Gap,
    GpuReading,
    GpuUse,
    HostReading,
    KernelEvent,
    NvmlReading,
    ProcessReading,
    Samples,
    Snapshot,
)
from gpudiag.simulator.cards import GIB, MIB, Card

INTERVAL = 10
DRIVER = "580.95.05"


@dataclass(slots=True)
class Pulse:
    """What one GPU does in one second. Power and clock follow from utilization if not said."""

    utilization_percent: float = 0.0
    memory_used_bytes: int = 4 * MIB
    memory_utilization_percent: float = 0.0
    power_watts: float | None = None
    sm_clock_megahertz: float | None = None
    pcie_rx: float = 0.0
    pcie_tx: float = 0.0
    slow: dict[str, Any] = field(default_factory=dict)  # slow readings that differ from the card at rest


class Machine:
    """A node of the simulated fleet. Subclasses say what its GPUs, processes and engines do at a second.

    `began` is the Unix second at which its story starts; a story runs for an hour and then stays as it is.
    """

    name = "node-0"
    card: Card
    gpus = 1
    cpu_count = 64
    cpu_percent = 4.0
    labels: ClassVar[dict[str, str]] = {}

    def __init__(self, began: float, seed: int = 1) -> None:
        self.began = math.floor(began)
        self.seed = zlib.crc32(f"{seed}/{self.name}".encode())
        self.start_id = f"simulated-{self.name}-{self.seed:08x}-{self.began}"

    # ---- what a subclass tells

    def pulse(self, gpu: int, at: int) -> Pulse:
        """What one GPU does in the second that ends at `at`."""
        return Pulse()

    def processes(self, at: int) -> list[ProcessReading]:
        return []

    def engines(self, at: int) -> list[EngineReading]:
        return []

    def events(self, since: int, until: int) -> list[KernelEvent]:
        """Kernel log lines after `since` up to `until`."""
        return []

    def gaps(self, at: int) -> list[Gap]:
        return []

    def reports(self, at: int) -> bool:
        """Whether its agent still reports at that second."""
        return True

    def host(self, at: int) -> HostReading:
        return HostReading(
            boot_id=f"simulated-boot-{self.name}",
            booted_at=float(self.began - 9 * 86_400),
            cpu_count=self.cpu_count,
            cpu_percent=max(0.5, self.cpu_percent + self.noise(at, "cpu")),
            iowait_percent=0.1,
            load_1min=round(self.cpu_count * self.cpu_percent / 100, 2),
            cpu_pressure_some=0.2,
            io_pressure_full=0.0,
            memory_pressure_full=0.0,
            memory_total_bytes=1024 * GIB,
            memory_available_bytes=860 * GIB,
            swap_in_pages_per_second=0.0,
            disk_busy_ratio=0.02,
            pci_gpu_count=self.gpus,
            kernel_driver_version=DRIVER,
            in_container=False,
        )

    # ---- for subclasses

    def minute(self, at: int) -> float:
        """Minutes into the story."""
        return (at - self.began) / 60

    def noise(self, at: int, what: str = "", size: float = 1.0) -> float:
        """A number between -size and size that only depends on the seed, the second and what it is for."""
        x = (zlib.crc32(what.encode(), self.seed) + at * 0x85EBCA77) & 0xFFFFFFFF
        x = ((x ^ (x >> 15)) * 0x2C1B3C6D) & 0xFFFFFFFF
        x = ((x ^ (x >> 12)) * 0x297A2D39) & 0xFFFFFFFF
        return size * ((x ^ (x >> 15)) / 0x7FFFFFFF - 1)

    def uuid(self, gpu: int) -> str:
        key = f"{self.seed:08x}"
        return f"GPU-{key}-0000-4000-8000-{gpu:012x}"

    # ---- one report

    def snapshot(self, at: float) -> Snapshot | None:
        """The report of the ten seconds that end at `at`, or None when its agent does not report then."""
        end = math.floor(at)
        if not self.reports(end):
            return None
        return Snapshot(
            node=self.name,
            taken_at=float(end),
            source="simulated",
            agent=AgentReading(
                start_id=self.start_id,
                sequence=max(0, (end - self.began) // INTERVAL),
                version="simulator",
                interval_seconds=float(INTERVAL),
                started_at=float(self.began),
                sees_all_processes=True,
                kernel_log_readable=True,
                uid=0,
            ),
            driver_version=DRIVER,
            cuda_version="13.0",
            nvml=NvmlReading(version="13.580", sweep_seconds=0.021, sweep_seconds_max=0.04),
            gpus=[self.reading(gpu, end) for gpu in range(self.gpus)],
            processes=self.processes(end),
            engines=self.engines(end),
            host=self.host(end),
            events=self.events(end - INTERVAL, end),
            gaps=self.gaps(end),
            labels=self.labels,
        )

    def history(self, since: float, until: float) -> Iterable[Snapshot]:
        """Reports after `since` up to `until`, oldest first, one every ten seconds."""
        first = self.began + INTERVAL * (math.floor(since - self.began) // INTERVAL + 1)
        for at in range(int(first), math.floor(until) + 1, INTERVAL):
            snapshot = self.snapshot(at)
            if snapshot is not None:
                yield snapshot

    def reading(self, gpu: int, end: int) -> GpuReading:
        """One GPU with every second of the last ten."""
        reading = self.card.at_rest(gpu, self.uuid(gpu), f"00000000:{0x19 + 0x11 * gpu:02X}:00.0")
        rows = [self._row(gpu, at) for at in range(end - INTERVAL + 1, end + 1)]
        columns = zip(*rows, strict=True)
        reading.samples = Samples()
        for name, column in zip(FAST, columns, strict=True):
            setattr(reading.samples, name, list(column))
            setattr(reading, name, column[-1])
        used = reading.memory_used_bytes or 0
        reading.memory_free_bytes = max(0, self.card.total_bytes - self.card.reserved_bytes - used)
        reading.temperature_margin_celsius = 87.0 - (reading.temperature_celsius or 0.0)
        for name, value in self.pulse(gpu, end).slow.items():
            setattr(reading, name, value)
        return reading

    def _row(self, gpu: int, at: int) -> tuple[Any, ...]:
        """The fast readings of one second, in the order of FAST."""
        pulse, card = self.pulse(gpu, at), self.card
        utilization = min(100.0, max(0.0, pulse.utilization_percent))
        busy = utilization / 100
        jitter = self.noise(at, f"power{gpu}")
        watts = pulse.power_watts
        if watts is None:
            watts = card.idle_watts + busy * 0.78 * (card.limit_watts - card.idle_watts) * (1 + 0.03 * jitter)
        clock = pulse.sm_clock_megahertz
        if clock is None:
            clock = card.boost_megahertz * (0.97 - 0.06 * busy) if utilization >= 1 else card.idle_megahertz
        heat = 29 + 0.6 * gpu % 3 + 36 * (watts - card.idle_watts) / (card.limit_watts - card.idle_watts)
        return (
            float(round(utilization)),
            float(round(pulse.memory_utilization_percent)),
            pulse.memory_used_bytes,
            round(watts + 0.4 * jitter, 1),
            15.0 * round(clock / 15),
            float(round(heat)),
            0 if utilization >= 1 or clock > card.idle_megahertz else 0x1,
            pulse.pcie_rx,
            pulse.pcie_tx,
        )


FAST = (
    "utilization_percent",
    "memory_utilization_percent",
    "memory_used_bytes",
    "power_watts",
    "sm_clock_megahertz",
    "temperature_celsius",
    "clocks_event_reasons",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
)


def on(memory: dict[int, int]) -> list[GpuUse]:
    """Memory by GPU index, as a process's share of them."""
    return [GpuUse(gpu=gpu, memory_used_bytes=held, type="C") for gpu, held in memory.items()]
