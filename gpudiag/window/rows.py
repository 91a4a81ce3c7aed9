"""How one snapshot becomes one row: which columns a track has, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from gpudiag.model import (
    CLOCKS_EVENT,
    GpuReading,
    ProcessReading,
)
from gpudiag.window.levels import HERE, NAN, Columns, Scale

QUIET_PERCENT = 1.0
SPINNING_PERCENT = 95.0


GPU_GAUGES = (
    "utilization_percent",
    "memory_used_bytes",
    "sm_clock_megahertz",
    "temperature_celsius",
)
GPU_MEANS = (  # sampled as often, and only the mean is kept
    "power_watts",
    "memory_utilization_percent",
    "pcie_rx_bytes_per_second",
    "pcie_tx_bytes_per_second",
)
GPU_SLOW = (
    "sm_active_ratio",
    "tensor_active_ratio",
    "dram_active_ratio",
    "pcie_link_generation",
    "pcie_link_width",
    "temperature_margin_celsius",
    "temperature_memory_celsius",
    "nvlink_bytes_per_second",
    "nvlinks_active",
    "fan_percent",
)
GPU_USUAL = (  # what later samples are compared with: only rows in which the GPU worked, or was quiet
    "busy_sm_clock_megahertz",
    "busy_power_watts",
    "idle_power_watts",
)
BUSY_PERCENT = 80.0
GPU_RISES = (  # fast counters: their increase since the snapshot before
    "throttle_power_nanoseconds",
    "throttle_hw_thermal_nanoseconds",
    "throttle_sw_thermal_nanoseconds",
    "throttle_power_brake_nanoseconds",
)
GPU_SHARES = ("quiet", "spinning", *CLOCKS_EVENT)  # share of the samples for which it holds
HOUR, HALF_A_DAY, WEEK = (60.0, 60), (900.0, 48), (86_400.0, 7)  # seconds a row, rows
GPU_COLUMNS = Columns(
    GPU_GAUGES,
    (*GPU_MEANS, *GPU_SLOW, *GPU_USUAL, *GPU_RISES, *GPU_SHARES, HERE),
    Columns(
        ("utilization_percent", "memory_used_bytes", "sm_clock_megahertz"),
        ("power_watts", "temperature_celsius", "temperature_margin_celsius", "nvlinks_active", *GPU_USUAL,
         "quiet", "spinning", HERE),
        scales={
            "utilization_percent": Scale(500), "memory_used_bytes": Scale(1 / (8 << 20)),
            "sm_clock_megahertz": Scale(10), "power_watts": Scale(10),
            "temperature_celsius": Scale(100, -100), "temperature_margin_celsius": Scale(100, -100),
            "nvlinks_active": Scale(500), "busy_sm_clock_megahertz": Scale(10),
            "busy_power_watts": Scale(10), "idle_power_watts": Scale(10),
            "quiet": Scale(60_000), "spinning": Scale(60_000), HERE: Scale(60_000),
        },
    ),
    (HOUR, HALF_A_DAY, WEEK),
)  # fmt: skip

GPU_COUNTERS = (  # slow counters: the moments at which they rose
    "ecc_corrected_volatile",
    "ecc_uncorrected_volatile",
    "remapped_rows_uncorrectable",
    "remapped_rows_correctable",
    "retired_pages_double_bit",
    "pcie_replay_count",
    "pcie_fatal_errors",
    "pcie_nonfatal_errors",
    "nvlink_crc_errors",
    "nvlink_replay_errors",
    "nvlink_recovery_errors",
)

ENGINE_RISES = (
    "prompt_tokens_total",
    "generation_tokens_total",
    "requests_finished_total",
    "steps_total",
    "preemptions_total",
    "prefix_queries_total",
    "prefix_hits_total",
)
ENGINE_COLUMNS = Columns(
    ("requests_running", "requests_waiting", "kv_used_ratio"),
    (
        *ENGINE_RISES,
        "first_token_seconds_p95",
        "inter_token_seconds_p95",
        "answered",
        "healthy",
        "loaded",
        "waits",
    ),
    Columns(("requests_running", "requests_waiting"), ("generation_tokens_total", "first_token_seconds_p95")),
    (HOUR, HALF_A_DAY, WEEK),
)

PROCESS_COLUMNS = Columns(
    (),
    (
        "cpu_percent",
        "hottest_thread_percent",
        "next_thread_percent",
        "memory_used_bytes",
        "sm_percent",
        "read_bytes_per_second",
        "write_bytes_per_second",
        "uninterruptible",
        "cpu_quota_throttled_ratio",
        HERE,
    ),
    Columns((), ("memory_used_bytes", HERE)),
    ((60.0, 30),),
)

HOST_COLUMNS = Columns(
    (),
    (
        "cpu_percent",
        "iowait_percent",
        "load_1min",
        "cpu_pressure_some",
        "io_pressure_full",
        "memory_pressure_full",
        "swap_in_pages_per_second",
        "disk_busy_ratio",
        "memory_available_bytes",
        "samples",
        "nvml_failed",
        "nvml_sweep_seconds",
    ),
    Columns((), ("cpu_percent", "nvml_sweep_seconds")),
    (HOUR, HALF_A_DAY, WEEK),
)

EVENT_BITS = tuple(CLOCKS_EVENT.values())
_EVENT_SHARES: dict[int, tuple[float, ...]] = {}


def _event_shares(mask: int) -> tuple[float, ...]:
    shares = _EVENT_SHARES.get(mask)
    if shares is None:
        shares = tuple(1.0 if mask & bit else 0.0 for bit in EVENT_BITS)
        if len(_EVENT_SHARES) < 4096:
            _EVENT_SHARES[mask] = shares
    return shares


def mean_min_max(samples: list[Any] | None, latest: float | None) -> tuple[float, float, float]:
    """Of the samples, or of the latest value where there are none; NaN where neither is known."""
    if samples:
        first = samples[0]
        if first is not None and samples.count(first) == len(samples):
            return first, first, first
        try:
            return sum(samples) / len(samples), min(samples), max(samples)
        except TypeError:  # a None among them
            known = [value for value in samples if value is not None]
            if known:
                return sum(known) / len(known), min(known), max(known)
    if latest is None:
        return NAN, NAN, NAN
    return latest, latest, latest


def _shares(samples: list[Any] | None, latest: float | None, low: float, high: float) -> tuple[float, float]:
    """Share of the samples that are quiet, and that spin; `low` and `high` are their extremes."""
    if high <= QUIET_PERCENT:
        return 1.0, 0.0
    if low >= SPINNING_PERCENT:
        return 0.0, 1.0
    known: Sequence[Any] = samples or (latest,)
    if None in known:
        known = [value for value in known if value is not None]
        if not known:
            return NAN, NAN
    quiet = sum([0 <= value <= QUIET_PERCENT for value in known]) if low <= QUIET_PERCENT else 0
    spinning = sum([value >= SPINNING_PERCENT for value in known]) if high >= SPINNING_PERCENT else 0
    return quiet / len(known), spinning / len(known)


# One call for many fields: reading them one by one costs more than all the arithmetic.
_gauges, _means, _slow = attrgetter(*GPU_GAUGES), attrgetter(*GPU_MEANS), attrgetter(*GPU_SLOW)
rising_of, counters_of = attrgetter(*GPU_RISES), attrgetter(*GPU_COUNTERS)
_NO_GAUGES, _NO_MEANS = (None,) * len(GPU_GAUGES), (None,) * len(GPU_MEANS)
NO_COUNTERS = (None,) * len(GPU_COUNTERS)
NO_RISES = (NAN,) * len(GPU_RISES)
_NO_RISE = (None,) * len(GPU_RISES)


def gpu_row(gpu: GpuReading, rises: Iterable[float]) -> list[float]:
    """One row of a GPU's track; `rises` are those of its fast counters."""
    samples = gpu.samples
    cells = _gauge_cells(_gauges(samples) if samples else _NO_GAUGES, gpu)
    cells += _mean_cells(_means(samples) if samples else _NO_MEANS, gpu)
    cells += [NAN if value is None else value for value in _slow(gpu)]
    cells += _usual(cells)
    cells += rises
    load = samples.utilization_percent if samples else None
    cells += _shares(load, gpu.utilization_percent, cells[1], cells[2])
    cells += _event_row(samples.clocks_event_reasons if samples else None, gpu.clocks_event_reasons)
    cells.append(1.0)
    return cells


def _gauge_cells(series: tuple[Any, ...], gpu: GpuReading) -> list[float]:
    """Mean, minimum and maximum of every gauge."""
    cells: list[float] = []
    try:
        for samples in series:
            cells += (sum(samples) / len(samples), min(samples), max(samples))
        return cells
    except (TypeError, ZeroDivisionError):  # none at all, or a None among them
        cells = []
    for samples, latest in zip(series, _gauges(gpu), strict=True):
        cells += mean_min_max(samples, latest)
    return cells


def _mean_cells(series: tuple[Any, ...], gpu: GpuReading) -> list[float]:
    """The mean of every value that is sampled and has no extremes."""
    try:
        return [sum(samples) / len(samples) for samples in series]
    except (TypeError, ZeroDivisionError):
        latest = _means(gpu)
        return [mean_min_max(samples, value)[0] for samples, value in zip(series, latest, strict=True)]


def rises_of(now: tuple[Any, ...], before: tuple[Any, ...] | None) -> Sequence[float]:
    """The increase of each fast counter since the snapshot before."""
    if before is None or now == _NO_RISE:
        return NO_RISES
    return [rise_of(value, then) for value, then in zip(now, before, strict=True)]


def reasons_in(gpu: GpuReading, rises: Sequence[float]) -> int:
    """What held the clocks, by the samples' event bits and by the counters that rose, as event bits."""
    masks = (gpu.samples.clocks_event_reasons if gpu.samples else None) or [gpu.clocks_event_reasons]
    reasons = masks[0] or 0
    if masks.count(masks[0]) != len(masks):
        for mask in masks:
            reasons |= mask or 0
    if rises is not NO_RISES:
        for rise, bit in zip(rises, _RISE_BITS, strict=True):
            if rise > 0:
                reasons |= bit
    return reasons


_RISE_BITS = tuple(CLOCKS_EVENT[name] for name in ("sw_power_cap", "hw_thermal", "sw_thermal", "power_brake"))
THROTTLING = ~CLOCKS_EVENT["gpu_idle"]
SLOWING = sum(CLOCKS_EVENT[name] for name in ("hw_slowdown", "hw_thermal", "sw_thermal", "power_brake"))
"""Reasons that are nobody's setting: heat, a brake, the hardware itself."""


def _usual(cells: list[float]) -> tuple[float, float, float]:
    """Clock and power of a busy row, power of a quiet one; NaN for the others."""
    clock, watts = cells[_CLOCK], cells[_POWER]
    if cells[0] >= BUSY_PERCENT:
        return clock, watts, NAN
    return (NAN, NAN, watts) if cells[2] <= QUIET_PERCENT else (NAN, NAN, NAN)


_CLOCK, _POWER = GPU_COLUMNS.at["sm_clock_megahertz"], GPU_COLUMNS.at["power_watts"]


def _event_row(samples: list[int | None] | None, latest: int | None) -> Iterable[float]:
    masks = samples or [latest]
    first = masks[0]
    if masks.count(first) == len(masks):
        return _UNKNOWN_REASONS if first is None else _event_shares(first)
    rows = [_event_shares(mask) for mask in masks if mask is not None]
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


_UNKNOWN_REASONS = (NAN,) * len(EVENT_BITS)


def rise_of(value: float | None, before: float | None) -> float:
    """Increase of a counter; one that went backwards has restarted and counts from zero."""
    if value is None or before is None:
        return NAN
    return value - before if value >= before else value


def process_row(reading: ProcessReading) -> list[float]:
    """One row of a process's track."""
    memory = sm = hottest = following = None
    for use in reading.gpus or ():
        if use.memory_used_bytes is not None:
            memory = (memory or 0) + use.memory_used_bytes
        if use.sm_percent is not None:
            sm = (sm or 0.0) + use.sm_percent
    if reading.threads:
        busy = [thread.cpu_percent for thread in reading.threads if thread.cpu_percent is not None]
        if busy:
            hottest, following = busy[0], busy[1] if len(busy) > 1 else 0.0
    elif reading.threads is not None:
        hottest = following = 0.0  # looked at, and none is busy
    row = (
        reading.cpu_percent,
        hottest,
        following,
        memory,
        sm,
        reading.read_bytes_per_second,
        reading.write_bytes_per_second,
        None if reading.state is None else reading.state == "D",
        reading.cpu_quota_throttled_ratio,
        1.0,
    )
    return [NAN if value is None else value for value in row]
