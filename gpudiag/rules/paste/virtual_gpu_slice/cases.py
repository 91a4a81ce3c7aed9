"""Situations of virtual-gpu-slice and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window


def _guest() -> Window:
    return sample(shown(name="GRID T4-4C", memory_total_bytes=4 * GIB, temperature_celsius=None))


def _workstation() -> Window:
    brand = "NVIDIA RTX Virtual Workstation"
    return sample(shown(name="NVIDIA L40S-24Q", brand=brand, memory_total_bytes=24 * GIB))


def _sharing_layer() -> Window:
    return sample(shown(name="Tesla V100-PCIE-16GB", memory_total_bytes=3000 << 20))


def _grid_board() -> Window:
    return sample(shown(name="GRID K520", memory_total_bytes=4 * GIB))


def _whole_card() -> Window:
    return sample(shown(name="Tesla V100-PCIE-16GB", memory_total_bytes=16160 << 20))


def _mig() -> Window:
    return sample(shown(name="NVIDIA A100-SXM4-80GB", mig_mode=True, memory_total_bytes=20 * GIB))


def _superchip() -> Window:
    return sample(shown(name="NVIDIA GH200 480GB", memory_total_bytes=97871 << 20))


CASES = [
    Case("GH200 480GB counts the memory of its CPU", _superchip, "clear"),
    Case("a vGPU guest by its profile", _guest, "fires", severity="info", confidence="proven"),
    Case("a virtual workstation", _workstation, "fires"),
    Case("3 GB of a 16 GB card", _sharing_layer, "fires", variant="limit", confidence="likely"),
    Case("GRID K520 is a board", _grid_board, "clear"),
    Case("the whole 16 GB card", _whole_card, "clear"),
    Case("MIG devices are no vGPUs", _mig, "clear"),
]
