"""Situations of storage-bound and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.situations import Situation, starved_training, training_in_bursts, vllm_busy
from gpudiag.window import Window


def _in_nfs(channel: str = "nfs_wait_bit_killable") -> Window:
    s = starved_training(minutes=0, io_pressure_full=2.0)
    s.runs(pid=5400, state="D", wait_channel=channel)
    return s.passes(minutes=6).window


def _copying() -> Window:
    return Situation().machine(io_pressure_full=50.0, disk_busy_ratio=1.0).passes(minutes=6).window


def _checkpoint() -> Window:
    s = starved_training(minutes=0, io_pressure_full=40.0)
    s.runs(pid=5400, write_bytes_per_second=900e6, read_bytes_per_second=0.0)
    return s.passes(minutes=6).window


CASES = [
    Case(
        "everybody waits for a full disk",
        lambda: starved_training(io_pressure_full=38.0, disk_busy_ratio=0.98).window,
        "fires",
        confidence="likely",
    ),
    Case("the job sits in NFS", _in_nfs, "fires", variant="file-wait"),
    Case(
        "pressure alone",
        lambda: starved_training(io_pressure_full=20.0).window,
        "fires",
        confidence="possible",
    ),
    Case(
        "a job that works in bursts, and waits for a full disk in between",
        lambda: training_in_bursts(host={"io_pressure_full": 38.0, "disk_busy_ratio": 0.98}).window,
        "fires",
    ),
    Case("a job that works in bursts", lambda: training_in_bursts().window, "clear"),
    Case("it is stuck in the driver, not in a file", lambda: _in_nfs("uvm_spin_loop"), "clear"),
    Case("it writes a checkpoint", _checkpoint, "clear"),
    Case("the disk is busy and the GPU has no work", _copying, "clear"),
    Case("the GPU is busy", lambda: vllm_busy().window, "clear"),
    Case(
        "nothing about disks is read",
        lambda: starved_training(io_pressure_full=None, disk_busy_ratio=None).window,
        "unjudged",
    ),
]
