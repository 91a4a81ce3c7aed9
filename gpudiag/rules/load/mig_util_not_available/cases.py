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


def _slices(used: int) -> list[MigDevice]:
    return [
        MigDevice(index=i, gpu_instance=7 + i, profile="1g.10gb", memory_used_bytes=used) for i in range(3)
    ]


def _used_by(name: str, **engine: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(mig_mode=True, mig_devices=_slices(8 * GIB), utilization_percent=None)
    s.runs({0: 8 * GIB}, pid=4100, name=name, command=name)
    if engine:
        s.serves("vllm", pid=4100, gpus=[0], **engine)
    return s.passes(minutes=6).window


EMPTY = _slices(12 << 20)

CASES = [
    Case(
        "MIG is on, and the slices are empty",
        lambda: _gpu(mig_mode=True, mig_devices=EMPTY, utilization_percent=None),
        "fires",
        severity="ok",
    ),
    Case(
        "a program is on a slice, and nothing tells whether it works",
        lambda: _used_by("python3 train.py"),
        "fires",
        severity="info",
    ),
    Case(
        "a slice holds memory, and nobody is seen on it",
        lambda: _gpu(mig_mode=True, mig_devices=_slices(4 * GIB), utilization_percent=None),
        "fires",
        severity="info",
    ),
    Case(
        "a server on a slice that tells what it does",
        lambda: _used_by("vllm serve m", metrics_ok=True),
        "fires",
        severity="ok",
    ),
    Case(
        "a server on a slice that does not answer",
        lambda: _used_by("vllm serve m", metrics_ok=False, health_ok=False),
        "fires",
        severity="info",
    ),
    Case("the whole GPU without a slice", lambda: _gpu(mig_mode=True, utilization_percent=None), "fires"),
    Case("MIG is off and utilization is missing", lambda: _gpu(utilization_percent=None), "clear"),
    Case("a pasted list names the slices and nothing else", _listed, "clear"),
    Case("utilization is there", lambda: _gpu(mig_mode=True), "clear"),
    Case("a lost GPU", lambda: _gpu(mig_mode=True, utilization_percent=None, error="gpu_is_lost"), "clear"),
]
