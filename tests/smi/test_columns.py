"""Lists of values in the many ways in which people ask for them and write them down."""

from __future__ import annotations

import pytest

from gpudiag.model import GpuReading, Snapshot
from gpudiag.smi import read

MIB = 1 << 20
NAMES = ("index", "name", "utilization.gpu [%]", "memory.used [MiB]")
ROWS = (("0", "NVIDIA L4", "98 %", "9000 MiB"), ("1", "NVIDIA L4", "0 %", "4 MiB"))


def last(text: str) -> Snapshot:
    return read(text, now=1.0).snapshots[-1]


def gpus(text: str) -> list[GpuReading]:
    return last(text).gpus


@pytest.mark.parametrize(
    ("before", "between", "behind", "below"),
    [
        ("", ", ", "", ""),
        ("", ",", "", ""),
        ("", ";", "", ""),
        ("", "; ", "", ""),
        ('"', '","', '"', ""),
        ('"', '";"', '"', ""),
        ("| ", " | ", " |", "|---|---|---:|---:|\n"),
    ],
    ids=["as-written", "no-blanks", "semicolons", "semicolons-and-blanks", "quoted", "excel", "markdown"],
)
def test_cells_are_told_apart_however_a_spreadsheet_or_a_chat_wrote_them(
    before: str, between: str, behind: str, below: str
) -> None:
    header, *rows = (f"{before}{between.join(cells)}{behind}\n" for cells in (NAMES, *ROWS))

    shown = gpus(header + below + "".join(rows))

    assert [(0, "NVIDIA L4", 98.0, 9000 * MIB), (1, "NVIDIA L4", 0.0, 4 * MIB)] == [
        (gpu.index, gpu.name, gpu.utilization_percent, gpu.memory_used_bytes) for gpu in shown
    ]


def test_values_that_were_asked_for_one_by_one_are_of_one_sample() -> None:
    asked = {
        "power.draw": ("133.91", "189.84"),
        "power.limit": ("200.00", "200.00"),
        "utilization.gpu": ("91", "0"),
    }
    text = "\n".join(
        "\n".join((f"$ nvidia-smi --query-gpu={column} --format=csv,noheader,nounits", *cells))
        for column, cells in asked.items()
    )

    snapshot = last(text)

    assert [(133.91, 200.0, 91.0), (189.84, 200.0, 0.0)] == [
        (gpu.power_watts, gpu.power_limit_watts, gpu.utilization_percent) for gpu in snapshot.gpus
    ]
    assert snapshot.paste is not None and 1 == snapshot.paste.samples


def test_the_same_question_twice_is_two_samples() -> None:
    asked = "$ nvidia-smi --query-gpu=power.draw --format=csv,noheader,nounits\n"

    paste = last(f"{asked}133.91\n{asked}120.00\n").paste

    assert paste is not None and 2 == paste.samples


def test_dmon_of_errors_alone_is_read() -> None:
    head = "# gpu   sbecc  dbecc    pci\n# Idx    errs   errs   errs\n"
    text = f"{head}    0       0      2      0\n    1       -      -      5\n"

    shown = gpus(text)

    assert [(0, 2, 0), (None, None, 5)] == [
        (gpu.ecc_corrected_volatile, gpu.ecc_uncorrected_volatile, gpu.pcie_replay_count) for gpu in shown
    ]


@pytest.mark.parametrize("pad", ["", "     "])
def test_what_pytorch_collects_names_gpus_and_driver(pad: str) -> None:
    text = (
        "PyTorch version: 2.7.0+cu126\n"
        f"GPU models and configuration{pad}: \nGPU 0: NVIDIA A100-SXM4-80GB\nGPU 1: NVIDIA A100-SXM4-80GB\n\n"
        f"Nvidia driver version{pad}: 550.127.08\ncuDNN version: Could not collect\n"
    )

    snapshot = last(text)

    assert ["NVIDIA A100-SXM4-80GB"] * 2 == [gpu.name for gpu in snapshot.gpus]
    assert "550.127.08" == snapshot.driver_version
    assert snapshot.paste is not None and snapshot.paste.missing == ["state"]


def test_the_table_of_vgpus_shows_the_load_of_the_board() -> None:
    text = (
        "| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03                |\n"
        "|---------------------------------+------------------------------+------------+\n"
        "| GPU  Name                       | Bus-Id                       | GPU-Util   |\n"
        "|      vGPU ID     Name           | VM ID     VM Name            | vGPU-Util  |\n"
        "|=================================+==============================+============|\n"
        "|   0  NVIDIA A40                 | 00000000:81:00.0             |  75%       |\n"
        "|      3251634194  NVIDIA A40-8Q  | 1a2b...  desktop-01          |     40%    |\n"
        "+---------------------------------+------------------------------+------------+\n"
    )

    snapshot = last(text)

    assert [("NVIDIA A40", 75.0, None)] == [
        (gpu.name, gpu.utilization_percent, gpu.memory_used_bytes) for gpu in snapshot.gpus
    ]
    assert snapshot.paste is not None and snapshot.paste.missing is None


VIOLATIONS = (
    "# gpu    pwr     sm  pviol  tviol     fb\n"
    "# Idx      W      %      %   bool     MB\n"
    "    0    301     99     71      {}  70211\n"
)


def test_dmon_tells_whether_heat_held_the_clocks() -> None:
    hot, cool = gpus(VIOLATIONS.format(1)), gpus(VIOLATIONS.format(0))

    assert [0x24, 0x4] == [hot[0].clocks_event_reasons, cool[0].clocks_event_reasons]


def test_dmon_without_a_violation_does_not_say_that_nothing_held_the_clocks() -> None:
    quiet = gpus(VIOLATIONS.format(0).replace("     71  ", "      0  "))

    assert quiet[0].clocks_event_reasons is None


def test_a_line_of_another_tool_below_a_list_of_programs_is_no_row_of_it() -> None:
    stat = "[6] NVIDIA A100 80GB PCIe | 52'C, 100 % | 10151 / 81920 MB |"
    text = f"pid, used_gpu_memory [MiB]\n41332, 10130 MiB\n{stat}\n"
    snapshot = last(text)

    assert [41332] == [process.pid for process in snapshot.processes]
    assert 100.0 in [gpu.utilization_percent for gpu in snapshot.gpus]
