"""Calls into the driver that hang, and letting go of the GPUs."""

from __future__ import annotations

import threading
import time

from gpudiag.agent.clock import ScaledClock
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.worker import Harvest
from tests.doubles.nvml import Nvml

FAST = 40  # seconds of the scenario in one real second


class Watching:
    """A sampler on a clock that runs fast."""

    def __init__(self) -> None:
        self.clock = ScaledClock(FAST)
        self.sampler = Sampler(self.clock)

    def __enter__(self) -> Watching:
        self.sampler.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.sampler.stop()

    def passes(self, seconds: float) -> Watching:
        self.clock.wait(threading.Event(), seconds)
        return self

    def harvest(self) -> Harvest:
        return self.sampler.harvest()


def test_a_hanging_call_is_told_with_how_long_and_which(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.passes(3).harvest()
        nvml.call("nvmlDeviceGetPowerUsage", gpu=0).hangs()
        found = watching.passes(5).harvest()
        nvml.is_well_again()

    assert found.nvml.silent_call == "nvmlDeviceGetPowerUsage"
    assert found.nvml.silent_seconds is not None
    assert 3 <= found.nvml.silent_seconds <= 15
    assert [(gpu.uuid, gpu.error) for gpu in found.gpus] == [(gpu.uuid, "timeout") for gpu in nvml.gpus]


def test_the_other_gpus_are_read_on_while_one_hangs(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.passes(3).harvest()
        nvml.call("*", gpu=0).hangs()
        watching.passes(12).harvest()
        nvml.gpu(1).draws(321)
        found = watching.passes(4).harvest()
        nvml.is_well_again()

    assert [gpu.error for gpu in found.gpus] == ["timeout", None]
    assert found.gpus[1].power_watts == 321
    assert found.nvml.silent_seconds is not None
    assert found.nvml.silent_seconds >= 10


def test_a_call_that_comes_back_brings_its_gpu_back(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.passes(3).harvest()
        wedged = nvml.call("*", gpu=0).hangs()
        watching.passes(12).harvest()
        watching.passes(3)
        wedged.answers_again()
        watching.passes(5).harvest()
        found = watching.passes(5).harvest()

    assert [gpu.error for gpu in found.gpus] == [None, None]
    assert found.nvml.silent_seconds is None


def test_a_driver_that_hangs_as_a_whole_costs_a_few_threads_and_no_more(nvml: Nvml) -> None:
    before = threading.active_count()
    with Watching() as watching:
        watching.passes(3).harvest()
        nvml.call("*").hangs()
        for _ in range(8):
            found = watching.passes(12).harvest()
        threads = threading.active_count() - before
        nvml.is_well_again()
        watching.passes(20)

    assert found.nvml.silent_seconds is not None
    assert found.nvml.silent_seconds > 60
    assert threads <= 4
    assert [gpu.error for gpu in found.gpus] == ["timeout", "timeout"]


def test_a_driver_that_hangs_from_the_start_is_told(nvml: Nvml) -> None:
    nvml.call("nvmlInitWithFlags").hangs()
    with Watching() as watching:
        found = watching.passes(5).harvest()
        nvml.is_well_again()

    assert found.nvml.silent_call == "nvmlInit"
    assert found.gpus == []


def test_a_slow_driver_shows_in_the_time_of_a_sweep(nvml: Nvml) -> None:
    nvml.call("nvmlDeviceGetPowerUsage").takes(0.05)
    with Watching() as watching:
        found = watching.passes(20).harvest()
        nvml.is_well_again()

    assert found.nvml.sweep_seconds is not None
    assert found.nvml.sweep_seconds >= 2 * 0.05 * FAST * 0.9


def test_a_slow_driver_is_waited_for(nvml: Nvml) -> None:
    nvml.call("nvmlDeviceGetPowerUsage").takes(2.0 / FAST)
    with Watching() as watching:
        found = watching.passes(10).harvest()
        nvml.is_well_again()

    assert [gpu.power_watts for gpu in found.gpus] == [70, 70]
    assert found.nvml.silent_seconds is None


def test_a_driver_that_is_slow_to_open_is_not_opened_twice(nvml: Nvml) -> None:
    nvml.call("nvmlInitWithFlags").takes(40 / FAST)
    before = nvml.calls("nvmlInitWithFlags")
    with Watching() as watching:
        for _ in range(3):
            watching.passes(10).harvest()
        found = watching.passes(15).harvest()

    assert nvml.calls("nvmlInitWithFlags") - before == 1
    assert len(found.gpus) == 2


def test_released_gpus_are_not_touched_and_taken_up_again(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.passes(3).harvest()
        watching.sampler.release(20)
        watching.passes(3)
        calls = nvml.calls()
        found = watching.passes(5).harvest()
        touched = nvml.calls() - calls

        assert (touched, watching.sampler.holds_driver, found.nvml.released) == (0, False, True)
        assert [(gpu.uuid, gpu.power_watts) for gpu in found.gpus] == [(gpu.uuid, None) for gpu in nvml.gpus]
        assert ("gpu:0", "*", "not_enabled") in [(g.subject, g.metric, g.reason) for g in found.gaps]

        again = watching.passes(20).harvest()

    assert (len(again.gpus), again.nvml.released) == (2, None)


def test_stopping_does_not_wait_for_a_call_that_hangs(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.passes(3).harvest()
        nvml.call("*").hangs()
        watching.passes(3)
        start = time.monotonic()
        watching.sampler.stop()
        took = time.monotonic() - start
        nvml.is_well_again()

    assert took < 2
