"""The tables of what NVML is asked: which call fills which fields, and how its answer becomes ours.

`SLOTS` are the values of every second, `SLOW` rows are asked at every snapshot, `RARE` ones once a minute,
`FIELDS` and `GPM` are numbers of NVML's own value tables. Calls are named, not imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

SLOTS = (
    "utilization_percent",
    "memory_utilization_percent",
    "memory_used_bytes",
    "power_watts",
    "sm_clock_megahertz",
    "temperature_celsius",
    "clocks_event_reasons",
    "pcie_tx_bytes",  # counters; rates are made of them at the snapshot
    "pcie_rx_bytes",
    "sampled_percent",  # mean of the driver's own samples since the second before
)
UTILIZATION, MEMORY_UTILIZATION, MEMORY_USED, POWER, SM_CLOCK, TEMPERATURE, REASONS, TX, RX, SAMPLED = range(
    10
)

NOT_AVAILABLE = (0xFFFFFFFF, 2**64 - 1)  # the numbers with which NVML says that there is none

# What a fast value can be at most. Above it the driver answered nonsense: 4294967295 is one of its ways.
LIMITS = {
    "utilization_percent": 100,
    "memory_utilization_percent": 100,
    "power_watts": 20_000,
    "sm_clock_megahertz": 20_000,
    "temperature_celsius": 200,
}


class Row(NamedTuple):
    """Fields that one call fills; `take` turns its answer into their values, in order."""

    fields: tuple[str, ...]
    call: str
    arguments: tuple[Any, ...] = ()
    take: Callable[[Any], tuple[Any, ...]] = lambda answer: (answer,)


def decoded(value: Any) -> str | None:
    """Text of NVML, which some calls give as bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _watts(answer: int) -> tuple[float]:
    return (answer if answer in NOT_AVAILABLE else answer / 1000,)


def _switch(answer: int) -> tuple[bool]:
    return (bool(answer),)


def _switches(answer: Any) -> tuple[bool, bool]:
    return bool(answer[0]), bool(answer[1])


_COMPUTE_MODES = {0: "default", 1: "exclusive_thread", 2: "prohibited", 3: "exclusive_process"}
_VIRTUALIZATION = {0: "none", 1: "passthrough", 2: "vgpu", 3: "host_vgpu", 4: "host_vsga"}
_ARCHITECTURES = {
    2: "Kepler", 3: "Maxwell", 4: "Pascal", 5: "Volta", 6: "Turing", 7: "Ampere", 8: "Ada", 9: "Hopper",
    10: "Blackwell", 13: "Rubin",
}  # fmt: skip
_BRANDS = {
    1: "Quadro", 2: "Tesla", 3: "NVS", 4: "GRID", 5: "GeForce", 6: "Titan", 12: "Quadro RTX",
    13: "NVIDIA RTX", 14: "NVIDIA", 15: "GeForce RTX", 16: "Titan RTX",
}  # fmt: skip

_SM, _GRAPHICS, _MEMORY = 1, 0, 2
_CORRECTED, _UNCORRECTED = 0, 1
_VOLATILE, _AGGREGATE = 0, 1
_SRAM = 7  # NVML_MEMORY_LOCATION_SRAM

SLOW: tuple[Row, ...] = (
    Row(("pstate",), "nvmlDeviceGetPerformanceState", (), lambda p: (f"P{p}" if p <= 15 else None,)),
    Row(("power_limit_watts",), "nvmlDeviceGetEnforcedPowerLimit", (), _watts),
    Row(("memory_clock_megahertz",), "nvmlDeviceGetClockInfo", (_MEMORY,)),
    Row(("temperature_margin_celsius",), "nvmlDeviceGetMarginTemperature"),
    Row(("pcie_link_generation",), "nvmlDeviceGetCurrPcieLinkGeneration"),
    Row(("pcie_link_width",), "nvmlDeviceGetCurrPcieLinkWidth"),
    Row(("ecc_uncorrected_volatile",), "nvmlDeviceGetTotalEccErrors", (_UNCORRECTED, _VOLATILE)),
    Row(("ecc_corrected_volatile",), "nvmlDeviceGetTotalEccErrors", (_CORRECTED, _VOLATILE)),
    Row(
        (
            "remapped_rows_correctable",
            "remapped_rows_uncorrectable",
            "row_remap_pending",
            "row_remap_failed",
        ),
        "nvmlDeviceGetRemappedRows",
        (),
        lambda rows: (rows[0], rows[1], bool(rows[2]), bool(rows[3])),
    ),
    Row(("mig_mode", "mig_mode_pending"), "nvmlDeviceGetMigMode", (), _switches),
    Row(("encoder_percent",), "nvmlDeviceGetEncoderUtilization", (), lambda share: (share[0],)),
    Row(("decoder_percent",), "nvmlDeviceGetDecoderUtilization", (), lambda share: (share[0],)),
    Row(("fan_percent",), "nvmlDeviceGetFanSpeed"),
    Row(("fan_rpm",), "nvmlDeviceGetFanSpeedRPM"),
)

RARE: tuple[Row, ...] = (
    Row(("name",), "nvmlDeviceGetName"),
    Row(("architecture",), "nvmlDeviceGetArchitecture", (), lambda a: (_ARCHITECTURES.get(a),)),
    Row(("brand",), "nvmlDeviceGetBrand", (), lambda b: (_BRANDS.get(b),)),
    Row(("vbios",), "nvmlDeviceGetVbiosVersion"),
    Row(("power_limit_default_watts",), "nvmlDeviceGetPowerManagementDefaultLimit", (), _watts),
    Row(
        ("power_limit_max_watts",),
        "nvmlDeviceGetPowerManagementLimitConstraints",
        (),
        lambda limits: _watts(limits[1]),
    ),
    Row(("sm_clock_max_megahertz",), "nvmlDeviceGetMaxClockInfo", (_SM,)),
    Row(("application_sm_clock_megahertz",), "nvmlDeviceGetApplicationsClock", (_GRAPHICS,)),
    Row(("application_sm_clock_default_megahertz",), "nvmlDeviceGetDefaultApplicationsClock", (_GRAPHICS,)),
    Row(("temperature_shutdown_celsius",), "nvmlDeviceGetTemperatureThreshold", (0,)),
    Row(("temperature_slowdown_celsius",), "nvmlDeviceGetTemperatureThreshold", (1,)),
    Row(("temperature_memory_max_celsius",), "nvmlDeviceGetTemperatureThreshold", (2,)),
    Row(("temperature_operating_max_celsius",), "nvmlDeviceGetTemperatureThreshold", (3,)),
    Row(("fan_count",), "nvmlDeviceGetNumFans"),
    Row(("ecc_mode", "ecc_mode_pending"), "nvmlDeviceGetEccMode", (), _switches),
    Row(("ecc_uncorrected_aggregate",), "nvmlDeviceGetTotalEccErrors", (_UNCORRECTED, _AGGREGATE)),
    Row(("ecc_corrected_aggregate",), "nvmlDeviceGetTotalEccErrors", (_CORRECTED, _AGGREGATE)),
    Row(
        ("ecc_sram_uncorrected_aggregate",),
        "nvmlDeviceGetMemoryErrorCounter",
        (_UNCORRECTED, _AGGREGATE, _SRAM),
    ),
    Row(("row_remap_banks_none",), "nvmlDeviceGetRowRemapperHistogram", (), lambda banks: (banks.none,)),
    Row(("retired_pages_pending",), "nvmlDeviceGetRetiredPagesPendingStatus", (), _switch),
    Row(("pcie_link_generation_max",), "nvmlDeviceGetMaxPcieLinkGeneration"),
    Row(("pcie_link_width_max",), "nvmlDeviceGetMaxPcieLinkWidth"),
    Row(
        ("bar1_total_bytes", "bar1_used_bytes"),
        "nvmlDeviceGetBAR1MemoryInfo",
        (),
        lambda bar: (bar.bar1Total, bar.bar1Used),
    ),
    Row(("persistence_mode",), "nvmlDeviceGetPersistenceMode", (), _switch),
    Row(("compute_mode",), "nvmlDeviceGetComputeMode", (), lambda mode: (_COMPUTE_MODES.get(mode),)),
    Row(("display_active",), "nvmlDeviceGetDisplayActive", (), _switch),
    Row(("virtualization",), "nvmlDeviceGetVirtualizationMode", (), lambda m: (_VIRTUALIZATION.get(m),)),
    Row(("gsp_firmware",), "nvmlDeviceGetGspFirmwareVersion", (), lambda version: (decoded(version),)),
    Row(("encoder_sessions",), "nvmlDeviceGetEncoderStats", (), lambda stats: (stats[0],)),
)


class FieldRow(NamedTuple):
    """One value of nvmlDeviceGetFieldValues; all are asked for in one call."""

    id: int
    field: str
    take: Callable[[float], Any] = lambda value: value


FIELDS: tuple[FieldRow, ...] = (
    FieldRow(74, "throttle_power_nanoseconds"),
    FieldRow(269, "throttle_sw_thermal_nanoseconds"),
    FieldRow(270, "throttle_hw_thermal_nanoseconds"),
    FieldRow(271, "throttle_power_brake_nanoseconds"),
    FieldRow(82, "temperature_memory_celsius"),
    FieldRow(94, "pcie_replay_count"),
    FieldRow(179, "pcie_nonfatal_errors"),
    FieldRow(180, "pcie_fatal_errors"),
    FieldRow(230, "recovery_action"),
)

GPM = (  # NVML_GPM_METRIC_… number, field, factor: percent → ratio, MiB → bytes
    (2, "sm_active_ratio", 0.01),
    (3, "sm_occupancy_ratio", 0.01),
    (5, "tensor_active_ratio", 0.01),
    (10, "dram_active_ratio", 0.01),
    (60, "nvlink_rx", 2.0**20),
    (61, "nvlink_tx", 2.0**20),
)

RETIRED_PAGES = ("retired_pages_single_bit", "retired_pages_double_bit")  # by NVML's number of the cause

FABRIC_STATES = {0: "not_supported", 1: "not_started", 2: "in_progress", 3: "completed"}
FABRIC_HEALTH = (  # place of two bits in the mask, where 1 means "true"
    (0, "degraded_bandwidth"),
    (2, "route_recovery"),
    (4, "route_unhealthy"),
    (6, "access_timeout_recovery"),
)
