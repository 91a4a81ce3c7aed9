"""A driver that answers every call, but late: what is known is told, the rest is a gap, and nobody waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import msgspec
import pytest

from gpudiag.agent import Observer, ScaledClock, watch
from gpudiag.agent.clock import RealClock
from gpudiag.agent.nvml import Library, what_is_missing
from gpudiag.agent.nvml.device import KEPT_SECONDS
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.samples import HELD_SECONDS, put_held
from gpudiag.agent.worker import Harvest
from gpudiag.examine import judge
from gpudiag.model import Checkup, Finding, GpuReading, NvmlReading, Snapshot
from gpudiag.window import Window
from tests.agent.machine import FakeHost
from tests.doubles.nvml import GIB, Nvml
from tests.waiting import until

FAST = 30  # seconds of the scenario in one real second
LISTS = [f"nvmlDeviceGet{kind}RunningProcesses_v3" for kind in ("Compute", "Graphics", "MPSCompute")]


@pytest.fixture
def sampler(nvml: Nvml) -> Iterator[Sampler]:
    """Sweeps five times a second, once it is started."""
    sampler = Sampler(RealClock(), period=0.2)
    yield sampler
    nvml.is_well_again()
    sampler.stop()


def gaps(found: Harvest) -> set[tuple[str, str, str]]:
    return {(gap.subject, gap.metric, gap.reason) for gap in found.gaps}


def harvests_until(sampler: Sampler, told: str) -> Harvest:
    """Snapshots in a row, until this value of the last GPU is told."""

    def harvest() -> Harvest | None:
        found = sampler.harvest(patience=0.4)
        return found if found.gpus and getattr(found.gpus[-1], told) is not None else None

    return until(harvest)


# ---- every call takes long


def test_every_gpu_is_told_while_the_driver_takes_long_for_each_call(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).runs_process(7, GIB)
    nvml.call("*").takes(0.03)
    sampler.start()
    found = harvests_until(sampler, "power_watts")

    assert [gpu.error for gpu in found.gpus] == [None, None]
    assert [gpu.power_watts for gpu in found.gpus] == [70, 70]
    assert found.nvml.sweep_seconds is not None
    assert found.nvml.sweep_seconds >= 2 * 8 * 0.03
    assert ("gpu:1", "nvlinks", "timeout") in gaps(found)
    assert ("gpu:1", "processes", "timeout") in gaps(found)


def test_what_a_slow_driver_has_not_told_yet_is_told_later(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(1).runs_process(7, GIB)
    nvml.call("*").takes(0.01)
    sampler.start()
    found = harvests_until(sampler, "nvlinks")

    assert [use.memory_used_bytes for use in found.uses[7]] == [GIB]
    assert found.gpus[1].name == "NVIDIA H100 80GB HBM3"
    assert not [gap for gap in gaps(found) if gap[2] == "timeout" and gap[1] == "processes"]


def test_a_snapshot_comes_in_time_however_slow_the_driver_is(nvml: Nvml, sampler: Sampler) -> None:
    sampler.start()
    harvests_until(sampler, "nvlinks")
    nvml.call("*").takes(0.3)
    took = []
    for _ in range(4):
        start = time.monotonic()
        found = sampler.harvest(patience=4.0)
        took.append(time.monotonic() - start)

        assert [(gpu.error, gpu.name) for gpu in found.gpus] == [(None, "NVIDIA H100 80GB HBM3")] * 2

    assert max(took) < 4.0


def test_a_slow_gpu_keeps_only_its_own_values_waiting(nvml: Nvml, sampler: Sampler) -> None:
    nvml.call("*", gpu=0).takes(0.1)
    sampler.start()
    found = harvests_until(sampler, "memory_total_bytes")
    slow, quick = found.gpus

    assert (quick.error, quick.power_watts, quick.ecc_uncorrected_volatile) == (None, 70, 0)
    assert ("gpu:1", "processes", "timeout") not in gaps(found)
    assert ("gpu:0", "processes", "timeout") in gaps(found)
    assert slow.error is None


def test_process_lists_that_take_long_do_not_stop_the_samples(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(1).runs_process(7, GIB)
    for name in LISTS:
        nvml.call(name).takes(0.3)
    sampler.start()
    first = sampler.harvest(patience=2.0)
    until(lambda: samples_told(sampler) >= 3)

    assert ("gpu:1", "processes", "timeout") in gaps(first)
    assert 7 in harvests_until(sampler, "name").uses


def samples_told(sampler: Sampler) -> int:
    """How many samples of the last GPU came together in most of a second."""
    time.sleep(0.8)
    samples = sampler.harvest(patience=2.0).gpus[-1].samples
    return len(samples.power_watts or ()) if samples is not None else 0


def test_how_long_process_lists_take_is_told_apart_from_the_samples(nvml: Nvml, sampler: Sampler) -> None:
    for name in LISTS:
        nvml.call(name).takes(0.1)
    sampler.start()
    harvests_until(sampler, "nvlinks")
    told = until(lambda: once_looked(sampler.harvest(patience=0.4).nvml))

    assert told.look_seconds is not None and told.sweep_seconds is not None
    assert told.look_seconds >= 2 * len(LISTS) * 0.1
    assert told.sweep_seconds < 0.1


def once_looked(nvml: NvmlReading) -> NvmlReading | None:
    return nvml if nvml.look_seconds is not None else None


def test_one_look_that_takes_long_is_not_told_as_the_rule(nvml: Nvml, sampler: Sampler) -> None:
    sampler.start()
    for _ in range(3):
        sampler.harvest()
    nvml.call(LISTS[0]).takes(0.5)
    sampler.harvest()
    nvml.is_well_again()
    found = sampler.harvest()

    assert found.nvml.look_seconds is not None
    assert found.nvml.look_seconds < 0.5


# ---- how long a value holds


def test_the_last_sample_holds_for_a_while_and_no_longer() -> None:
    rows = [(0.0, [85, 40, GIB, 520.0, 1980, 60, 0, None, None, None])]
    held, gone = GpuReading(index=0), GpuReading(index=0)
    missing: dict[str, str] = {}
    put_held(held, rows, {}, HELD_SECONDS)
    put_held(gone, rows, missing, HELD_SECONDS + 1)

    assert (held.utilization_percent, held.power_watts, held.samples) == (85, 520.0, None)
    assert (gone.utilization_percent, gone.power_watts) == (None, None)
    assert missing["power_watts"] == "timeout"


def test_what_was_not_asked_for_minutes_is_known_no_more(nvml: Nvml) -> None:
    library = Library()
    library.open()
    device = library.devices[0]
    for _ in library.look(RealClock()):
        pass
    assert device.looked_at is not None
    before = what_is_missing(device, device.looked_at + KEPT_SECONDS - 1)
    known = device.reading()
    after = what_is_missing(device, device.looked_at + KEPT_SECONDS + 1)
    library.close()

    assert "ecc_uncorrected_volatile" not in before
    assert known.ecc_uncorrected_volatile == 0
    assert (after["ecc_uncorrected_volatile"], after["processes"]) == ("timeout", "timeout")
    assert device.reading().ecc_uncorrected_volatile is None
    assert device.reading().name == "NVIDIA H100 80GB HBM3"


def test_a_driver_that_is_still_opening_is_not_a_host_without_gpus(nvml: Nvml, sampler: Sampler) -> None:
    opening = nvml.call("nvmlDeviceGetHandleByIndex_v2").hangs()
    sampler.start()
    found = sampler.harvest(patience=0.3)
    opening.answers_again()
    later = harvests_until(sampler, "power_watts")

    assert (found.gpus, found.nvml.error) == ([], "timeout")
    assert ("node", "nvml", "timeout") in gaps(found)
    assert (len(later.gpus), later.nvml.error) == (2, None)


# ---- what people are told


def test_a_short_look_takes_longer_until_a_slow_driver_has_told_who_holds_memory(
    nvml: Nvml, host: FakeHost
) -> None:
    nvml.gpu(1).holds(20 * GIB).runs_process(7, 20 * GIB)
    nvml.call("*").takes(0.01)
    clock = ScaledClock(5)  # 10 ms are 0.05 s of it
    observer = Observer(
        source="local", interval=2, clock=clock, proc=str(host.proc), sys=str(host.sys), kmsg=str(host.kmsg)
    )
    snapshots = watch(4, observer=observer)
    last = snapshots[-1]

    assert len(snapshots) > 2
    assert [gpu.memory_used_bytes for gpu in last.gpus] == [0, 20 * GIB]
    assert [process.pid for process in last.processes] == [7]


class Watched:
    """A node whose snapshots, one every ten seconds of a clock that runs fast, are judged as they come."""

    def __init__(self, host: FakeHost) -> None:
        self.clock = ScaledClock(FAST)
        self.observer = Observer(
            clock=self.clock, proc=str(host.proc), sys=str(host.sys), kmsg=str(host.kmsg)
        )
        self.window = Window("node-1")

    def snapshot(self) -> Snapshot:
        self.clock.wait(threading.Event(), 10)
        return self.observer.snapshot()

    def checkup(self) -> Checkup:
        """What the next snapshot makes of it."""
        self.window.add(self.snapshot())
        return judge(self.window)


@pytest.fixture
def watched(nvml: Nvml, host: FakeHost) -> Iterator[Watched]:
    watched = Watched(host)
    watched.observer.start()
    yield watched
    nvml.is_well_again()
    watched.observer.stop()


def test_a_driver_that_becomes_slow_is_told_as_slow(nvml: Nvml, watched: Watched) -> None:
    an_hour_of(until(lambda: once_swept(watched.snapshot())), watched.window, sweep_seconds=0.05)
    before = rules_that_fire(watched.window)
    nvml.call("*").takes(1.0 / FAST)
    found = until(lambda: slowness(watched.checkup()))

    assert "nvml-slow" not in before
    assert found.severity == "warning"
    assert "gpu-count-changed" not in rules_that_fire(watched.window)


def test_process_lists_that_are_slow_alone_are_told_as_slow(nvml: Nvml, watched: Watched) -> None:
    for name in LISTS:
        nvml.call(name).takes(2.0 / FAST)
    found = until(lambda: slowness(watched.checkup(), "lists"))

    assert (found.severity, found.confidence) == ("info", "possible")


def test_process_lists_are_told_as_slow_while_one_of_them_is_waited_for_in_vain(
    nvml: Nvml, watched: Watched
) -> None:
    for name in LISTS:
        nvml.call(name).takes(5.0 / FAST)
    until(lambda: slowness(watched.checkup(), "lists"))
    in_vain = until(lambda: silent(watched.checkup()))

    assert slowness(in_vain, "lists") or slowness(in_vain, "silent")


def slowness(checkup: Checkup, variant: str | None = None) -> Finding | None:
    found = (finding for finding in checkup.findings if finding.rule == "nvml-slow")
    return next((finding for finding in found if finding.variant == variant), None)


def silent(checkup: Checkup) -> Checkup | None:
    nvml = checkup.snapshot.nvml
    return checkup if nvml is not None and nvml.silent_seconds is not None else None


def once_swept(snapshot: Snapshot) -> Snapshot | None:
    assert snapshot.nvml is not None
    return snapshot if snapshot.nvml.sweep_seconds is not None else None


def an_hour_of(snapshot: Snapshot, window: Window, sweep_seconds: float) -> None:
    """The same again and again, up to now, from a driver that took no longer than that."""
    assert snapshot.nvml is not None
    snapshot.nvml.sweep_seconds = snapshot.nvml.sweep_seconds_max = sweep_seconds
    content = msgspec.json.encode(snapshot)
    for number in range(360):
        copy = msgspec.json.decode(content, type=Snapshot)
        copy.taken_at = snapshot.taken_at - 3600 + 10 * number
        window.add(copy)


def rules_that_fire(window: Window) -> set[str]:
    return {finding.rule for finding in judge(window).findings}
