"""`nvidia-smi nvlink`: links that are up, links that are not, and what they counted."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import NvLink
from gpudiag.smi import read, window_of

A100 = "GPU {0}: NVIDIA A100-SXM4-80GB (UUID: GPU-0000000{0}-1111-2222-3333-444444444444)"
NONE_IS_UP = "NVML: Unable to retrieve NVLink information as all links are inActive"


def status(*gpus: str) -> str:
    """A letter a link: `u` up, `d` down."""
    shown = {"u": "25 GB/s", "d": "<inactive>"}
    lines = []
    for index, links in enumerate(gpus):
        lines.append(A100.format(index))
        lines += [f"\t Link {number}: {shown[link]}" for number, link in enumerate(links)] or [NONE_IS_UP]
    return "\n".join(lines) + "\n"


def links(text: str) -> list[list[NvLink]]:
    return [gpu.nvlinks or [] for gpu in read(text, now=1.0).snapshots[-1].gpus]


def verdicts(text: str) -> list[tuple[str, str]]:
    built: dict[str, Any] = msgspec.to_builtins(explain(examine(window_of(text, now=1.0))))
    return [(gpu["verdict"]["severity"], gpu["verdict"]["rule"]) for gpu in built["gpus"]]


def test_links_are_up_or_inactive() -> None:
    assert [[True, False, True]] == [[link.active for link in gpu] for gpu in links(status("udu"))]


def test_counters_belong_to_their_link() -> None:
    text = (
        f"{A100.format(0)}\n"
        "\t Link 0: Replay Errors: 0\n\t Link 0: Recovery Errors: 0\n\t Link 0: CRC Errors: 4\n\n"
        "\t Link 1: Replay Errors: 12\n\t Link 1: Recovery Errors: 3\n\t Link 1: CRC Errors: 18221\n"
    )

    assert links(text) == [
        [
            NvLink(link=0, replay_errors=0, recovery_errors=0, crc_errors=4),
            NvLink(link=1, replay_errors=12, recovery_errors=3, crc_errors=18221),
        ]
    ]
    assert verdicts(text) == [("info", "nvlink-errors")]


def test_a_link_that_only_one_of_four_lacks_is_down() -> None:
    assert verdicts(status("uuuu", "uuuu", "uduu", "uuuu"))[2] == ("critical", "nvlink-down")


def test_a_link_down_without_others_to_compare_is_a_warning_that_it_may_be() -> None:
    assert verdicts(status("uduu")) == [("warning", "nvlink-down")]


def test_a_gpu_of_which_no_link_is_up_is_said_to_have_none() -> None:
    assert verdicts(status("")) == [("warning", "nvlink-down")]
    assert verdicts(f"{A100.format(6)}\n{NONE_IS_UP.lower()}\n") == [("warning", "nvlink-down")]


def test_a_card_whose_bridges_leave_links_free_is_no_warning() -> None:
    assert verdicts(status("uudd").replace("A100-SXM4-80GB", "A100 80GB PCIe")) == [("info", "nvlink-down")]


def test_links_that_are_all_up_tell_nothing_else_of_the_gpu() -> None:
    assert verdicts(status("uuuu", "uuuu")) == [("unknown", "not-enough-evidence")] * 2


def test_throughput_of_links_is_no_state_of_them() -> None:
    text = f"{A100.format(0)}\n\t Link 0: Data Tx: 5863784 KiB\n\t Link 0: Data Rx: 5863677 KiB\n"

    assert verdicts(text) == [("unknown", "not-enough-evidence")]
