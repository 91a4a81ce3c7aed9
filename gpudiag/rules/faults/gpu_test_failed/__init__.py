"""A test of the GPUs failed by its own words: `dcgmi diag`, `dcgmi health`, or gpu-burn."""

import re
from collections.abc import Iterator

from gpudiag.model import Confidence, Evidence, FailedTest, Severity
from gpudiag.rule import DEVICE, Fires, measured, rule
from gpudiag.window import Window
from gpudiag.words import units

TEXT = "pasted text"
SOFTWARE = frozenset(
    (
        "software",
        "denylist",
        "nvml library",
        "cuda main library",
        "permissions and os blocks",
        "persistence mode",
        "environment variables",
        "graphics processes",
    )
)
"""Tests of DCGM that look at the set-up and load no GPU."""
_NOT_FREE = re.compile(
    r"busyorunavailable|outofmemory|notenoughmemory|inuseby|MCUTIL|otherprocess", re.IGNORECASE
)


@rule(severity="warning", rank=DEVICE, given=("pasted",), maturity="experimental")
def gpu_test_failed(node: Window) -> Iterator[Fires]:
    """A test of the GPUs failed, by its own words."""
    paste = node.latest.paste if node.latest else None
    for test in (paste.failed_tests if paste else None) or ():
        variant, severity, confidence = _kind(test)
        yield Fires(
            tuple(_evidence(test)),
            severity=severity,
            confidence=confidence,
            variant=variant,
            key=f"{test.tool}:{test.test}:{units.runs(test.gpus or [])}",
            words={"gpus": "GPU " + units.runs(test.gpus) if test.gpus else "GPU", "tool": test.tool},
        )


def _kind(test: FailedTest) -> tuple[str | None, Severity, Confidence]:
    """The wording, and how bad and how sure it is."""
    if test.tool == "gpu-burn":
        return "burn", "critical", "likely"
    if test.tool == "dcgmi health":
        return "watched", "warning", "likely"
    if _NOT_FREE.search("".join((test.reason or "").split())):
        return "not-free", "warning", "possible"
    if test.test.lower() in SOFTWARE:
        return "software", "warning", "likely"
    return None, "warning", "likely"


def _evidence(test: FailedTest) -> Iterator[Evidence]:
    yield measured("test", test.test, source=TEXT)
    if test.reason:
        yield measured("reason_told", test.reason, source=TEXT)
