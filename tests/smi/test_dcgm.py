"""What DCGM measures is read: the exporter's page and `dcgmi dmon`."""

from __future__ import annotations

import pytest

from gpudiag.examine import default_rules
from gpudiag.explain import Diagnosis, explain
from gpudiag.pasted import judge
from gpudiag.smi import read

MIB = 1 << 20
Value = float | str


def page(
    *metrics: tuple[str, Value],
    gpu: int = 0,
    host: str = "n1",
    labels: str = "",
    host_label: str = "Hostname",
) -> str:
    """What an exporter prints of one GPU."""
    who = f'gpu="{gpu}",UUID="GPU-{gpu:08x}-0000-4000-8000-00000000{host[-1]:0>4}",modelName="NVIDIA L40S"'
    return "".join(
        f"# HELP DCGM_FI_{name} Something.\n# TYPE DCGM_FI_{name} gauge\n"
        f'DCGM_FI_{name}{{{who},{host_label}="{host}"{labels}}} {value}\n'
        for name, value in metrics
    )


HELD = page(("DEV_GPU_UTIL", 0), ("DEV_FB_USED", 40000), ("DEV_FB_FREE", 5000), ("DEV_FB_RESERVED", 600))


def said(text: str) -> Diagnosis:
    return explain(judge(text, default_rules(), now=1.0))


def test_the_values_of_a_page_are_read() -> None:
    snapshot = read(HELD + page(("DEV_POWER_USAGE", 91.25), ("DEV_GPU_TEMP", 41)), now=1.0).snapshots[-1]
    (gpu,) = snapshot.gpus

    assert (0, 40000 * MIB, 45600 * MIB) == (
        gpu.utilization_percent,
        gpu.memory_used_bytes,
        gpu.memory_total_bytes,
    )
    assert (91.25, 41, "NVIDIA L40S") == (gpu.power_watts, gpu.temperature_celsius, gpu.name)


def test_held_memory_is_told_of_a_page_as_of_a_table() -> None:
    assert "memory-held-idle" == said(HELD).verdict["rule"]


@pytest.mark.parametrize("blank", [9223372036854775794, "1.8446744073709552e+19", "NaN", "-1"])
def test_what_dcgm_does_not_know_is_no_value(blank: Value) -> None:
    (gpu,) = read(page(("DEV_POWER_USAGE", blank), ("DEV_GPU_TEMP", 40)), now=1.0).snapshots[-1].gpus

    assert (None, 40) == (gpu.power_watts, gpu.temperature_celsius)


def test_two_scrapes_are_two_samples() -> None:
    assert 2 == read(HELD + HELD, now=1.0).paste.samples


@pytest.mark.parametrize("label", ["Hostname", "hostname"])
def test_hosts_of_one_page_are_judged_one_by_one(label: str) -> None:
    busy = page(
        ("DEV_GPU_UTIL", 98), ("DEV_FB_USED", 9000), ("DEV_FB_FREE", 36000), host="n2", host_label=label
    )
    held = page(
        ("DEV_GPU_UTIL", 0), ("DEV_FB_USED", 40000), ("DEV_FB_FREE", 5000), host="n1", host_label=label
    )
    found = said(held + busy)

    assert found.verdict["headline"].startswith("n1: ")


def test_memory_of_an_instance_is_not_the_cards() -> None:
    text = ""
    for number, used in ((3, 5000), (4, 70)):
        labels = f',GPU_I_PROFILE="1g.6gb",GPU_I_ID="{number}"'
        text += page(("DEV_FB_USED", used), ("DEV_GPU_TEMP", 44), labels=labels)
    (gpu,) = read(text, now=1.0).snapshots[-1].gpus

    assert (None, True, 44) == (gpu.memory_used_bytes, gpu.mig_mode, gpu.temperature_celsius)
    assert [(3, 5000 * MIB), (4, 70 * MIB)] == [
        (device.gpu_instance, device.memory_used_bytes) for device in gpu.mig_devices or ()
    ]


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        (("DEV_XID_ERRORS", 79), "gpu-lost-bus"),
        (("DEV_XID_ERRORS", 31), "xid-application"),
        (("DEV_ROW_REMAP_FAILURE", 1), "row-remap-failed"),
        (("DEV_ROW_REMAP_PENDING", 1), "row-remap-pending"),
        (("DEV_ECC_DBE_VOL_TOTAL", 4), "ecc-uncorrectable-new"),
    ],
)
def test_a_fault_on_the_page_is_found(metric: tuple[str, Value], rule: str) -> None:
    for address in ("", ',pci_bus_id="00000000:3B:00.0"'):
        (gpu,) = said(page(metric, gpu=5, labels=address)).gpus

        assert (5, [rule]) == (gpu["index"], [finding["rule"] for finding in gpu["findings"]])


def test_no_xid_is_no_event() -> None:
    assert [] == read(page(("DEV_XID_ERRORS", 0), ("DEV_GPU_TEMP", 40)), now=1.0).snapshots[-1].events


def test_an_xid_that_stayed_on_the_page_is_of_before_where_the_gpu_works() -> None:
    working, silent = (
        said(page(("DEV_XID_ERRORS", 79), ("DEV_GPU_TEMP", 52), *load)).verdict
        for load in ([("DEV_GPU_UTIL", 97)], [])
    )

    assert ("critical", "gpu-lost-bus") == (silent["severity"], silent["rule"])
    assert ("warning", "gpu-lost-bus") == (working["severity"], working["rule"])
    assert "answers by this page" in working["headline"]


DMON = """
#Entity   GPUTL        FBUSD        POWER        TMPTR
ID                     MB           W            C
GPU 1     0            30000        61.105       N/A
GPU 0     97           71000        498.220      66
GPU 1     0            30000        60.900       N/A
GPU 0     99           71000        505.180      66
"""


def test_dmon_of_dcgm_is_a_series() -> None:
    reading = read(DMON, now=1.0)
    first, second = sorted(reading.snapshots[-1].gpus, key=lambda gpu: gpu.index)

    assert 2 == reading.paste.samples
    assert (99, 71000 * MIB, 66) == (
        first.utilization_percent,
        first.memory_used_bytes,
        first.temperature_celsius,
    )
    assert (0, 60.9, None) == (second.utilization_percent, second.power_watts, second.temperature_celsius)
