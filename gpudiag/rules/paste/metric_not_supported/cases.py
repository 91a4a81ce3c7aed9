"""Situations of metric-not-supported and its look-alikes."""

from gpudiag.model import HostReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import runs, sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window

NOT_SUPPORTED = "not_supported"


def _old_geforce() -> Window:
    return sample(
        shown(utilization_percent=None, power_watts=None),
        gaps={"gpu:0": {"utilization_percent": NOT_SUPPORTED, "power_watts": NOT_SUPPORTED}},
    )


def _unified_memory() -> Window:
    gaps = {"memory_used_bytes": NOT_SUPPORTED, "memory_total_bytes": NOT_SUPPORTED}
    return sample(shown(memory_used_bytes=None, memory_total_bytes=None), gaps={"gpu:0": gaps})


def _board(used: int) -> Window:
    """Line of tegrastats of a board with 16 GiB for CPU and GPU."""
    window = _unified_memory()
    assert window.latest is not None
    window.latest.host = HostReading(memory_total_bytes=16 * GIB, memory_available_bytes=(16 - used) * GIB)
    return window


def _windows() -> Window:
    return sample(
        shown(memory_used_bytes=GIB, driver_model="wddm"),
        processes=(runs(pid=2140, name="dwm.exe", type="C+G"),),
        gaps={"process:2140": {"memory_used_bytes": NOT_SUPPORTED}},
    )


def _busy_without_power() -> Window:
    return sample(
        shown(utilization_percent=100.0, power_watts=None), gaps={"gpu:0": {"power_watts": NOT_SUPPORTED}}
    )


def _no_rights() -> Window:
    return sample(shown(utilization_percent=None), gaps={"gpu:0": {"utilization_percent": "no_permission"}})


def _cells_alone() -> Window:
    return sample(errors=["insufficient_permissions"], process_list="absent")


def _mig() -> Window:
    return sample(
        shown(utilization_percent=None, mig_mode=True), gaps={"gpu:0": {"utilization_percent": NOT_SUPPORTED}}
    )


def _small_card_at_rest() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": NOT_SUPPORTED}})


def _failed_sensor() -> Window:
    return sample(shown(utilization_percent=None), gaps={"gpu:0": {"utilization_percent": "unknown_error"}})


CASES = [
    Case("an old GeForce gives no utilization", _old_geforce, "fires", severity="info"),
    Case("unified memory is not a memory of the GPU", _unified_memory, "fires", variant="unified"),
    Case(
        "a board tells how full its one memory is",
        lambda: _board(9),
        "fires",
        severity="info",
        variant="board",
    ),
    Case(
        "the one memory of a board is full", lambda: _board(16), "fires", severity="warning", variant="board"
    ),
    Case("Windows keeps the memory of processes to itself", _windows, "fires", variant="process-memory"),
    Case("busy, and the power is not given", _busy_without_power, "fires", variant="power"),
    Case("missing rights", _no_rights, "fires", variant="rights"),
    Case("two cells without a header", _cells_alone, "fires", gpu=None, variant="rights"),
    Case(
        "a command for other GPUs",
        lambda: sample(errors=["not_supported"], process_list="absent"),
        "fires",
        gpu=None,
        variant="command",
    ),
    Case("under MIG the utilization belongs to nobody: mig-util-not-available", _mig, "clear"),
    Case("power N/A on a small card at rest decides nothing", _small_card_at_rest, "clear"),
    Case("ERR! is a failed sensor", _failed_sensor, "clear"),
    Case("everything is given", lambda: sample(shown()), "clear"),
]
