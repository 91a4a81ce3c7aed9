"""Output of tools that are not read, told by their own names, so that a refusal can say so."""

from __future__ import annotations

import re

from gpudiag.smi.errors import NothingOfAGpu, OtherTool

LONGEST = 65_536

# tool, which refusal, and what its output or command shows
_TOOLS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (tool, key, re.compile(pattern))
    for tool, key, pattern in (
        ("rocm-smi", "other-vendor", r"ROCm System Management|ROCm SMI|\brocm-smi\b"),
        ("amd-smi", "other-vendor", r"\bAMD-SMI\b|\bamd-smi\b"),
        ("npu-smi", "other-vendor", r"\bnpu-smi\b|\bNPU ID\b"),
        ("hl-smi", "other-vendor", r"\bHL-SMI\b|\bhl-smi\b"),
        ("xpu-smi", "other-vendor", r"\bxpu-smi\b|\bxpumcli\b|\bintel_gpu_top\b"),
        ("mthreads-gmi", "other-vendor", r"\bmthreads-gmi\b"),
        ("mx-smi", "other-vendor", r"\bmx-smi\b"),
        ("tegrastats", "other-tool", r"\bGR3D_FREQ [\d@]"),
        ("DCGM", "other-tool", r"\bdcgmi\b|Successfully ran diagnostic|Health Monitor Report|DCGM GPU Diag"
         r"|# ?Entity {1,20}[A-Z]{3}|\| DCGM Version|\| GPU ID \| Device Information"),
        ("NCCL", "other-tool", r"\bNCCL (?:WARN|INFO|error)\b|ProcessGroupNCCL"),
    )
)  # fmt: skip


def refusal_of(text: str) -> NothingOfAGpu:
    """Why nothing was read: it is another tool's output, or nothing of a GPU."""
    start = text[:LONGEST]
    for tool, key, pattern in _TOOLS:
        if pattern.search(start):
            return OtherTool(tool, key)
    return NothingOfAGpu()
