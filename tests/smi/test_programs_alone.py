"""Output that is whole and tells nothing of how the GPUs are: lists of programs, and versions."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import read, window_of
from tests.smi import writers
from tests.smi.tables import gpu, machine

APPS = "pid, process_name, used_gpu_memory [MiB]\n"
PMON = (
    "# gpu         pid   type     sm    mem    enc    dec    command\n"
    "# Idx           #    C/G      %      %      %      %    name\n"
)
ACCOUNTED = (
    "gpu_name, pid, gpu_utilization [%], mem_utilization [%], max_memory_usage [MiB], time [ms]\n"
    "NVIDIA A100-SXM4-80GB, 4411, 98 %, 51 %, 40123 MiB, 70000 ms\n"
)
VERSION = "NVIDIA-SMI version  : 590.48.01\nNVML version        : 590.48\nDRIVER version      : 590.48.01\nCUDA Version        : 13.1\n"  # noqa: E501
NEWER_VERSION = (
    'NVML version        : 610.62\nDRIVER version      : Deprecated, see "KMD version" instead\n'
    "KMD version         : 610.62\nCUDA UMD version    : 13.3\n"
)
TEXTS = {
    "an empty list": (APPS, "no program is listed"),
    "an empty pmon": (
        PMON + "    0          -     -      -      -      -      -    -\n",
        "no program is listed",
    ),
    "a list": (APPS + "4411, python, 40123 MiB\n", "lists the programs"),
    "pmon at rest": (
        PMON + "    0       2140     G      -      -      -      -    Xorg\n",
        "lists the programs",
    ),
    "accounting": (ACCOUNTED, "may have ended"),
    "versions": (VERSION, "tells the versions"),
    "versions of 610": (NEWER_VERSION, "tells the versions"),
}


def diagnosis(text: str) -> Diagnosis:
    return explain(examine(window_of(text, now=1.0)))


@pytest.mark.parametrize(("text", "told"), TEXTS.values(), ids=TEXTS.keys())
def test_what_lists_something_else_is_called_that(text: str, told: str) -> None:
    said = diagnosis(text)

    assert told in said.verdict["headline"]
    assert said.verdict["severity"] in ("info", "unknown")


def test_a_program_that_may_have_ended_is_not_on_the_gpu() -> None:
    assert [] == read(ACCOUNTED, now=1.0).snapshots[-1].processes


def test_the_driver_is_read_from_its_versions() -> None:
    assert ("590.48.01", "13.1") == (
        read(VERSION, now=1.0).snapshots[-1].driver_version,
        read(VERSION, now=1.0).snapshots[-1].cuda_version,
    )
    assert "610.62" == read(NEWER_VERSION, now=1.0).snapshots[-1].driver_version


def test_a_list_beside_a_table_lacks_nothing() -> None:
    missing = read(writers.table(machine(gpu(0))) + APPS, now=1.0).paste.missing or []

    assert "programs" not in missing


def test_a_recovery_action_is_read_as_people_shorten_it() -> None:
    said = diagnosis("NVRM: Xid (PCI:0000:41:00): 154, GPU recovery action: Node Reboot Required")

    assert ("critical", "gpu-needs-reset") == (said.verdict["severity"], said.verdict["rule"])
    assert "reboot" in said.verdict["headline"]
