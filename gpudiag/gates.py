"""Gates: what is cheap to see of a GPU, and so which rules need not be asked about it.

A gate is open when its condition holds or is not known: then the rule itself must say so. A rule names its
gates in `given`; where one of them is closed, the rule is clear by what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from gpudiag.window import W2, W5, GpuWindow, NotMeasured, Window
from gpudiag.workloads import AT_REST

NAMES = (
    "idle", "working", "spinning", "underused", "holding",
    "process", "shared", "engine", "job", "loaded",
    "fault", "throttled", "slowed", "warm", "fan", "linked", "adjusted", "guest", "mig", "pasted",
)  # fmt: skip
BIT = {name: 1 << i for i, name in enumerate(NAMES)}
ALL_OPEN = (1 << len(NAMES)) - 1

IDLE, WORKING, SPINNING, UNDERUSED, HOLDING = (BIT[name] for name in NAMES[:5])
PROCESS, SHARED, ENGINE, JOB, LOADED = (BIT[name] for name in NAMES[5:10])
FAULT, THROTTLED, SLOWED, WARM, FAN, LINKED, ADJUSTED, GUEST, MIG, PASTED = (BIT[name] for name in NAMES[10:])

IDLE_PERCENT = 5.0
SPINNING_PERCENT = 85.0
UNDERUSED_PERCENT = 80.0  # no rule calls more than this a low utilization
HOLDING_SHARE = 0.01
WARM_CELSIUS = 10.0  # from a limit

NO_JOB = AT_REST | {"engine"}
"""Kinds of program that are not somebody's job; see `gpudiag.workloads`."""


def gates_of(gpu: GpuWindow) -> int:
    """The open gates of one GPU as bits."""
    return _gates_of((gpu,), gpu.node)[0]


def gates_of_all(window: Window) -> list[tuple[GpuWindow, int]]:
    """Every GPU of a node, in order, with its open gates."""
    gpus = window.gpus_in_order()
    return list(zip(gpus, _gates_of(gpus, window), strict=True))


def _gates_of(gpus: Sequence[GpuWindow], node: Window) -> list[int]:
    gates = [_of_node(node)] * len(gpus)
    for opened_by in (_of_load, _of_users, _of_clocks, _of_health, _of_settings):
        gates = [bits | opened_by(gpu) for bits, gpu in zip(gates, gpus, strict=True)]
    return gates


def gates_of_node(window: Window, of_gpus: Iterable[int]) -> int:
    """The open gates of a node: those of any of its GPUs; all of them where no GPU was seen."""
    bits = 0
    for gates in of_gpus:
        bits |= gates
    if not bits:
        return ALL_OPEN
    return bits | ENGINE if window.engines else bits  # whose GPUs may not be known


def is_open(name: str, gpu: GpuWindow) -> bool:
    return bool(gates_of(gpu) & BIT[name])


def _of_node(node: Window) -> int:
    """What is the same for every GPU of the node."""
    latest = node.latest
    if latest is None:
        return FAULT | LINKED
    bits = 0
    if node.events:
        bits |= FAULT | LINKED
    if not node.log_readable or (latest.paste is not None and latest.paste.errors):
        bits |= FAULT
    if latest.host is not None and latest.host.nvswitches:
        bits |= LINKED
    if latest.labels and "expected_busy" in latest.labels:
        bits |= LOADED
    return bits | PASTED if node.pasted else bits


def _of_load(gpu: GpuWindow) -> int:
    """What it does, and whether it holds memory."""
    bits = 0
    try:
        load = gpu.over("utilization_percent", W5)
        mean = load.mean
        if mean >= IDLE_PERCENT or (mean != 0.0 and load.max >= IDLE_PERCENT):
            bits = WORKING
        if mean >= SPINNING_PERCENT:
            bits |= SPINNING
        if mean < UNDERUSED_PERCENT:
            bits |= UNDERUSED
        if mean == 0.0 or gpu.over("utilization_percent", W2).mean <= IDLE_PERCENT:
            bits |= IDLE
    except NotMeasured:
        bits = IDLE | WORKING | SPINNING | UNDERUSED
    used, total = gpu.reading.memory_used_bytes, gpu.reading.memory_total_bytes
    known = used is not None and total
    if not known or used > HOLDING_SHARE * total:  # type: ignore[operator]
        bits |= HOLDING
    if gpu.node.pasted and (not known or not bits & HOLDING):
        bits |= IDLE
    return bits


def _of_users(gpu: GpuWindow) -> int:
    """Who is on it, and whether somebody may be asking it for work: requests, a job, or nobody can tell."""
    processes, engines, kinds, _ = gpu.users
    if not processes and not engines:
        return 0
    bits = _of_programs(kinds, bool(engines))
    if len(processes) > 1:
        bits |= SHARED
    for engine in engines:
        reading = engine.reading
        if not reading.metrics_ok or reading.requests_running or reading.requests_waiting:
            return bits | LOADED
    return bits


@cache
def _of_programs(kinds: frozenset[str], engines: bool) -> int:
    bits = PROCESS
    if kinds - NO_JOB:
        bits |= JOB
    if "training" in kinds:
        bits |= LOADED
    if "engine" in kinds or engines:
        bits |= ENGINE if engines else ENGINE | LOADED
    return bits


def _of_clocks(gpu: GpuWindow) -> int:
    bits = 0
    try:
        if gpu.throttled_within(W5):
            bits = THROTTLED
        if gpu.slowed_within(W5) or (gpu.node.pasted and gpu.reading.throttle_sw_thermal_nanoseconds):
            bits |= SLOWED
    except NotMeasured:
        return THROTTLED | SLOWED
    return bits


def _of_health(gpu: GpuWindow) -> int:
    """Complaints, heat and links."""
    r = gpu.reading
    bits = 0
    if (
        not gpu.present
        or r.error
        or r.ecc_uncorrected_volatile
        or r.ecc_corrected_volatile
        or r.ecc_sram_uncorrected_aggregate
        or r.ecc_sram_threshold_exceeded
        or r.remapped_rows_uncorrectable
        or r.row_remap_pending
        or r.row_remap_failed
        or r.row_remap_banks_none
        or r.retired_pages_pending
        or r.retired_pages_double_bit
        or r.retired_pages_single_bit
        or r.recovery_action
        or r.inforom_corrupted
        or (r.ecc_uncorrected_volatile is None and not gpu.node.pasted)
    ):
        bits = FAULT
    margin, memory, limit = (
        r.temperature_margin_celsius,
        r.temperature_memory_celsius,
        r.temperature_memory_max_celsius,
    )
    if (
        margin is None
        or margin <= WARM_CELSIUS
        or (memory is not None and (limit is None or memory >= limit - WARM_CELSIUS))
    ):
        bits |= WARM
    if (r.fan_percent is not None or r.fan_count) and not (r.fan_percent and r.fan_rpm != 0):
        bits |= FAN
    if (
        r.pcie_link_generation is None
        or r.pcie_link_generation != r.pcie_link_generation_max
        or r.pcie_link_width is None
        or r.pcie_link_width != r.pcie_link_width_max
        or r.pcie_replay_count is None
        or r.pcie_replay_count
        or r.pcie_fatal_errors
        or r.pcie_nonfatal_errors
        or r.nvlinks is not None
        or r.fabric_state not in (None, "not_supported")
    ):
        bits |= LINKED
    return bits


def _of_settings(gpu: GpuWindow) -> int:
    """Settings that differ from the usual or are not known, and what kind of device it is."""
    r = gpu.reading
    bits = 0
    if (
        r.power_limit_watts is None
        or r.power_limit_watts != r.power_limit_default_watts
        or r.persistence_mode is not True
        or r.compute_mode != "default"
        or r.mig_mode is not r.mig_mode_pending
        or r.ecc_mode is not True
        or r.ecc_mode_pending is not True
        or r.virtualization not in (None, "none", "passthrough")
        or r.inforom_corrupted is True
    ):
        bits = ADJUSTED
    named = r.name is not None or r.vgpu_licensed is None
    if r.virtualization == "vgpu" or (r.virtualization is None and ("-" in (r.name or "") or not named)):
        bits |= GUEST
    if r.mig_mode or r.mig_devices:
        bits |= MIG
    return bits
