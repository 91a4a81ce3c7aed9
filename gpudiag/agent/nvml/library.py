"""NVML from opening to closing, and its GPUs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from gpudiag.agent.clock import Clock
from gpudiag.agent.nvml import fast, slow
from gpudiag.agent.nvml.calls import Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.events import XidEvents
from gpudiag.agent.nvml.extras import free_gpm
from gpudiag.agent.nvml.faults import CAUGHT, DeviceFault, Nonsense, NvmlFault, reason_of
from gpudiag.agent.nvml.metrics import decoded
from gpudiag.model import GpuReading

MOST_GPUS = 256  # of one host: a driver that counts more talks nonsense


class Library:
    """NVML from `open` to `close`. `announce` is called before each call into it, with the call's name.

    Every method may hang in the driver: call them where a hang can be watched.
    """

    def __init__(self, announce: Callable[[str], None] = lambda call: None) -> None:
        self._nvml = Calls(announce)
        self._events = XidEvents()
        self.devices: list[Device] = []
        self.driver_version: str | None = None
        self.cuda_version: str | None = None
        self.nvml_version: str | None = None
        self.is_open = False

    def adopt(self, other: Library) -> None:
        """Goes on where a thread stopped that hangs in the driver; NVML itself stays initialised."""
        self.devices = other.devices
        self.driver_version, self.nvml_version = other.driver_version, other.nvml_version
        self.cuda_version = other.cuda_version
        self._events = other._events
        self.is_open = other.is_open

    # ---- opening and closing

    def open(self) -> None:
        """Initialises NVML and finds its GPUs; raises NvmlFault."""
        self._ask("nvmlInit")
        self.is_open = True
        self.driver_version = decoded(self._nvml.ask("nvmlSystemGetDriverVersion"))
        self.nvml_version = decoded(self._nvml.ask("nvmlSystemGetNVMLVersion"))
        cuda = self._nvml.ask("nvmlSystemGetCudaDriverVersion_v2")
        self.cuda_version = f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None
        self.find_devices()

    def close(self) -> None:
        """Lets go of the driver, so that a reset or an update is not blocked by us."""
        if not self.is_open:
            return
        self.is_open = False
        for device in self.devices:
            free_gpm(self._nvml, device)
        self._events.free(self._nvml)
        self.devices = []
        self._nvml.ask("nvmlShutdown")  # nothing can be done about a driver that is gone

    # ---- finding GPUs

    def find_devices(self) -> None:
        """Numbers the GPUs afresh; a known one (by UUID) keeps what was learnt about it."""
        known = {device.uuid: device for device in self.devices if device.uuid}
        by_index = {device.index: device for device in self.devices}
        taken: set[str | None] = set()
        found: list[Device] = []
        for index in range(self._count()):
            device = self._find(index, known, by_index.get(index))
            if device.uuid in taken:
                device.uuid = None  # no two GPUs have one: the address tells them apart
            taken.add(device.uuid)
            known.pop(device.uuid or "", None)
            found.append(device)
        self.devices = found

    def count_changed(self) -> bool:
        """Whether the driver counts other GPUs than we do; raises NvmlFault."""
        return self._count() != len(self.devices)

    def _count(self) -> int:
        count = int(self._ask("nvmlDeviceGetCount"))
        if count > MOST_GPUS:
            raise NvmlFault("nonsense", detail=f"the driver counts {count} GPUs")
        return count

    def _find(self, index: int, known: dict[str, Device], here_before: Device | None) -> Device:
        try:
            handle = self._nvml.make("nvmlDeviceGetHandleByIndex", index)
            uuid = self._text("nvmlDeviceGetUUID", handle)
            bus_id = decoded(self._nvml.make("nvmlDeviceGetPciInfo", handle).busId)
        except CAUGHT as error:
            device = here_before or Device(index, None, None, None)
            device.error = reason_of(error)
            return device
        device = known.get(uuid or "") or Device(index, handle, uuid, bus_id)
        device.minor = self._nvml.ask("nvmlDeviceGetMinorNumber", handle)
        device.index, device.handle, device.bus_id, device.error = index, handle, bus_id, None
        return device

    def _text(self, call: str, handle: Any) -> str | None:
        try:
            return decoded(self._nvml.make(call, handle))
        except Nonsense:
            return None

    def _comes_back(self, device: Device) -> bool:
        """Asks again for the handle of a GPU that did not answer at the start."""
        found = self._find(device.index, {}, None)
        if found.handle is None:
            device.error = found.error
            return False
        device.handle, device.minor, device.error = found.handle, found.minor, None
        device.uuid, device.bus_id = found.uuid, found.bus_id
        return True

    def _ask(self, call: str) -> Any:
        try:
            return self._nvml.make(call)
        except CAUGHT as error:
            raise NvmlFault.of(error) from None

    # ---- asking GPUs

    def sample(self, device: Device, time_of_day: float) -> list[Any] | None:
        """One row of fast values, in the order of SLOTS; None when the device as a whole does not answer."""
        if device.handle is None and not self._comes_back(device):
            return None
        return fast.sample(self._nvml, device, time_of_day)

    def look(self, clock: Clock) -> Iterator[Device]:
        """Asks all GPUs for everything else that is due; stops before each call, with the GPU it is made on.

        What changes comes first for all of them, and a slow one last: it keeps nobody else waiting.
        """
        devices = sorted(self.devices, key=lambda device: device.sample_seconds)
        devices = [device for device in devices if not device.hangs]
        for device in devices:
            yield from self._steps(device, slow.look(self._nvml, device, clock.monotonic(), clock.time()))
        for device in devices:
            yield from self._steps(device, slow.look_rarely(self._nvml, device, clock.monotonic()))
            device.looked_at = clock.monotonic()

    def _steps(self, device: Device, calls: Iterator[None]) -> Iterator[Device]:
        if device.error is not None or device.handle is None:
            return
        try:
            yield device
            for _ in calls:
                yield device
        except DeviceFault as fault:
            device.error = fault.reason

    def read(self, device: Device, now: float) -> GpuReading:
        """Everything about one GPU but its samples, in one go."""
        parts = (slow.look(self._nvml, device, now, now), slow.look_rarely(self._nvml, device, now))
        for _ in itertools.chain.from_iterable(self._steps(device, part) for part in parts):
            pass
        return device.reading()

    def events(self) -> list[tuple[int | None, int]]:
        """(GPU index, Xid) of the errors since the last call, from the first call on; does not wait."""
        self._events.watch(self._nvml, self.devices)
        return self._events.take(self._nvml, self.devices)
