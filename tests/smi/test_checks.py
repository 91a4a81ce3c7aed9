"""Tests of GPUs that tell how they ended: which failed, on which GPU and why; a passed one is no health."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.model import FailedTest
from gpudiag.smi import NothingOfAGpu, read, window_of

LINE = f"+{'-' * 27}+{'-' * 48}+"


def diag(*rows: tuple[str, str]) -> str:
    """A table of `dcgmi diag`."""
    body = "".join(f"| {name:<26}| {result:<47}|\n" for name, result in (("Diagnostic", "Result"), *rows))
    return f"Successfully ran diagnostic for group.\n{LINE}\n{body}{LINE}\n"


PASSED = diag(("DCGM Version", "4.4.1"), ("software", "Pass"), ("", "GPU0: Pass"), ("memory", "Pass"))
OF_ONE = diag(
    ("memory", "Fail"), ("", "GPU0: Pass"), ("", "GPU5: Fail"),
    ("Warning: GPU5", "GPU 5 memory mis"), ("", "match"),
)  # fmt: skip
BEFORE = diag(
    ("GPU Memory", "Pass - GPU: 1"), ("", "Fail - GPUs: 0, 2"), ("Warning", "GPU 0 Unable to cre"),
    ("", "ate CUDA context: 'CUDA-capable device(s) is/are busy o"), ("", "r unavailable'."),
    ("PCIe", "Pass - All"),
)  # fmt: skip
BURN = "60.0%  proc'd: 9 (9 Gflop/s) - 7 (7 Gflop/s)   errors: 0 - 41  temps: 70 C - 71 C\nTested 2 GPUs:\n"


def failed(text: str) -> list[FailedTest]:
    return read(text, now=1.0).paste.failed_tests or []


def said(text: str) -> Diagnosis:
    return explain(examine(window_of(text)))


def test_a_failed_test_names_its_gpu_and_its_reason() -> None:
    expected = FailedTest(tool="dcgmi diag", test="memory", gpus=[5], reason="GPU 5 memory mismatch")

    assert [expected] == failed(OF_ONE)
    assert ("warning", 'GPU 5: the test "memory" of dcgmi diag failed') == (
        said(OF_ONE).verdict["severity"],
        said(OF_ONE).verdict["headline"],
    )


def test_the_table_of_older_versions_is_read() -> None:
    (test,) = failed(BEFORE)

    assert ("GPU Memory", [0, 2]) == (test.test, test.gpus)


def test_a_gpu_that_was_busy_is_not_called_broken() -> None:
    assert "it seems the GPU was not free" in said(BEFORE).verdict["headline"]


def test_passed_tests_are_no_health() -> None:
    verdict = said(PASSED).verdict

    assert ("unknown", "the tests in this text found no fault") == (
        verdict["severity"],
        verdict["headline"].partition(": ")[2],
    )


def test_a_test_whose_name_begins_like_a_note_is_a_test() -> None:
    rows = (
        ("Inforom", "Fail - All"),
        ("Info", "GPU 0 Allocated 7 bytes"),
        ("Error", "GPU 0 A corrupt InfoROM"),
    )

    assert [("Inforom", None, "GPU 0 A corrupt InfoROM")] == [
        (test.test, test.gpus, test.reason) for test in failed(diag(*rows))
    ]


@pytest.mark.parametrize("end", ["", "\n"])
def test_gpu_burn_names_the_faulty_gpu(end: str) -> None:
    text = f"{BURN}\tGPU 0: OK\n\tGPU 1: FAULTY{end}"

    assert [[1]] == [test.gpus for test in failed(text)]
    assert ("critical", "GPU 1: gpu-burn calls it faulty") == (
        said(text).verdict["severity"],
        said(text).verdict["headline"],
    )


def test_gpu_burn_without_a_faulty_gpu_is_no_health() -> None:
    assert "unknown" == said(f"{BURN}\tGPU 0: OK\n\tGPU 1: OK\n").verdict["severity"]


def test_errors_that_gpu_burn_counts_are_heard_before_its_end() -> None:
    text = (
        "10.0%  proc'd: 90 (50128 Gflop/s) - 91 (50430 Gflop/s)   errors: 0 - 0   temps: 60 C - 61 C\n"
        "95%  proc'd: 890 (50128 Gflop/s) - 901 (50430 Gflop/s)   errors: 0 - 1212  (WARNING!)  temps: 66 C\n"
    )
    failed = (read(text).paste.failed_tests or [])[0]

    assert ([1], "errors so far: GPU 1: 1212") == (failed.gpus, failed.reason)


def test_errors_that_gpu_burn_does_not_count_are_none() -> None:
    text = "10.0%  proc'd: 90 (50128 Gflop/s) - 91 (50430 Gflop/s)   errors: 0 - 0   temps: 60 C - 61 C\n"

    with pytest.raises(NothingOfAGpu):
        read(text)
