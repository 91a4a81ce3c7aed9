"""`tegrastats`: a board whose CPU and GPU share one memory."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.model import GpuReading
from gpudiag.smi import read, window_of

ORIN = "07-02-2026 09:08:{:02} RAM {}/7607MB (lfb 2x4MB) SWAP 11/3804MB (cached 0MB) CPU [9%@1510,off] EMC_FREQ 3%@2133 GR3D_FREQ {}%@[1020] cpu@61.5C gpu@{}C tj@62.4C VDD_IN 9517mW/9517mW\n"  # noqa: E501


def last(text: str) -> GpuReading:
    return read(text, now=1.0).snapshots[-1].gpus[0]


def diagnosis(text: str) -> Diagnosis:
    return explain(examine(window_of(text)))


@pytest.mark.parametrize(
    ("engine", "load", "clock"),
    [
        ("GR3D_FREQ 99%@921", 99, 921),
        ("GR3D_FREQ 0%@[1300,1299]", 0, 1300),
        ("GR3D_FREQ 12.5%", 12.5, None),
        ("GR3D_FREQ @[314,314,314]", None, 314),
        ("APE 25 GR3D 39%@76", 39, 76),
    ],
)
def test_every_form_of_the_load_is_read(engine: str, load: float | None, clock: float | None) -> None:
    gpu = last(
        f"RAM 1409/3964MB (lfb 28x4MB) CPU [22%@518,off] EMC_FREQ 0%@1600 {engine} PLL@28.5C GPU@30.5C"
    )

    assert (load, clock, 30.5) == (gpu.utilization_percent, gpu.sm_clock_megahertz, gpu.temperature_celsius)


def test_a_sensor_that_is_off_is_no_temperature() -> None:
    assert last("RAM 1409/3964MB (lfb 28x4MB) GR3D_FREQ 0% GPU@-256C").temperature_celsius is None


def test_the_memory_is_not_the_gpus_own() -> None:
    gpu = last(ORIN.format(1, 4300, 31, 55.0))

    assert (None, None) == (gpu.memory_used_bytes, gpu.memory_total_bytes)


def test_lines_are_samples_of_one_board() -> None:
    text = "".join(ORIN.format(second, 4300, load, 55.0) for second, load in enumerate((0, 96, 0, 99)))

    assert [0, 96, 0, 99] == (last(text).samples or last(text)).utilization_percent


def test_how_full_the_memory_is_has_the_headline() -> None:
    roomy, full = diagnosis(ORIN.format(1, 4300, 31, 55.0)), diagnosis(ORIN.format(1, 7500, 31, 55.0))

    assert ("info", "warning") == (roomy.verdict["severity"], full.verdict["severity"])
    assert "7.3 GiB of 7.4 GiB" in full.verdict["headline"]
