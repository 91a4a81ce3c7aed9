"""Tools that are not read are called by their names; errors of programs that decide are read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.smi import NothingOfAGpu, read, window_of
from tests.smi.tables import gpu, machine
from tests.smi.writers import table

ROCM = (
    "========================= ROCm System Management Interface =========================\n"
    "GPU  Temp   AvgPwr  SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%\n"
    "0    45.0c  173.0W  132Mhz  900Mhz   0%   auto  750.0W    0%   0%\n"
)
DIAG = (
    "+---------------------------+------------------------------------------------+\n"
    "| Diagnostic                | Result                                         |\n"
    "+===========================+================================================+\n"
    "| DCGM Version              | 4.2.3                                          |\n"
    "| Page Retirement/Row Remap | Fail                                           |\n"
    "+---------------------------+------------------------------------------------+\n"
)
OTHERS = {
    "rocm-smi": ROCM,
    "npu-smi": "npu-smi info -t usages -i 1\n\nNPU ID                         : 1\nHBM Usage Rate(%)   : 0\n",
    "amd-smi": "+------------+\n| AMD-SMI 25.4.2+aca1101   amdgpu version: 6.12.12 |\n+------------+\n",
    "tegrastats": "tegrastats --interval 1000\nCPU [12%@729,8%@729] GR3D_FREQ 0% cpu@48C gpu@47.5C\n",
    "DCGM": "1 GPU found.\n| GPU ID | Device Information                                     |\n",
    "NCCL": "node-2:5776:5902 [0] NCCL INFO Bootstrap : Using ens3:10.0.3.12<0>\n",
}


def refused(text: str, language: str) -> str:
    with pytest.raises(NothingOfAGpu) as refusal:
        read(text, now=1.0)
    return refusal.value.said(language)


def verdict(text: str) -> tuple[str, str]:
    built: dict[str, Any] = msgspec.to_builtins(explain(examine(window_of(text, now=1.0))))
    return built["verdict"]["severity"], built["verdict"]["rule"]


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize(("tool", "text"), OTHERS.items(), ids=OTHERS.keys())
def test_another_tool_is_called_by_its_name(tool: str, text: str, language: str) -> None:
    assert tool in refused(text, language)


def test_a_text_of_nothing_is_called_no_tool() -> None:
    assert "nothing of a GPU" in refused("the quick brown fox\n", "en")


def test_what_is_read_is_read_beside_another_tool() -> None:
    snapshot = read(DIAG + table(machine(gpu(0))), now=1.0).snapshots[-1]

    assert [0] == [reading.index for reading in snapshot.gpus]


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "torch.AcceleratorError: CUDA error: uncorrectable ECC error encountered",
        "Cuda failure 'CUDA_ERROR_ECC_UNCORRECTABLE'",
        "[node1:0] CUDA call failed: cudaErrorECCUncorrectable",
    ],
)
def test_a_program_that_met_a_memory_error_is_heard(line: str) -> None:
    assert verdict(f"{line}\n") == ("critical", "ecc-uncorrectable-new")


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: system not yet initialized",
        "cudaGetDeviceCount returned 802\n-> CUDA_ERROR_SYSTEM_NOT_READY",
    ],
)
def test_a_fabric_that_is_not_ready_is_heard(line: str) -> None:
    assert verdict(f"{line}\n") == ("critical", "fabric-not-ready")


@pytest.mark.parametrize(
    "text",
    [
        'pattern: ".*uncorrectable ECC error encountered.*"\naction: exclude_node\n',
        "| Fan  Temp  Perf  Pwr:Usage/Cap| Volatile Uncorr. ECC |\n",
        "listening on port 802, cluster not initialized\n",
    ],
)
def test_words_about_errors_are_no_errors(text: str) -> None:
    try:
        found = read(text, now=1.0).paste.errors or []
    except NothingOfAGpu:
        found = []

    assert [] == found


def test_a_tool_of_which_other_lines_are_read_is_not_called_unread() -> None:
    said = [refused(OTHERS["NCCL"], language) for language in ("en", "ko")]

    assert "these lines of it are not read" in said[0] and "이 내용을 읽지 않습니다" in said[1]
