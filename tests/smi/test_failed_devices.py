"""A GPU whose readings fail is no free GPU and holds no memory, however its row looks."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.plaintext import diagnosis_text
from gpudiag.smi import window_of

HEAD = "| NVIDIA-SMI 580.95.05              Driver Version: 580.95.05      CUDA Version: 13.0     |\n"
TITLES = (
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    "|=========================================+========================+======================|\n"
    "|   0  NVIDIA RTX PRO 6000 Blac...    On  |   00000000:01:00.0 Off |                 ERR! |\n"
)
NOBODY = "|  No running processes found                                                             |\n"


def answer(text: str) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(explain(examine(window_of(text, now=1.0))))
    return built


def row(state: str, memory: str, load: str) -> str:
    return f"{HEAD}{TITLES}| {state:<40}| {memory:>22} | {load:>20} |\n{NOBODY}"


@pytest.mark.parametrize(
    ("state", "load"),
    [
        ("ERR!  ERR!  ERR!             N/A /  N/A", "N/A      Default"),
        ("ERR!  ERR!  ERR!            ERR! / ERR!", "ERR!      Default"),
        ("N/A  ERR!  ERR!             ERR! /  N/A", "N/A      Default"),
        ("ERR!  ERR!  ERR!            ERR! / ERR!", "0%      Default"),
        ("N/A  ERR!  ERR!             ERR! / 300W", "100%      Default"),
    ],
)
def test_memory_that_a_dead_card_still_prints_is_no_reading(state: str, load: str) -> None:
    said = answer(row(state, "58222MiB /  97887MiB", load))

    assert ("critical", "gpu-lost-bus") == (said["verdict"]["severity"], said["verdict"]["rule"])
    assert said["gpus"][0]["readings"]["memory_used_bytes"] is None


@pytest.mark.parametrize(
    ("state", "load"),
    [
        ("ERR!   38C    P8              20W / 300W", "0%      Default"),
        ("30%   ERR!    P8              20W / 300W", "0%      Default"),
        ("30%    38C    P8             ERR! / 300W", "0%      Default"),
    ],
)
def test_one_sensor_that_fails_is_not_the_card(state: str, load: str) -> None:
    said = answer(row(state, "4MiB /  97887MiB", load))

    assert said["gpus"][0]["readings"]["memory_used_bytes"] == 4 << 20
    assert "gpu-lost-bus" not in str(said)


def test_a_power_and_its_limit_that_fail_beside_the_fan_are_told_of() -> None:
    text = row("ERR!   38C    P8            ERR! / ERR!", "4MiB /  97887MiB", "0%      Default")
    said = answer(text.replace("Off |                 ERR! |", "Off |                    0 |"))

    assert "sensor-error" in [finding["rule"] for finding in said["gpus"][0]["findings"]]


def test_cells_that_ask_for_a_reset_are_a_reset() -> None:
    text = (
        "index, pstate, utilization.gpu [%], memory.used [MiB]\n"
        "0, P0, 98 %, 70000 MiB\n1, [GPU requires reset], [N/A], 5 MiB\n"
    )

    said = answer(text)

    assert ("critical", "gpu-needs-reset") == (said["verdict"]["severity"], said["verdict"]["rule"])
    assert said["gpus"][1]["readings"]["memory_used_bytes"] is None


FAILED = "[Unknown Error]"
COLUMNS = (
    "index, temperature.gpu, pstate, power.draw [W], utilization.gpu [%], memory.used [MiB], fan.speed [%]"
)


def cells(*shown: str) -> str:
    return f"{COLUMNS}\n0, {', '.join(shown)}\n"


@pytest.mark.parametrize(
    "text",
    [
        row("ERR!  ERR!    P0            ERR! / 300W", "4MiB /  97887MiB", "97%      Default"),
        cells(FAILED, "P0", FAILED, "97 %", "58222 MiB", FAILED),
        cells(FAILED, "P0", FAILED, FAILED, "58222 MiB", "30 %"),
        cells(FAILED, FAILED, "80.00 W", FAILED, "58222 MiB", "30 %"),
    ],
    ids=["table", "list", "no-load", "only-power-and-memory"],
)
def test_several_cells_that_fail_beside_valid_ones_are_a_warning(text: str) -> None:
    said = answer(text)

    assert ("warning", "sensor-error") == (said["verdict"]["severity"], said["verdict"]["rule"])


def test_a_card_that_tells_neither_heat_nor_power_nor_state_is_lost_in_a_list_too() -> None:
    said = answer(cells(FAILED, FAILED, FAILED, "97 %", "58222 MiB", "30 %"))

    assert ("critical", "gpu-lost-bus") == (said["verdict"]["severity"], said["verdict"]["rule"])


def test_any_cell_that_asks_for_a_reset_is_a_reset() -> None:
    said = answer(cells("40", "P0", "80.00 W", "97 %", "58222 MiB", "[GPU requires reset]"))

    assert ("critical", "gpu-needs-reset") == (said["verdict"]["severity"], said["verdict"]["rule"])


def lost(text: str) -> list[tuple[int, bool]]:
    """(GPU, whether it is told to be lost) of each GPU of the answer."""
    return [
        (gpu["index"], any(finding["rule"] == "gpu-lost-bus" for finding in gpu["findings"]))
        for gpu in answer(text)["gpus"]
    ]


def test_each_gpu_that_gives_no_handle_is_told_by_its_number() -> None:
    line = "Unable to determine the device handle for GPU{}: 0000:{}:00.0: Unknown Error\n"

    assert lost(line.format(3, "C1") + line.format(6, "E1")) == [(3, True), (6, True)]


def test_a_lost_gpu_has_the_number_that_the_list_leaves_out() -> None:
    card = "GPU {}: NVIDIA L40S (UUID: GPU-0000000{}-1111-2222-3333-444444444444)\n"
    line = "Unable to determine the device handle for gpu 0000:{}:00.0: GPU is lost\n"
    cards = [card.format(index, index) for index in range(4)]

    assert lost(cards[0] + line.format("2A") + cards[2]) == [(0, False), (1, True), (2, False)]
    assert lost(cards[0] + line.format("2A") + line.format("3A") + cards[3]) == [
        (0, False), (1, True), (2, True), (3, False)
    ]  # fmt: skip
    assert lost(cards[0] + cards[1] + line.format("2A")) == [(0, False), (1, False), (2, True)]


def test_a_line_without_a_number_names_the_card_by_its_address() -> None:
    said = answer("Unable to determine the device handle for GPU 0000:2A:00.0: Unknown Error\n")

    assert said["verdict"]["headline"] == "GPU 0000:2A:00.0 does not answer the driver any more"


def test_a_card_that_only_an_error_line_names_is_listed_by_its_address() -> None:
    line = "Unable to determine the device handle for GPU0000:86:00.0: Unknown Error\n"
    text = diagnosis_text(answer(line), "en")

    assert "\nGPU 0000:86:00.0 critical" in text
    assert "GPU 0 " not in text
