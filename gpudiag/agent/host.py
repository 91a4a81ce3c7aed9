"""The machine around the GPUs, from /proc and /sys: CPU, pressure, memory, disks, ports, kernel modules.

All roots are parameters: tests bring a small tree of files. A file that is not there leaves its fields out.
"""

from __future__ import annotations

import os
from pathlib import Path

from gpudiag.agent.files import number, text
from gpudiag.model import HostReading, NetworkPort

RARE_SECONDS = 60.0
_MODULES = (
    "nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia_peermem", "nouveau", "ib_umad",
    "nvgpu",  # a Jetson's
)  # fmt: skip
_SERVICES = {
    "nv-fabricmanage": "nvidia-fabricmanager",  # /proc cuts names to 15 characters
    "nvidia-persiste": "nvidia-persistenced",
    "nv-hostengine": "nvidia-dcgm",
    "nvidia-cuda-mps": "nvidia-cuda-mps-control",
}
_PORT_STATES = {"1": "down", "2": "init", "3": "armed", "4": "active"}


class Host:
    """Reads the machine; rates are since the reading before."""

    def __init__(self, proc: str = "/proc", sys: str = "/sys") -> None:
        self._proc, self._sys = proc, sys
        self._cpu: dict[str, tuple[int, int, int]] = {}  # core → busy, iowait and all ticks
        self._counters: dict[str, tuple[float, int]] = {}
        self._rare_at: float | None = None
        self._rare: dict[str, object] = {}
        self._library_folder: str | None = None  # where the driver's library was loaded from
        self.boot_id = text(f"{proc}/sys/kernel/random/boot_id")

    def read(self, now: float, monotonic: float) -> HostReading:
        """The state at this moment."""
        if self._rare_at is None or monotonic >= self._rare_at:
            self._rare_at = monotonic + RARE_SECONDS
            self._rare = self._read_rarely()
        host = HostReading(boot_id=self.boot_id)
        for field, value in self._rare.items():
            setattr(host, field, value)
        host.booted_at = self.booted_at(now)
        self._read_cpu(host)
        self._read_pressure(host)
        self._read_memory(host, monotonic)
        self._read_disks(host, monotonic)
        host.ports = self._ports(monotonic) or None
        return host

    def booted_at(self, now: float) -> float | None:
        """When the machine was started, by the clock of now (so that it goes along when that jumps)."""
        uptime = text(f"{self._proc}/uptime")
        return now - float(uptime.split()[0]) if uptime else None

    # ---- CPU

    def _read_cpu(self, host: HostReading) -> None:
        stat = text(f"{self._proc}/stat")
        if stat is None:
            return
        cores: list[float] = []
        for line in stat.splitlines():
            if not line.startswith("cpu"):
                break  # the processors stand first; the long interrupt line after them is not parsed
            name, *ticks = line.split()
            counts = [int(tick) for tick in ticks[:8]]
            iowait, every = counts[4], sum(counts)
            busy = every - counts[3] - iowait
            before = self._cpu.get(name)
            self._cpu[name] = (busy, iowait, every)
            if before is None or every <= before[2]:
                continue
            span = every - before[2]
            percent = round(100 * (busy - before[0]) / span, 1)
            if name == "cpu":
                host.cpu_percent = percent
                host.iowait_percent = round(100 * max(0, iowait - before[1]) / span, 1)
            else:
                cores.append(percent)
        host.cpu_count = len(self._cpu) - 1
        host.cpu_percent_per_core = cores or None
        load = text(f"{self._proc}/loadavg")
        host.load_1min = float(load.split()[0]) if load else None

    def _read_pressure(self, host: HostReading) -> None:
        host.cpu_pressure_some = pressure(f"{self._proc}/pressure/cpu", "some")
        host.io_pressure_full = pressure(f"{self._proc}/pressure/io", "full")
        host.memory_pressure_full = pressure(f"{self._proc}/pressure/memory", "full")

    # ---- memory and disks

    def _read_memory(self, host: HostReading, monotonic: float) -> None:
        found = _pairs(text(f"{self._proc}/meminfo"), ":", ("MemTotal", "MemAvailable"))
        total, available = found.get("MemTotal"), found.get("MemAvailable")
        host.memory_total_bytes = total * 1024 if total is not None else None
        host.memory_available_bytes = available * 1024 if available is not None else None
        swapped = _pairs(text(f"{self._proc}/vmstat"), " ", ("pswpin",)).get("pswpin")
        if swapped is not None:
            host.swap_in_pages_per_second = self._rate("pswpin", swapped, monotonic)

    def _read_disks(self, host: HostReading, monotonic: float) -> None:
        stats = text(f"{self._proc}/diskstats")
        if stats is None:
            return
        busiest: float | None = None
        read: float | None = None
        for line in stats.splitlines():
            fields = line.split()
            if len(fields) < 13 or fields[2].startswith(("loop", "ram", "dm-", "zram")):
                continue
            if not os.path.isdir(f"{self._sys}/block/{fields[2]}"):
                continue  # a partition: its disk counts
            milliseconds = self._rate(f"disk:{fields[2]}", int(fields[12]), monotonic)
            sectors = self._rate(f"read:{fields[2]}", int(fields[5]), monotonic)
            if milliseconds is not None:
                busiest = max(busiest or 0.0, min(1.0, milliseconds / 1000))
            if sectors is not None:
                read = (read or 0.0) + sectors * 512
        host.disk_busy_ratio = None if busiest is None else round(busiest, 4)
        host.disk_read_bytes_per_second = None if read is None else round(read)

    def _rate(self, name: str, value: int, monotonic: float) -> float | None:
        before = self._counters.get(name)
        self._counters[name] = (monotonic, value)
        if before is None or value < before[1] or monotonic <= before[0]:
            return None
        return (value - before[1]) / (monotonic - before[0])

    # ---- what seldom changes

    def _read_rarely(self) -> dict[str, object]:
        gpus, switches, unbound = self._pci_devices()
        version = text(f"{self._proc}/driver/nvidia/version")
        modules = text(f"{self._proc}/modules") or ""
        loaded = {line.split(" ", 1)[0] for line in modules.splitlines()}
        mounts = text(f"{self._proc}/self/mounts")
        nodes = Path(f"{self._sys}/devices/system/node")
        numa = len([name for name in _names(str(nodes)) if name.startswith("node") and name[4:].isdigit()])
        return {
            "pci_gpu_count": gpus,
            "pci_gpus_unbound": unbound,
            "nvswitches": switches,
            "kernel_driver_version": driver_version(version),
            "library_driver_version": self._library_version(),
            "modules": [name for name in _MODULES if name in loaded] or None,
            "nfs_mounts": None if mounts is None else sum(" nfs" in line for line in mounts.splitlines()),
            "numa_nodes": numa or None,
            "in_container": self._in_container(),
            "services": self._services(),
        }

    def _library_version(self) -> str | None:
        """The version of the driver's library on disk; None where its file does not tell, or none is loaded.

        An update puts another one where the one in this process came from, which works on.
        """
        if self._library_folder is None:
            path = _mapped(f"{self._proc}/self/maps", "/libnvidia-ml.so")
            self._library_folder = os.path.dirname(path) if path else None
        if self._library_folder is None:
            return None
        name = os.path.basename(os.path.realpath(f"{self._library_folder}/libnvidia-ml.so.1"))
        return driver_version(name.removeprefix("libnvidia-ml.so."))

    def _pci_devices(self) -> tuple[int | None, int | None, int | None]:
        """NVIDIA's display controllers and NVSwitches on the bus, whatever the driver says of them.

        The last number is of cards that no driver has although NVIDIA's runs others of their model. A card
        that is passed through to a virtual machine has a driver, and one that is too old has no such other.
        """
        root = f"{self._sys}/bus/pci/devices"
        names = _names(root)
        if not names:
            return None, None, None
        switches = 0
        models: list[tuple[str | None, str | None]] = []  # of each card: its device id and its driver
        for name in names:
            if text(f"{root}/{name}/vendor") != "0x10de":
                continue
            kind = (text(f"{root}/{name}/class") or "")[:6]
            switches += kind == "0x0680"
            if kind in ("0x0300", "0x0302"):
                models.append((text(f"{root}/{name}/device"), _link(f"{root}/{name}/driver")))
        run = {model for model, driver in models if driver == "nvidia"}
        return len(models), switches, sum(driver is None and model in run for model, driver in models)

    def _in_container(self) -> bool:
        first = text(f"{self._proc}/1/cgroup") or ""
        marked = os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
        return (marked and self._proc == "/proc") or any(
            word in first for word in ("docker", "kubepods", "containerd", "libpod")
        )

    def _services(self) -> dict[str, str] | None:
        """Services told from running processes; only where all processes are visible."""
        if text(f"{self._proc}/2/comm") != "kthreadd":
            return None
        found = dict.fromkeys(_SERVICES.values(), "inactive")
        for pid in _names(self._proc):
            if pid.isdigit():
                name = text(f"{self._proc}/{pid}/comm")
                if name in _SERVICES:
                    found[_SERVICES[name]] = "active"
        return found

    # ---- ports

    def _ports(self, monotonic: float) -> list[NetworkPort]:
        found = []
        root = f"{self._sys}/class/infiniband"
        for device in _names(root):
            for port in _names(f"{root}/{device}/ports"):
                place = f"{root}/{device}/ports/{port}"
                state = (text(f"{place}/state") or "").split(":")[0].strip()
                rate = (text(f"{place}/rate") or "").split(" ")[0]
                words = [number(f"{place}/counters/port_{way}_data") for way in ("rcv", "xmit")]
                wait = number(f"{place}/counters/port_xmit_wait")
                moved = None
                if None not in words:  # the counters are in units of four bytes
                    moved = self._rate(f"{device}:{port}", sum(w or 0 for w in words) * 4, monotonic)
                waited = None if wait is None else self._rate(f"wait:{device}:{port}", wait, monotonic)
                found.append(
                    NetworkPort(
                        name=f"{device}:{port}",
                        kind="infiniband",
                        state=_PORT_STATES.get(state),
                        rate_gigabits_per_second=float(rate) if rate.replace(".", "").isdigit() else None,
                        bytes_per_second=moved,
                        wait_ratio=None if waited is None else min(1.0, waited / 1e9),
                        link_downed_total=number(f"{place}/counters/link_downed"),
                    )
                )
        return found


def gpu_place(sys: str, bus_id: str) -> tuple[int | None, list[int] | None]:
    """NUMA node and near CPUs of the GPU at this PCI address."""
    domain, _, rest = bus_id.lower().partition(":")
    place = f"{sys}/bus/pci/devices/{domain[-4:]}:{rest}"
    node = number(f"{place}/numa_node")
    cpus = text(f"{place}/local_cpulist")
    return (node if node is not None and node >= 0 else None), cpu_list(cpus)


def cpu_list(listed: str | None) -> list[int] | None:
    """`0-3,8` as numbers."""
    if not listed:
        return None
    found: list[int] = []
    for part in listed.split(","):
        first, _, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            return None
        found += range(int(first), int(last or first) + 1)
    return found


def driver_version(text: str | None) -> str | None:
    """The version in /proc/driver/nvidia/version: the first word that looks like one."""
    for word in (text or "").split():
        if word[0].isdigit() and word.count(".") >= 1 and word.replace(".", "").isdigit():
            return word
    return None


def _mapped(maps: str, name: str) -> str | None:
    """The path of a library that a process has mapped."""
    try:
        with open(maps, encoding="utf-8", errors="replace") as lines:
            line = next((line for line in lines if name in line), None)
    except OSError:
        return None
    return line[line.index("/") :].rstrip("\n").removesuffix(" (deleted)") if line else None


def pressure(path: str, kind: str) -> float | None:
    """Share of the last minute, in percent, that tasks stood still (PSI avg60)."""
    for line in (text(path) or "").splitlines():
        words = line.split()
        if words and words[0] == kind:
            for word in words[1:]:
                if word.startswith("avg60="):
                    return float(word[6:])
    return None


def _pairs(content: str | None, separator: str, wanted: tuple[str, ...]) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in (content or "").splitlines():
        name, _, value = line.partition(separator)
        if name in wanted:
            found[name] = int(value.split()[0])
            if len(found) == len(wanted):
                break
    return found


def _link(path: str) -> str | None:
    """The name that a link leads to."""
    try:
        return os.path.basename(os.readlink(path))
    except OSError:
        return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
