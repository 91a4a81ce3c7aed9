"""What the boards we imitate look like when idle: public data sheet figures and the functions they lack.

The unsupported lists hold what NVIDIA's documentation ties to a product line: boards without their own fans
have no fan speed, consumer boards no ECC and no row remapping.
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 2**30
MIB = 2**20

_NO_FANS = ("nvmlDeviceGetFanSpeed", "nvmlDeviceGetFanSpeed_v2", "nvmlDeviceGetFanSpeedRPM")
_NO_ECC = (
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetMemoryErrorCounter",
    "nvmlDeviceGetSramEccErrorStatus",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRowRemapperHistogram",
)
_NO_MIG = ("nvmlDeviceGetMigMode",)
_NO_RETIREMENT = ("nvmlDeviceGetRetiredPages", "nvmlDeviceGetRetiredPagesPendingStatus")
_NO_REMAPPING = ("nvmlDeviceGetRemappedRows", "nvmlDeviceGetRowRemapperHistogram")
_NO_MARGIN = ("nvmlDeviceGetMarginTemperature",)
_NO_FABRIC = ("nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetGpuFabricInfoV")


@dataclass(frozen=True)
class Model:
    """One board as it comes, idle."""

    name: str
    architecture: int
    compute: tuple[int, int]
    pci_device_id: int
    memory_total: int
    memory_reserved: int
    power_watts: tuple[int, int, int]  # lowest and highest settable limit, default limit
    idle_watts: int
    clocks_mhz: tuple[int, int, int]  # highest graphics and SM, memory, idle graphics
    pcie_gen: int
    fans: int = 0
    nvlinks: int = 0
    nvlink_version: int = 0
    ecc: bool = True
    slowdown_c: int = 87
    unsupported: tuple[str, ...] = ()


MODELS = {
    "H100": Model(
        "NVIDIA H100 80GB HBM3", 9, (9, 0), 0x233010DE, 81559 * MIB, 564 * MIB, (200, 700, 700), 70,
        (1980, 2619, 345), 5, nvlinks=18, nvlink_version=5, unsupported=_NO_FANS + _NO_RETIREMENT,
    ),
    "A100": Model(
        "NVIDIA A100-SXM4-80GB", 7, (8, 0), 0x20B210DE, 81920 * MIB, 633 * MIB, (100, 400, 400), 60,
        (1410, 1593, 210), 4, nvlinks=12, nvlink_version=4,
        unsupported=_NO_FANS + _NO_RETIREMENT + _NO_MARGIN + _NO_FABRIC,
    ),
    "L40S": Model(
        "NVIDIA L40S", 8, (8, 9), 0x26B910DE, 46068 * MIB, 560 * MIB, (100, 350, 350), 35,
        (2520, 9001, 210), 4, unsupported=_NO_FANS + _NO_MIG + _NO_RETIREMENT + _NO_FABRIC,
    ),
    "T4": Model(
        "Tesla T4", 6, (7, 5), 0x1EB810DE, 15360 * MIB, 442 * MIB, (60, 70, 70), 10,
        (1590, 5001, 300), 3, slowdown_c=93,
        unsupported=_NO_FANS + _NO_MIG + _NO_REMAPPING + _NO_MARGIN + _NO_FABRIC,
    ),
    "V100": Model(
        "Tesla V100-SXM2-32GB", 5, (7, 0), 0x1DB510DE, 32768 * MIB, 268 * MIB, (150, 300, 300), 42,
        (1530, 877, 135), 3, nvlinks=6, nvlink_version=2, slowdown_c=87,
        unsupported=_NO_FANS + _NO_MIG + _NO_REMAPPING + _NO_MARGIN + _NO_FABRIC,
    ),
    "RTX 4090": Model(
        "NVIDIA GeForce RTX 4090", 8, (8, 9), 0x268410DE, 24564 * MIB, 418 * MIB, (150, 600, 450), 20,
        (3105, 10501, 210), 4, fans=2, ecc=False, slowdown_c=90,
        unsupported=_NO_ECC + _NO_MIG + _NO_RETIREMENT + _NO_FABRIC,
    ),
}  # fmt: skip
