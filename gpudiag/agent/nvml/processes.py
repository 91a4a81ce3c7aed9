"""Who uses a GPU, over NVML's three process lists, and how busy each kept it."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_ulonglong
from typing import Any

import pynvml

from gpudiag.agent.nvml.calls import Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.faults import CAUGHT, DeviceFault, reason_of
from gpudiag.agent.nvml.metrics import NOT_AVAILABLE
from gpudiag.model import GpuUse

_LISTS = (("C", "Compute"), ("G", "Graphics"), ("M+C", "MPSCompute"))
_GAPS = ("processes", "process_utilization")
RECENT_SECONDS = 10.0  # older samples say nothing of what a process does now


def ask_processes(nvml: Calls, device: Device, time_of_day: float) -> Iterator[None]:
    """Puts them into `device.uses`, by pid; why they are missing is kept in the device."""
    device.forgets_failure(_GAPS)
    found: dict[int, GpuUse] = {}
    handles: list[tuple[int | None, Any]] = [(None, device.handle)]
    if device.known.get("mig_mode"):
        handles = _mig_handles(nvml, device)
    for kind, name in _LISTS:
        for mig, handle in handles:
            for process in _listed(nvml, device, name, handle):
                if process.pid:  # 0 is no process
                    _add_use(found, device, process, kind, mig)
            yield
    _add_utilization(nvml, device, found, time_of_day)
    device.uses = found


def _mig_handles(nvml: Calls, device: Device) -> list[tuple[int | None, Any]]:
    found: list[tuple[int | None, Any]] = []
    for mig in device.known.get("mig_devices", ()):
        handle = nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", device.handle, mig.index)
        if handle is not None:
            found.append((mig.index, handle))
    return found


def _listed(nvml: Calls, device: Device, name: str, handle: Any) -> list[Any]:
    if "processes" in device.refused:
        return []
    try:
        try:
            return _list(nvml, f"nvmlDeviceGet{name}RunningProcesses_v3", handle)
        except CAUGHT as error:
            if reason_of(error) != "function_not_found":
                raise
            return _list(nvml, f"nvmlDeviceGet{name}RunningProcesses_v2", handle)
    except CAUGHT as error:
        _note(device, "processes", error)
        return []


def _list(nvml: Calls, call: str, handle: Any) -> list[Any]:
    def fill(count: Any, place: Any) -> None:
        nvml.fill(call, handle, count, place)

    return nvml.entries(pynvml.c_nvmlProcessInfo_v2_t, fill)  # version 3 has the same form


def _note(device: Device, gap: str, error: Exception) -> None:
    device.notes((gap,), error)
    if device.error:
        raise DeviceFault(device.error) from None


def _add_use(found: dict[int, GpuUse], device: Device, process: Any, kind: str, mig: int | None) -> None:
    use = found.get(process.pid)
    memory = _memory_of(process, device)
    if use is None:
        found[process.pid] = GpuUse(gpu=device.index, memory_used_bytes=memory, type=kind, mig_device=mig)
    elif use.mig_device != mig:  # it works on several slices of this GPU
        known = [part for part in (use.memory_used_bytes, memory) if part is not None]
        use.memory_used_bytes = sum(known) if known else None
    elif {use.type, kind} == {"C", "G"}:
        use.type = "C+G"  # one process in both lists holds its memory once


def _memory_of(process: Any, device: Device) -> int | None:
    used, total = process.usedGpuMemory, device.known.get("memory_total_bytes")
    return None if used in NOT_AVAILABLE or (total is not None and used > total) else int(used)


def _add_utilization(nvml: Calls, device: Device, found: dict[int, GpuUse], time_of_day: float) -> None:
    if "process_utilization" in device.refused or not found:
        return
    now, seen = int(time_of_day * 1e6), device.utilization_seen
    if not 0 < seen <= now:  # the first look, or the clock went back
        seen = now - int(RECENT_SECONDS * 1e6)

    def fill(count: Any, place: Any) -> None:
        nvml.fill("nvmlDeviceGetProcessUtilization", device.handle, place, count, c_ulonglong(seen))

    try:
        samples = nvml.entries(pynvml.c_nvmlProcessUtilizationSample_t, fill, room=0)
    except pynvml.NVMLError_NotFound:
        samples = []  # nobody did anything: who is not named was idle
    except CAUGHT as error:
        _note(device, "process_utilization", error)
        return
    for use in found.values():
        use.sm_percent = use.encoder_percent = use.decoder_percent = 0.0
    for sample in sorted(samples, key=lambda sample: sample.timeStamp):
        device.utilization_seen = sample.timeStamp
        told = found.get(sample.pid)
        if told is not None and sample.smUtil <= 100:
            told.sm_percent = float(sample.smUtil)
            told.encoder_percent, told.decoder_percent = float(sample.encUtil), float(sample.decUtil)
