"""One GPU as NVML, or a pasted text, shows it: a field per metric, its unit in its name."""

from __future__ import annotations

from gpudiag.model.terms import Number, Struct


class Samples(Struct):
    """Every sample of the fast metrics since the last snapshot, oldest first, about one a second.

    Lists have the same length; `None` inside a list is a sample that was not got.
    """

    utilization_percent: list[Number | None] | None = None
    memory_utilization_percent: list[Number | None] | None = None
    memory_used_bytes: list[int | None] | None = None
    power_watts: list[Number | None] | None = None
    sm_clock_megahertz: list[Number | None] | None = None
    temperature_celsius: list[Number | None] | None = None
    clocks_event_reasons: list[int | None] | None = None
    pcie_rx_bytes_per_second: list[Number | None] | None = None
    pcie_tx_bytes_per_second: list[Number | None] | None = None


class MigDevice(Struct):
    """One MIG compute instance. Instances of one GPU instance share its memory: never add those up."""

    index: int
    gpu_instance: int | None = None
    compute_instance: int | None = None
    uuid: str | None = None
    profile: str | None = None
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None


class NvLink(Struct):
    """One NVLink of a GPU; error counters are totals since the driver was loaded."""

    link: int
    active: bool | None = None
    crc_errors: int | None = None
    replay_errors: int | None = None
    recovery_errors: int | None = None


class GpuReading(Struct):
    """One GPU in a snapshot. Scalars are the latest values; `samples` holds what came before them."""

    index: int
    uuid: str | None = None
    bus_id: str | None = None
    name: str | None = None
    architecture: str | None = None
    brand: str | None = None
    vbios: str | None = None
    error: str | None = None  # a Reason, when the device as a whole does not answer

    # fast
    utilization_percent: Number | None = None  # share of the sample period in which a kernel ran
    memory_utilization_percent: Number | None = None  # share of time in which memory was read or written
    memory_used_bytes: int | None = None  # without the driver's reserve where NVML tells them apart
    power_watts: Number | None = None
    sm_clock_megahertz: Number | None = None
    temperature_celsius: Number | None = None
    clocks_event_reasons: int | None = None  # NVML bit mask, see CLOCKS_EVENT
    pcie_rx_bytes_per_second: Number | None = None  # host to device
    pcie_tx_bytes_per_second: Number | None = None
    samples: Samples | None = None
    utilization_source: str | None = None  # "samples": the driver's buffer, "instant": one value a second

    # inside the chip (GPM, Hopper and newer)
    sm_active_ratio: Number | None = None
    sm_occupancy_ratio: Number | None = None
    tensor_active_ratio: Number | None = None
    dram_active_ratio: Number | None = None
    encoder_percent: Number | None = None
    decoder_percent: Number | None = None
    encoder_sessions: int | None = None

    # memory
    memory_total_bytes: int | None = None
    memory_free_bytes: int | None = None
    memory_reserved_bytes: int | None = None  # the driver's own
    bar1_total_bytes: int | None = None
    bar1_used_bytes: int | None = None

    # power, heat, clocks
    pstate: str | None = None  # "P0" … "P15"
    power_limit_watts: Number | None = None  # enforced now
    power_limit_default_watts: Number | None = None
    power_limit_max_watts: Number | None = None
    sm_clock_max_megahertz: Number | None = None
    memory_clock_megahertz: Number | None = None
    application_sm_clock_megahertz: Number | None = None
    application_sm_clock_default_megahertz: Number | None = None
    temperature_memory_celsius: Number | None = None
    temperature_memory_max_celsius: Number | None = None
    temperature_margin_celsius: Number | None = None  # degrees left to the slowdown limit
    temperature_slowdown_celsius: Number | None = None
    temperature_shutdown_celsius: Number | None = None
    temperature_operating_max_celsius: Number | None = None  # highest at which it keeps its full clocks
    fan_percent: Number | None = None
    fan_count: int | None = None
    fan_rpm: int | None = None
    throttle_power_nanoseconds: int | None = None  # counters, see rules on clocks
    throttle_hw_thermal_nanoseconds: int | None = None
    throttle_sw_thermal_nanoseconds: int | None = None
    throttle_power_brake_nanoseconds: int | None = None

    # memory errors
    ecc_mode: bool | None = None
    ecc_mode_pending: bool | None = None
    ecc_corrected_volatile: int | None = None
    ecc_uncorrected_volatile: int | None = None
    ecc_corrected_aggregate: int | None = None
    ecc_uncorrected_aggregate: int | None = None
    ecc_sram_uncorrected_aggregate: int | None = None
    ecc_sram_threshold_exceeded: bool | None = None
    remapped_rows_correctable: int | None = None
    remapped_rows_uncorrectable: int | None = None
    row_remap_pending: bool | None = None
    row_remap_failed: bool | None = None
    row_remap_banks_none: int | None = None  # banks without a spare row left
    retired_pages_single_bit: int | None = None
    retired_pages_double_bit: int | None = None
    retired_pages_pending: bool | None = None
    inforom_corrupted: bool | None = None

    # links
    pcie_link_generation: int | None = None
    pcie_link_generation_max: int | None = None  # of GPU and slot together
    pcie_link_width: int | None = None
    pcie_link_width_max: int | None = None
    pcie_replay_count: int | None = None
    pcie_fatal_errors: int | None = None
    pcie_nonfatal_errors: int | None = None
    nvlinks: list[NvLink] | None = None
    nvlink_bytes_per_second: Number | None = None
    fabric_state: str | None = None  # not_supported, not_started, in_progress, completed
    fabric_status: str | None = None  # success, or NVML's error name
    fabric_health: list[str] | None = None  # what the health mask complains of

    # set-up
    persistence_mode: bool | None = None
    compute_mode: str | None = None  # default, exclusive_process, prohibited
    driver_model: str | None = None  # wddm, tcc, mcdm on Windows
    mig_mode: bool | None = None
    mig_mode_pending: bool | None = None
    mig_devices: list[MigDevice] | None = None
    virtualization: str | None = None  # none, passthrough, vgpu, host_vgpu, host_vsga
    vgpu_licensed: bool | None = None
    recovery_action: int | None = None  # NVML field 230: 0 none, 1 reset, 2 reboot, 3 drain P2P, …
    gsp_firmware: str | None = None
    cpu_affinity: list[int] | None = None  # CPU numbers near this GPU
    numa_node: int | None = None
    joined: dict[str, str] | None = None  # how, as `topo` writes it: GPU1 → NV18, NIC0 → SYS
    display_active: bool | None = None

    @property
    def nvlinks_active(self) -> int | None:
        """How many of its NVLinks are up; None where no link says."""
        if not self.nvlinks:
            return None
        known = [link.active for link in self.nvlinks if link.active is not None]
        return sum(known) if known else None

    @property
    def nvlink_crc_errors(self) -> int | None:
        """Total over all links, as the two below."""
        return self._of_links("crc_errors")

    @property
    def nvlink_replay_errors(self) -> int | None:
        return self._of_links("replay_errors")

    @property
    def nvlink_recovery_errors(self) -> int | None:
        return self._of_links("recovery_errors")

    def _of_links(self, name: str) -> int | None:
        if not self.nvlinks:
            return None
        known = [getattr(link, name) for link in self.nvlinks]
        values = [value for value in known if value is not None]
        return sum(values) if values else None


CLOCKS_EVENT = {
    "gpu_idle": 0x1,
    "app_clocks": 0x2,
    "sw_power_cap": 0x4,
    "hw_slowdown": 0x8,
    "sync_boost": 0x10,
    "sw_thermal": 0x20,
    "hw_thermal": 0x40,
    "power_brake": 0x80,
    "display_clock": 0x100,
}
"""Bits of NVML's clocks event reasons (nvmlClocksEventReasons in nvml.h)."""
