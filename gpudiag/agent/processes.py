"""Facts about processes that use GPUs, from /proc: who, since when, what it does, where it belongs.

Read at each snapshot: state, parents, and by `activity.py` what it did. Read once per process: command line,
user, container.
"""

from __future__ import annotations

import os
import pwd
import re

from gpudiag.agent.activity import Activity, wait_channel
from gpudiag.agent.files import TICKS, Stat, raw, stat_of, text
from gpudiag.agent.holders import Holders, open_devices
from gpudiag.agent.host import cpu_list
from gpudiag.agent.masking import masked, printable
from gpudiag.model import GpuUse, ProcessReading
from gpudiag.workloads import workload_of_text

LIBRARIES_SECONDS = 60.0  # between two looks at mapped libraries
LIBRARIES_KNOWN_SECONDS = 600.0  # once they are known
MOST_PROCESSES = 200
LONGEST_COMMAND = 4096  # looked at to tell a server
LONGEST_LINE_OF_PARENTS = 12

_MAPPED = (
    ("jax", ("jaxlib", "xla_extension", "/jax/")),
    ("tensorflow", ("libtensorflow", "tensorflow_framework")),
    ("torch", ("libtorch", "libc10")),
    ("tensorrt", ("libnvinfer",)),
    ("cuda", ("libcudart", "libcuda.so")),
)
_RANKS = (
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "NODE_RANK",
    "MASTER_ADDR",  # with the port the same for all ranks of a job, on every node
    "MASTER_PORT",
    "SLURM_PROCID",
    "SLURM_JOB_ID",
    "OMPI_COMM_WORLD_RANK",
)
_CONTAINER = re.compile(r"(?:docker[-/]|cri-containerd[-:]|crio-|libpod-|containerd[-/])?([0-9a-f]{64})")
_POD = re.compile(r"pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})")
_SLURM = re.compile(r"/job_(\d+)")
_UNIT = re.compile(r"/([^/]+\.(?:service|scope))(?:/|$)")


class _Known:
    """What is kept of one process between snapshots."""

    def __init__(self, start: int, activity: Activity) -> None:
        self.start = start
        self.started_at: float | None = None  # kept: boot time, computed anew, wavers
        self.activity = activity
        self.command: str | None = None
        self.user: str | None = None
        self.frameworks: list[str] | None = None
        self.frameworks_at: float | None = None
        self.cpus: list[int] | None = None
        self.ranks: dict[str, str] | None = None
        self.place: dict[str, str] = {}
        self.cgroup: str | None = None
        self.read_once = False

    def tell(self, reading: ProcessReading) -> None:
        """Puts it into a reading."""
        reading.started_at = self.started_at
        reading.command, reading.user, reading.ranks = self.command, self.user, self.ranks
        reading.container, reading.pod = self.place.get("container"), self.place.get("pod")
        reading.slurm_job, reading.unit = self.place.get("slurm_job"), self.place.get("unit")
        reading.frameworks, reading.cpus_allowed = self.frameworks, self.cpus


class Processes:
    """Reads processes under `proc`; `sys` holds the cgroup files."""

    def __init__(self, proc: str = "/proc", sys: str = "/sys") -> None:
        self._proc = proc
        self._sys = sys
        self._known: dict[int, _Known] = {}
        self._holders = Holders(proc)
        self._users: dict[int, str] = {}
        self._booted_at: float | None = None
        self.sees_all = self._sees_all()

    @property
    def handles_visible(self) -> bool:
        """Whether the open files of all processes could be looked at."""
        return not self._holders.denied

    def read(
        self,
        uses: dict[int, list[GpuUse]],
        minors: dict[int, int],
        now: float,
        monotonic: float,
        booted_at: float | None,
    ) -> list[ProcessReading]:
        """Every process that uses a GPU or holds one open, and the servers above them.

        `uses`: what NVML says, by pid. `minors`: device file number → GPU index.
        """
        self._booted_at = booted_at
        holders = self._holders.read(monotonic)
        pids = list(uses)[:MOST_PROCESSES]
        pids += [pid for pid in holders if pid not in uses and pid != os.getpid()]
        found: dict[int, ProcessReading] = {}
        for pid in pids:
            found[pid] = self._read_one(pid, uses.get(pid), minors, monotonic, in_nvml=pid in uses)
        for pid in self._servers_above(found):
            found[pid] = self._read_one(pid, None, minors, monotonic, in_nvml=None)
        for pid in [pid for pid in self._known if pid not in found]:
            del self._known[pid]
        return list(found.values())

    # ---- one process

    def _read_one(
        self,
        pid: int,
        uses: list[GpuUse] | None,
        minors: dict[int, int],
        monotonic: float,
        *,
        in_nvml: bool | None,
    ) -> ProcessReading:
        reading = ProcessReading(pid=pid, gpus=uses, in_nvml=in_nvml)
        place = f"{self._proc}/{pid}"
        stat = stat_of(f"{place}/stat")
        if stat is None or (in_nvml and not self._is_the_same(pid, place)):
            return self._unseen(reading)
        known = self._known_of(pid, stat, place)
        reading.name = printable(stat.name)
        reading.state = stat.state
        reading.parent_pid = stat.parent or None
        reading.thread_count = stat.threads
        reading.last_cpu = stat.last_cpu
        if stat.state == "D":
            reading.wait_channel = wait_channel(place)
        self._read_parents(reading, stat)
        known.activity.read(reading, stat, known.cgroup, monotonic)
        self._read_frameworks(known, place, monotonic)
        known.tell(reading)
        opened = self._holders.found.get(pid)
        if opened is not None:
            reading.open_devices = sorted(minors[minor] for minor in opened if minor in minors)
        return reading

    def _unseen(self, reading: ProcessReading) -> ProcessReading:
        """A process that is not here: it ended, or it is not ours to see."""
        ours = reading.pid in self._known or self.sees_all
        reading.state = "gone" if ours else None
        reading.hidden = None if ours else True
        return reading

    def _known_of(self, pid: int, stat: Stat, place: str) -> _Known:
        """What is kept of a process, read where it is new; another one may have the pid by now."""
        known = self._known.get(pid)
        if known is None or known.start != stat.start:
            known = self._known[pid] = _Known(stat.start, Activity(self._proc, self._sys))
        if not known.read_once:
            self._read_once(known, place)
        if known.started_at is None:
            known.started_at = self._time_of(stat.start)
        return known

    def _is_the_same(self, pid: int, place: str) -> bool:
        """Whether a pid of NVML, which is the host's, means the process that has this pid here."""
        return self.sees_all or pid in self._known or bool(open_devices(f"{place}/fd"))

    def _read_once(self, known: _Known, place: str) -> None:
        command = raw(f"{place}/cmdline")
        if command:
            arguments = command.rstrip(b"\0").decode("utf-8", "replace").split("\0")
            known.command = masked(arguments)
        try:
            known.user = self._user(os.stat(place).st_uid)
        except OSError:
            known.user = None
        known.cgroup = _cgroup_of(text(f"{place}/cgroup"))
        known.place = belonging(known.cgroup or "")
        environment = raw(f"{place}/environ")
        if environment:
            known.ranks = _ranks(environment) or None
        known.read_once = bool(command)

    def _user(self, uid: int) -> str:
        name = self._users.get(uid)
        if name is None:
            try:
                name = pwd.getpwuid(uid).pw_name
            except KeyError:
                name = str(uid)  # a user of a container
            self._users[uid] = name
        return name

    def _time_of(self, start: int) -> float | None:
        """Unix seconds of a start in ticks since boot."""
        return None if self._booted_at is None else float(round(self._booted_at + start / TICKS))

    def _read_parents(self, reading: ProcessReading, stat: Stat) -> None:
        names: list[str] = []
        parent = stat.parent
        while parent > 0 and len(names) < LONGEST_LINE_OF_PARENTS:
            above = stat_of(f"{self._proc}/{parent}/stat")
            if above is None:
                break
            names.append(printable(above.name))
            parent = above.parent
        reading.parents = names
        reading.parent_name = names[0] if names else None

    def _read_frameworks(self, known: _Known, place: str, monotonic: float) -> None:
        """Which libraries it has mapped and where it may run; looked at often until it has loaded them."""
        if known.frameworks_at is not None:
            wait = LIBRARIES_KNOWN_SECONDS if known.frameworks else LIBRARIES_SECONDS
            if monotonic - known.frameworks_at < wait:
                return
        known.frameworks_at = monotonic
        known.cpus = cpus_allowed(text(f"{place}/status"))
        maps = raw(f"{place}/maps")
        if maps:
            content = maps.decode("utf-8", "replace")
            known.frameworks = [
                name for name, parts in _MAPPED if any(part in content for part in parts)
            ] or None

    # ---- who else

    def _servers_above(self, found: dict[int, ProcessReading]) -> list[int]:
        """Pids of the inference servers that started the workers found: alive is told by them."""
        servers: list[int] = []
        for reading in list(found.values()):
            parent, steps = reading.parent_pid, 0
            while parent is not None and parent > 1 and steps < 4:
                steps += 1
                if parent in found or parent in servers:
                    break
                stat = stat_of(f"{self._proc}/{parent}/stat")
                if stat is None:
                    break
                command = (raw(f"{self._proc}/{parent}/cmdline") or b"").replace(b"\0", b" ")
                words = command[:LONGEST_COMMAND].decode("utf-8", "replace").strip()
                kind = workload_of_text(f"{words}\n{stat.name}")
                if kind.kind == "engine" and kind.role == "server":
                    servers.append(parent)
                parent = stat.parent
        return servers

    def _sees_all(self) -> bool:
        """Whether this is the host's own view: there pid 2 is the kernel's."""
        return text(f"{self._proc}/2/comm") == "kthreadd"


# ------------------------------------------------------------------------------------ single files


def belonging(cgroup: str) -> dict[str, str]:
    """Container, pod, Slurm job and unit that a cgroup path tells of."""
    found: dict[str, str] = {}
    container = _CONTAINER.search(cgroup)
    if container is not None:
        found["container"] = container[1][:12]
    pod = _POD.search(cgroup)
    if pod is not None:
        found["pod"] = pod[1].replace("_", "-")
    job = _SLURM.search(cgroup)
    if job is not None:
        found["slurm_job"] = job[1]
    units = [name for name in _UNIT.findall(cgroup) if "docker" not in name and "cri-" not in name]
    if units:
        found["unit"] = units[-1]
    return found


def cpus_allowed(status: str | None) -> list[int] | None:
    """The CPUs that /proc/PID/status lists as allowed."""
    for line in (status or "").splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return cpu_list(line.partition(":")[2].strip())
    return None


def _cgroup_of(content: str | None) -> str | None:
    """The unified path; of version 1 the longest, which names the container or job."""
    paths = [line.split(":", 2)[2] for line in (content or "").splitlines() if line.count(":") >= 2]
    unified = [line[3:] for line in (content or "").splitlines() if line.startswith("0::")]
    if unified and unified[0] != "/":
        return unified[0]
    return max(paths, key=len) if paths else None


def _ranks(environment: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in environment.split(b"\0"):
        name, _, value = entry.partition(b"=")
        key = name.decode("ascii", "replace")
        if key in _RANKS:
            found[key] = printable(value.decode("utf-8", "replace"))[:32]
    return found
