"""What is seen on one node at one moment: processes, engines, the host, the driver, and their GPUs."""

from __future__ import annotations

from typing import Literal

import msgspec

from gpudiag.model.gpu import GpuReading
from gpudiag.model.paste import PasteReading
from gpudiag.model.terms import SCHEMA, Number, Source, Struct


class Gap(Struct):
    """A metric that was asked for and not got.

    `subject` is `node`, `host`, `gpu:INDEX`, `process:PID` or `engine:NAME`. `reason` is a `Reason`;
    an agent of another version may know more of them.
    """

    subject: str
    metric: str
    reason: str
    detail: str | None = None


Reason = Literal[
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
]


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
    pci_gpus_unbound: int | None = None  # of a model that the driver runs here, and no driver has them
    kernel_driver_version: str | None = None  # /proc/driver/nvidia/version
    library_driver_version: str | None = None  # of the driver's library on disk, which new programs load
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
    error: str | None = None  # a Reason, when there is no NVML at all
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
