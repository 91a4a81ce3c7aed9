"""`nvidia-smi topo`: how the GPUs are joined, and what stands out."""

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import read, window_of
from gpudiag.words import Language

PAIRS = (
    "        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NODE    SYS     SYS     PIX     0-15    0\n"
    "GPU1    NODE     X      SYS     SYS     NODE    0-15    0\n"
    "GPU2    SYS     SYS      X      NODE    SYS     16-31   1\n"
    "GPU3    SYS     SYS     NODE     X      SYS     16-31   1\n"
    "mlx5_0  PIX     NODE    SYS     SYS      X\n"
)


def matrix(*rows: str) -> str:
    """A matrix with tabs, as the tool prints it."""
    head = "".join(f"\tGPU{index}" for index in range(len(rows)))
    lines = [f"GPU{index}\t" + "\t".join(row.split()) + "\t0-31\t0" for index, row in enumerate(rows)]
    return f"{head}\tCPU Affinity\tNUMA Affinity\n" + "\n".join(lines) + "\n\nLegend:\n\n  X    = Self\n"


def diagnosis(text: str, language: Language = "en") -> Diagnosis:
    return explain(examine(window_of(text)), language)


def test_each_cell_is_read_with_its_column() -> None:
    gpus = read(PAIRS).snapshots[-1].gpus

    assert {"GPU1": "NODE", "GPU2": "SYS", "GPU3": "SYS", "mlx5_0": "PIX"} == gpus[0].joined
    assert [0, 1, 2, 3] == [gpu.index for gpu in gpus]


def test_a_row_whose_cells_are_glued_is_read_up_to_there() -> None:
    text = matrix("X NV4 NV4", "NV4 X NV4", "NV4 NV4NV4 X")

    assert {"GPU0": "NV4"} == read(text).snapshots[-1].gpus[2].joined


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_gpu_that_lacks_the_links_of_all_others_is_a_warning(language: Language) -> None:
    said = diagnosis(
        matrix("X NV12 NV12 SYS", "NV12 X NV12 SYS", "NV12 NV12 X NODE", "SYS SYS NODE X"), language
    )

    assert ("warning", "gpu-topology") == (said.verdict["severity"], said.verdict["rule"])
    assert "GPU 3" in said.verdict["headline"]


def test_how_gpus_are_joined_does_not_tell_how_they_are() -> None:
    for text, told in (
        (PAIRS, "0-1 | 2-3"),
        (matrix("X NV12 NV12", "NV12 X NV12", "NV12 NV12 X"), "every other one by NVLink"),
        (matrix("X NV4 SYS SYS", "NV4 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X"), "0-1 | 2-3"),
    ):
        said = diagnosis(text)

        assert ("unknown", "not-enough-evidence") == (said.verdict["severity"], said.verdict["rule"])
        assert told in said.verdict["headline"]


def test_boards_for_nvlink_that_show_none_are_named_by_the_list_beside() -> None:
    listed = "".join(
        f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-0000000{index}-1111-2222-3333-444444444444)\n"
        for index in range(2)
    )

    assert "warning" == diagnosis(listed + matrix("X SYS", "SYS X")).verdict["severity"]
    assert "unknown" == diagnosis(matrix("X SYS", "SYS X")).verdict["severity"]


def test_the_next_steps_stand_in_the_notes() -> None:
    said = diagnosis(PAIRS)

    assert any("CUDA_VISIBLE_DEVICES=0,1" in note for note in said.notes)


def test_peers_without_access_are_named() -> None:
    said = diagnosis(" \tGPU0\tGPU1\t\n GPU0\tX\tCNS\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  X    = Self\n")

    assert "cannot read each other's memory: 0-1" in said.verdict["headline"]
