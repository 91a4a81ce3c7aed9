"""Finds the inference servers of this host and asks each for its metrics, at its own address only.

A server is found by its command line among the processes on the GPUs and above them. Where it listens is
told by its sockets, else by its `--port`, else by the engine's default. Servers that settings name are
asked as well. Each is asked once per snapshot, all at the same time, and never waited for longer than two
seconds: a server that hangs delays nobody else.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gpudiag.agent.files import text
from gpudiag.engines import TABLES, Table, option, put_flags, read, within_reason
from gpudiag.model import EngineReading, ProcessReading
from gpudiag.workloads import script_above, workload_of

ASK_SECONDS = 2.0
MOST_SERVERS = 32


@dataclass(frozen=True, slots=True)
class DeclaredServer:
    """A server that settings name: its engine and address (http://host:port)."""

    engine: str
    address: str
    name: str | None = None


@dataclass(slots=True)
class _Server:
    """One server as it is known between snapshots."""

    name: str
    table: Table | None
    engine: str
    address: str | None
    pid: int | None = None
    declared: bool = False
    by_ray: bool = False  # its workers are children of ray, which outlives the server: no parent tells
    ever_answered: bool = False
    history: dict[str, dict[str, float]] = field(default_factory=dict)
    reading: EngineReading | None = None
    asked: threading.Thread | None = None


_Key = tuple[str, int | None, float | None, str | None]


class Servers:
    """The inference servers of this host."""

    def __init__(self, proc: str = "/proc", declared: tuple[DeclaredServer, ...] = ()) -> None:
        self._proc = proc
        self._declared = declared
        self._known: dict[_Key, _Server] = {}

    def read(self, processes: list[ProcessReading]) -> list[EngineReading]:
        """One reading per server, those that do not answer included."""
        servers = self._find(processes)[:MOST_SERVERS]
        for server in servers:
            self._ask(server)
        for server in servers:
            if server.asked is not None:
                server.asked.join(ASK_SECONDS + 0.5)
        return [self._reading(server, processes) for server in servers]

    # ---- finding

    def _find(self, processes: list[ProcessReading]) -> list[_Server]:
        wanted: dict[_Key, _Server] = {}
        servers, orphans = self._servers_and_orphans(processes)
        found: list[tuple[_Key, str, ProcessReading]] = [
            ((engine, process.pid, process.started_at, None), engine, process) for engine, process in servers
        ]
        names = {known.name for key, *_ in found if (known := self._known.get(key)) is not None}
        for key, engine, process in found:
            server = wanted[key] = self._server_of(engine, process, self._known.get(key), names)
            names.add(server.name)
        for engine, process in orphans:
            key = (engine, process.pid, process.started_at, "orphan")
            wanted[key] = self._known.get(key) or _orphan(engine, process)
        for declared in self._declared:
            key = (declared.engine, None, None, declared.address)
            if any(server.address == declared.address for server in wanted.values()):
                continue
            wanted[key] = self._known.get(key) or _Server(
                _name_of(declared, names),
                TABLES.get(declared.engine),
                declared.engine,
                declared.address,
                declared=True,
            )
            names.add(wanted[key].name)
        self._known = wanted
        return list(wanted.values())

    def _servers_and_orphans(
        self, processes: list[ProcessReading]
    ) -> tuple[list[tuple[str, ProcessReading]], list[tuple[str, ProcessReading]]]:
        """Server processes, and one worker of each engine that has no server above it."""
        by_pid = {process.pid: process for process in processes}
        kinds = {process.pid: workload_of(process) for process in processes if process.hidden is None}
        servers = [
            (kind.engine, by_pid[pid])
            for pid, kind in kinds.items()
            if kind.kind == "engine" and kind.role == "server" and kind.engine and kind.engine != "other"
        ]
        # a server may start processes with its own command line: the topmost one listens
        pids = {process.pid for _, process in servers}
        servers = [(engine, process) for engine, process in servers if process.parent_pid not in pids]
        orphans: dict[str, ProcessReading] = {}
        for pid, kind in kinds.items():
            is_worker = kind.kind == "engine" and kind.role == "worker"
            if not is_worker or not kind.engine or script_above(by_pid[pid]) is not None:
                continue  # a script makes the engine itself: nobody listens
            if self._server_above(by_pid[pid], pids) is None:
                orphans.setdefault(kind.engine, by_pid[pid])
        return servers, list(orphans.items())

    def _server_above(self, process: ProcessReading, servers: set[int]) -> int | None:
        """Pid of the server that this process descends from."""
        parent, steps = process.parent_pid, 0
        while parent is not None and parent > 1 and steps < 8:
            if parent in servers:
                return parent
            steps += 1
            stat = text(f"{self._proc}/{parent}/stat")
            if stat is None:
                return None
            parent = int(stat[stat.rindex(")") + 2 :].split()[1])
        return None

    def _server_of(
        self, engine: str, process: ProcessReading, known: _Server | None, names: set[str]
    ) -> _Server:
        """The server as it is known; where it listens is looked up until it has answered once.

        Pods listen on one port each, often the same: a name that is taken gets the pid.
        """
        if known is not None and known.ever_answered:
            return known
        address = server_address(self._proc, engine, process)
        if known is None:
            name = f"{engine}:{_expected_port(engine, process) or f'pid{process.pid}'}"
            if name in names:
                name = f"{name}:pid{process.pid}"
            known = _Server(name, TABLES.get(engine), engine, address, process.pid)
        known.address = address
        return known

    # ---- asking

    def _ask(self, server: _Server) -> None:
        if server.table is None or server.address is None:
            server.reading = None
            return
        if server.asked is not None and server.asked.is_alive():
            return  # the question before is still out
        server.reading = None
        server.asked = threading.Thread(target=self._ask_now, args=(server,), daemon=True)
        server.asked.start()

    def _ask_now(self, server: _Server) -> None:
        assert server.table is not None and server.address is not None
        reading = read(server.table, server.address, server.name, server.history, ASK_SECONDS)
        if reading.metrics_ok:
            server.ever_answered = True
        server.reading = reading

    def _reading(self, server: _Server, processes: list[ProcessReading]) -> EngineReading:
        reading = server.reading or EngineReading(
            name=server.name, engine=server.engine, address=server.address, metrics_ok=False
        )
        reading.pid = server.pid
        reading.declared = server.declared or None
        reading.ever_answered = server.ever_answered
        self._put_workers(reading, server, processes)
        if reading.requests_running is None and server.pid is not None and server.table is not None:
            metrics = urlsplit(server.address or "").port if server.table.metrics_apart else None
            reading.connections = client_connections(self._proc, server.pid, metrics)
        if server.table is not None and server.pid is not None:
            command = next((process.command for process in processes if process.pid == server.pid), None)
            put_flags(reading, server.table.flags, command or "")
        return within_reason(reading)

    def _put_workers(self, reading: EngineReading, server: _Server, processes: list[ProcessReading]) -> None:
        workers = []
        gpus: set[int] = set()
        for process in processes:
            kind = workload_of(process)
            if kind.kind != "engine" or kind.engine != server.engine:
                continue
            above = self._server_above(process, {server.pid} if server.pid is not None else set())
            if process.pid == server.pid or (above is None) == (server.pid is None):
                gpus.update(use.gpu for use in process.gpus or ())
                if process.pid != server.pid:
                    workers.append(process.pid)
        reading.worker_pids = workers or None
        reading.gpus = sorted(gpus) or None
        if workers or server.pid is not None:
            reading.parent_alive = server.pid is not None and os.path.exists(f"{self._proc}/{server.pid}")
        reading.workers_by = "ray" if server.by_ray else None
        if server.by_ray or (server.declared and not workers):
            reading.parent_alive = None


def _name_of(declared: DeclaredServer, names: set[str]) -> str:
    """What a declared server is called: as settings say, else by its port, else by its whole address."""
    host = declared.address.rstrip("/").rpartition("/")[2]
    name = declared.name or f"{declared.engine}:{host.rpartition(':')[2]}"
    return f"{declared.engine}:{host}" if name in names else name


def server_address(proc: str, engine: str, process: ProcessReading) -> str | None:
    """Where the server is reached; None while there is nothing to ask.

    A port that the command line names is asked in any case. Without one it is asked where it listens; where
    only its children do (several API servers behind one port), at the engine's default port.
    """
    expected = _expected_port(engine, process)
    listening = listening_ports(proc, process.pid)
    if listening is None or expected in listening:  # its sockets are hidden from us, or tell what we expect
        port = expected
    elif listening:
        port = min(listening)
    elif _named_port(engine, process) is not None or expected in _ports(proc, process.pid):
        port = expected
    else:
        port = None
    return None if port is None else f"http://{_own_address(proc, process.pid)}:{port}"


def _named_port(engine: str, process: ProcessReading) -> int | None:
    table = TABLES.get(engine)
    value = option((process.command or "").split(), table.port_flags if table else ("--port",))
    return int(value) if value is not None and value.isdigit() and int(value) < 65536 else None


def _expected_port(engine: str, process: ProcessReading) -> int | None:
    """The port that the command line names, else the engine's default."""
    table = TABLES.get(engine)
    return _named_port(engine, process) or (table.port if table is not None else None)


def _orphan(engine: str, worker: ProcessReading) -> _Server:
    """A server that is known by a worker alone. Under ray it may live elsewhere: its port is then asked."""
    table = TABLES.get(engine)
    by_ray = "ray::" in f"{worker.command} {worker.name}"
    address = f"http://127.0.0.1:{table.port}" if by_ray and table is not None else None
    return _Server(f"{engine}:pid{worker.pid}", table, engine, address, by_ray=by_ray)


def _own_address(proc: str, pid: int) -> str:
    """Where the process is reached from here: loopback, or its own address in another network namespace."""
    try:
        if os.readlink(f"{proc}/{pid}/ns/net") == os.readlink(f"{proc}/self/ns/net"):
            return "127.0.0.1"
    except OSError:
        return "127.0.0.1"
    address: str | None = None
    for line in (text(f"{proc}/{pid}/net/fib_trie") or "").splitlines():
        if "|--" in line:
            address = line.rpartition(" ")[2]
        elif "host LOCAL" in line and address is not None and not address.startswith("127."):
            return address
    return "127.0.0.1"


def listening_ports(proc: str, pid: int) -> set[int] | None:
    """TCP ports on which the process listens; None where its handles are not ours to read."""
    try:
        names = os.listdir(f"{proc}/{pid}/fd")
    except OSError:
        return None
    inodes = set()
    for name in names:
        try:
            target = os.readlink(f"{proc}/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    return _ports(proc, pid, inodes)


def client_connections(proc: str, pid: int, but_port: int | None = None) -> int | None:
    """TCP connections that are open now to the ports on which a process listens, but for one of them.

    None where its ports are not known. A client that went away is not counted.
    """
    ports = (listening_ports(proc, pid) or set()) - {but_port}
    if not ports:
        return None
    return sum(state == ESTABLISHED and port in ports for port, state, _ in _sockets(proc, pid))


def _ports(proc: str, pid: int, inodes: set[str] | None = None) -> set[int]:
    """TCP ports open in the network of a process: of these sockets, or of anybody's."""
    return {
        port
        for port, state, inode in _sockets(proc, pid)
        if state == LISTEN and (inodes is None or inode in inodes)
    }


ESTABLISHED, LISTEN = "01", "0A"  # as the kernel writes them in /proc/net/tcp


def _sockets(proc: str, pid: int) -> Iterator[tuple[int, str, str]]:
    """(local port, state, inode) of every TCP socket in the network of a process."""
    for table in ("tcp", "tcp6"):
        for line in (text(f"{proc}/{pid}/net/{table}") or "").splitlines()[1:]:
            fields = line.split()
            if len(fields) > 9:
                yield int(fields[1].rpartition(":")[2], 16), fields[3], fields[9]
