"""Situations of gpu-test-failed and its look-alikes."""

from gpudiag.model import FailedTest
from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.window import Window

BUSY = "GPU 0 Unable to create CUDA context: 'CUDA -capable device(s) is/are busy or unavailable'."


def _failed(test: str, reason: str | None = None, tool: str = "dcgmi diag") -> Window:
    failed = FailedTest(tool=tool, test=test, gpus=[3], reason=reason)
    return sample(formats=["tests"], failed_tests=[failed])


CASES = [
    Case(
        "a memory test of DCGM failed",
        lambda: _failed("memory", "GPU3 had a memory mismatch error"),
        "fires",
        gpu=None,
        severity="warning",
    ),
    Case("gpu-burn calls a GPU faulty", lambda: _failed("gpu-burn", tool="gpu-burn"), "fires", gpu=None,
         severity="critical", variant="burn"),
    Case("the GPU was busy during the test", lambda: _failed("GPU Memory", BUSY), "fires", gpu=None,
         confidence="possible", variant="not-free"),
    Case("a check of the set-up failed", lambda: _failed("Persistence Mode"), "fires", gpu=None,
         variant="software"),
    Case("the health check of DCGM has counted a fault",
         lambda: _failed("PCIe system", "more than 8 replays in a minute", tool="dcgmi health"),
         "fires", gpu=None, severity="warning", variant="watched"),
    Case("a table without any test", lambda: sample(shown()), "clear", gpu=None),
]  # fmt: skip
