"""One table of what the long formats of nvidia-smi call each value.

Per row: our name, how to read it, then its names in `-q` (section/key), in `-q -x` (parent/tag) and in CSV.
A name with `*` in front stands anywhere in its document; the others need their section right above them.
The first name that is there wins. Bits of the clocks event reasons are in `REASON_BITS`.
"""

# ruff: noqa: E501  (a table of facts, one row a line)

from __future__ import annotations

from typing import NamedTuple

from gpudiag.smi import values as v
from gpudiag.smi.values import Convert


class Field(NamedTuple):
    """Where a value goes, and how its text is read; `order` is the rank of the name among its kind."""

    name: str
    convert: Convert
    order: int


# name, converter, -q, XML, CSV (alternatives by blanks; `_` stands for a blank in -q)
_TABLE: tuple[tuple[str, Convert, str, str, str], ...] = (
    ("name", v.plain_text, "*product_name", "*product_name", "name gpu_name"),
    ("uuid", v.uuid, "*gpu_uuid", "*gpu/uuid *uuid", "uuid gpu_uuid"),
    ("brand", v.plain_text, "*product_brand", "*product_brand", ""),
    ("architecture", v.lower_text, "*product_architecture", "*product_architecture", ""),
    ("vbios", v.plain_text, "*vbios_version", "*vbios_version", "vbios_version"),
    ("bus_id", v.bus_id, "pci/bus_id", "pci/pci_bus_id", "pci.bus_id gpu_bus_id"),
    ("utilization_percent", v.percent, "utilization/gpu", "utilization/gpu_util", "utilization.gpu"),
    (
        "memory_utilization_percent", v.percent,
        "utilization/memory", "utilization/memory_util", "utilization.memory",
    ),
    ("encoder_percent", v.percent, "utilization/encoder", "utilization/encoder_util", "utilization.encoder"),
    ("decoder_percent", v.percent, "utilization/decoder", "utilization/decoder_util", "utilization.decoder"),
    (
        "encoder_sessions", v.count,
        "encoder_stats/active_sessions", "encoder_stats/session_count", "encoder.stats.sessioncount",
    ),
    ("memory_total_bytes", v.mib, "fb_memory_usage/total", "fb_memory_usage/total", "memory.total"),
    ("memory_reserved_bytes", v.mib, "fb_memory_usage/reserved", "fb_memory_usage/reserved", "memory.reserved"),
    ("memory_used_bytes", v.mib, "fb_memory_usage/used", "fb_memory_usage/used", "memory.used"),
    ("memory_free_bytes", v.mib, "fb_memory_usage/free", "fb_memory_usage/free", "memory.free"),
    ("bar1_total_bytes", v.mib, "bar1_memory_usage/total", "bar1_memory_usage/total", ""),
    ("bar1_used_bytes", v.mib, "bar1_memory_usage/used", "bar1_memory_usage/used", ""),
    ("pstate", v.pstate, "*performance_state", "*performance_state", "pstate"),
    ("fan_percent", v.fan, "*fan_speed", "*fan_speed", "fan.speed"),
    ("temperature_celsius", v.celsius, "*gpu_current_temp", "temperature/gpu_temp", "temperature.gpu"),
    (
        "temperature_margin_celsius", v.celsius,
        "*gpu_t.limit_temp *gpu_current_t.limit_temp",
        "temperature/gpu_temp_tlimit", "temperature.gpu.tlimit",
    ),
    (
        "temperature_slowdown_celsius", v.celsius,
        "*gpu_slowdown_temp", "temperature/gpu_temp_slow_threshold", "",
    ),
    (
        "temperature_shutdown_celsius", v.celsius,
        "*gpu_shutdown_temp", "temperature/gpu_temp_max_threshold", "",
    ),
    (
        "temperature_operating_max_celsius", v.celsius,
        "*gpu_max_operating_temp", "temperature/gpu_temp_max_gpu_threshold", "",
    ),
    ("temperature_memory_celsius", v.celsius, "*memory_current_temp", "temperature/memory_temp", "temperature.memory"),
    (
        "temperature_memory_max_celsius", v.celsius,
        "*memory_max_operating_temp", "temperature/gpu_temp_max_mem_threshold", "",
    ),
    (
        "power_watts", v.watts,
        "gpu_power_readings/average_power_draw gpu_power_readings/instantaneous_power_draw "
        "gpu_power_readings/power_draw power_readings/power_draw",
        "gpu_power_readings/average_power_draw gpu_power_readings/instant_power_draw "
        "gpu_power_readings/power_draw power_readings/power_draw",
        "power.draw power.draw.average power.draw.instant",
    ),
    (
        "power_limit_watts", v.watts,
        "gpu_power_readings/current_power_limit gpu_ceiling_power_limit/current_power_limit "
        "power_readings/enforced_power_limit power_readings/power_limit gpu_power_readings/power_limit",
        "gpu_power_readings/current_power_limit gpu_ceiling_power_limit/current_power_limit "
        "power_readings/enforced_power_limit power_readings/power_limit gpu_power_readings/power_limit",
        "enforced.power.limit power.limit",
    ),
    (
        "power_limit_default_watts", v.watts,
        "gpu_power_readings/default_power_limit gpu_ceiling_power_limit/default_power_limit "
        "power_readings/default_power_limit",
        "gpu_power_readings/default_power_limit gpu_ceiling_power_limit/default_power_limit "
        "power_readings/default_power_limit",
        "power.default_limit",
    ),
    (
        "power_limit_max_watts", v.watts,
        "gpu_power_readings/max_power_limit power_readings/max_power_limit",
        "gpu_power_readings/max_power_limit power_readings/max_power_limit",
        "power.max_limit",
    ),
    ("sm_clock_megahertz", v.megahertz, "clocks/sm", "clocks/sm_clock", "clocks.current.sm clocks.sm"),
    ("memory_clock_megahertz", v.megahertz, "clocks/memory", "clocks/mem_clock", "clocks.current.memory clocks.mem"),
    ("sm_clock_max_megahertz", v.megahertz, "max_clocks/sm", "max_clocks/sm_clock", "clocks.max.sm"),
    (
        "application_sm_clock_megahertz", v.megahertz,
        "applications_clocks/graphics", "applications_clocks/graphics_clock", "clocks.applications.graphics",
    ),
    (
        "application_sm_clock_default_megahertz", v.megahertz,
        "default_applications_clocks/graphics", "default_applications_clocks/graphics_clock",
        "clocks.default_applications.graphics",
    ),
    (
        "throttle_power_nanoseconds", v.nanoseconds,
        "clocks_event_reasons_counters/sw_power_capping",
        "clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap",
        "clocks_event_reasons_counters.sw_power_cap",
    ),
    (
        "throttle_sw_thermal_nanoseconds", v.nanoseconds,
        "clocks_event_reasons_counters/sw_thermal_slowdown",
        "clocks_event_reasons_counters/clocks_event_reasons_counters_sw_therm_slowdown",
        "clocks_event_reasons_counters.sw_thermal_slowdown",
    ),
    (
        "throttle_hw_thermal_nanoseconds", v.nanoseconds,
        "clocks_event_reasons_counters/hw_thermal_slowdown",
        "clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown",
        "clocks_event_reasons_counters.hw_thermal_slowdown",
    ),
    (
        "throttle_power_brake_nanoseconds", v.nanoseconds,
        "clocks_event_reasons_counters/hw_power_braking",
        "clocks_event_reasons_counters/clocks_event_reasons_counters_hw_power_brake",
        "clocks_event_reasons_counters.hw_power_brake_slowdown",
    ),
    (
        "pcie_link_generation", v.count,
        "pcie_generation/current", "pcie_gen/current_link_gen", "pcie.link.gen.current pcie.link.gen.gpucurrent",
    ),
    ("pcie_link_generation_max", v.count, "pcie_generation/max", "pcie_gen/max_link_gen", "pcie.link.gen.max"),
    ("pcie_link_width", v.width, "link_width/current", "link_widths/current_link_width", "pcie.link.width.current"),
    ("pcie_link_width_max", v.width, "link_width/max", "link_widths/max_link_width", "pcie.link.width.max"),
    ("pcie_replay_count", v.count, "*replays_since_reset", "pci/replay_counter", ""),
    ("pcie_tx_bytes_per_second", v.kib_per_second, "*tx_throughput", "pci/tx_util", ""),
    ("pcie_rx_bytes_per_second", v.kib_per_second, "*rx_throughput", "pci/rx_util", ""),
    ("persistence_mode", v.enabled, "*persistence_mode", "*persistence_mode", "persistence_mode"),
    ("display_active", v.enabled, "*display_active", "*display_active", "display_active"),
    ("compute_mode", v.compute_mode, "*compute_mode", "*compute_mode", "compute_mode"),
    ("driver_model", v.driver_model, "driver_model/current", "driver_model/current_dm", "driver_model.current"),
    ("mig_mode", v.enabled, "mig_mode/current", "mig_mode/current_mig", "mig.mode.current"),
    ("mig_mode_pending", v.enabled, "mig_mode/pending", "mig_mode/pending_mig", "mig.mode.pending"),
    (
        "virtualization", v.virtualization,
        "*virtualization_mode", "gpu_virtualization_mode/virtualization_mode", "",
    ),
    ("vgpu_licensed", v.licensed, "*license_status", "*license_status", ""),
    (
        "recovery_action", v.recovery_action,
        "*gpu_recovery_action", "*gpu_recovery_action", "gpu_recovery_action",
    ),
    (
        "recovery_action", v.reset_required,
        "gpu_reset_status/reset_required", "gpu_reset_status/reset_required", "",
    ),
    (
        "recovery_action", v.drain_recommended,
        "gpu_reset_status/drain_and_reset_recommended",
        "gpu_reset_status/drain_and_reset_recommended", "",
    ),
    ("gsp_firmware", v.plain_text, "*gsp_firmware_version", "*gsp_firmware_version", ""),
    ("ecc_mode", v.enabled, "ecc_mode/current", "ecc_mode/current_ecc", "ecc.mode.current"),
    ("ecc_mode_pending", v.enabled, "ecc_mode/pending", "ecc_mode/pending_ecc", "ecc.mode.pending"),
    ("remapped_rows_correctable", v.count, "remapped_rows/correctable_error", "remapped_rows/remapped_row_corr", "remapped_rows.correctable"),
    ("remapped_rows_uncorrectable", v.count, "remapped_rows/uncorrectable_error", "remapped_rows/remapped_row_unc", "remapped_rows.uncorrectable"),
    ("row_remap_pending", v.yes, "remapped_rows/pending", "remapped_rows/remapped_row_pending", "remapped_rows.pending"),
    ("row_remap_failed", v.yes, "remapped_rows/remapping_failure_occurred", "remapped_rows/remapped_row_failure", "remapped_rows.failure"),
    ("row_remap_banks_none", v.banks, "bank_remap_availability_histogram/none", "row_remapper_histogram/row_remapper_histogram_none", "remapped_rows.histogram.none"),
    ("retired_pages_single_bit", v.count, "retired_pages/single_bit_ecc", "multiple_single_bit_retirement/retired_count", "retired_pages.single_bit_ecc.count retired_pages.sbe"),
    ("retired_pages_double_bit", v.count, "retired_pages/double_bit_ecc", "double_bit_retirement/retired_count", "retired_pages.double_bit.count retired_pages.dbe"),
    ("retired_pages_pending", v.yes, "retired_pages/pending_page_blacklist retired_pages/pending", "retired_pages/pending_retirement retired_pages/pending_blacklist", "retired_pages.pending"),
    ("ecc_sram_threshold_exceeded", v.yes, "aggregate/sram_threshold_exceeded", "aggregate/sram_threshold_exceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdexceeded"),
    ("fabric_state", v.fabric_state, "fabric/state", "fabric/state", "fabric.state"),
    ("fabric_status", v.lower_text, "fabric/status", "fabric/status", "fabric.status"),
)  # fmt: skip

REASON_BITS = {
    "idle": 0x1,
    "gpu_idle": 0x1,
    "applications_clocks_setting": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal_slowdown": 0x20,
    "hw_thermal_slowdown": 0x40,
    "hw_power_brake_slowdown": 0x80,
    "display_clock_setting": 0x100,
    "display_clocks_setting": 0x100,
    "unknown": 0x0,
}
"""What the formats call each bit of NVML's clocks event reasons."""

ENOUGH_REASONS = 6
"""So many of the reasons have to be shown before "none is active" is a statement."""

ECC_SUMS = {
    # ours: names of its parts; a total that is printed wins over the parts
    "ecc_corrected_volatile": ("volatile", ("sram_correctable", "dram_correctable")),
    "ecc_uncorrected_volatile": (
        "volatile",
        ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_sec-ded", "dram_uncorrectable"),
    ),
    "ecc_corrected_aggregate": ("aggregate", ("sram_correctable", "dram_correctable")),
    "ecc_uncorrected_aggregate": (
        "aggregate",
        ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_sec-ded", "dram_uncorrectable"),
    ),
    "ecc_sram_uncorrected_aggregate": (
        "aggregate",
        ("sram_uncorrectable", "sram_uncorrectable_parity", "sram_uncorrectable_sec-ded"),
    ),
}  # fmt: skip

ECC_CSV = {
    "ecc.errors.corrected.volatile.total": "ecc_corrected_volatile",
    "ecc.errors.uncorrected.volatile.total": "ecc_uncorrected_volatile",
    "ecc.errors.corrected.aggregate.total": "ecc_corrected_aggregate",
    "ecc.errors.uncorrected.aggregate.total": "ecc_uncorrected_aggregate",
    "ecc.errors.uncorrected.aggregate.sram": "ecc_sram_uncorrected_aggregate",
}


def _index(column: int) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for name, convert, *names in _TABLE:
        for order, alternative in enumerate(names[column].split()):
            found.setdefault(alternative, Field(name, convert, order))
    return found


QUERY = _index(0)
XML = _index(1)
CSV = _index(2)
