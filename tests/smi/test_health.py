"""`dcgmi health -c` and `dcgmi nvlink -s`: faults that DCGM has counted, and links as it sees them."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import NothingOfAGpu, read, window_of

NEWER = (
    "+---------------------------+--------------------------------------------+\n"
    "| Health Monitor Report     |                                            |\n"
    "+===========================+============================================+\n"
    "| Overall Health            | Failure                                    |\n"
    "| GPU                       |                                            |\n"
    "| -> 2                      | Failure                                    |\n"
    "|    -> Errors              |                                            |\n"
    "|       -> NVLink system    | Failure                                    |\n"
    "|                           | GPU 2's NvLink link 7 is                   |\n"
    "|                           | currently down                             |\n"
    "| -> 5                      | Warning                                    |\n"
    "|       -> PCIe system      | Warning                                    |\n"
    "|                           | Detected 9 replays                         |\n"
    "+---------------------------+--------------------------------------------+\n"
)
OLDER = (
    "Health Monitor Report\n"
    "+------------------+------------------------------------------+\n"
    "| Overall Health: Warning                                     |\n"
    "+==================+==========================================+\n"
    "| GPU ID: 1        | Warning                                  |\n"
    "|                  | Thermal system: Warning - GPU 1 is       |\n"
    "|                  | throttled                                |\n"
    "+------------------+------------------------------------------+\n"
)


def diagnosis(text: str) -> Diagnosis:
    return explain(examine(window_of(text)))


def told(text: str) -> list[tuple[str, list[int] | None, str | None]]:
    return [(fault.test, fault.gpus, fault.reason) for fault in read(text).paste.failed_tests or ()]


def test_each_fault_has_its_gpu_and_its_reason() -> None:
    assert [
        ("NVLink system", [2], "GPU 2's NvLink link 7 is currently down"),
        ("PCIe system", [5], "Detected 9 replays"),
    ] == told(NEWER)
    assert [("Thermal system", [1], "GPU 1 is throttled")] == told(OLDER)


def test_a_fault_that_dcgm_counted_is_a_warning() -> None:
    said = diagnosis(NEWER)

    assert ("warning", "gpu-test-failed") == (said.verdict["severity"], said.verdict["rule"])
    assert 2 == len(said.findings)


def test_a_report_that_is_cut_still_says_that_something_is_wrong() -> None:
    assert [("health", None, None)] == told(NEWER[: NEWER.index("| GPU  ")])


def test_healthy_is_no_proof_of_health() -> None:
    assert "unknown" == diagnosis("| Overall Health            | Healthy          |").verdict["severity"]


LINKS = "GPUs:\n" + "".join(
    f"    gpuId {index}:\n        {' '.join(states)}\n"
    for index, states in enumerate(["UUUUUU_X", "UUUUUU_X", "UUDUUU_X", "UUUUUU_X"])
)


def test_links_that_dcgm_shows_as_down_are_down() -> None:
    said = diagnosis(LINKS)

    assert ("critical", "nvlink-down") == (said.verdict["severity"], said.verdict["rule"])
    assert "GPU 2" in said.verdict["headline"] and "5 of 6" in said.verdict["headline"]


def test_cards_without_links_have_none_that_are_down() -> None:
    with pytest.raises(NothingOfAGpu):
        diagnosis("    gpuId 0:\n        _ _ _ _\n    gpuId 1:\n        _ _ _ _\n")
