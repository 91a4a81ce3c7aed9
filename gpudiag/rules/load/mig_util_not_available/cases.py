"""Situations of mig-util-not-available and its look-alikes."""

from typing import Any

from gpudiag.model import MigDevice
from gpudiag.rule import Case
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import GIB, Situation
from gpudiag.window import Window


def _gpu(**values: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(**values)
    return s.passes(minutes=6).window


def _listed() -> Window:
    names = ("utilization_percent", "memory_used_bytes", "temperature_celsius")
    unseen: dict[str, Any] = dict.fromkeys(names)
    return pasted(mig_mode=True, mig_devices=[MigDevice(index=0, profile="1g.10gb")], **unseen)


SLICES = [MigDevice(index=i, gpu_instance=7 + i, profile="1g.10gb", memory_used_bytes=GIB) for i in range(3)]

CASES = [
    Case(
        "MIG is on",
        lambda: _gpu(mig_mode=True, mig_devices=SLICES, utilization_percent=None),
        "fires",
        severity="ok",
    ),
    Case("the whole GPU without a slice", lambda: _gpu(mig_mode=True, utilization_percent=None), "fires"),
    Case("MIG is off and utilization is missing", lambda: _gpu(utilization_percent=None), "clear"),
    Case("a pasted list names the slices and nothing else", _listed, "clear"),
    Case("utilization is there", lambda: _gpu(mig_mode=True), "clear"),
    Case("a lost GPU", lambda: _gpu(mig_mode=True, utilization_percent=None, error="gpu_is_lost"), "clear"),
]
