"""What NVML tells, as readings. The only file that imports pynvml.

`FAST` is asked every second; `metrics.py` holds the tables of what is asked at snapshots.
What a device refuses is remembered with the reason and asked again after `RETRY_SECONDS`, so that a
board without ECC costs nothing and a permission that is granted later is noticed.

To add a metric: a field in `gpudiag.model` with its unit, and a row in `metrics.py`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pynvml

from gpudiag.agent.metrics import (
    FABRIC_HEALTH,
    FABRIC_STATES,
    FIELD_ROWS,
    FIELDS,
    GPM,
    MEMORY_USED,
    MEMORY_UTILIZATION,
    POWER,
    RARE,
    REASONS,
    RX,
    SAMPLED,
    SLOTS,
    SLOW,
    SM_CLOCK,
    TEMPERATURE,
    TX,
    UTILIZATION,
    Row,
    decoded,
)
from gpudiag.model import GpuReading, GpuUse, MigDevice, NvLink

RETRY_SECONDS = 600.0
NOT_AVAILABLE = 0xFFFFFFFF
MOST_XIDS = 100  # taken at one look
RECENT_SECONDS = 10.0  # older samples say nothing of what a process does now

_REASONS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not_supported",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "not_supported",  # said of a sensor that is not there
    pynvml.NVML_ERROR_NO_PERMISSION: "no_permission",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "no_permission",  # blocked by the cgroup's device rules
    pynvml.NVML_ERROR_NOT_FOUND: "not_found",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver_not_loaded",
    pynvml.NVML_ERROR_TIMEOUT: "timeout",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "library_not_found",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "function_not_found",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "function_not_found",
    pynvml.NVML_ERROR_GPU_IS_LOST: "gpu_is_lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "reset_required",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "library_mismatch",
}
_DEVICE_FAULTS = frozenset({"gpu_is_lost", "reset_required"})
_LIBRARY_FAULTS = frozenset({"driver_not_loaded", "library_mismatch", "library_not_found"})
_LASTING = frozenset({"not_supported", "no_permission", "function_not_found"})


class NvmlFault(Exception):
    """NVML as a whole does not answer; `reason` is one of model.REASONS, `code` NVML's own number."""

    def __init__(self, reason: str, code: int | None = None, detail: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.detail = detail


class DeviceFault(Exception):
    """One GPU as a whole does not answer: it is lost, or must be reset."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def reason_of(error: Exception) -> str:
    """A reason of model.REASONS for what pynvml raised."""
    if isinstance(error, pynvml.NVMLLibraryMismatchError):  # no NVMLError: an unversioned call, old driver
        return "function_not_found"
    code = getattr(error, "value", None)
    return _REASONS.get(code, "unknown_error") if isinstance(code, int) else "unknown_error"


_CAUGHT = (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError)


# ------------------------------------------------------------------------------------- every second

_PCIE_FIELDS = [197, 198]  # NVML_FI_DEV_PCIE_COUNT_TX_BYTES, …_RX_BYTES


def _utilization(device: Device, row: list[Any]) -> None:
    rates = pynvml.nvmlDeviceGetUtilizationRates(device.handle)
    row[UTILIZATION] = rates.gpu
    row[MEMORY_UTILIZATION] = rates.memory


def _memory(device: Device, row: list[Any]) -> None:
    row[MEMORY_USED] = _allocated(_memory_info(device))


def _allocated(info: Any) -> int:
    """Bytes in use without the driver's reserve, where NVML tells them apart.

    nvml.h contradicts itself on whether version 2 counts the reserve as used: what is left over between
    total, free and used shows which of the two this driver does.
    """
    reserved = getattr(info, "reserved", 0)
    counted = reserved and info.total - info.free - info.used < reserved // 2
    return int(info.used - reserved if counted and info.used >= reserved else info.used)


def _memory_info(device: Device) -> Any:
    """Version 2 keeps the driver's reserve apart; an older driver has version 1 alone."""
    if device.old_memory_call:
        return pynvml.nvmlDeviceGetMemoryInfo(device.handle)
    try:
        return pynvml.nvmlDeviceGetMemoryInfo(device.handle, version=pynvml.nvmlMemory_v2)
    except _CAUGHT as error:
        if reason_of(error) not in ("function_not_found", "not_supported"):
            raise
        device.old_memory_call = True
        return pynvml.nvmlDeviceGetMemoryInfo(device.handle)


def _power(device: Device, row: list[Any]) -> None:
    row[POWER] = pynvml.nvmlDeviceGetPowerUsage(device.handle) / 1000  # NVML reports milliwatts


def _sm_clock(device: Device, row: list[Any]) -> None:
    row[SM_CLOCK] = pynvml.nvmlDeviceGetClockInfo(device.handle, pynvml.NVML_CLOCK_SM)


def _temperature(device: Device, row: list[Any]) -> None:
    try:
        row[TEMPERATURE] = pynvml.nvmlDeviceGetTemperature(device.handle, pynvml.NVML_TEMPERATURE_GPU)
    except _CAUGHT as error:
        if reason_of(error) != "function_not_found":
            raise
        row[TEMPERATURE] = pynvml.nvmlDeviceGetTemperatureV(device.handle, pynvml.NVML_TEMPERATURE_GPU)


def _event_reasons(device: Device, row: list[Any]) -> None:
    try:
        row[REASONS] = pynvml.nvmlDeviceGetCurrentClocksEventReasons(device.handle)
    except _CAUGHT as error:
        if reason_of(error) != "function_not_found":
            raise
        row[REASONS] = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(device.handle)  # the name before 535


def _pcie_counters(device: Device, row: list[Any]) -> None:
    # nvmlDeviceGetPcieThroughput would sleep 20 ms in every call; these counters do not.
    tx, rx = pynvml.nvmlDeviceGetFieldValues(device.handle, _PCIE_FIELDS)
    if tx.nvmlReturn or rx.nvmlReturn:
        raise pynvml.NVMLError(tx.nvmlReturn or rx.nvmlReturn)
    row[TX] = tx.value.ullVal
    row[RX] = rx.value.ullVal


def _sampled_utilization(device: Device, row: list[Any]) -> None:
    """Mean of the driver's own samples since the last look: no moment of the second goes unseen."""
    _, samples = pynvml.nvmlDeviceGetSamples(
        device.handle, pynvml.NVML_GPU_UTILIZATION_SAMPLES, device.samples_seen
    )
    first_look = device.samples_seen == 0
    values = [sample.sampleValue.uiVal for sample in samples]
    if samples:
        device.samples_seen = samples[-1].timeStamp
        known = [value for value in (values[-1:] if first_look else values) if value <= 100]
        if known:
            row[SAMPLED] = sum(known) / len(known)


FAST: tuple[tuple[tuple[str, ...], Callable[[Device, list[Any]], None], str], ...] = (
    (
        ("utilization_percent", "memory_utilization_percent"),
        _utilization,
        "nvmlDeviceGetUtilizationRates",
    ),
    (("memory_used_bytes",), _memory, "nvmlDeviceGetMemoryInfo"),
    (("power_watts",), _power, "nvmlDeviceGetPowerUsage"),
    (("sm_clock_megahertz",), _sm_clock, "nvmlDeviceGetClockInfo"),
    (("temperature_celsius",), _temperature, "nvmlDeviceGetTemperature"),
    (("clocks_event_reasons",), _event_reasons, "nvmlDeviceGetCurrentClocksEventReasons"),
    (
        ("pcie_rx_bytes_per_second", "pcie_tx_bytes_per_second"),
        _pcie_counters,
        "nvmlDeviceGetFieldValues",
    ),
    ((), _sampled_utilization, "nvmlDeviceGetSamples"),
)

_PROCESS_LISTS = (("C", "Compute"), ("G", "Graphics"), ("M+C", "MPSCompute"))

# ------------------------------------------------------------------------------------------- devices


class Device:
    """One GPU as NVML numbers it, and what it is known to refuse."""

    def __init__(self, index: int, handle: Any, uuid: str | None, bus_id: str | None) -> None:
        self.index = index
        self.handle = handle
        self.uuid = uuid
        self.bus_id = bus_id
        self.minor: int | None = None  # the N of its /dev/nvidiaN
        self.error: str | None = None
        self.hangs = False
        self.refused: dict[str, str] = {}  # field → reason, asked again after a while
        self.failed: dict[str, str] = {}  # field → reason, of the last round alone
        self.fast = list(FAST)
        self.slow = list(SLOW)
        self.rare = list(RARE)
        self.field_ids = [row.id for row in FIELDS]
        self.extras: set[str] = set(_EXTRAS)
        self.known: dict[str, Any] = {}
        self.rare_at: float | None = None
        self.retry_at: float | None = None
        self.old_memory_call = False
        self.samples_seen = 0  # the driver's stamp of the last one, microseconds; 0 is none
        self.utilization_seen = 0
        self.rows: list[tuple[float, list[Any]]] = []
        self.gpm: list[Any] | None = None
        self.harvested = False  # the first of `rows` was given away and serves only for rates

    def asks_again(self) -> None:
        """Forgets refusals: a permission may have been given, MIG switched off."""
        self.refused.clear()
        self.fast, self.slow, self.rare = list(FAST), list(SLOW), list(RARE)
        self.field_ids = [row.id for row in FIELDS]
        self.extras = set(_EXTRAS)

    def refuses(self, fields: tuple[str, ...], reason: str) -> bool:
        """Notes why fields are missing; tells whether it is of the kind that lasts."""
        lasts = reason in _LASTING
        for field in fields:
            (self.refused if lasts else self.failed)[field] = reason
        return lasts


class Library:
    """NVML from `open` to `close`. `progress` is called before each call into it, with the call's name.

    Every method may hang in the driver: call them where a hang can be watched.
    """

    def __init__(self, progress: Callable[[str], None] = lambda call: None) -> None:
        self._progress = progress
        self.devices: list[Device] = []
        self.driver_version: str | None = None
        self.cuda_version: str | None = None
        self.nvml_version: str | None = None
        self.is_open = False
        self._events: Any = None

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
        try:
            self._progress("nvmlInit")
            pynvml.nvmlInit()
        except _CAUGHT as error:
            raise NvmlFault(reason_of(error), getattr(error, "value", None)) from None
        self.is_open = True
        self.driver_version = decoded(self._ask("nvmlSystemGetDriverVersion"))
        self.nvml_version = decoded(self._ask("nvmlSystemGetNVMLVersion"))
        cuda = self._ask("nvmlSystemGetCudaDriverVersion_v2")
        self.cuda_version = f"{cuda // 1000}.{cuda % 1000 // 10}" if cuda else None
        self.find_devices()

    def close(self) -> None:
        """Lets go of the driver, so that a reset or an update is not blocked by us."""
        if not self.is_open:
            return
        self.is_open = False
        for device in self.devices:
            self._free_gpm(device)
        if self._events is not None:
            self._ask("nvmlEventSetFree", self._events)
            self._events = None
        self.devices = []
        try:
            self._progress("nvmlShutdown")
            pynvml.nvmlShutdown()
        except _CAUGHT:
            pass  # nothing more can be done about a driver that is gone

    def find_devices(self) -> None:
        """Numbers the GPUs afresh; a known one (by UUID) keeps what was learnt about it."""
        known = {device.uuid: device for device in self.devices if device.uuid}
        by_index = {device.index: device for device in self.devices}
        try:
            self._progress("nvmlDeviceGetCount")
            count = pynvml.nvmlDeviceGetCount()
        except _CAUGHT as error:
            raise NvmlFault(reason_of(error), getattr(error, "value", None)) from None
        self.devices = [self._find(index, known, by_index.get(index)) for index in range(count)]

    def count_changed(self) -> bool:
        """Whether the driver counts other GPUs than we do; raises NvmlFault."""
        try:
            self._progress("nvmlDeviceGetCount")
            return bool(pynvml.nvmlDeviceGetCount() != len(self.devices))
        except _CAUGHT as error:
            raise NvmlFault(reason_of(error), getattr(error, "value", None)) from None

    def _find(self, index: int, known: dict[str, Device], here_before: Device | None) -> Device:
        try:
            self._progress("nvmlDeviceGetHandleByIndex")
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = decoded(pynvml.nvmlDeviceGetUUID(handle))
            bus_id = decoded(pynvml.nvmlDeviceGetPciInfo(handle).busId)
        except (*_CAUGHT, ValueError) as error:
            device = here_before or Device(index, None, None, None)
            device.error = reason_of(error)
            return device
        device = known.get(uuid or "") or Device(index, handle, uuid, bus_id)
        device.minor = self._ask("nvmlDeviceGetMinorNumber", handle)
        device.index, device.handle, device.bus_id, device.error = index, handle, bus_id, None
        return device

    def _ask(self, call: str, *arguments: Any) -> Any:
        try:
            self._progress(call)
            return getattr(pynvml, call)(*arguments)
        except (*_CAUGHT, AttributeError, ValueError):
            return None

    # ---- Xid events: the second source, for hosts whose kernel log we may not read

    def watch_events(self) -> None:
        """Subscribes to critical errors of all GPUs; quietly none where the driver does not offer it."""
        if self._events is not None or not self.devices:
            return
        events = self._ask("nvmlEventSetCreate")
        if events is None:
            return
        kind = pynvml.nvmlEventTypeXidCriticalError
        for device in self.devices:
            if device.handle is not None:
                self._ask("nvmlDeviceRegisterEvents", device.handle, kind, events)
        self._events = events

    def events(self) -> list[tuple[int | None, int]]:
        """(GPU index, Xid) of the errors since the last call; does not wait."""
        found: list[tuple[int | None, int]] = []
        while self._events is not None and len(found) < MOST_XIDS:
            try:
                self._progress("nvmlEventSetWait_v2")
                event = pynvml.nvmlEventSetWait_v2(self._events, 0)
            except _CAUGHT:
                break  # a timeout: there is none
            uuid = decoded(self._ask("nvmlDeviceGetUUID", event.device))
            index = next((device.index for device in self.devices if device.uuid == uuid), None)
            found.append((index, int(event.eventData)))
        return found

    # ---- every second

    def sample(self, device: Device, time_of_day: float) -> list[Any] | None:
        """One row of fast values, in the order of SLOTS; None when the device as a whole does not answer."""
        if device.handle is None and not self._comes_back(device):
            return None
        if device.samples_seen > time_of_day * 1e6:
            device.samples_seen = 0  # the clock went back: what was seen lies ahead
        row: list[Any] = [None] * len(SLOTS)
        device.failed.clear()
        refused: list[Any] = []
        for entry in device.fast:
            self._progress(entry[2])
            try:
                entry[1](device, row)
            except _CAUGHT as error:
                if self._note(device, entry[0], error, absent_is_quiet=entry[1] is _sampled_utilization):
                    refused.append(entry)
                if device.error:
                    return None
        if refused:
            device.fast = [entry for entry in device.fast if entry not in refused]
        device.error = None
        return row

    def _note(
        self, device: Device, fields: tuple[str, ...], error: Exception, *, absent_is_quiet: bool = False
    ) -> bool:
        """Keeps the reason; True when the call need not be made again for a while."""
        reason = reason_of(error)
        if reason in _LIBRARY_FAULTS:
            raise NvmlFault(reason, getattr(error, "value", None))
        if reason in _DEVICE_FAULTS:
            device.error = reason
            return False
        if getattr(error, "value", None) == pynvml.NVML_ERROR_UNINITIALIZED:
            raise NvmlFault("driver_not_loaded", pynvml.NVML_ERROR_UNINITIALIZED)
        if getattr(error, "value", None) == pynvml.NVML_ERROR_CORRUPTED_INFOROM:
            device.known["inforom_corrupted"] = True
        if absent_is_quiet and reason == "not_found":
            return False
        return device.refuses(fields, reason)

    def _comes_back(self, device: Device) -> bool:
        """Asks again for the handle of a GPU that did not answer at the start."""
        found = self._find(device.index, {}, None)
        if found.handle is None:
            device.error = found.error
            return False
        device.handle, device.minor, device.error = found.handle, found.minor, None
        device.uuid, device.bus_id = found.uuid, found.bus_id
        return True

    # ---- at snapshots

    def read(self, device: Device, now: float) -> GpuReading:
        """Everything about one GPU but its samples."""
        if device.error is None and device.handle is not None:
            try:
                self._read_values(device, now)
            except DeviceFault as fault:
                device.error = fault.reason
        reading = GpuReading(index=device.index, uuid=device.uuid, bus_id=device.bus_id, error=device.error)
        for field, value in device.known.items():
            if device.error is None or field in _IDENTITY:
                setattr(reading, field, value)
        return reading

    def _read_values(self, device: Device, now: float) -> None:
        if device.retry_at is None:
            device.retry_at = now + RETRY_SECONDS
        if now >= device.retry_at:
            device.retry_at = now + RETRY_SECONDS
            device.asks_again()
        mig_before = device.known.get("mig_mode")
        device.slow = self._ask_rows(device, device.slow)
        if mig_before is not None and device.known.get("mig_mode") != mig_before:
            device.asks_again()
        if device.rare_at is None or now >= device.rare_at:
            device.rare_at = now + 60.0
            device.rare = self._ask_rows(device, device.rare)
            for extra in ("nvlinks", "fabric", "sram", "licence"):
                self._ask_extra(device, extra)
        for extra in ("memory", "fields", "gpm", "mig"):
            self._ask_extra(device, extra)

    def _ask_rows(self, device: Device, rows: list[Row]) -> list[Row]:
        """Makes the calls; gives back the rows that are worth asking next time."""
        kept = []
        for row in rows:
            try:
                self._progress(row.call)
                values = row.take(getattr(pynvml, row.call)(device.handle, *row.arguments))
            except _CAUGHT as error:
                for field in row.fields:
                    device.known.pop(field, None)
                if not self._note(device, row.fields, error):
                    kept.append(row)
                if device.error:
                    raise DeviceFault(device.error) from None
                continue
            except ValueError:  # a text that is none
                device.failed.update(dict.fromkeys(row.fields, "nonsense"))
                kept.append(row)
                continue
            except AttributeError:  # these bindings are older than the row
                device.refuses(row.fields, "function_not_found")
                continue
            for field, value in zip(row.fields, values, strict=True):
                if value == NOT_AVAILABLE:
                    device.failed[field] = "nonsense"
                    device.known.pop(field, None)
                elif value is not None:
                    device.known[field] = value
            kept.append(row)
        return kept

    def _ask_extra(self, device: Device, extra: str) -> None:
        if extra not in device.extras:
            return
        fields, method = _EXTRAS[extra]
        try:
            self._progress(extra)
            method(self, device)
        except _CAUGHT as error:
            if self._note(device, fields, error):
                device.extras.discard(extra)
            if device.error:
                raise DeviceFault(device.error) from None

    def _read_memory(self, device: Device) -> None:
        info = _memory_info(device)
        known = device.known
        known["memory_total_bytes"] = info.total
        if device.old_memory_call:
            known["memory_free_bytes"] = info.free
            return
        known["memory_reserved_bytes"], known["memory_free_bytes"] = info.reserved, info.free

    def _read_fields(self, device: Device) -> None:
        if not device.field_ids:
            return
        refused = []
        for value in pynvml.nvmlDeviceGetFieldValues(device.handle, device.field_ids):
            row = FIELD_ROWS[value.fieldId]
            if value.nvmlReturn == 0:
                device.known[row.field] = row.take(_field_number(value))
                continue
            device.known.pop(row.field, None)
            if device.refuses((row.field,), _REASONS.get(value.nvmlReturn, "unknown_error")):
                refused.append(row.id)
        device.field_ids = [number for number in device.field_ids if number not in refused]

    def _read_gpm(self, device: Device) -> None:
        """Metrics from inside the chip, over the time since the last snapshot (Hopper and newer)."""
        if device.gpm is None:
            if not pynvml.nvmlGpmQueryDeviceSupport(device.handle).isSupportedDevice:
                raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
            device.gpm = [pynvml.nvmlGpmSampleAlloc(), pynvml.nvmlGpmSampleAlloc()]
            pynvml.nvmlGpmSampleGet(device.handle, device.gpm[0])
            return
        before, now = device.gpm
        pynvml.nvmlGpmSampleGet(device.handle, now)
        request = pynvml.c_nvmlGpmMetricsGet_t(
            version=pynvml.NVML_GPM_METRICS_GET_VERSION, numMetrics=len(GPM), sample1=before, sample2=now
        )
        for place, (number, _, _) in zip(request.metrics, GPM, strict=False):
            place.metricId = number
        pynvml.nvmlGpmMetricsGet(request)
        device.gpm = [now, before]
        self._take_gpm(device, request)

    def _take_gpm(self, device: Device, request: Any) -> None:
        links = 0.0
        for place, (_, field, factor) in zip(request.metrics, GPM, strict=False):
            if place.nvmlReturn:
                if not field.startswith("nvlink"):
                    device.known.pop(field, None)
                    device.refuses((field,), _REASONS.get(place.nvmlReturn, "unknown_error"))
            elif field.startswith("nvlink"):
                links += place.value * factor
                device.known["nvlink_bytes_per_second"] = links
            else:
                device.known[field] = place.value * factor

    def _free_gpm(self, device: Device) -> None:
        for sample in device.gpm or ():
            self._ask("nvmlGpmSampleFree", sample)
        device.gpm = None

    def _read_mig(self, device: Device) -> None:
        if not device.known.get("mig_mode"):
            device.known.pop("mig_devices", None)
            return
        found = []
        for index in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(device.handle)):
            try:
                handle = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(device.handle, index)
                found.append(self._mig_device(index, handle))
            except pynvml.NVMLError_NotFound:
                continue
        device.known["mig_devices"] = found

    def _mig_device(self, index: int, handle: Any) -> MigDevice:
        memory = self._ask("nvmlDeviceGetMemoryInfo", handle)
        name = decoded(self._ask("nvmlDeviceGetName", handle)) or ""
        return MigDevice(
            index=index,
            gpu_instance=self._ask("nvmlDeviceGetGpuInstanceId", handle),
            compute_instance=self._ask("nvmlDeviceGetComputeInstanceId", handle),
            uuid=decoded(self._ask("nvmlDeviceGetUUID", handle)),
            profile=name.rpartition("MIG ")[2] or None,
            memory_total_bytes=memory.total if memory else None,
            memory_used_bytes=memory.used if memory else None,
        )

    def _read_nvlinks(self, device: Device) -> None:
        links = []
        for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
            try:
                active = pynvml.nvmlDeviceGetNvLinkState(device.handle, link)
            except pynvml.NVMLError_InvalidArgument:
                break  # there are no more
            links.append(NvLink(link=link, active=bool(active), **self._link_errors(device, link)))
        if not links:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        device.known["nvlinks"] = links

    def _link_errors(self, device: Device, link: int) -> dict[str, int | None]:
        if "nvlink_errors" in device.refused:
            return {}
        counters = (("replay_errors", 0), ("recovery_errors", 1), ("crc_errors", 2))
        found = {
            name: self._ask("nvmlDeviceGetNvLinkErrorCounter", device.handle, link, counter)
            for name, counter in counters
        }
        if all(value is None for value in found.values()):
            device.refused["nvlink_errors"] = "not_supported"
        return found

    def _read_fabric(self, device: Device) -> None:
        fabric = pynvml.c_nvmlGpuFabricInfo_v2_t()
        fabric.version = pynvml.nvmlGpuFabricInfo_v2
        pynvml.nvmlDeviceGetGpuFabricInfoV(device.handle, ctypes.byref(fabric))
        known, mask = device.known, fabric.healthMask
        known["fabric_state"] = FABRIC_STATES.get(fabric.state)
        if fabric.state == 3:
            known["fabric_status"] = "success" if not fabric.status else decoded(_code_name(fabric.status))
        ill = [name for shift, name in FABRIC_HEALTH if mask >> shift & 0x3 == 1]
        if mask >> 8 & 0xF > 1:
            ill.append("incorrect_configuration")
        known["fabric_health"] = ill

    def _read_sram(self, device: Device) -> None:
        status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
        status.version = pynvml.nvmlEccSramErrorStatus_v1
        pynvml.nvmlDeviceGetSramEccErrorStatus(device.handle, ctypes.byref(status))
        device.known["ecc_sram_threshold_exceeded"] = bool(status.bThresholdExceeded)

    def _read_licence(self, device: Device) -> None:
        if device.known.get("virtualization") != "vgpu":
            return
        features = pynvml.nvmlDeviceGetGridLicensableFeatures_v4(device.handle)
        enabled = [
            feature
            for feature in features.gridLicensableFeatures[: features.licensableFeaturesCount]
            if feature.featureEnabled
        ]
        if enabled:
            device.known["vgpu_licensed"] = all(feature.featureState for feature in enabled)

    # ---- processes

    def processes(self, device: Device, time_of_day: float) -> dict[int, GpuUse]:
        """Who uses the GPU, by pid, over all process lists; gaps are kept in the device."""
        found: dict[int, GpuUse] = {}
        if device.error is not None or device.handle is None:
            return found
        handles: list[tuple[int | None, Any]] = [(None, device.handle)]
        if device.known.get("mig_mode"):
            handles = self._mig_handles(device)
        for kind, name in _PROCESS_LISTS:
            for mig, handle in handles:
                for process in self._process_list(device, name, handle):
                    self._add_use(found, device, process, kind, mig)
        self._add_process_utilization(device, found, time_of_day)
        return found

    def _mig_handles(self, device: Device) -> list[tuple[int | None, Any]]:
        found: list[tuple[int | None, Any]] = []
        for mig in device.known.get("mig_devices", ()):
            handle = self._ask("nvmlDeviceGetMigDeviceHandleByIndex", device.handle, mig.index)
            if handle is not None:
                found.append((mig.index, handle))
        return found

    def _process_list(self, device: Device, name: str, handle: Any) -> list[Any]:
        field = "processes"
        if field in device.refused:
            return []
        error: Exception | None = None
        for version in ("_v3", "_v2"):
            call = f"nvmlDeviceGet{name}RunningProcesses{version}"
            try:
                self._progress(call)
                return list(getattr(pynvml, call)(handle))
            except (*_CAUGHT, AttributeError) as caught:
                error = caught
                if not isinstance(caught, AttributeError) and reason_of(caught) != "function_not_found":
                    break
        if isinstance(error, _CAUGHT):
            self._note(device, (field,), error)
        return []

    def _add_use(
        self, found: dict[int, GpuUse], device: Device, process: Any, kind: str, mig: int | None
    ) -> None:
        use = found.get(process.pid)
        memory = process.usedGpuMemory
        if use is None:
            found[process.pid] = GpuUse(gpu=device.index, memory_used_bytes=memory, type=kind, mig_device=mig)
        elif use.mig_device != mig:  # it works on several slices of this GPU
            known = [part for part in (use.memory_used_bytes, memory) if part is not None]
            use.memory_used_bytes = sum(known) if known else None
        elif {use.type, kind} == {"C", "G"}:
            use.type = "C+G"  # one process in both lists holds its memory once

    def _add_process_utilization(self, device: Device, found: dict[int, GpuUse], time_of_day: float) -> None:
        if "process_utilization" in device.refused or not found:
            return
        now = int(time_of_day * 1e6)
        if not 0 < device.utilization_seen <= now:  # the first look, or the clock went back
            device.utilization_seen = now - int(RECENT_SECONDS * 1e6)
        try:
            self._progress("nvmlDeviceGetProcessUtilization")
            samples = pynvml.nvmlDeviceGetProcessUtilization(device.handle, device.utilization_seen)
        except pynvml.NVMLError_NotFound:
            samples = []  # nobody did anything: who is not named was idle
        except _CAUGHT as error:
            self._note(device, ("process_utilization",), error)
            return
        for use in found.values():
            use.sm_percent = use.encoder_percent = use.decoder_percent = 0.0
        for sample in sorted(samples, key=lambda sample: sample.timeStamp):
            device.utilization_seen = max(device.utilization_seen, sample.timeStamp)
            told = found.get(sample.pid)
            if told is not None and sample.smUtil <= 100:
                told.sm_percent = float(sample.smUtil)
                told.encoder_percent, told.decoder_percent = float(sample.encUtil), float(sample.decUtil)


def _field_number(value: Any) -> float:
    union = value.value
    kinds = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    return getattr(union, kinds[value.valueType] if value.valueType < len(kinds) else "ullVal")


def _code_name(code: int) -> str:
    return _REASONS.get(code, f"nvml_error_{code}")


_EXTRAS: dict[str, tuple[tuple[str, ...], Callable[[Library, Device], None]]] = {
    "memory": (("memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes"), Library._read_memory),
    "fields": (tuple(row.field for row in FIELDS), Library._read_fields),
    "gpm": (tuple(field for _, field, _ in GPM[:4]), Library._read_gpm),
    "mig": (("mig_devices",), Library._read_mig),
    "nvlinks": (("nvlinks",), Library._read_nvlinks),
    "fabric": (("fabric_state",), Library._read_fabric),
    "sram": (("ecc_sram_threshold_exceeded",), Library._read_sram),
    "licence": (("vgpu_licensed",), Library._read_licence),
}
_IDENTITY = frozenset({"name", "architecture", "brand", "vbios", "memory_total_bytes"})
