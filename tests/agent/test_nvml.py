"""Readings of GPUs, through the unmodified nvidia-ml-py."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest

from gpudiag.agent.clock import RealClock
from gpudiag.agent.nvml import Library, NvmlFault
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.samples import put_samples
from gpudiag.agent.worker import Harvest
from gpudiag.model import GpuReading, Snapshot
from tests.doubles.nvml import GIB, MIB, MigSlice, Nvml
from tests.waiting import until

POWER = "nvmlDeviceGetPowerUsage"


@contextmanager
def sampler_of(period: float = 0.02) -> Iterator[Sampler]:
    sampler = Sampler(RealClock(), period=period)
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.stop()


def harvest() -> Harvest:
    with sampler_of() as sampler:
        return sampler.harvest()


def waits_for_sweeps(nvml: Nvml, number: int) -> None:
    """Returns when every GPU was asked so many times more."""
    wanted = nvml.calls(POWER) + number * len(nvml.gpus)
    until(lambda: nvml.calls(POWER) >= wanted)


def gap(found: Harvest, subject: str, metric: str) -> str | None:
    return next((g.reason for g in found.gaps if (g.subject, g.metric) == (subject, metric)), None)


# ---- values and units


def test_values_come_in_our_units(nvml: Nvml) -> None:
    nvml.gpu(0).computes(87, 41, watts=512.5).holds(60 * GIB).sets(temperature_c=71)
    gpu = harvest().gpus[0]

    assert gpu.uuid == nvml.gpu(0).uuid
    assert (gpu.power_watts, gpu.power_limit_watts) == (512.5, 700.0)
    assert (gpu.memory_used_bytes, gpu.memory_reserved_bytes) == (60 * GIB, 564 * MIB)
    assert (gpu.utilization_percent, gpu.memory_utilization_percent) == (87, 41)
    assert (gpu.sm_clock_megahertz, gpu.temperature_celsius, gpu.pstate) == (1980, 71, "P0")
    assert (gpu.temperature_margin_celsius, gpu.pcie_link_width, gpu.fabric_state) == (53, 16, "completed")
    assert gpu.nvlinks is not None
    assert [link.active for link in gpu.nvlinks] == [True] * 18


@pytest.mark.parametrize("included", [0, 1])
def test_memory_in_use_never_counts_the_drivers_reserve(nvml: Nvml, included: int) -> None:
    nvml.gpu(0).holds(60 * GIB).sets(used_includes_reserved=included)
    gpu = harvest().gpus[0]

    assert gpu.memory_used_bytes == 60 * GIB


def test_a_gpu_with_fans_tells_them() -> None:
    with Nvml(gpus=1, model="RTX 4090").load() as machine:
        machine.gpu(0).sets(fan_percent=64, fan_rpm=2100)
        gpu = harvest().gpus[0]

    assert (gpu.fan_percent, gpu.fan_rpm, gpu.fan_count) == (64, 2100, 2)


def test_a_snapshot_carries_every_sample_since_the_one_before(nvml: Nvml) -> None:
    with sampler_of(0.05) as sampler:
        earliest = nvml.calls(POWER)
        sampler.harvest()
        latest = nvml.calls(POWER)
        waits_for_sweeps(nvml, 5)
        surely = (nvml.calls(POWER) - latest) // len(nvml.gpus)
        samples = sampler.harvest().gpus[0].samples
        at_most = (nvml.calls(POWER) - earliest) // len(nvml.gpus)

    assert samples is not None and samples.power_watts is not None
    assert surely - 1 <= len(samples.power_watts) <= at_most + 1  # one may be under way
    assert len({len(values) for values in msgspec.to_builtins(samples).values()}) == 1


def test_utilization_is_the_mean_of_the_drivers_own_samples(nvml: Nvml) -> None:
    nvml.gpu(0).computes(100).sampled("gpu_percent", [(1.0, 20)])
    with sampler_of(60.0) as sampler:
        sampler.harvest()
        nvml.gpu(0).sampled("gpu_percent", [(1.0, 20), (1.1, 0), (1.2, 30), (1.3, 60)])
        gpu = sampler.harvest().gpus[0]

    assert (gpu.utilization_percent, gpu.utilization_source) == (30, "samples")


def test_without_a_sample_buffer_utilization_is_instant_and_says_so(nvml: Nvml) -> None:
    nvml.gpu(0).computes(77).lacks("nvmlDeviceGetSamples")
    gpu = harvest().gpus[0]

    assert (gpu.utilization_percent, gpu.utilization_source) == (77, "instant")


def test_pcie_traffic_is_the_rise_of_the_byte_counters(nvml: Nvml) -> None:
    library = Library()
    library.open()
    device = library.devices[0]
    rows = []
    for at, sent in ((0.0, 1000), (1.0, 6000), (2.0, 500), (3.0, 1500)):
        nvml.gpu(0).field(197, sent)
        row = library.sample(device, at)
        assert row is not None
        rows.append((at, row))
    library.close()
    reading = GpuReading(index=0)
    put_samples(reading, rows, {}, first_is_old=True)

    assert reading.samples is not None
    # the counter that went back has wrapped or restarted: no negative rate, no guess
    assert reading.samples.pcie_tx_bytes_per_second == [5000.0, None, 1000.0]


def test_metrics_from_inside_the_chip_cover_the_time_between_snapshots(nvml: Nvml) -> None:
    nvml.gpu(0).gpm(2, 37.5).gpm(3, 20).gpm(5, 12).gpm(10, 64)
    with sampler_of() as sampler:
        sampler.harvest()
        gpu = sampler.harvest().gpus[0]

    assert (gpu.sm_active_ratio, gpu.tensor_active_ratio, gpu.dram_active_ratio) == (0.375, 0.12, 0.64)


def test_error_counters_and_a_reset_that_the_driver_asks_for(nvml: Nvml) -> None:
    nvml.gpu(1).counts_ecc(uncorrected=3).field(230, 1, "uint").nvlink(4, up=False)
    nvml.gpu(1).state.remapped[:] = (0, 2, 1, 0)
    gpu = harvest().gpus[1]

    assert (gpu.ecc_uncorrected_volatile, gpu.row_remap_pending, gpu.row_remap_failed) == (3, True, False)
    assert gpu.recovery_action == 1
    assert gpu.nvlinks is not None
    assert [link.link for link in gpu.nvlinks if not link.active] == [4]


# ---- what cannot be had


def test_what_a_board_does_not_have_is_a_gap_with_its_reason(nvml: Nvml) -> None:
    found = harvest()

    assert found.gpus[0].fan_percent is None
    assert gap(found, "gpu:0", "fan_percent") == "not_supported"


def test_a_refused_call_is_not_made_again_every_second(nvml: Nvml) -> None:
    nvml.gpu(0).lacks(POWER)
    nvml.gpu(1).lacks(POWER)
    with sampler_of(0.01) as sampler:
        sampler.harvest()
        before = nvml.calls(POWER)
        time.sleep(0.2)

        assert nvml.calls(POWER) == before


def test_a_permission_that_is_given_later_is_noticed(nvml: Nvml) -> None:
    nvml.gpu(0).lacks(POWER, code=4)
    library = Library()
    library.open()
    device = library.devices[0]
    library.sample(device, 0.0)
    library.read(device, 0.0)
    assert device.refused["power_watts"] == "no_permission"

    nvml.gpu(0).offers(POWER)
    library.read(device, 10_000.0)
    row = library.sample(device, 10_001.0)
    library.close()

    assert row is not None
    assert row[3] == 70.0


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        ({"memory_used": 200 * GIB}, "memory_used_bytes"),
        ({"power_mw": 4294967295}, "power_watts"),
        ({"gpu_percent": 4294967295, "sample_period_us": 0}, "utilization_percent"),
        ({"temperature_c": 4294967295}, "temperature_celsius"),
        ({"pcie_width": 4294967295}, "pcie_link_width"),
    ],
)
def test_nonsense_becomes_a_gap(nvml: Nvml, change: dict[str, int], metric: str) -> None:
    nvml.gpu(0).sets(**change)
    found = harvest()

    assert getattr(found.gpus[0], metric) is None
    assert gap(found, "gpu:0", metric) == "nonsense"


def test_a_name_that_is_no_text_does_not_stop_the_rest(nvml: Nvml) -> None:
    nvml.gpu(0).state.name = b"\xff\xfe\x80"
    found = harvest()

    assert (found.gpus[0].name, found.gpus[0].power_watts) == (None, 70.0)
    assert gap(found, "gpu:0", "name") == "nonsense"


def test_no_permission_for_the_process_list_is_told(nvml: Nvml) -> None:
    nvml.gpu(0).runs_process(7, GIB).denies_process_list()
    found = harvest()

    assert found.uses == {}
    assert gap(found, "gpu:0", "processes") == "no_permission"


# ---- processes and slices


def test_processes_are_told_once_with_all_their_gpus(nvml: Nvml) -> None:
    nvml.gpu(0).runs_process(7, 3 * GIB, sm_percent=60).runs_process(7, 3 * GIB, kind="graphics")
    nvml.gpu(1).runs_process(7, GIB).runs_process(8, None, kind="mps")
    uses = harvest().uses

    assert [(use.gpu, use.memory_used_bytes, use.type) for use in uses[7]] == [
        (0, 3 * GIB, "C+G"),
        (1, GIB, "C"),
    ]
    assert [use.sm_percent for use in uses[7]] == [60, 0]
    assert [(use.memory_used_bytes, use.type) for use in uses[8]] == [(None, "M+C")]


def test_a_sliced_gpu_has_no_utilization_and_tells_its_slices(nvml: Nvml) -> None:
    nvml.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB, 2 * GIB), MigSlice("3g.40gb", 40 * GIB))
    nvml.gpu(0).runs_process(7, 2 * GIB, gpu_instance=1, compute_instance=0)
    found = harvest()
    gpu = found.gpus[0]

    assert gpu.utilization_percent is None
    assert gap(found, "gpu:0", "utilization_percent") == "not_supported"
    assert gpu.mig_devices is not None
    assert [(mig.profile, mig.memory_used_bytes) for mig in gpu.mig_devices] == [
        ("1g.10gb", 2 * GIB),
        ("3g.40gb", 0),
    ]
    assert [use.mig_device for use in found.uses[7]] == [0]


def test_a_process_on_two_slices_holds_the_memory_of_both(nvml: Nvml) -> None:
    nvml.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB), MigSlice("1g.10gb", 10 * GIB))
    for instance in (1, 2):
        nvml.gpu(0).runs_process(7, 3 * GIB, gpu_instance=instance, compute_instance=0)
    [use] = harvest().uses[7]

    assert use.memory_used_bytes == 6 * GIB


def test_slices_that_are_cut_while_we_watch_are_noticed(nvml: Nvml) -> None:
    with sampler_of() as sampler:
        assert sampler.harvest().gpus[0].mig_mode is False
        nvml.gpu(0).is_sliced(MigSlice("7g.80gb", 80 * GIB))
        gpu = sampler.harvest().gpus[0]

    assert gpu.mig_devices is not None
    assert [mig.profile for mig in gpu.mig_devices] == ["7g.80gb"]


# ---- GPUs that come and go


def test_a_lost_gpu_keeps_its_name_and_the_other_its_values(nvml: Nvml) -> None:
    with sampler_of() as sampler:
        sampler.harvest()
        nvml.gpu(0).is_lost()
        found = sampler.harvest()
        lost, well = found.gpus

    assert (lost.error, lost.uuid, lost.power_watts) == ("gpu_is_lost", nvml.gpu(0).uuid, None)
    assert (well.error, well.power_watts) == (None, 70.0)
    assert gap(found, "gpu:0", "*") == "gpu_is_lost"


def test_a_gpu_that_was_lost_before_we_came_is_counted(nvml: Nvml) -> None:
    nvml.gpu(0).is_lost()
    lost, _ = harvest().gpus

    assert (lost.index, lost.error) == (0, "gpu_is_lost")


def test_a_gpu_that_is_well_again_is_read_again(nvml: Nvml) -> None:
    nvml.gpu(0).needs_reset()
    with sampler_of() as sampler:
        assert sampler.harvest().gpus[0].error == "reset_required"
        nvml.gpu(0).is_well_again()
        waits_for_sweeps(nvml, 2)
        gpu = sampler.harvest().gpus[0]

    assert (gpu.error, gpu.power_watts) == (None, 70.0)


def test_fewer_gpus_are_noticed_and_keep_their_identity(nvml: Nvml) -> None:
    with sampler_of() as sampler:
        sampler.harvest()
        nvml.gpu(0).is_gone()
        found = sampler.harvest()

    assert [(gpu.index, gpu.uuid) for gpu in found.gpus] == [(0, nvml.gpu(1).uuid)]


# ---- the driver as a whole


@pytest.mark.parametrize(
    ("situation", "reason", "code"),
    [("driver_is_unloaded", "driver_not_loaded", 9), ("driver_was_updated", "library_mismatch", 18)],
)
def test_no_driver_is_told_with_its_reason(nvml: Nvml, situation: str, reason: str, code: int) -> None:
    getattr(nvml, situation)()
    found = harvest()

    assert (found.nvml.error, found.nvml.error_code, found.gpus) == (reason, code, [])
    assert gap(found, "node", "nvml") == reason


def test_a_driver_that_comes_back_is_taken_up_again(nvml: Nvml) -> None:
    with sampler_of() as sampler:
        assert len(sampler.harvest().gpus) == 2
        nvml.driver_is_unloaded()
        assert sampler.harvest().nvml.error == "driver_not_loaded"
        nvml.is_well_again()
        waits_for_sweeps(nvml, 2)
        found = sampler.harvest()

    assert (found.nvml.error, len(found.gpus)) == (None, 2)


def test_a_library_that_is_not_there_is_told(tmp_path: object) -> None:
    program = (
        "from gpudiag.agent.nvml import *\ntry: Library().open()\nexcept NvmlFault as e: print(e.reason)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "library_not_found"
    assert issubclass(NvmlFault, Exception)


OLD_DRIVER = [
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetMarginTemperature",
    "nvmlDeviceGetGpuFabricInfoV",
]


def test_an_old_driver_gives_what_it_has() -> None:
    program = """
import sys, msgspec
from gpudiag.agent import Observer, watch
sys.stdout.buffer.write(msgspec.json.encode(watch(0.5, observer=Observer(interval=0.5, period=0.1))[-1]))
"""
    with Nvml(gpus=1, model="A100", driver_version="470.82.01", hidden=OLD_DRIVER) as machine:
        machine.gpu(0).holds(10 * GIB).runs_process(7, 9 * GIB).computes(50)
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], env=machine.environment(), capture_output=True
        )
    assert result.returncode == 0, result.stderr.decode()
    snapshot = msgspec.json.decode(result.stdout, type=Snapshot)
    gpu = snapshot.gpus[0]

    assert snapshot.driver_version == "470.82.01"
    assert gpu.memory_used_bytes == 10 * GIB + 633 * MIB  # the old call counts the reserve as used
    assert gpu.memory_reserved_bytes is None
    assert gpu.clocks_event_reasons == 0
    assert [
        (process.pid, process.gpus[0].memory_used_bytes) for process in snapshot.processes if process.gpus
    ] == [(7, 9 * GIB)]
    reasons = {g.metric: g.reason for g in snapshot.gaps if g.subject == "gpu:0"}
    assert reasons["temperature_margin_celsius"] == "function_not_found"
