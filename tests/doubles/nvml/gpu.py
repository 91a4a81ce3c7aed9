"""One GPU of the double, in domain words: `gpu.holds(60 * GIB).computes(90, watts=600)`."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from . import layout
from .codes import GPU_IS_LOST, NO_PERMISSION, NOT_SUPPORTED, RESET_REQUIRED, SUCCESS, number_of
from .models import Model

if TYPE_CHECKING:
    from .double import Nvml

SAMPLE_KINDS = {"power_mw": 0, "gpu_percent": 1, "memory_percent": 2, "sm_clock_mhz": 5}
_VALUE_TYPES = {"double": 0, "uint": 1, "ulong": 2, "ulonglong": 3, "longlong": 4, "int": 5}
_PACKING = {
    "double": "<d",
    "uint": "<Ixxxx",
    "ulong": "<Q",
    "ulonglong": "<Q",
    "longlong": "<q",
    "int": "<ixxxx",
}


class Gpu:
    """One GPU of the machine. Each verb returns the GPU, so that a situation reads as one sentence."""

    def __init__(self, nvml: Nvml, index: int) -> None:
        if not 0 <= index < nvml.state.gpu_count:
            raise IndexError(f"the machine has GPUs 0 to {nvml.state.gpu_count - 1}, not {index}")
        self.nvml = nvml
        self.index = index
        self.state: layout.Gpu = nvml.state.gpus[index]

    @property
    def uuid(self) -> str:
        """Its UUID, as NVML writes it."""
        return self.state.uuid.decode()

    @property
    def pci_bus_id(self) -> str:
        """Its PCI address, as NVML writes it."""
        return self.state.pci_bus_id.decode()

    def sets(self, **values: float | str) -> Self:
        """Writes members of the state by name, in NVML's own units: power_mw, memory_used, gpu_percent …"""
        for name, value in values.items():
            if not hasattr(self.state, name):
                raise AttributeError(f"the double's GPU has no {name}; see layout.Gpu")
            setattr(self.state, name, value.encode() if isinstance(value, str) else value)
        return self

    def computes(self, gpu_percent: int, memory_percent: int = 0, *, watts: float | None = None) -> Self:
        """Shows activity, with clocks up and the link awake when there is any."""
        busy = gpu_percent > 0
        clocks = self.state.max_clock_mhz
        self.sets(gpu_percent=gpu_percent, memory_percent=memory_percent, pstate=0 if busy else 8)
        self.sets(pcie_gen=self.state.pcie_max_gen if busy else 1, clocks_event_reasons=0 if busy else 1)
        for clock in (0, 1, 3):
            self.state.clock_mhz[clock] = clocks[clock] if busy else clocks[clock] // 6
        self.state.clock_mhz[2] = clocks[2]
        if self._has_gpm:
            shares = {2: gpu_percent * 0.9, 3: gpu_percent * 0.4, 5: gpu_percent * 0.4, 10: memory_percent}
            for metric, value in shares.items():
                self.gpm(metric, value)
        return self.draws(watts) if watts is not None else self

    def draws(self, watts: float) -> Self:
        """Draws this power, in both the usage call and the power fields."""
        self.sets(power_mw=round(watts * 1000))
        return self.field(185, round(watts * 1000)).field(186, round(watts * 1000))

    def holds(self, used_bytes: int) -> Self:
        """Has this much memory allocated (the driver's reserve not counted)."""
        return self.sets(memory_used=used_bytes)

    def runs_process(
        self,
        pid: int,
        used_bytes: int | None,
        *,
        kind: str = "compute",
        sm_percent: int = 0,
        memory_percent: int = 0,
        gpu_instance: int = layout.NO_INSTANCE,
        compute_instance: int = layout.NO_INSTANCE,
    ) -> Self:
        """Adds a process to its list (compute, graphics or mps); None: its memory is not told."""
        process = self.state.processes[self.state.process_count]
        process.pid = pid
        process.kind = {"compute": layout.COMPUTE, "graphics": layout.GRAPHICS, "mps": layout.MPS}[kind]
        process.used_bytes = layout.NOT_AVAILABLE_U64 if used_bytes is None else used_bytes
        process.sm_percent, process.memory_percent = sm_percent, memory_percent
        process.gpu_instance, process.compute_instance = gpu_instance, compute_instance
        self.state.process_count += 1
        return self

    def runs_no_process(self) -> Self:
        """Empties the process lists; memory held stays held."""
        return self.sets(process_count=0)

    def field(self, field_id: int, value: float, kind: str = "ulonglong", *, scope: int = 0) -> Self:
        """Sets one answer of nvmlDeviceGetFieldValues."""
        entry = self._field_entry(field_id, scope)
        entry.code, entry.value_type = SUCCESS, _VALUE_TYPES[kind]
        number = float(value) if kind == "double" else int(value)
        entry.bits = struct.unpack("<Q", struct.pack(_PACKING[kind], number))[0]
        return self

    def lacks_field(self, field_id: int, code: int = NOT_SUPPORTED, *, scope: int = 0) -> Self:
        """Makes one field answer with a code instead of a value."""
        self._field_entry(field_id, scope).code = code
        return self

    def sampled(self, kind: str, samples: Iterable[tuple[float, int]]) -> Self:
        """Fills a driver sample buffer with (seconds since 1970, value); see SAMPLE_KINDS."""
        buffer = self.state.samples[SAMPLE_KINDS[kind]]
        values = list(samples)[-layout.SAMPLES :]
        for place, (seconds, value) in zip(buffer.samples, values, strict=False):
            place.timestamp_us, place.value = round(seconds * 1e6), value
        buffer.count = len(values)
        return self

    def lacks(self, *functions: str, code: int = NOT_SUPPORTED) -> Self:
        """Makes functions answer NOT_SUPPORTED, or another code, on this GPU."""
        for function in functions:
            self.state.answers[number_of(function)] = code
        return self

    def offers(self, *functions: str) -> Self:
        """Takes `lacks` back."""
        return self.lacks(*functions, code=SUCCESS)

    def is_lost(self) -> Self:
        """Fell off the bus: every call on it says so."""
        return self.sets(failure=GPU_IS_LOST)

    def needs_reset(self) -> Self:
        """Every call on it says that it must be reset."""
        return self.sets(failure=RESET_REQUIRED)

    def is_well_again(self) -> Self:
        """Answers as before."""
        return self.sets(failure=SUCCESS, present=1)

    def is_gone(self) -> Self:
        """Is no longer counted by the driver; the GPUs behind it move up."""
        return self.sets(present=0)

    def denies_process_list(self) -> Self:
        """Answers the process lists with NO_PERMISSION."""
        lists = (
            f"nvmlDeviceGet{kind}RunningProcesses{version}"
            for kind in ("Compute", "Graphics", "MPSCompute")
            for version in ("", "_v2", "_v3")
        )
        return self.lacks(*lists, code=NO_PERMISSION)

    def is_vgpu_guest(self, *, licensed: bool) -> Self:
        """Is a slice that a hypervisor gives to this virtual machine."""
        return self.sets(virtualization=2, licensed=int(licensed))

    def claims_lists_of(self, count: int) -> Self:
        """Says of its lists that they have so many entries, which they have not; 0 ends it."""
        return self.sets(told_count=count)

    def counts_ecc(self, *, uncorrected: int = 0, corrected: int = 0) -> Self:
        """Adds memory errors to the volatile and the aggregate counters of the whole and of the DRAM."""
        for row, count in ((0, corrected), (1, uncorrected)):
            for counter in (0, 1):
                self.state.ecc.total[row][counter] += count
                self.state.ecc.device_memory[row][counter] += count
        return self.field(3, self.state.ecc.total[0][0]).field(4, self.state.ecc.total[1][0])

    def nvlink(self, link: int, *, up: bool) -> Self:
        """Sets the state of one NVLink."""
        self.state.nvlink_up[link] = int(up)
        return self

    def gpm(self, metric: int, value: float) -> Self:
        """Sets one GPM metric, by its NVML number."""
        self.state.gpm[metric] = value
        return self

    def is_sliced(self, *slices: MigSlice) -> Self:
        """Turns MIG on, with these slices."""
        self.sets(mig_mode=1, mig_pending=1)
        for place in self.state.mig:
            place.present = 0
        for number, piece in enumerate(slices):
            place = self.state.mig[number]
            place.uuid = f"MIG-{self.index:08x}-{number:04x}-5000-8000-000000000000".encode()
            place.name = f"{self.state.name.decode()} MIG {piece.profile}".encode()
            place.gpu_instance, place.compute_instance = number + 1, 0
            place.memory_total, place.memory_used = piece.memory_total, piece.memory_used
            place.multiprocessors, place.gpu_slices, place.compute_slices = 16, 1, 1
            place.present = 1
        return self

    @property
    def _has_gpm(self) -> bool:
        return self.state.architecture >= 9  # Hopper and newer

    def _field_entry(self, field_id: int, scope: int) -> layout.Field:
        for entry in self.state.fields[: self.state.field_count]:
            if (entry.id, entry.scope) == (field_id, scope):
                return entry
        entry = self.state.fields[self.state.field_count]
        entry.id, entry.scope, entry.code = field_id, scope, NOT_SUPPORTED
        self.state.field_count += 1
        return entry

    def _comes_up(self, model: Model) -> None:
        """Fills in the board as it is when idle, with nothing wrong."""
        i, gpu = self.index, self.state
        bus = 0x18 + 8 * i
        graphics, memory, idle = model.clocks_mhz
        lowest, highest, default = (watts * 1000 for watts in model.power_watts)
        self.sets(
            uuid=f"GPU-{i:08x}-0000-4000-8000-{i:012x}",
            name=model.name,
            serial=f"165000000{i:04d}",
            vbios="96.00.74.00.01",
            part_number="692-2G520-0200-000",
            pci_bus_id=f"00000000:{bus:02X}:00.0",
            pci_bus=bus,
            pci_device_id=model.pci_device_id,
            minor=i,
            architecture=model.architecture,
            compute_major=model.compute[0],
            compute_minor=model.compute[1],
            cores=16896,
            memory_bus_width=5120,
            memory_total=model.memory_total,
            memory_reserved=model.memory_reserved,
            bar1_total=model.memory_total,
            bar1_used=2**20,
            power_limit_mw=default,
            power_enforced_mw=default,
            power_default_mw=default,
            power_min_mw=lowest,
            power_max_mw=highest,
            supported_event_reasons=0x1FF,
            clocks_event_reasons=1,
            temperature_c=34,
            margin_c=model.slowdown_c - 34,
            pstate=0 if not model.fans else 8,
            fans=model.fans,
            fan_percent=30 if model.fans else 0,
            fan_rpm=900 if model.fans else 0,
            pcie_gen=model.pcie_gen if model.nvlinks else 1,
            pcie_max_gen=model.pcie_gen,
            pcie_gpu_max_gen=model.pcie_gen,
            pcie_width=16,
            pcie_max_width=16,
            persistence=1,
            numa_node=0,
            nvlinks=model.nvlinks,
            nvlink_version=model.nvlink_version,
            fabric_state=3 if model.nvlinks >= 18 else 0,
            sample_period_us=100_000,
        )
        gpu.present = 1
        gpu.cpu_affinity[0] = 2**64 - 1
        gpu.ecc.mode = gpu.ecc.mode_pending = int(model.ecc)
        for clock, highest_mhz in enumerate((graphics, graphics, memory, graphics)):
            gpu.max_clock_mhz[clock] = gpu.boost_clock_mhz[clock] = highest_mhz
            gpu.application_clock_mhz[clock] = highest_mhz
            gpu.clock_mhz[clock] = memory if clock == 2 else idle
        for threshold, celsius in enumerate(
            (model.slowdown_c + 5, model.slowdown_c, 95, model.slowdown_c - 4)
        ):
            gpu.threshold_c[threshold] = celsius
        for link in range(model.nvlinks):
            gpu.nvlink_up[link] = 1
        gpu.remap_histogram[0] = 640
        for metric in range(layout.GPM_METRICS):
            gpu.gpm[metric] = 0.0 if self._has_gpm and metric in (2, 3, 5, 10, 20, 21, 60, 61) else math.nan
        self.draws(model.idle_watts)
        self._fields_come_up(model)
        self.lacks(*model.unsupported)

    def _fields_come_up(self, model: Model) -> None:
        zero_counters = [
            74,
            75,
            76,
            77,
            78,
            79,
            173,
            174,
            175,
            176,
            177,
            178,
            179,
            180,
            197,
            198,
            269,
            270,
            271,
        ]
        for field_id in zero_counters:
            self.field(field_id, 0)
        self.field(94, 0, "uint").field(230, 0, "uint")
        self.field(189, self.state.power_default_mw).field(192, self.state.power_limit_mw)
        if model.ecc:
            self.field(3, 0).field(4, 0)
        if "nvmlDeviceGetRemappedRows" not in model.unsupported:
            for field_id in (142, 143, 144, 145):
                self.field(field_id, 0, "uint")
        if "nvmlDeviceGetMarginTemperature" not in model.unsupported:
            self.field(82, 45, "uint")
            for field_id, limit in ((193, -7), (194, -2), (195, 0), (196, 0)):
                self.field(field_id, limit, "int")
        if model.nvlinks:
            for field_id in (160, 161, 162, 163):
                self.field(field_id, 0)


class MigSlice:
    """One MIG slice to cut: its profile name and memory."""

    def __init__(self, profile: str, memory_total: int, memory_used: int = 0) -> None:
        self.profile = profile
        self.memory_total = memory_total
        self.memory_used = memory_used
