"""A guest with a slice of a GPU: its licence, from the driver to the finding."""

from __future__ import annotations

import pytest

from gpudiag.agent import Observer, watch
from gpudiag.examine import judge
from gpudiag.model import Checkup, GpuReading
from gpudiag.window import Window
from tests.agent.machine import FakeHost
from tests.doubles.nvml import Nvml


def looked_at(host: FakeHost) -> tuple[GpuReading, Checkup]:
    """What is read of GPU 0, and what is judged."""
    observer = Observer(
        interval=0.2, period=0.05, proc=str(host.proc), sys=str(host.sys), kmsg=str(host.kmsg)
    )
    window = Window(observer.node)
    for snapshot in watch(0.6, observer=observer):
        window.add(snapshot)
    assert window.latest is not None
    return window.latest.gpus[0], judge(window)


def fires(checkup: Checkup) -> bool:
    return any((found.rule, found.gpu) == ("vgpu-unlicensed", 0) for found in checkup.findings)


@pytest.mark.parametrize("licensed", [True, False])
def test_a_guest_tells_whether_it_has_a_licence(nvml: Nvml, host: FakeHost, licensed: bool) -> None:
    nvml.gpu(0).sets(name="NVIDIA A100-20C").is_vgpu_guest(licensed=licensed)
    reading, checkup = looked_at(host)

    assert (reading.virtualization, reading.vgpu_licensed) == ("vgpu", licensed)
    assert fires(checkup) is not licensed


def test_a_guest_whose_licence_cannot_be_read_is_not_judged(nvml: Nvml, host: FakeHost) -> None:
    nvml.gpu(0).is_vgpu_guest(licensed=False).lacks("nvmlDeviceGetGridLicensableFeatures_v4")
    reading, checkup = looked_at(host)

    assert reading.vgpu_licensed is None
    assert not fires(checkup)
    assert "vgpu-unlicensed" in {unjudged.rule for unjudged in checkup.unjudged}


def test_a_gpu_that_is_no_guest_has_no_licence(nvml: Nvml, host: FakeHost) -> None:
    reading, checkup = looked_at(host)

    assert (reading.virtualization, reading.vgpu_licensed) == ("none", None)
    assert not fires(checkup)
    assert "vgpu-unlicensed" not in {unjudged.rule for unjudged in checkup.unjudged}
