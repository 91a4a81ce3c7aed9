"""A small tree of files that looks like /proc, /sys and /dev/kmsg of one host."""

from __future__ import annotations

import os
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


class FakeHost:
    """The files of one host; what a test sets is there at the agent's next look."""

    def __init__(self, root: Path, *, sees_all: bool = True) -> None:
        self.proc, self.sys, self.kmsg = root / "proc", root / "sys", root / "kmsg"
        self.proc.mkdir()
        self.sys.mkdir()
        self.kmsg.write_bytes(b"")
        self._sequence = 0
        self.file("sys/kernel/random/boot_id", "11111111-2222-3333-4444-555555555555")
        self.up_for(10_000)
        self.cpu(idle=1000)
        self.file("loadavg", "0.50 0.40 0.30 1/100 123")
        self.file("meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\n")
        if sees_all:
            self.process(2, "kthreadd", parent=0)

    def file(self, path: str, content: str | bytes) -> None:
        """A file under /proc."""
        self._write(self.proc / path, content)

    def sys_file(self, path: str, content: str) -> None:
        """A file under /sys."""
        self._write(self.sys / path, content)

    def up_for(self, seconds: float) -> None:
        self.file("uptime", f"{seconds:.2f} 0.00")

    def cpu(self, *, idle: int, busy: int = 0, iowait: int = 0, cores: int = 2) -> None:
        """Ticks since boot, of each of the cores."""
        line = f"{busy} 0 0 {idle} {iowait} 0 0 0 0 0"
        total = f"{busy * cores} 0 0 {idle * cores} {iowait * cores} 0 0 0 0 0"
        self.file(
            "stat", "\n".join([f"cpu {total}", *(f"cpu{n} {line}" for n in range(cores)), "intr 1 2 3"])
        )

    def process(
        self,
        pid: int,
        name: str,
        command: list[str] | None = None,
        *,
        parent: int = 1,
        state: str = "S",
        cpu: int = 0,
        started: float = 100.0,
        threads: dict[int, tuple[str, int]] | None = None,
        cgroup: str = "0::/",
        opens: list[str] | None = None,
        maps: str = "",
    ) -> None:
        """A process. `cpu` in ticks, `started` in seconds after boot, `threads` tid → name and ticks."""
        place = f"{pid}"
        whole, name = name, name[:15]  # the kernel cuts it
        every = threads or {pid: (name, cpu)}
        self.file(f"{place}/stat", _stat(pid, name, state, parent, cpu, len(every), started))
        self.file(f"{place}/comm", name)
        self.file(f"{place}/cmdline", "".join(f"{word}\0" for word in command or [whole]))
        self.file(f"{place}/cgroup", cgroup)
        self.file(f"{place}/maps", maps)
        self.file(f"{place}/statm", "1000 250 0 0 0 0 0")
        self.file(f"{place}/io", "rchar: 9\nread_bytes: 0\nwrite_bytes: 0\n")
        self.file(f"{place}/status", "Cpus_allowed_list:\t0-1\n")
        for tid, (thread, ticks) in every.items():
            self.file(f"{place}/task/{tid}/stat", _stat(tid, thread, state, parent, ticks, 1, started))
        folder = self.proc / place / "fd"
        folder.mkdir(exist_ok=True)
        for number, target in enumerate(opens or []):
            link = folder / str(number)
            link.unlink(missing_ok=True)
            link.symlink_to(target)

    def ends(self, pid: int) -> None:
        """The process is no more."""
        for path in sorted((self.proc / str(pid)).rglob("*"), reverse=True):
            path.unlink() if path.is_symlink() or path.is_file() else path.rmdir()
        (self.proc / str(pid)).rmdir()

    def logs(self, message: str, *, seconds: float = 1.0) -> None:
        """A line of the kernel log, so many seconds after boot."""
        with self.kmsg.open("ab") as file:
            file.write(f"4,{self._sequence},{round(seconds * 1e6)},-;{message}\n SUBSYSTEM=pci\n".encode())
        self._sequence += 1

    def _write(self, path: Path, content: str | bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def _stat(pid: int, name: str, state: str, parent: int, cpu: int, threads: int, started: float) -> str:
    before = f"{pid} ({name}) {state} {parent} 0 0 0 0 0 0 0 0 0 {cpu} 0 0 0 20 0 {threads} 0"
    return f"{before} {round(started * TICKS)} 0 0 " + " ".join(["0"] * 14) + " 1 0 0"
