"""A part of `nvidia-smi -q` (`-d ECC` and the like): what it shows is told, and that the rest is unknown."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import window_of
from gpudiag.words import Language

HEAD = (
    "==============NVSMI LOG==============\n\n"
    "Timestamp                                 : Mon Nov 30 10:00:00 2026\n"
    "Driver Version                            : 580.95.05\n\n"
    "Attached GPUs                             : 1\n"
    "GPU 00000000:41:00.0\n"
)
REMAPPED = (
    "    Remapped Rows\n"
    "        Correctable Error                 : 0\n"
    "        Uncorrectable Error               : 0\n"
    "        Pending                           : {}\n"
    "        Remapping Failure Occurred        : No\n"
)
FABRIC = (
    "    Fabric\n"
    "        State                             : Completed\n"
    "        Status                            : Success\n"
)
TEMPERATURE = "    Temperature\n        GPU Current Temp                  : 41 C\n"


def diagnosis(part: str, language: Language = "en") -> Diagnosis:
    return explain(examine(window_of(HEAD + part, now=1.0)), language)


@pytest.mark.parametrize(
    ("part", "named"), [(REMAPPED.format("No"), "row remapping"), (FABRIC, "fabric state")]
)
def test_a_part_in_which_nothing_stands_out_says_so_and_is_not_normal(part: str, named: str) -> None:
    said = diagnosis(part)

    assert "unknown" == said.verdict["severity"]
    assert f"nothing stands out in {named}" in said.verdict["headline"]
    assert "눈에 띄는 것이 없습니다" in diagnosis(part, "ko").verdict["headline"]


def test_a_part_with_a_finding_says_the_finding() -> None:
    assert "row-remap-pending" == diagnosis(REMAPPED.format("Yes")).verdict["rule"]


def test_a_temperature_alone_tells_nothing() -> None:
    assert "nothing stands out" not in diagnosis(TEMPERATURE).verdict["headline"]
