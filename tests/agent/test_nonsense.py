"""A driver that answers what cannot be: it costs the value, and nothing else."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from gpudiag.agent.clock import RealClock
from gpudiag.agent.nvml import Library, NvmlFault
from gpudiag.agent.sampler import Sampler
from gpudiag.agent.worker import Harvest
from tests.doubles.nvml import GIB, MigSlice, Nvml

HUGE = 0xFFFFFFFF
INSUFFICIENT_SIZE = 7
LISTS = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetProcessUtilization", "nvmlDeviceGetSamples")


@pytest.fixture
def sampler() -> Iterator[Sampler]:
    """Not started yet: what is wrong is there from the start."""
    sampler = Sampler(RealClock(), period=0.02)
    yield sampler
    sampler.stop()


def first_harvest(sampler: Sampler) -> Harvest:
    sampler.start()
    return sampler.harvest()


def reasons(found: Harvest, subject: str = "gpu:0") -> dict[str, str]:
    return {gap.metric: gap.reason for gap in found.gaps if gap.subject == subject}


@pytest.mark.parametrize("count", [5_000_000, 2**30, HUGE])
def test_a_list_without_end_costs_no_memory(nvml: Nvml, sampler: Sampler, count: int) -> None:
    first_harvest(sampler)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    nvml.gpu(0).runs_process(7, GIB).claims_lists_of(count)
    found = sampler.harvest()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert reasons(found)["processes"] == "nonsense"
    assert [gpu.power_watts for gpu in found.gpus] == [70, 70]
    assert after - before < 20_000  # KiB


def test_a_list_that_claims_more_than_it_holds_names_no_process_0(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).runs_process(7, GIB).claims_lists_of(40)

    assert list(first_harvest(sampler).uses) == [7]


@pytest.mark.parametrize("call", LISTS)
def test_a_list_that_never_has_room_enough_is_given_up(nvml: Nvml, sampler: Sampler, call: str) -> None:
    nvml.gpu(0).runs_process(7, GIB, sm_percent=50)
    nvml.call(call, gpu=0).fails(INSUFFICIENT_SIZE)
    found = first_harvest(sampler)

    assert [gpu.power_watts for gpu in found.gpus] == [70, 70]
    assert "nonsense" in {*reasons(found).values()} or found.gpus[0].utilization_source == "instant"


def test_slices_without_number_are_nonsense(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB)).claims_lists_of(HUGE)
    found = first_harvest(sampler)

    assert reasons(found)["mig_devices"] == "nonsense"
    assert found.gpus[1].power_watts == 70


def test_gpus_without_number_are_no_driver_to_trust(nvml: Nvml) -> None:
    nvml.claims_gpus(HUGE)
    with pytest.raises(NvmlFault, match="nonsense"):
        Library().open()


@pytest.mark.parametrize(
    ("change", "metric"),
    [
        ({"power_enforced_mw": HUGE}, "power_limit_watts"),
        ({"power_max_mw": HUGE}, "power_limit_max_watts"),
        ({"pcie_max_width": HUGE}, "pcie_link_width_max"),
    ],
)
def test_the_number_that_means_none_is_told_as_none(
    nvml: Nvml, sampler: Sampler, change: dict[str, int], metric: str
) -> None:
    nvml.gpu(0).sets(**change)
    found = first_harvest(sampler)

    assert getattr(found.gpus[0], metric) is None
    assert reasons(found)[metric] == "nonsense"


def test_error_counts_that_cannot_be_are_no_errors(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).state.ecc.total[1][0] = 2**64 - 1
    found = first_harvest(sampler)

    assert found.gpus[0].ecc_uncorrected_volatile is None
    assert reasons(found)["ecc_uncorrected_volatile"] == "nonsense"


def test_a_field_value_that_is_no_number_is_a_gap(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).field(82, float("nan"), "double").gpm(2, float("inf"))
    first_harvest(sampler)
    found = sampler.harvest()

    assert (found.gpus[0].temperature_memory_celsius, found.gpus[0].sm_active_ratio) == (None, None)
    assert reasons(found)["temperature_memory_celsius"] == "nonsense"
    assert found.gpus[0].tensor_active_ratio == 0.0


def test_a_process_holds_no_more_than_its_gpu_has(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).runs_process(7, 2**63)

    assert [use.memory_used_bytes for use in first_harvest(sampler).uses[7]] == [None]


def test_a_uuid_that_is_no_text_leaves_the_address(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(0).state.uuid = b"\xff\xfe"
    first, second = first_harvest(sampler).gpus

    assert (first.uuid, first.bus_id, first.power_watts) == (None, nvml.gpu(0).pci_bus_id, 70)
    assert second.uuid == nvml.gpu(1).uuid


def test_two_gpus_with_one_uuid_stay_two(nvml: Nvml, sampler: Sampler) -> None:
    nvml.gpu(1).state.uuid = nvml.gpu(0).uuid.encode()
    nvml.gpu(1).draws(300)
    first_harvest(sampler)
    nvml.gpu(1).is_gone()
    sampler.harvest()
    nvml.gpu(1).is_well_again()
    found = sampler.harvest()

    assert [(gpu.index, gpu.uuid, gpu.power_watts) for gpu in found.gpus] == [
        (0, nvml.gpu(0).uuid, 70),
        (1, None, 300),
    ]
