"""What is asked every second: one row of values per GPU, in the order of SLOTS."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import byref, c_uint, c_ulonglong
from typing import Any, NamedTuple

import pynvml

from gpudiag.agent.nvml.calls import Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.faults import CAUGHT, reason_of
from gpudiag.agent.nvml.metrics import (
    MEMORY_USED,
    MEMORY_UTILIZATION,
    POWER,
    REASONS,
    RX,
    SAMPLED,
    SLOTS,
    SM_CLOCK,
    TEMPERATURE,
    TX,
    UTILIZATION,
)

_PCIE_FIELDS = [197, 198]  # NVML_FI_DEV_PCIE_COUNT_TX_BYTES, …_RX_BYTES


class Fast(NamedTuple):
    """Fields that one call fills into the row. `quiet`: that it finds nothing is no gap."""

    fields: tuple[str, ...]
    put: Callable[[Calls, Device, list[Any]], None]
    quiet: bool = False


def sample(nvml: Calls, device: Device, time_of_day: float) -> list[Any] | None:
    """One row of fast values; None when the device as a whole does not answer."""
    if device.samples_seen > time_of_day * 1e6:
        device.samples_seen = 0  # the clock went back: what was seen lies ahead
    row: list[Any] = [None] * len(SLOTS)
    for fast in FAST:
        if fast in device.spared:
            continue
        if device.failed:
            device.forgets_failure(fast.fields)
        try:
            fast.put(nvml, device, row)
        except CAUGHT as error:
            if fast.quiet and reason_of(error) == "not_found":
                continue
            if device.notes(fast.fields, error):
                device.spared.add(fast)
            if device.error:
                return None
    device.error = None
    return row


def _utilization(nvml: Calls, device: Device, row: list[Any]) -> None:
    rates = nvml.make("nvmlDeviceGetUtilizationRates", device.handle)
    row[UTILIZATION] = rates.gpu
    row[MEMORY_UTILIZATION] = rates.memory


def _memory(nvml: Calls, device: Device, row: list[Any]) -> None:
    row[MEMORY_USED] = _allocated(memory_info(nvml, device))


def _allocated(info: Any) -> int:
    """Bytes in use without the driver's reserve, where NVML tells them apart.

    nvml.h contradicts itself on whether version 2 counts the reserve as used: what is left over between
    total, free and used shows which of the two this driver does.
    """
    reserved = getattr(info, "reserved", 0)
    counted = reserved and info.total - info.free - info.used < reserved // 2
    return int(info.used - reserved if counted and info.used >= reserved else info.used)


def memory_info(nvml: Calls, device: Device) -> Any:
    """Version 2 keeps the driver's reserve apart; an older driver has version 1 alone."""
    call = "nvmlDeviceGetMemoryInfo"
    if device.old_memory_call:
        return nvml.make(call, device.handle)
    try:
        return nvml.make(call, device.handle, pynvml.nvmlMemory_v2)
    except CAUGHT as error:
        if reason_of(error) not in ("function_not_found", "not_supported"):
            raise
        device.old_memory_call = True
        return nvml.make(call, device.handle)


def _power(nvml: Calls, device: Device, row: list[Any]) -> None:
    row[POWER] = nvml.make("nvmlDeviceGetPowerUsage", device.handle) / 1000  # NVML reports milliwatts


def _sm_clock(nvml: Calls, device: Device, row: list[Any]) -> None:
    row[SM_CLOCK] = nvml.make("nvmlDeviceGetClockInfo", device.handle, pynvml.NVML_CLOCK_SM)


def _temperature(nvml: Calls, device: Device, row: list[Any]) -> None:
    row[TEMPERATURE] = _first_found(
        nvml,
        ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"),
        device.handle,
        pynvml.NVML_TEMPERATURE_GPU,
    )


def _event_reasons(nvml: Calls, device: Device, row: list[Any]) -> None:
    calls = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    row[REASONS] = _first_found(nvml, calls, device.handle)  # the second is its name before 535


def _first_found(nvml: Calls, calls: tuple[str, str], *arguments: Any) -> Any:
    """The answer of the first call, or of the second where the driver does not have the first."""
    try:
        return nvml.make(calls[0], *arguments)
    except CAUGHT as error:
        if reason_of(error) != "function_not_found":
            raise
        return nvml.make(calls[1], *arguments)


def _pcie_counters(nvml: Calls, device: Device, row: list[Any]) -> None:
    # nvmlDeviceGetPcieThroughput would sleep 20 ms in every call; these counters do not.
    tx, rx = nvml.make("nvmlDeviceGetFieldValues", device.handle, _PCIE_FIELDS)
    if tx.nvmlReturn or rx.nvmlReturn:
        raise pynvml.NVMLError(tx.nvmlReturn or rx.nvmlReturn)
    row[TX] = tx.value.ullVal
    row[RX] = rx.value.ullVal


def _sampled_utilization(nvml: Calls, device: Device, row: list[Any]) -> None:
    """Mean of the driver's own samples since the last look: no moment of the second goes unseen."""
    seen = device.samples_seen
    kind, since, value_type = pynvml.NVML_GPU_UTILIZATION_SAMPLES, c_ulonglong(seen), c_uint()

    def fill(count: Any, place: Any) -> None:
        nvml.fill("nvmlDeviceGetSamples", device.handle, kind, since, byref(value_type), count, place)

    samples = nvml.entries(pynvml.c_nvmlSample_t, fill, room=0)
    if not samples:
        return
    device.samples_seen = samples[-1].timeStamp
    values = [sample.sampleValue.uiVal for sample in (samples if seen else samples[-1:])]
    known = [value for value in values if value <= 100]
    if known:
        row[SAMPLED] = sum(known) / len(known)


FAST: tuple[Fast, ...] = (
    Fast(("utilization_percent", "memory_utilization_percent"), _utilization),
    Fast(("memory_used_bytes",), _memory),
    Fast(("power_watts",), _power),
    Fast(("sm_clock_megahertz",), _sm_clock),
    Fast(("temperature_celsius",), _temperature),
    Fast(("clocks_event_reasons",), _event_reasons),
    Fast(("pcie_rx_bytes_per_second", "pcie_tx_bytes_per_second"), _pcie_counters),
    Fast((), _sampled_utilization, quiet=True),
)
