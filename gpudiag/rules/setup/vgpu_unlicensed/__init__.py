"""A vGPU guest without a licence becomes slow."""

import re

from gpudiag.rule import INEFFICIENT, Fires, measured, rule
from gpudiag.window import GpuWindow

PROFILE = re.compile(r"-\d{1,2}[QCBA]$")
"""A product name that ends in a vGPU profile, such as `A10-24Q`; `GRID K520` is a board."""


@rule(severity="warning", rank=INEFFICIENT, confidence="proven", given=("guest",))
def vgpu_unlicensed(gpu: GpuWindow) -> Fires | None:
    """The guest's vGPU feature is there, and it has no licence."""
    reading = gpu.reading
    if gpu.node.pasted and reading.name is None and reading.virtualization is None:
        return _in_a_fragment(gpu)
    if reading.virtualization != "vgpu" and not PROFILE.search(reading.name or ""):
        return None
    if gpu.now("vgpu_licensed"):
        return None
    return Fires((measured("vgpu_licensed", False),))


def _in_a_fragment(gpu: GpuWindow) -> Fires | None:
    """A pasted section on the licence alone: a whole card with a vGPU licence server looks the same."""
    if gpu.reading.vgpu_licensed is not False:
        return None
    return Fires((measured("vgpu_licensed", False, source="pasted text"),), confidence="possible")
