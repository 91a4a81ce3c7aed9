"""A short look at this host, without a server."""

from __future__ import annotations

from gpudiag.agent import Observer, ScaledClock, watch
from tests.agent.machine import FakeHost
from tests.doubles.nvml import Nvml


def test_a_short_look_needs_no_server(nvml: Nvml, host: FakeHost) -> None:
    nvml.gpu(1).is_lost()
    observer = Observer(
        source="local",
        interval=2,
        clock=ScaledClock(5),
        proc=str(host.proc),
        sys=str(host.sys),
        kmsg=str(host.kmsg),
    )
    done: list[float] = []
    snapshots = watch(10, done.append, observer)

    assert len(snapshots) >= 5  # more where the driver takes long, as it does on a busy machine
    assert {snapshot.source for snapshot in snapshots} == {"local"}
    assert snapshots[-1].gpus[1].error == "gpu_is_lost"
    assert done == sorted(done)
    assert done[-1] == 1.0


def test_a_look_is_done_when_it_ends_however_late_its_snapshots_come(nvml: Nvml, host: FakeHost) -> None:
    nvml.call("nvmlDeviceGetPowerUsage").takes(0.2)
    observer = Observer(
        source="local", interval=0.1, proc=str(host.proc), sys=str(host.sys), kmsg=str(host.kmsg)
    )
    done: list[float] = []
    watch(0.2, done.append, observer)

    assert done[-1] == 1.0


def test_a_short_look_at_a_driver_that_hangs_takes_long_enough_to_tell(nvml: Nvml, host: FakeHost) -> None:
    nvml.call("*").hangs()
    observer = Observer(
        source="local", interval=2, clock=ScaledClock(20), proc=str(host.proc), sys=str(host.sys)
    )
    last = watch(6, observer=observer)[-1]
    nvml.is_well_again()

    assert last.nvml is not None
    assert last.nvml.silent_seconds is not None
    assert last.nvml.silent_seconds > 10
