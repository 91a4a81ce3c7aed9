"""Screens of nvtop are read, also where devices stand side by side; those of other makers are left out."""

from __future__ import annotations

from gpudiag.smi import read

MIB = 1 << 20
GIB = 1 << 30


def device(
    name: str, index: int = 0, load: int = 97, memory: str = "18.250Gi/24.000Gi"
) -> tuple[str, str, str]:
    """The three lines of one device."""
    return (
        f" Device {index} [{name}] PCIe GEN 4@16x RX: 1.953 MiB/s TX: 0.000 KiB/s",
        " GPU 1695MHz MEM 9501MHz TEMP  61°C FAN  47% POW 287 / 350 W",
        f" GPU[|||||||||||        {load:2}%] MEM[||||||||||      {memory}]",
    )


HEAD = "    PID USER DEV    TYPE  GPU        GPU MEM    CPU  HOST MEM Command\n"
PROCESS = "   4711 ann    0 Compute  96%  17920MiB  75%   101%   5120MiB python train.py\n"


def test_a_screen_is_read() -> None:
    snapshot = read(
        "\n".join(device("NVIDIA GeForce RTX 3090")) + f"\n   ┌────┐\n{HEAD}{PROCESS}", now=1.0
    ).snapshots[-1]
    (gpu,), (process,) = snapshot.gpus, snapshot.processes

    assert ("NVIDIA GeForce RTX 3090", 97, 287, 350, 61) == (
        gpu.name, gpu.utilization_percent, gpu.power_watts, gpu.power_limit_watts, gpu.temperature_celsius,
    )  # fmt: skip
    assert (round(18.25 * GIB), 24 * GIB) == (gpu.memory_used_bytes, gpu.memory_total_bytes)
    assert (4711, "python train.py", 17920 * MIB) == (
        process.pid,
        process.name,
        (process.gpus or [])[0].memory_used_bytes,
    )


def test_devices_side_by_side_keep_their_own_values() -> None:
    left, right = (
        device("NVIDIA A2", 0, 3, "1.000Gi/15.000Gi"),
        device("NVIDIA L4", 1, 88, "9.000Gi/23.000Gi"),
    )
    gpus = read("\n".join(a + b for a, b in zip(left, right, strict=True)), now=1.0).snapshots[-1].gpus

    assert [(0, 3, GIB), (1, 88, 9 * GIB)] == [
        (gpu.index, gpu.utilization_percent, gpu.memory_used_bytes) for gpu in gpus
    ]


def test_a_device_of_another_maker_is_left_out() -> None:
    left, right = device("AMD Radeon Graphics", 0, 3), device("NVIDIA L4", 1, 88)
    gpus = read("\n".join(a + b for a, b in zip(left, right, strict=True)), now=1.0).snapshots[-1].gpus

    assert [(1, 88)] == [(gpu.index, gpu.utilization_percent) for gpu in gpus]


def test_memory_that_is_not_known_is_not_none() -> None:
    (gpu,) = (
        read("\n".join(device("NVIDIA GB10", memory="N/A")).replace("      N/A", " N/A"), now=1.0)
        .snapshots[-1]
        .gpus
    )

    assert (97, None) == (gpu.utilization_percent, gpu.memory_used_bytes)


def test_a_snapshot_is_read() -> None:
    values = {"device_name": "NVIDIA L40S", "temp": "54C", "power_draw": "144W", "gpu_util": "71%"}
    text = "[\n {\n" + ",\n".join(f'  "{name}": "{value}"' for name, value in values.items()) + "\n }\n]\n"
    (gpu,) = read(text, now=1.0).snapshots[-1].gpus

    assert ("NVIDIA L40S", 54, 144, 71) == (
        gpu.name, gpu.temperature_celsius, gpu.power_watts, gpu.utilization_percent,
    )  # fmt: skip
