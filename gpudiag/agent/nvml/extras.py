"""What takes more than one call, or more than a call's answer: memory, fields, GPM, MIG, NVLink, fabric …

`EXTRAS` are asked at every snapshot, `RARE_EXTRAS` once a minute. One that makes many calls is a generator
that stops between them; see `slow.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import byref, c_uint
from math import isfinite
from typing import Any, NamedTuple

import pynvml

from gpudiag.agent.nvml.calls import MOST_ENTRIES, Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.fast import memory_info
from gpudiag.agent.nvml.faults import Nonsense, reason_of_code
from gpudiag.agent.nvml.metrics import (
    FABRIC_HEALTH,
    FABRIC_STATES,
    FIELDS,
    GPM,
    NOT_AVAILABLE,
    RETIRED_PAGES,
    decoded,
)
from gpudiag.model import MigDevice, NvLink

MOST_MIG_DEVICES = 64
_NVLINK_ERRORS = (("replay_errors", 0), ("recovery_errors", 1), ("crc_errors", 2))
_KINDS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")  # places of nvmlValue_t, by number


class Extra(NamedTuple):
    """Fields and what fills them in."""

    fields: tuple[str, ...]
    ask: Callable[[Calls, Device], Iterator[None] | None]


# ------------------------------------------------------------------------------- at every snapshot


def _memory(nvml: Calls, device: Device) -> None:
    info = memory_info(nvml, device)
    device.known["memory_total_bytes"] = info.total
    device.known["memory_free_bytes"] = info.free
    if not device.old_memory_call:
        device.known["memory_reserved_bytes"] = info.reserved


def _fields(nvml: Calls, device: Device) -> None:
    rows = [row for row in FIELDS if row not in device.spared]
    if not rows:
        return
    values = nvml.make("nvmlDeviceGetFieldValues", device.handle, [row.id for row in rows])
    for row, value in zip(rows, values, strict=False):
        if value.nvmlReturn == 0:
            _keep(device, row.field, _field_number(value), row.take)
        elif device.refuses((row.field,), reason_of_code(value.nvmlReturn)):
            device.spared.add(row)


def _field_number(value: Any) -> float:
    return getattr(value.value, _KINDS[value.valueType] if value.valueType < len(_KINDS) else "ullVal")


def _keep(device: Device, field: str, value: float, take: Callable[[float], Any]) -> None:
    if value in NOT_AVAILABLE or not isfinite(value):
        device.refuses((field,), "nonsense")
    else:
        device.known[field] = take(value)


def _gpm(nvml: Calls, device: Device) -> None:
    """Metrics from inside the chip, over the time since the last snapshot (Hopper and newer)."""
    if device.gpm is None:
        if not nvml.make("nvmlGpmQueryDeviceSupport", device.handle).isSupportedDevice:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
        device.gpm = [nvml.make("nvmlGpmSampleAlloc"), nvml.make("nvmlGpmSampleAlloc")]
        nvml.make("nvmlGpmSampleGet", device.handle, device.gpm[0])
        return
    before, now = device.gpm
    nvml.make("nvmlGpmSampleGet", device.handle, now)
    request = pynvml.c_nvmlGpmMetricsGet_t(
        version=pynvml.NVML_GPM_METRICS_GET_VERSION, numMetrics=len(GPM), sample1=before, sample2=now
    )
    for place, (number, _, _) in zip(request.metrics, GPM, strict=False):
        place.metricId = number
    nvml.make("nvmlGpmMetricsGet", request)
    device.gpm = [now, before]
    _take_gpm(device, request)


def _take_gpm(device: Device, request: Any) -> None:
    links = 0.0
    for place, (_, field, factor) in zip(request.metrics, GPM, strict=False):
        if field.startswith("nvlink"):
            if not place.nvmlReturn and isfinite(place.value):
                links += place.value * factor
                device.known["nvlink_bytes_per_second"] = links
        elif place.nvmlReturn:
            device.refuses((field,), reason_of_code(place.nvmlReturn))
        else:
            _keep(device, field, place.value * factor, float)


def free_gpm(nvml: Calls, device: Device) -> None:
    """Gives the driver its samples back."""
    for sample in device.gpm or ():
        nvml.ask("nvmlGpmSampleFree", sample)
    device.gpm = None


def _mig(nvml: Calls, device: Device) -> Iterator[None]:
    if not device.known.get("mig_mode"):
        device.known.pop("mig_devices", None)
        return
    found = []
    most = nvml.make("nvmlDeviceGetMaxMigDeviceCount", device.handle)
    if most > MOST_MIG_DEVICES:
        raise Nonsense(f"{most} MIG devices")
    for index in range(most):
        yield
        try:
            handle = nvml.make("nvmlDeviceGetMigDeviceHandleByIndex", device.handle, index)
        except pynvml.NVMLError_NotFound:
            continue
        found.append(_mig_device(nvml, index, handle))
    device.known["mig_devices"] = found


def _mig_device(nvml: Calls, index: int, handle: Any) -> MigDevice:
    memory = nvml.ask("nvmlDeviceGetMemoryInfo", handle)
    name = decoded(nvml.ask("nvmlDeviceGetName", handle)) or ""
    return MigDevice(
        index=index,
        gpu_instance=nvml.ask("nvmlDeviceGetGpuInstanceId", handle),
        compute_instance=nvml.ask("nvmlDeviceGetComputeInstanceId", handle),
        uuid=decoded(nvml.ask("nvmlDeviceGetUUID", handle)),
        profile=name.rpartition("MIG ")[2] or None,
        memory_total_bytes=memory.total if memory else None,
        memory_used_bytes=memory.used if memory else None,
    )


# ------------------------------------------------------------------------------------ once a minute


def _nvlinks(nvml: Calls, device: Device) -> Iterator[None]:
    links = []
    for number in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            active = nvml.make("nvmlDeviceGetNvLinkState", device.handle, number)
        except pynvml.NVMLError_InvalidArgument:
            break  # there are no more
        link = NvLink(link=number, active=bool(active))
        yield from _link_errors(nvml, device, link)
        links.append(link)
    if not links:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    device.known["nvlinks"] = links


def _link_errors(nvml: Calls, device: Device, link: NvLink) -> Iterator[None]:
    if "nvlink_errors" in device.refused:
        yield
        return
    told = False
    for name, counter in _NVLINK_ERRORS:
        yield
        value = nvml.ask("nvmlDeviceGetNvLinkErrorCounter", device.handle, link.link, counter)
        if value is not None and value not in NOT_AVAILABLE:
            setattr(link, name, value)
            told = True
    if not told:
        device.refused["nvlink_errors"] = "not_supported"


def _fabric(nvml: Calls, device: Device) -> None:
    fabric = pynvml.c_nvmlGpuFabricInfo_v2_t()
    fabric.version = pynvml.nvmlGpuFabricInfo_v2
    nvml.make("nvmlDeviceGetGpuFabricInfoV", device.handle, byref(fabric))
    known, mask = device.known, fabric.healthMask
    known["fabric_state"] = FABRIC_STATES.get(fabric.state)
    if fabric.state == 3:
        known["fabric_status"] = _status_name(fabric.status)
    ill = [name for shift, name in FABRIC_HEALTH if mask >> shift & 0x3 == 1]
    if mask >> 8 & 0xF > 1:
        ill.append("incorrect_configuration")
    known["fabric_health"] = ill


def _status_name(code: int) -> str:
    if not code:
        return "success"
    reason = reason_of_code(code)
    return f"nvml_error_{code}" if reason == "unknown_error" else reason


def _sram(nvml: Calls, device: Device) -> None:
    status = pynvml.c_nvmlEccSramErrorStatus_v1_t()
    status.version = pynvml.nvmlEccSramErrorStatus_v1
    nvml.make("nvmlDeviceGetSramEccErrorStatus", device.handle, byref(status))
    device.known["ecc_sram_threshold_exceeded"] = bool(status.bThresholdExceeded)


def _licence(nvml: Calls, device: Device) -> None:
    if device.known.get("virtualization") != "vgpu":
        return
    features = nvml.make("nvmlDeviceGetGridLicensableFeatures_v4", device.handle)
    enabled = [
        feature
        for feature in features.gridLicensableFeatures[: features.licensableFeaturesCount]
        if feature.featureEnabled
    ]
    if enabled:
        device.known["vgpu_licensed"] = all(feature.featureState for feature in enabled)


def _retired_pages(nvml: Calls, device: Device) -> Iterator[None]:
    for cause, field in enumerate(RETIRED_PAGES):
        count = c_uint(0)
        with suppress(pynvml.NVMLError_InsufficientSize):  # no room for the pages: their number is enough
            nvml.fill("nvmlDeviceGetRetiredPages", device.handle, cause, byref(count), None)
        if count.value > MOST_ENTRIES:
            raise Nonsense(f"{count.value} retired pages")
        device.known[field] = count.value
        yield


EXTRAS: tuple[Extra, ...] = (
    Extra(("memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes"), _memory),
    Extra(tuple(row.field for row in FIELDS), _fields),
    Extra(tuple(field for _, field, _ in GPM[:4]), _gpm),
    Extra(("mig_devices",), _mig),
)
RARE_EXTRAS: tuple[Extra, ...] = (
    Extra(("nvlinks",), _nvlinks),
    Extra(("fabric_state",), _fabric),
    Extra(("ecc_sram_threshold_exceeded",), _sram),
    Extra(("vgpu_licensed",), _licence),
    Extra(RETIRED_PAGES, _retired_pages),
)
