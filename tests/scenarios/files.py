"""The files of one host as time goes on: ticks of CPUs and threads, bytes read, pressure, ports."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.agent.machine import TICKS, FakeHost

BOOT_ID = "11111111-2222-3333-4444-555555555555"


@dataclass
class Tale:
    """A process as its files will tell of it; percent are of one core."""

    pid: int
    name: str
    command: list[str]
    parent: int = 1
    state: str = "S"
    cpu: float = 1.0
    threads: dict[str, float] = field(default_factory=dict)  # name → percent, beside the main thread
    workers: dict[str, float] = field(default_factory=dict)  # child processes: name → percent
    reads: float = 0.0  # bytes per second
    writes: float = 0.0
    started: float = 0.0  # seconds after boot
    cgroup: str = "0::/"
    opens: tuple[str, ...] = ()
    libraries: str = ""
    cpus: str | None = None
    ranks: dict[str, str] = field(default_factory=dict)
    wait_channel: str | None = None
    port: int | None = None  # it listens here
    ticks: dict[str, float] = field(default_factory=dict)  # what was used so far
    read: float = 0.0
    written: float = 0.0


class HostFiles(FakeHost):
    """`tell(seconds)` brings all files to a moment, in seconds since the story began."""

    def __init__(
        self, root: Path, *, cores: int = 8, up_seconds: float = 864_000.0, sees_all: bool = True
    ) -> None:
        super().__init__(root, sees_all=sees_all)
        self.cores = cores
        self.up_seconds = up_seconds  # at the beginning of the story
        self.at = 0.0
        self.busy_percent: list[float] = [3.0] * cores
        self.iowait_percent = 0.0
        self.tales: dict[int, Tale] = {}
        self._ticks = [[1000.0, 100_000.0, 10.0] for _ in range(cores)]  # busy, idle, iowait
        self.file("sys/kernel/random/boot_id", BOOT_ID)
        self.machine(memory_total_gib=512, memory_available_gib=450)
        self.process(1, "systemd" if sees_all else "tini", parent=0)
        self.pressure()
        self.file("vmstat", "pswpin 0\n")
        self.file("modules", "nvidia_uvm 1 0 - Live 0x0\nnvidia 2 1 nvidia_uvm, Live 0x0\n")
        self.file("self/mounts", "/dev/sda1 / ext4 rw 0 0\n")
        self.tell(0.0)

    # ---- what is set

    def machine(self, *, memory_total_gib: float, memory_available_gib: float) -> None:
        """Memory of the host."""
        total, free = (round(gib * 2**20) for gib in (memory_total_gib, memory_available_gib))
        self.file("meminfo", f"MemTotal: {total} kB\nMemFree: {free} kB\nMemAvailable: {free} kB\n")

    def pressure(self, *, cpu: float = 0.0, io: float = 0.0, memory: float = 0.0) -> None:
        """Pressure stall information, percent of the last minute."""
        for name, value in (("cpu", cpu), ("io", io), ("memory", memory)):
            lines = "".join(
                f"{kind} avg10={value:.2f} avg60={value:.2f} avg300={value:.2f} total=0\n"
                for kind in ("some", "full")
            )
            self.file(f"pressure/{name}", lines)

    def gpu_on_bus(self, bus_id: str, *, numa_node: int = 0, cpus: str | None = None) -> None:
        """A display controller of NVIDIA on the PCI bus."""
        place = f"bus/pci/devices/{bus_id.lower()[4:]}"
        self.sys_file(f"{place}/vendor", "0x10de\n")
        self.sys_file(f"{place}/class", "0x030200\n")
        self.sys_file(f"{place}/numa_node", f"{numa_node}\n")
        self.sys_file(f"{place}/local_cpulist", cpus or f"0-{self.cores - 1}")

    def infiniband(self, name: str, *, state: str = "4: ACTIVE", gigabits: int = 400, downs: int = 0) -> None:
        """A port of an InfiniBand card."""
        place = f"class/infiniband/{name}/ports/1"
        self.sys_file(f"{place}/state", state)
        self.sys_file(f"{place}/rate", f"{gigabits} Gb/sec (4X NDR)")
        for counter, value in (("port_rcv_data", 0), ("port_xmit_data", 0), ("port_xmit_wait", 0)):
            self.sys_file(f"{place}/counters/{counter}", str(value))
        self.sys_file(f"{place}/counters/link_downed", str(downs))

    def runs(self, tale: Tale) -> Tale:
        """A process, new or changed; its counters go on."""
        before = self.tales.get(tale.pid)
        if before is not None:
            tale.ticks, tale.read, tale.written = before.ticks, before.read, before.written
        self.tales[tale.pid] = tale
        every = self._threads(tale)
        self.process(
            tale.pid, tale.name, tale.command, parent=tale.parent, state=tale.state,
            started=tale.started, cgroup=tale.cgroup, opens=[*tale.opens, *self._socket(tale)],
            maps=tale.libraries, threads=every,
        )  # fmt: skip
        if tale.ranks:
            content = "".join(f"{name}={value}\0" for name, value in tale.ranks.items())
            self.file(f"{tale.pid}/environ", content)
        self.file(f"{tale.pid}/status", f"Cpus_allowed_list:\t{tale.cpus or f'0-{self.cores - 1}'}\n")
        self.file(f"{tale.pid}/wchan", tale.wait_channel or "0")
        self._progress(tale, 0.0)
        return tale

    def ends(self, pid: int) -> None:
        tale = self.tales.pop(pid, None)
        for number in range(len(tale.workers) if tale else 0):
            super().ends(_worker_pid(pid, number))
        super().ends(pid)

    def uses_cpu(self, *cores: float, iowait: float = 0.0) -> None:
        """Percent of each of the first cores; the others rest at 3."""
        self.busy_percent = [*cores, *[3.0] * (self.cores - len(cores))]
        self.iowait_percent = iowait

    def cgroup_file(self, cgroup: str, name: str, content: str) -> None:
        """A file of a control group, `/kubepods…`."""
        self.sys_file(f"fs/cgroup{cgroup}/{name}", content)

    # ---- time

    def tell(self, seconds: float) -> None:
        """Brings every file to this moment."""
        span, self.at = seconds - self.at, seconds
        self.up_for(self.up_seconds + seconds)
        lines = []
        for core, ticks in enumerate(self._ticks):
            busy = self.busy_percent[core] / 100
            waits = min(1 - busy, self.iowait_percent / 100)
            for place, share in enumerate((busy, 1 - busy - waits, waits)):
                ticks[place] += share * span * TICKS
            used, idle, iowait = map(int, ticks)
            lines.append(f"cpu{core} {used} 0 0 {idle} {iowait} 0 0 0 0 0")
        used, idle, iowait = (sum(int(ticks[place]) for ticks in self._ticks) for place in range(3))
        self.file("stat", "\n".join([f"cpu {used} 0 0 {idle} {iowait} 0 0 0 0 0", *lines, "intr 1"]))
        for tale in self.tales.values():
            self._progress(tale, span)

    def logged(self, message: str) -> None:
        """A line of the kernel log, now."""
        self.logs(message, seconds=self.up_seconds + self.at)

    def floods(self, message: str, times: int) -> None:
        """The same line again and again, now."""
        stamp = round((self.up_seconds + self.at) * 1e6)
        numbers = range(self._sequence, self._sequence + times)
        with self.kmsg.open("ab") as log:
            log.write("".join(f"4,{number},{stamp},-;{message}\n" for number in numbers).encode())
        self._sequence += times

    def kernel_lines(self) -> list[str]:
        """The records of the kernel log."""
        if not self.kmsg.exists():
            return []
        lines = self.kmsg.read_text(errors="replace").splitlines()
        return [line for line in lines if line and not line.startswith(" ")]

    # ---- inside

    def _threads(self, tale: Tale) -> dict[int, tuple[str, int]]:
        named = {tale.pid + 1 + number: name for number, name in enumerate(tale.threads)}
        every = {tale.pid: (tale.name, round(tale.ticks.get("", 0.0)))}
        return every | {tid: (name, round(tale.ticks.get(name, 0.0))) for tid, name in named.items()}

    def _progress(self, tale: Tale, span: float) -> None:
        main = max(0.0, tale.cpu - sum(tale.threads.values()))
        for name, percent in (("", main), *tale.threads.items()):
            tale.ticks[name] = tale.ticks.get(name, 0.0) + percent / 100 * span * TICKS
        tale.read += tale.reads * span
        tale.written += tale.writes * span
        whole = round(sum(tale.ticks[name] for name in ("", *tale.threads)))
        place = f"{tale.pid}"
        count = 1 + len(tale.threads)
        self.file(f"{place}/stat", _stat(tale, tale.name, whole, count))
        for tid, (name, ticks) in self._threads(tale).items():
            self.file(f"{place}/task/{tid}/stat", _stat(tale, name, ticks, 1))
        self.file(
            f"{place}/io", f"rchar: 9\nread_bytes: {round(tale.read)}\nwrite_bytes: {round(tale.written)}\n"
        )
        self._workers(tale, span)

    def _workers(self, tale: Tale, span: float) -> None:
        """Child processes, which only feed it."""
        pids = []
        for number, (name, percent) in enumerate(tale.workers.items()):
            key = f"worker {name}"
            tale.ticks[key] = tale.ticks.get(key, 0.0) + percent / 100 * span * TICKS
            pid = _worker_pid(tale.pid, number)
            child = Tale(pid, name, [name], parent=tale.pid, started=tale.started)
            self.file(f"{pid}/stat", _stat(child, name, round(tale.ticks[key]), 1))
            pids.append(str(pid))
        if pids:
            self.file(f"{tale.pid}/task/{tale.pid}/children", " ".join(pids) + " ")

    def _socket(self, tale: Tale) -> list[str]:
        if tale.port is None:
            return []
        inode = 900_000 + tale.pid
        head = "  sl  local_address rem_address   st tx rx tr tm->when retrnsmt uid timeout inode\n"
        queues = "00000000:00000000 00:00000000 00000000"
        line = f"   0: 0100007F:{tale.port:04X} 00000000:0000 0A {queues} 0 0 {inode} 1\n"
        self.file(f"{tale.pid}/net/tcp", head + line)
        return [f"socket:[{inode}]"]


def _worker_pid(pid: int, number: int) -> int:
    return 100_000 + 100 * pid + number


def _stat(tale: Tale, name: str, cpu: int, threads: int) -> str:
    before = f"{tale.pid} ({name}) {tale.state} {tale.parent} 0 0 0 0 0 0 0 0 0 {cpu} 0 0 0 20 0 {threads} 0"
    return f"{before} {round(tale.started * TICKS)} 0 0 " + " ".join(["0"] * 14) + " 1 0 0"


def folder() -> Path | None:
    """Memory rather than disk, where there is such a place: the files change every ten seconds."""
    shared = Path("/dev/shm")
    return shared if os.access(shared, os.W_OK) else None
