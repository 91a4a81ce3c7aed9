"""Calls into the driver that hang, and letting go of the GPUs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from gpudiag.agent.clock import ScaledClock
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.worker import Harvest
from tests.doubles.nvml import Nvml
from tests.waiting import until

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
        self.sampler.wait(threading.Event(), seconds)
        return self

    def is_stopped(self, seconds: float, meanwhile: Callable[[], object] = lambda: None) -> None:
        """As by SIGSTOP, in the middle of the time between two harvests."""

        def stop() -> None:
            self.clock.stands_still(seconds)
            meanwhile()

        threading.Timer(2 / FAST, stop).start()
        self.passes(5 + seconds)

    def harvest(self) -> Harvest:
        return self.sampler.harvest()

    def harvests_until(self, tells: Callable[[Harvest], object]) -> Harvest:
        """One harvest every few seconds, until one tells what is waited for."""
        found = [self.harvest()]

        def tells_now() -> bool:
            if not tells(found[-1]):
                found.append(self.passes(2).harvest())
            return bool(tells(found[-1]))

        until(tells_now)
        return found[-1]


def errors(found: Harvest) -> list[str | None]:
    return [gpu.error for gpu in found.gpus]


def tells_power_in_time(found: Harvest) -> bool:
    """Whether the harvest waited for the power of every GPU, and did not take the driver for hanging."""
    told = [gpu.power_watts for gpu in found.gpus]
    return told == [70, 70] and found.nvml.silent_seconds is None


def test_a_hanging_call_is_told_with_how_long_and_which(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        nvml.call("nvmlDeviceGetPowerUsage", gpu=0).hangs()
        since = watching.clock.monotonic()
        found = watching.harvests_until(lambda found: found.nvml.silent_call == "nvmlDeviceGetPowerUsage")
        longest = watching.clock.monotonic() - since
        nvml.is_well_again()

    assert found.nvml.silent_seconds is not None
    assert 3 <= found.nvml.silent_seconds <= longest + 0.05  # it is told to a tenth of a second
    assert [gpu.uuid for gpu in found.gpus] == [gpu.uuid for gpu in nvml.gpus]
    assert found.gpus[0].error == "timeout"


def test_how_long_a_process_was_stopped_is_not_the_drivers_time(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.nvml.look_seconds is not None)
        nvml.call("nvmlDeviceGetPowerUsage", gpu=0).hangs()
        watching.harvests_until(lambda found: found.nvml.silent_call == "nvmlDeviceGetPowerUsage")
        watching.is_stopped(300, meanwhile=nvml.is_well_again)
        told = [watching.passes(3).harvest().nvml for _ in range(5)]

    assert [nvml.silent_seconds for nvml in told if (nvml.silent_seconds or 0) > 100] == []
    assert max(max(nvml.sweep_seconds_max or 0, nvml.look_seconds or 0) for nvml in told) < 100


def test_a_driver_that_was_silent_before_the_process_was_stopped_is_told_when_it_stays_so(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        nvml.call("nvmlDeviceGetPowerUsage", gpu=0).hangs()
        watching.harvests_until(lambda found: found.nvml.silent_call == "nvmlDeviceGetPowerUsage")
        watching.is_stopped(300)
        found = watching.harvests_until(lambda found: (found.nvml.silent_seconds or 0) > 10)
        nvml.is_well_again()

    assert found.nvml.silent_call == "nvmlDeviceGetPowerUsage"
    assert found.nvml.silent_seconds is not None and found.nvml.silent_seconds < 300


def test_the_other_gpus_are_read_on_while_one_hangs(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        nvml.call("*", gpu=0).hangs()
        watching.harvests_until(lambda found: errors(found) == ["timeout", None])
        nvml.gpu(1).draws(321)
        found = watching.harvests_until(lambda found: found.gpus[1].power_watts == 321)
        nvml.is_well_again()

    assert errors(found) == ["timeout", None]
    assert found.nvml.silent_seconds is not None
    assert found.nvml.silent_seconds >= 10


@pytest.mark.parametrize("call", ["*", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetComputeRunningProcesses_v3"])
def test_a_call_that_comes_back_brings_its_gpu_back(nvml: Nvml, call: str) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        wedged = nvml.call(call, gpu=0).hangs()
        watching.harvests_until(lambda found: errors(found) == ["timeout", None])
        wedged.answers_again()
        watching.harvests_until(
            lambda found: (errors(found), found.nvml.silent_seconds) == ([None, None], None)
        )


def test_a_driver_that_hangs_as_a_whole_costs_a_few_threads_and_no_more(nvml: Nvml) -> None:
    before = threading.active_count()
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        nvml.call("*").hangs()
        found = watching.harvests_until(lambda found: (found.nvml.silent_seconds or 0) > 60)
        threads = threading.active_count() - before
        nvml.is_well_again()

    assert threads <= 4
    assert errors(found) == ["timeout", "timeout"]


def test_a_driver_that_hangs_from_the_start_is_told(nvml: Nvml) -> None:
    nvml.call("nvmlInitWithFlags").hangs()
    with Watching() as watching:
        found = watching.harvests_until(lambda found: found.nvml.silent_seconds)
        nvml.is_well_again()

    assert found.nvml.silent_call == "nvmlInit"
    assert found.gpus == []


def test_a_slow_driver_shows_in_the_time_of_a_sweep(nvml: Nvml) -> None:
    nvml.call("nvmlDeviceGetPowerUsage").takes(0.05)
    with Watching() as watching:
        found = watching.harvests_until(tells_power_in_time)
        nvml.is_well_again()

    assert found.nvml.sweep_seconds is not None
    assert found.nvml.sweep_seconds >= 2 * 0.05 * FAST * 0.9


def test_a_slow_driver_is_waited_for(nvml: Nvml) -> None:
    nvml.call("nvmlDeviceGetPowerUsage").takes(2.0 / FAST)
    with Watching() as watching:
        found = watching.harvests_until(tells_power_in_time)
        nvml.is_well_again()

    assert errors(found) == [None, None]


def test_a_driver_that_is_slow_to_open_is_not_opened_twice(nvml: Nvml) -> None:
    opening = nvml.call("nvmlInitWithFlags").hangs()
    before = nvml.calls("nvmlInitWithFlags")
    with Watching() as watching:
        watching.harvests_until(lambda found: found.nvml.silent_seconds)
        opening.answers_again()
        found = watching.harvests_until(lambda found: found.gpus)

    assert nvml.calls("nvmlInitWithFlags") - before == 1
    assert len(found.gpus) == 2


def test_released_gpus_are_not_touched_and_taken_up_again(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        watching.sampler.release(160)
        until(lambda: not watching.sampler.holds_driver)
        calls = nvml.calls()
        found = watching.passes(5).harvests_until(tells_release)
        touched = nvml.calls() - calls

        assert (touched, watching.sampler.holds_driver, found.nvml.released) == (0, False, True)
        assert [(gpu.uuid, gpu.power_watts) for gpu in found.gpus] == [(gpu.uuid, None) for gpu in nvml.gpus]
        watching.harvests_until(lambda found: (errors(found), found.nvml.released) == ([None, None], None))


def tells_release(found: Harvest) -> bool:
    return ("gpu:0", "*", "not_enabled") in [(gap.subject, gap.metric, gap.reason) for gap in found.gaps]


def test_stopping_does_not_wait_for_a_call_that_hangs(nvml: Nvml) -> None:
    with Watching() as watching:
        watching.harvests_until(lambda found: found.gpus)
        nvml.call("*").hangs()
        watching.harvests_until(lambda found: found.nvml.silent_seconds)
        start = time.monotonic()
        watching.sampler.stop()
        took = time.monotonic() - start
        nvml.is_well_again()

    assert took < 5
