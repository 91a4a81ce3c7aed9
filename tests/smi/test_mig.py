"""Lists of MIG instances: which there are is read, and that they tell no state is said."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.smi import read, window_of
from gpudiag.words import Language

INSTANCES = """
+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|
|   2  MIG 1g.12gb           19       11          4:1     |
+---------------------------------------------------------+
|   2  MIG 3g.47gb            9        1          0:4     |
+---------------------------------------------------------+
|   5  MIG 7g.94gb            0        0          0:8     |
+---------------------------------------------------------+
"""
COMPUTE = """
+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   2      1       MIG 1c.3g.47gb       0         0          0:1     |
+--------------------------------------------------------------------+
|   2      1       MIG 2c.3g.47gb       1         1          1:2     |
+--------------------------------------------------------------------+
"""
PROFILES = """
+-------------------------------------------------------------------------------+
| GPU instance profiles:                                                        |
| GPU   Name               ID    Instances   Memory     P2P    SM    DEC   ENC  |
|                                Free/Total   GiB              CE    JPEG  OFA  |
|===============================================================================|
|   0  MIG 1g.12gb         19     3/7        10.75      No     16     1     0   |
|                                                               1     1     0   |
+-------------------------------------------------------------------------------+
"""


def mig_devices(text: str) -> dict[int, list[tuple[int | None, int | None, str | None]]]:
    """(GPU instance, compute instance, profile) by GPU."""
    return {
        gpu.index: [(d.gpu_instance, d.compute_instance, d.profile) for d in gpu.mig_devices or ()]
        for gpu in read(text, now=1.0).snapshots[-1].gpus
    }


def test_instances_stand_at_their_gpus() -> None:
    expected = {2: [(11, None, "1g.12gb"), (1, None, "3g.47gb")], 5: [(0, None, "7g.94gb")]}

    assert expected == mig_devices(INSTANCES)


def test_compute_instances_take_the_place_of_theirs() -> None:
    expected = [(11, None, "1g.12gb"), (1, 0, "1c.3g.47gb"), (1, 1, "2c.3g.47gb")]

    assert expected == mig_devices(INSTANCES + COMPUTE)[2]


def test_profiles_are_no_instances() -> None:
    assert {0: []} == mig_devices(PROFILES)


@pytest.mark.parametrize(
    ("language", "headline"),
    [
        ("en", "this lists the GPUs and does not tell how they are"),
        ("ko", "GPU 목록일 뿐 상태는 나오지 않는 출력입니다"),
    ],
)
@pytest.mark.parametrize("text", [INSTANCES, COMPUTE, PROFILES])
def test_a_list_is_called_one_first(text: str, language: Language, headline: str) -> None:
    said = explain(examine(window_of(text)), language)

    assert ("unknown", headline) == (said.verdict["severity"], said.verdict["headline"])
    assert not any("cut" in finding["headline"] for finding in said.findings)
