"""The machine around the GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.agent.host import Host, cpu_list, driver_version, gpu_place
from tests.agent.machine import FakeHost


def test_cpu_shares_are_of_the_time_between_two_looks(host: FakeHost) -> None:
    reader = Host(str(host.proc), str(host.sys))
    host.cpu(idle=1000, busy=100)
    reader.read(0.0, 0.0)
    host.cpu(idle=1060, busy=130, iowait=10)
    seen = reader.read(10.0, 10.0)

    assert (seen.cpu_percent, seen.iowait_percent, seen.cpu_percent_per_core) == (30.0, 10.0, [30.0, 30.0])
    assert seen.cpu_count == 2


def test_pressure_and_memory(host: FakeHost) -> None:
    host.file(
        "pressure/io", "some avg10=1 avg60=2 avg300=3 total=4\nfull avg10=0.00 avg60=12.50 avg300=0 total=9\n"
    )
    host.file("pressure/cpu", "some avg10=1 avg60=33.10 avg300=3 total=4\n")
    seen = Host(str(host.proc), str(host.sys)).read(0.0, 0.0)

    assert (seen.io_pressure_full, seen.cpu_pressure_some, seen.memory_pressure_full) == (12.5, 33.1, None)
    assert (seen.memory_total_bytes, seen.memory_available_bytes) == (1000 * 1024, 600 * 1024)


def test_rates_of_disk_and_swap(host: FakeHost) -> None:
    reader = Host(str(host.proc), str(host.sys))
    host.sys_file("block/nvme0n1/size", "1")
    disk = "259 0 nvme0n1 10 0 {sectors} 5 0 0 0 0 0 {milliseconds} 0"
    host.file("diskstats", disk.format(sectors=1000, milliseconds=100))
    host.file("vmstat", "pswpin 100\n")
    assert reader.read(0.0, 0.0).disk_busy_ratio is None
    host.file("diskstats", disk.format(sectors=3000, milliseconds=9100))
    host.file("vmstat", "pswpin 300\n")
    seen = reader.read(10.0, 10.0)

    assert (seen.disk_busy_ratio, seen.disk_read_bytes_per_second) == (0.9, 102_400)
    assert seen.swap_in_pages_per_second == 20


def test_gpus_on_the_bus_are_counted_whatever_the_driver_says(host: FakeHost) -> None:
    for number, (vendor, kind) in enumerate(
        [("0x10de", "0x030200"), ("0x10de", "0x030000"), ("0x10de", "0x068000"), ("0x1a03", "0x030000")]
    ):
        host.sys_file(f"bus/pci/devices/0000:0{number}:00.0/vendor", vendor)
        host.sys_file(f"bus/pci/devices/0000:0{number}:00.0/class", kind)
    seen = Host(str(host.proc), str(host.sys)).read(0.0, 0.0)

    assert (seen.pci_gpu_count, seen.nvswitches) == (2, 1)


def test_a_card_that_no_driver_has_is_counted_beside_others_of_its_model(host: FakeHost) -> None:
    cards = [("0x2330", "nvidia"), ("0x2330", None), ("0x2330", "vfio-pci"), ("0x1288", None)]
    for number, (model, driver) in enumerate(cards):
        place = f"bus/pci/devices/0000:0{number}:00.0"
        for name, value in (("vendor", "0x10de"), ("class", "0x030200"), ("device", model)):
            host.sys_file(f"{place}/{name}", value)
        if driver is not None:
            (host.sys / place / "driver").symlink_to(f"../../../drivers/{driver}")
    seen = Host(str(host.proc), str(host.sys)).read(0.0, 0.0)

    assert (seen.pci_gpu_count, seen.pci_gpus_unbound) == (4, 1)


def test_what_is_not_there_is_not_known_rather_than_zero(host: FakeHost) -> None:
    seen = Host(str(host.proc), str(host.sys)).read(0.0, 0.0)

    assert (seen.io_pressure_full, seen.pci_gpu_count, seen.disk_busy_ratio, seen.nfs_mounts) == (
        None,
        None,
        None,
        None,
    )


def test_services_and_modules(host: FakeHost) -> None:
    host.process(50, "nv-fabricmanager")
    host.file("modules", "nvidia_peermem 16384 0 - Live 0x0\nnvidia 1 2 3 Live 0x0\next4 1 1 - Live 0x0\n")
    seen = Host(str(host.proc), str(host.sys)).read(0.0, 0.0)

    assert seen.services is not None
    assert (seen.services["nvidia-fabricmanager"], seen.services["nvidia-persistenced"]) == (
        "active",
        "inactive",
    )
    assert seen.modules == ["nvidia", "nvidia_peermem"]


def test_a_wall_clock_that_jumps_moves_no_rate(host: FakeHost) -> None:
    reader = Host(str(host.proc), str(host.sys))
    host.file("vmstat", "pswpin 100\n")
    reader.read(1_000_000.0, 0.0)
    host.file("vmstat", "pswpin 300\n")
    seen = reader.read(5.0, 10.0)

    assert seen.swap_in_pages_per_second == 20


def test_infiniband_ports(host: FakeHost) -> None:
    reader = Host(str(host.proc), str(host.sys))
    port = "class/infiniband/mlx5_0/ports/1"
    host.sys_file(f"{port}/state", "4: ACTIVE")
    host.sys_file(f"{port}/rate", "400 Gb/sec (4X NDR)")
    for name, value in (("port_rcv_data", 0), ("port_xmit_data", 0), ("link_downed", 3)):
        host.sys_file(f"{port}/counters/{name}", str(value))
    reader.read(0.0, 0.0)
    host.sys_file(f"{port}/counters/port_xmit_data", "2500")
    seen = reader.read(10.0, 10.0)

    assert seen.ports is not None
    [found] = seen.ports
    assert (found.name, found.state, found.rate_gigabits_per_second) == ("mlx5_0:1", "active", 400.0)
    assert (found.bytes_per_second, found.link_downed_total) == (1000.0, 3)


def test_where_a_gpu_sits(host: FakeHost) -> None:
    host.sys_file("bus/pci/devices/0000:3b:00.0/numa_node", "1\n")
    host.sys_file("bus/pci/devices/0000:3b:00.0/local_cpulist", "0-2,8\n")

    assert gpu_place(str(host.sys), "00000000:3B:00.0") == (1, [0, 1, 2, 8])


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024",
            "535.161.08",
        ),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build", "575.57.08"),
        (None, None),
    ],
)
def test_the_kernel_modules_version(line: str | None, version: str | None) -> None:
    assert driver_version(line) == version


def test_an_update_of_the_drivers_library_on_disk_is_seen(host: FakeHost, tmp_path: Path) -> None:
    old, new = tmp_path / "libnvidia-ml.so.580.65.06", tmp_path / "libnvidia-ml.so.580.105.08"
    link = tmp_path / "libnvidia-ml.so.1"
    old.touch()
    link.symlink_to(old.name)
    host.file("self/maps", f"7f00-7f01 r-xp 00000000 08:01 42   {old}\n")
    reader = Host(str(host.proc), str(host.sys))
    before = reader.read(0.0, 0.0).library_driver_version
    old.rename(new)
    link.unlink()
    link.symlink_to(new.name)
    host.file("self/maps", f"7f00-7f01 r-xp 00000000 08:01 42   {old} (deleted)\n")

    assert ("580.65.06", "580.105.08") == (before, reader.read(60.0, 60.0).library_driver_version)
    assert Host(str(host.proc), str(host.sys)).read(0.0, 0.0).library_driver_version == "580.105.08"


@pytest.mark.parametrize(
    "maps", ["", "7f00-7f01 r-xp 00000000 08:01 42   /usr/lib/wsl/lib/libnvidia-ml.so.1\n"]
)
def test_a_library_that_tells_no_version_is_not_compared(host: FakeHost, maps: str) -> None:
    host.file("self/maps", maps)

    assert Host(str(host.proc), str(host.sys)).read(0.0, 0.0).library_driver_version is None


@pytest.mark.parametrize(
    ("listed", "cpus"), [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("", None), ("x-y", None)]
)
def test_cpu_lists(listed: str, cpus: list[int] | None) -> None:
    assert cpu_list(listed) == cpus
