"""The nouns: what an agent sees on one node at one moment, and what the rules make of it.

One schema for the agent, the server, recorded files and pasted text. Every metric may be absent: `None`
means *not known*, never zero. Units are in the names. Unknown fields from a newer agent are ignored.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

SCHEMA = 1

LARGEST = 2.0**64  # what the driver's own counters hold
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""What a machine may say; more is refused where it is read."""

Severity = Literal["ok", "info", "warning", "critical", "unknown"]
Confidence = Literal["proven", "likely", "possible"]
Kind = Literal["measured", "calculated", "inferred", "declared", "simulated"]
Maturity = Literal["stable", "experimental"]
Source = Literal["agent", "local", "pasted", "simulated"]
FindingState = Literal["open", "acknowledged", "resolved", "gone"]

# Worst last. A verdict takes the worst of its parts; unknown is worse than info and never shown as ok.
SEVERITY_ORDER: tuple[Severity, ...] = ("ok", "info", "unknown", "warning", "critical")
CONFIDENCE_ORDER: tuple[Confidence, ...] = ("possible", "likely", "proven")


def worst(severities: list[Severity]) -> Severity:
    """The worst of `severities`; of none, `unknown`."""
    return max(severities, key=SEVERITY_ORDER.index) if severities else "unknown"


# ------------------------------------------------------------------------------------ what is seen


class Struct(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A plain record without cycles; absent fields are not written."""


class Gap(Struct):
    """A metric that was asked for and not got.

    `subject` is `node`, `host`, `gpu:INDEX`, `process:PID` or `engine:NAME`. `reason` is one of `REASONS`.
    """

    subject: str
    metric: str
    reason: str
    detail: str | None = None


REASONS = (
    "not_supported",  # this product does not have the value
    "no_permission",
    "function_not_found",  # an older driver
    "timeout",  # the call did not return in time
    "gpu_is_lost",
    "reset_required",
    "unknown_error",
    "driver_not_loaded",
    "library_not_found",
    "library_mismatch",
    "not_found",  # it vanished between two reads
    "unreachable",  # an engine that does not answer
    "not_enabled",  # a switch is needed
    "nonsense",  # the driver answered what cannot be (used > total, 2^32 - 1)
    "cut",  # pasted text ends in the middle
    "not_shown",  # pasted text of a format that does not carry it
)


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
    error: str | None = None  # a reason of REASONS when the device as a whole does not answer

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


class GpuUse(Struct):
    """What one process does on one GPU."""

    gpu: int  # index
    memory_used_bytes: int | None = None
    type: str | None = None  # C compute, G graphics, C+G, M+C under MPS
    sm_percent: Number | None = None
    encoder_percent: Number | None = None
    decoder_percent: Number | None = None
    mig_device: int | None = None


class ThreadReading(Struct):
    """One of the busiest threads of a process."""

    tid: int
    name: str | None = None
    cpu_percent: Number | None = None  # of one core
    state: str | None = None
    wait_channel: str | None = None


class ProcessReading(Struct):
    """One process that uses a GPU, holds a handle of one, or belongs to an engine."""

    pid: int
    name: str | None = None
    command: str | None = None  # secrets masked on the host
    user: str | None = None
    started_at: Number | None = None  # Unix seconds
    parent_pid: int | None = None
    parent_name: str | None = None
    parents: list[str] | None = None  # names up to init, nearest first
    state: str | None = None  # R S D T Z, or "gone" when it vanished between two reads
    wait_channel: str | None = None
    gpus: list[GpuUse] | None = None
    open_devices: list[int] | None = None  # GPU indexes whose /dev/nvidiaN it holds open
    in_nvml: bool | None = None  # False: holds a device, but NVML does not list it
    hidden: bool | None = None  # NVML names the pid, /proc here does not know it

    cpu_percent: Number | None = None
    threads: list[ThreadReading] | None = None  # the busiest three
    thread_count: int | None = None
    read_bytes_per_second: Number | None = None
    write_bytes_per_second: Number | None = None
    resident_bytes: int | None = None
    children: list[ThreadReading] | None = None  # busiest child processes (data loader workers)
    cpus_allowed: list[int] | None = None
    last_cpu: int | None = None
    frameworks: list[str] | None = None  # libraries it has mapped: jax, tensorflow, torch, …
    ranks: dict[str, str] | None = None  # RANK, WORLD_SIZE and the like, where readable

    container: str | None = None
    pod: str | None = None
    namespace: str | None = None
    slurm_job: str | None = None
    unit: str | None = None  # systemd
    cpu_quota_throttled_ratio: Number | None = None  # share of wall time its cgroup was throttled
    cpu_pressure_some: Number | None = None  # its own cgroup's PSI, percent
    oom_kills: int | None = None  # of its cgroup, counter


class EngineReading(Struct):
    """One inference server, as its own metrics page tells. Counters are totals since it started."""

    name: str  # unique on the node, such as "vllm:8000"
    engine: str  # vllm, sglang, tensorrt-llm, tgi, lmdeploy, llama.cpp, ollama, triton
    version: str | None = None
    model: str | None = None  # as it calls it, which may be any name
    model_path: str | None = None  # what its command line loads
    pid: int | None = None  # the server process
    worker_pids: list[int] | None = None
    gpus: list[int] | None = None
    address: str | None = None
    declared: bool | None = None  # named in settings, not found
    port_open: bool | None = None
    health_ok: bool | None = None  # its /health answered
    metrics_ok: bool | None = None  # its metrics were read just now
    ever_answered: bool | None = None  # since its process started
    parent_alive: bool | None = None  # the workers' line of parents leads to a running server
    workers_by: str | None = None  # ray: its actors outlive the server, so no parent tells
    sleeping: bool | None = None
    replicas: int | None = None  # data-parallel ranks put together here

    requests_running: Number | None = None
    requests_waiting: Number | None = None
    waiting_reason: str | None = None
    kv_used_ratio: Number | None = None
    pool_bytes: int | None = None
    pool_tokens: int | None = None
    pool_blocks: int | None = None
    block_size: int | None = None
    kv_dtype: str | None = None
    gpu_memory_utilization: Number | None = None
    max_num_seqs: int | None = None
    max_model_len: int | None = None
    tensor_parallel: int | None = None
    weights_bytes: int | None = None
    prompt_tokens_total: Number | None = None
    generation_tokens_total: Number | None = None
    requests_finished_total: Number | None = None
    steps_total: Number | None = None  # of the model: moves where tokens are counted at a request's end
    preemptions_total: Number | None = None
    prefix_queries_total: Number | None = None
    prefix_hits_total: Number | None = None
    first_token_seconds_p95: Number | None = None  # of the last interval
    inter_token_seconds_p95: Number | None = None
    unloads_at: Number | None = None  # Ollama's keep-alive, Unix seconds; past while it is asked
    connections: int | None = None  # of clients, of a server that does not tell how many requests run


class NetworkPort(Struct):
    """One InfiniBand, RoCE or Ethernet port."""

    name: str
    kind: str  # infiniband, ethernet
    state: str | None = None
    rate_gigabits_per_second: Number | None = None
    bytes_per_second: Number | None = None
    wait_ratio: Number | None = None  # share of ticks spent waiting to send
    link_downed_total: int | None = None


class HostReading(Struct):
    """The machine around the GPUs."""

    boot_id: str | None = None
    booted_at: Number | None = None
    cpu_count: int | None = None
    cpu_percent: Number | None = None  # of all cores together
    cpu_percent_per_core: list[Number] | None = None
    iowait_percent: Number | None = None
    load_1min: Number | None = None
    cpu_pressure_some: Number | None = None  # PSI avg60, percent
    io_pressure_full: Number | None = None
    memory_pressure_full: Number | None = None
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    swap_in_pages_per_second: Number | None = None
    disk_busy_ratio: Number | None = None  # the busiest block device
    disk_read_bytes_per_second: Number | None = None
    nfs_mounts: int | None = None
    ports: list[NetworkPort] | None = None
    pci_gpu_count: int | None = None  # NVIDIA display devices on the bus, whatever the driver says
    kernel_driver_version: str | None = None  # /proc/driver/nvidia/version
    modules: list[str] | None = None  # loaded kernel modules that matter (see gpudiag/agent/host.py)
    services: dict[str, str] | None = None  # nvidia-fabricmanager: active, nvidia-persistenced: …
    nvswitches: int | None = None
    acs_bridges: int | None = None
    numa_nodes: int | None = None
    in_container: bool | None = None


class KernelEvent(Struct):
    """Lines of the kernel log that belong together: one event however often it was printed."""

    kind: str  # xid, sxid, fallen_off_bus, init_failed, power_cable, gsp, oom_kill, aer, nvrm
    text: str  # the first raw line
    at: Number | None = None  # Unix seconds
    number: int | None = None  # Xid or SXid
    bus_id: str | None = None
    gpu: int | None = None  # index, where the bus id is known
    pid: int | None = None
    process: str | None = None
    fatal: bool | None = None
    action: str | None = None  # the recovery action that Xid 154 prints
    caused_by: int | None = None  # the earlier Xid that the line itself names as its cause
    clock_seconds: Number | None = None  # by the log's own clock: for distances, not a date
    count: int = 1
    last_at: Number | None = None


class NvmlReading(Struct):
    """How the driver's library itself did."""

    version: str | None = None
    error: str | None = None  # a reason of REASONS when there is no NVML at all
    error_code: int | None = None  # NVML's return value
    silent_seconds: Number | None = None  # a call has been hanging for so long
    silent_call: str | None = None
    sweep_seconds: Number | None = None  # median time of one full round of calls
    sweep_seconds_max: Number | None = None
    look_seconds: Number | None = None  # the same of what is asked once a snapshot: processes, ECC, limits …
    first_call_seconds: Number | None = None
    released: bool | None = None  # the agent let go of the GPUs on request


class AgentReading(Struct):
    """The reporter itself. (start_id, sequence) names a snapshot once and for all."""

    start_id: str
    sequence: int
    version: str | None = None
    interval_seconds: Number = 10.0
    started_at: Number | None = None
    sent_at: Number | None = None  # its own clock, when the request was made
    lost_snapshots: int = 0  # dropped from a full spool since the start
    sees_all_processes: bool | None = None
    kernel_log_readable: bool | None = None
    uid: int | None = None
    expected_gpus: int | None = None
    cpu_seconds: Number | None = None
    resident_bytes: int | None = None


class MemoryHolder(Struct):
    """Another process that a message names; the driver may not tell how much it holds."""

    pid: int
    memory_used_bytes: int | None = None


class OutOfMemory(Struct):
    """A program's own message that it got no more GPU memory; every size is the message's.

    The parts lie inside each other, never beside: private pools in what is allocated; that, with what is
    unallocated, in what is reserved; that in what the process holds.
    """

    allocator: str  # cuda, hip, xpu: PyTorch's; jax, tensorflow, tensorrt, ggml
    asked_bytes: int
    device: int | None = None  # as the program counts its GPUs: not the driver's index
    rank: int | None = None
    pid: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    allowed_bytes: int | None = None  # a limit that the program set itself
    process_bytes: int | None = None
    reserved_bytes: int | None = None  # older wordings tell this, newer ones what is unallocated in it
    allocated_bytes: int | None = None
    private_pool_bytes: int | None = None
    unallocated_bytes: int | None = None
    others: list[MemoryHolder] | None = None
    setting: str | None = None  # what the allocator of that version takes against fragmentation
    count: int = 1  # messages of this process and GPU in the text; this is the last


class CacheShortage(Struct):
    """An inference engine's own message that its KV cache has no room, so that it does not start."""

    engine: str
    reason: str  # no_room, too_long, not_free
    model_len: int | None = None  # the longest request it was told to take
    longest_len: int | None = None  # the longest that would fit
    needed_bytes: int | None = None  # for one request of that length
    available_bytes: int | None = None  # left for the cache; below zero where weights and the rest take more
    free_bytes: int | None = None  # of the GPU, as it started
    total_bytes: int | None = None
    wanted_bytes: int | None = None
    wanted_ratio: Number | None = None


class FailedTest(Struct):
    """A test of GPUs that failed by its own words: `dcgmi diag`, gpu-burn."""

    tool: str
    test: str
    gpus: list[int] | None = None  # as the tool counts them; None where it does not say
    reason: str | None = None  # its own words


class PasteReading(Struct):
    """What a pasted text says about itself."""

    formats: list[str]
    samples: int = 1
    gpus_announced: int | None = None
    gpus_whole: int = 0
    gpus_cut: int = 0
    by_place: bool | None = None  # numbers are places in the text: of some GPUs only, not the driver's
    # listed, none (said so), empty (no such words), not_supported, cut, absent
    process_list: str | None = None
    loose_utilization_percent: list[Number] | None = None  # of rows whose GPU is cut off
    missing: list[str] | None = None  # what is cut or not there: codes of MISSING_PARTS
    errors: list[str] | None = None  # kinds of error lines: library_mismatch, no_devices, unknown_error, …
    error_lines: list[str] | None = None
    hints: list[str] | None = None  # container, out_of_memory, aborted, hung, wsl, jetson, ended …
    out_of_memory: list[OutOfMemory] | None = None
    cache_shortages: list[CacheShortage] | None = None
    failed_tests: list[FailedTest] | None = None
    machine: str | None = None  # where the text shows several: whose output this is
    machines: int | None = None  # and how many there are
    broken_machines: list[str] | None = None  # of the others: the worst first, then those not reached


MISSING_PARTS = (
    "gpus",  # rows or blocks of GPUs end in the middle
    "fewer",  # fewer GPUs than the text announces
    "processes",  # the process part ends in the middle
    "gpu_part",  # processes without the GPUs they are on
    "header",  # rows without the lines above them
    "gpu_line",  # a section without the line that names its GPU
    "columns",  # cells without the names of their columns
    "document",  # the document ends before its end
    "row",  # a row has more or fewer cells than its header
    "joined",  # lines were run together and cannot be told apart
    "shortened",  # the author left something out: [...]
    "long",  # more than is read: only the beginning and the end were
    "other_machine",  # another machine's output, which is not judged here
    "other_list",  # another list without a host's name or a time: of another machine or another moment
    "state",  # a list of GPUs or links, which never tells how they are
)


class Snapshot(Struct):
    """One node at one moment, as its agent saw it.

    `taken_at` is Unix seconds at the end of the period that `samples` cover, in the server's time once it
    has been received (the server adds the measured clock offset).
    """

    node: str
    taken_at: Number
    schema: int = SCHEMA
    source: Source = "agent"
    agent: AgentReading | None = None
    driver_version: str | None = None
    cuda_version: str | None = None
    nvml: NvmlReading | None = None
    gpus: list[GpuReading] = msgspec.field(default_factory=list)
    processes: list[ProcessReading] = msgspec.field(default_factory=list)
    engines: list[EngineReading] = msgspec.field(default_factory=list)
    host: HostReading | None = None
    events: list[KernelEvent] = msgspec.field(default_factory=list)
    gaps: list[Gap] = msgspec.field(default_factory=list)
    labels: dict[str, str] | None = None  # rack, pool, …
    paste: PasteReading | None = None
    notes: list[str] = msgspec.field(default_factory=list)


# ---------------------------------------------------------------------------- what is made of it


class Evidence(Struct):
    """A named quantity. The unit stands at the end of the name (see `gpudiag.words.units`).

    `of` is what the value is compared with: a total, a limit, a usual value, in the same unit.
    """

    name: str
    value: float | int | str | bool
    kind: Kind = "measured"
    source: str | None = None  # NVML, /proc, vLLM metrics, kernel log, pasted text, …
    window_seconds: float | None = None
    of: float | int | str | None = None


class Finding(Struct):
    """A rule fired. Numbers only: the words stand beside the rule.

    `gpu` is an index, or None for the node. `key` tells apart findings of one rule on one subject (a pid
    with its start, an Xid). `variant` chooses among the wordings of the rule's page.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    gpu: int | None = None
    gpu_uuid: str | None = None
    key: str = ""
    variant: str | None = None
    maturity: Maturity = "stable"
    evidence: list[Evidence] = msgspec.field(default_factory=list)
    words: dict[str, Any] = msgspec.field(default_factory=dict)  # pid, process, … for the page's sentences
    explains: list[str] = msgspec.field(default_factory=list)
    since: float | None = None
    id: str | None = None
    state: FindingState = "open"


class Unjudged(Struct):
    """A rule could not say, and what was missing."""

    rule: str
    missing: list[str]  # names of metrics or sources
    gpu: int | None = None
    reason: str | None = None  # a reason of REASONS, "too_short" or "catching_up"
    wait_seconds: float | None = None  # too_short: how long until it can be judged


class LedgerPart(Struct):
    """One share of a GPU's memory. The KV pool is one part; `filled_bytes` lies inside it, never beside."""

    part: Literal["weights", "kv_pool", "runtime", "other_process", "unaccounted"]
    bytes: int
    kind: Kind
    owner: str | None = None
    filled_bytes: int | None = None
    expected_bytes: int | None = None  # calculated, beside a measured value


class MemoryLedger(Struct):
    """Who holds the memory of one GPU. Parts may exceed the total and are then not cut."""

    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    driver_reserved_bytes: int | None = None
    parts: list[LedgerPart] = msgspec.field(default_factory=list)
    over_capacity_bytes: int = 0
    disagreement_ratio: float | None = None  # calculated against measured, where both are known


class Observed(Struct):
    """The span of data that was judged, in Unix seconds."""

    start: float | None
    end: float | None
    samples: int = 0
    coverage_ratio: float | None = None


class Checkup(Struct):
    """What the rules saw on one node, in numbers. Neither found nor unjudged means judged clear."""

    node: str
    judged_at: float
    observed: Observed
    snapshot: Snapshot
    findings: list[Finding] = msgspec.field(default_factory=list)
    unjudged: list[Unjudged] = msgspec.field(default_factory=list)
    ledgers: dict[int, MemoryLedger] = msgspec.field(default_factory=dict)
