"""What the API costs, each beside an empty Flask endpoint under the same server in the same run.

    python -m benchmarks.api ingest      requests per core: report, commit and judge, against nothing at all
    python -m benchmarks.api diagnose    /diagnose?node= warm: p95, against nothing at all
    python -m benchmarks.api fleet       2,000 nodes at 10 s with readers: CPU, ack p99, memory
    python -m benchmarks.api judge       judging alone, 8 GPUs, and the memory of their window

`requests per core` is requests divided by the processor time of the server's process, from /proc, so that a
busy machine does not change it. A report is one node with 8 GPUs, ten samples of each fast metric, an engine
and ten processes, sent as the agent sends it (zstd).
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import queue
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import zstandard

from gpudiag.model import Samples, Snapshot
from gpudiag.rules.situations import GIB, Situation, vllm_processes
from gpudiag.window import Window

TICKS = os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------------------------------- reports


def template(gpus: int = 8) -> Snapshot:
    """A node that serves under load, as its agent reports it."""
    situation = Situation(gpus=gpus)
    situation.all_gpus(
        memory_used_bytes=75 * GIB, power_watts=[520.4, 540.2, 497.9], sm_clock_megahertz=[1755.0, 1740.0],
        utilization_percent=[88.0, 95.0, 97.0, 91.0], memory_utilization_percent=[40.0, 44.0],
        temperature_celsius=58.0, clocks_event_reasons=0x4,
    )  # fmt: skip
    vllm_processes(situation)
    for pid in range(5_000, 5_008):
        situation.runs(
            {pid - 5_000: 900 << 20}, pid=pid, name="python3", command="python3 worker.py --rank 1"
        )
    situation.serves("vllm", pid=4100, worker_pids=[4121], gpus=list(range(gpus)), requests_running=24.0,
                     rates={"generation_tokens_total": 1500.0})  # fmt: skip
    caught: list[bytes] = []

    class Catcher(Window):
        def add(self, snapshot: Snapshot, received_at: float | None = None) -> None:
            caught.append(msgspec.json.encode(snapshot))

    situation.window = Catcher("bench")
    situation.reports()
    return msgspec.json.decode(caught[0], type=Snapshot)


class Reports:
    """Encoded reports of many nodes; noise keeps them from compressing better than real ones."""

    def __init__(self, gpus: int = 8, variants: int = 8) -> None:
        self.bodies: list[bytes] = []
        chance = random.Random(1)
        for _ in range(variants):
            snapshot = template(gpus)
            for gpu in snapshot.gpus:
                assert isinstance(gpu.samples, Samples)
                gpu.samples.power_watts = [round(chance.uniform(400, 600), 2) for _ in range(10)]
                gpu.samples.utilization_percent = [float(chance.randint(85, 100)) for _ in range(10)]
                gpu.samples.sm_clock_megahertz = [float(chance.randint(1600, 1900)) for _ in range(10)]
                gpu.samples.memory_used_bytes = [75 * GIB + chance.randint(0, 1 << 30) for _ in range(10)]
            snapshot.node, snapshot.taken_at = "@NODE@", 1234567890.125
            assert snapshot.agent is not None
            snapshot.agent.start_id, snapshot.agent.sequence = "@START@", 987654321
            snapshot.engines[0].generation_tokens_total = 123456789.5
            self.bodies.append(msgspec.json.encode(snapshot))

    def report(self, node: str, sequence: int, taken_at: float) -> bytes:
        return _packed(self.plain(node, sequence, taken_at))

    def history(self, node: str, first: int, count: int, until: float, interval: float) -> bytes:
        """`count` reports of one node in one body, the last one taken at `until`."""
        at = until - interval * (count - 1)
        reports = [self.plain(node, first + i, at + interval * i) for i in range(count)]
        return _packed(b"[" + b",".join(reports) + b"]")

    def plain(self, node: str, sequence: int, taken_at: float) -> bytes:
        body = self.bodies[sequence % len(self.bodies)]
        body = body.replace(b"@NODE@", node.encode(), 1).replace(b"@START@", f"{node}-start".encode(), 1)
        body = body.replace(b"1234567890.125", f"{taken_at:.3f}".encode(), 1)
        body = body.replace(b"123456789.5", f"{15_000.0 * sequence}".encode(), 1)
        return body.replace(b"987654321", str(sequence).encode(), 1)


def _packed(body: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=3).compress(body)


# ---------------------------------------------------------------------------------------- servers


SERVE = """
import sys, time
from gpudiag.settings import load
from api.app import create_app, close
from api.server import Server
which, store = sys.argv[1:3]
if which == "empty":
    from flask import Flask
    app = Flask("empty")
    app.add_url_rule("/empty", "empty", lambda: "", methods=["GET", "POST"])
    server = Server(app, port=0).start()
else:
    server = Server(create_app(load(environ={}, given={"serve": {"store": store}})), port=0).start()
print(server.port, flush=True)
server.wait()
server.stop()
"""


class Running:
    """A server in a process of its own."""

    def __init__(self, which: str, folder: Path) -> None:
        self.store = f"sqlite:///{folder}/{which}.sqlite3"
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVE, which, self.store], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_mib(self) -> float:
        for line in Path(f"/proc/{self.process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextmanager
def servers(*names: str) -> Iterator[list[Running]]:
    with tempfile.TemporaryDirectory() as folder:
        running = [Running(name, Path(folder)) for name in names]
        try:
            yield running
        finally:
            for server in running:
                server.stop()


Ask = Callable[[http.client.HTTPConnection], tuple[int, bytes]]


def posting(path: str, body: bytes) -> Ask:
    headers = {"Content-Encoding": "zstd", "Content-Type": "application/json"}

    def ask(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    return ask


def getting(path: str) -> Ask:
    def ask(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()

    return ask


def load(port: int, asks: list[Ask], connections: int) -> list[float]:
    """Ask everything over keep-alive connections; latencies in seconds. Anything but 2xx ends the run."""
    waiting: queue.SimpleQueue[Ask] = queue.SimpleQueue()
    for ask in asks:
        waiting.put(ask)
    latencies: list[float] = []
    wrong: list[tuple[int, bytes]] = []

    def work() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        while not wrong:
            try:
                ask = waiting.get_nowait()
            except queue.Empty:
                break
            started = time.perf_counter()
            status, body = ask(connection)
            latencies.append(time.perf_counter() - started)
            if not 200 <= status < 300:
                wrong.append((status, body))
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise SystemExit(f"the server answered {wrong[0][0]}: {wrong[0][1][:300]!r}")
    return latencies


def per_core(server: Running, asks: list[Ask], connections: int = 16) -> float:
    before = server.processor_seconds()
    load(server.port, asks, connections)
    return len(asks) / (server.processor_seconds() - before)


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


# --------------------------------------------------------------------------------------- questions


NODES, FILLING, TURNS = 64, 40, 8  # first the windows are filled


def ingest(options: argparse.Namespace) -> None:
    """Short rounds, ours and then the empty one: a machine that is slower for a while is so for both."""
    with servers("empty", "api") as (empty, api):
        for connections in (1, 16):
            rounds = 5 * options.rounds
            turns = _turns(f"node-{connections}", FILLING + TURNS * rounds)
            load(api.port, [ask for _ in range(FILLING) for ask in next(turns)], connections)
            ours, nothing = [], []
            for _ in range(rounds):
                asks = [ask for _ in range(TURNS) for ask in next(turns)]
                ours.append(per_core(api, asks, connections))
                nothing.append(per_core(empty, [getting("/empty")] * (3 * len(asks)), connections))
            shares = sorted(a / b for a, b in zip(ours, nothing, strict=True))
            low, high = shares[rounds // 4], shares[3 * rounds // 4]
            print(
                f"over {connections} connections: empty {statistics.median(nothing):,.0f}/s per core,"
                f" ingest {statistics.median(ours):,.0f}/s per core: {statistics.median(shares):.1%}"
                f" (goal: 20 %; half of the rounds between {low:.1%} and {high:.1%})"
            )


def _turns(name: str, count: int) -> Iterator[list[Ask]]:
    """Reports of all nodes, turn by turn; the last is of now."""
    reports, starts_at = Reports(), time.time() - INTERVAL * (count + 1)
    for turn in range(count):
        at = starts_at + INTERVAL * turn
        yield [posting("/v1/snapshots", reports.report(f"{name}-{node}", turn, at)) for node in range(NODES)]


def diagnose(options: argparse.Namespace) -> None:
    reports = Reports()
    with servers("empty", "api") as (empty, api):
        start = time.time() - 400
        for sequence in range(40):
            load(
                api.port,
                [posting("/v1/snapshots", reports.report("node-1", sequence, start + 10 * sequence))],
                1,
            )
        for path in ("/diagnose?node=node-1", "/v1/nodes/node-1"):
            ours, nothing = [], []
            for _ in range(options.rounds):
                ours += load(api.port, [getting(path)] * 300, 1)
                nothing += load(empty.port, [getting("/empty")] * 300, 1)
            a, b = percentile(ours, 0.95), percentile(nothing, 0.95)
            print(f"{path}: p50 {statistics.median(ours) * 1e3:.2f} ms, p95 {a * 1e3:.2f} ms; empty endpoint "
                  f"p95 {b * 1e3:.2f} ms: {a / b:.1f} times (goal: 15 ms, 5 times)")  # fmt: skip


INTERVAL = 10.0
WARM_ROUNDS = 2  # while the windows were filled, their nodes were silent: first that has to be over


class Sent(NamedTuple):
    """What one sender saw."""

    latencies: list[float]
    late: list[float]
    refused: int
    spent: float  # processor time


class Sender:
    """Some of the fleet's agents in a process of their own, each with its connection.

    Every report is packed before the first is sent, so that sending costs next to nothing.
    """

    def __init__(self, port: int, nodes: list[int], rounds: int, starts_at: float, threads: int = 16) -> None:
        self.port, self.nodes, self.rounds, self.threads = port, nodes, rounds, threads
        self.starts_at, self.counts_from = starts_at, starts_at + WARM_ROUNDS * INTERVAL
        self._sent: multiprocessing.Queue[Sent] = multiprocessing.get_context("fork").Queue()
        self._process = multiprocessing.get_context("fork").Process(target=self._run)

    def start(self) -> None:
        self._process.start()

    def result(self) -> Sent:
        sent = self._sent.get()
        self._process.join()
        return sent

    def _run(self) -> None:
        reports = Reports()
        due = [(self.starts_at + INTERVAL * (turn + place / len(self.nodes)), 100 + turn, node)
               for turn in range(self.rounds) for place, node in enumerate(self.nodes)]  # fmt: skip
        requests = [
            (at, node, _request(reports.report(f"node-{node}", number, at))) for at, number, node in due
        ]
        if time.time() > self.starts_at:
            print(f"  packing took {time.time() - self.starts_at:.1f} s too long")
        before = time.process_time()
        latencies: list[float] = []
        late: list[float] = []
        refused: list[bytes] = []

        def work(which: int) -> None:
            connections: dict[int, socket.socket] = {}
            # A node keeps to its thread: a connection that rests for half a minute is closed.
            mine = [one for i, one in enumerate(requests) if i % len(self.nodes) % self.threads == which]
            for at, node, request in mine:
                time.sleep(max(0.0, at - time.time()))
                if node not in connections:  # the first time, or it was closed
                    connections[node] = socket.create_connection(("127.0.0.1", self.port))
                if at >= self.counts_from:
                    late.append(time.time() - at)
                started = time.perf_counter()
                connections[node].sendall(request)
                answer = _answer(connections[node])
                if at >= self.counts_from:
                    latencies.append(time.perf_counter() - started)
                if not answer.startswith(b"HTTP/1.1 200"):
                    refused.append(answer[:16])
                    connections.pop(node).close()
            for connection in connections.values():
                connection.close()

        workers = [threading.Thread(target=work, args=(i,)) for i in range(self.threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if refused:
            print(f"  refused: {Counter(refused).most_common(3)}")
        self._sent.put(Sent(latencies, late, len(refused), time.process_time() - before))


def _request(body: bytes) -> bytes:
    head = (
        "POST /v1/snapshots HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Content-Encoding: zstd\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _answer(connection: socket.socket) -> bytes:
    """A whole answer, which may come in two parts."""
    answer = connection.recv(4096)
    while answer and (b"\r\n\r\n" not in answer or answer.endswith(b"\r\n\r\n")):
        part = connection.recv(4096)
        if not part:
            break
        answer += part
    return answer


def _newest(port: int) -> str:
    """The cursor of the newest finding."""
    connection, newest = http.client.HTTPConnection("127.0.0.1", port), ""
    while True:
        _, body = getting(f"/v1/findings?limit=1000&after={newest}")(connection)
        more = json.loads(body)["next"]
        if more is None:
            connection.close()
            return newest
        newest = more


def _read(port: int, nodes: int, until: float, newest: str) -> list[float]:
    """Somebody who looks twice a second: at a node, at the worst fifty, at what is new; seconds of each."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took, turn = [], 0
    while time.time() < until:
        paths = (f"/diagnose?node=node-{turn * 37 % nodes}", f"/v1/nodes/node-{turn * 41 % nodes}",
                 "/v1/nodes?limit=50", f"/v1/findings?after={newest}")  # fmt: skip
        started = time.perf_counter()
        _, body = getting(paths[turn % len(paths)])(connection)
        took.append(time.perf_counter() - started)
        if turn % len(paths) == 3:
            newest = json.loads(body)["next"] or newest
        turn += 1
        time.sleep(0.5)
    connection.close()
    return took


def fill(api: Running, nodes: int, until: float) -> None:
    """Five minutes of every node's past, a request each."""
    reports, started, before = Reports(), time.time(), api.processor_seconds()
    for first in range(0, nodes, 200):
        asks = [
            posting("/v1/snapshots", reports.history(f"node-{i}", 0, 31, until, INTERVAL))
            for i in range(first, min(nodes, first + 200))
        ]
        load(api.port, asks, 4)
    spent = api.processor_seconds() - before
    print(f"filled {nodes} windows with 31 snapshots each in {time.time() - started:.0f} s, {spent:.0f} s of "
          f"a core; {api.resident_mib():.0f} MiB PSS")  # fmt: skip


def fleet(options: argparse.Namespace) -> None:
    """Open loop: every node reports every ten seconds at its own phase, over a connection that stays."""
    nodes, rounds = options.nodes, WARM_ROUNDS + max(1, round(options.seconds / INTERVAL))
    with servers("api") as (api,):
        if options.fill:
            fill(api, nodes, time.time() - 2 * INTERVAL)
        starts_at = time.time() + 3.0 + nodes * rounds * options.packing
        everyone = list(range(nodes))
        senders = [
            Sender(api.port, everyone[which :: options.senders], rounds, starts_at)
            for which in range(options.senders)
        ]
        for sender in senders:
            sender.start()
        ends_at = starts_at + rounds * INTERVAL
        starts_at += WARM_ROUNDS * INTERVAL
        newest = _newest(api.port)
        time.sleep(max(0.0, starts_at - time.time()))
        before = api.processor_seconds()
        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(_read, api.port, nodes, ends_at, newest) for _ in range(2)]
            sent = [sender.result() for sender in senders]
            reads = [seconds for reader in readers for seconds in reader.result()]
        took = time.time() - starts_at
        spent = (api.processor_seconds() - before) / took
        latencies = [seconds for one in sent for seconds in one.latencies]
        late = [seconds for one in sent for seconds in one.late]
        print(f"{nodes} nodes at {INTERVAL:g} s for {took:.0f} s: {spent:.1%} of a core, "
              f"ack p50 {statistics.median(latencies) * 1e3:.1f} ms, "
              f"p99 {percentile(latencies, 0.99) * 1e3:.1f} ms, max {max(latencies) * 1e3:.0f} ms, "
              f"{sum(one.refused for one in sent)} refused of {len(latencies)}")  # fmt: skip
        generating = sum(one.spent for one in sent) / took
        print(f"readers: p95 {percentile(reads, 0.95) * 1e3:.1f} ms; generator: {generating:.1%} of a core, "
              f"late by p99 {percentile(late, 0.99) * 1e3:.1f} ms; memory {api.resident_mib():.0f} MiB PSS "
              "(goals: 50 % of a core, 20 ms, 400 MiB)")  # fmt: skip


def judging(options: argparse.Namespace) -> None:
    from benchmarks.judge import quickest
    from gpudiag.examine import default_rules, judge

    reports, now, rules = Reports(), time.time(), default_rules()

    def snapshots(count: int) -> Iterator[Snapshot]:
        for number in range(count):
            body = reports.plain("bench", number, now + INTERVAL * number)
            yield msgspec.json.decode(body, type=Snapshot)

    window, times = Window("bench"), []
    for snapshot in snapshots(200 * options.rounds):
        window.add(snapshot)
        started = time.process_time_ns()
        judge(window, rules)
        times.append((time.process_time_ns() - started) / 1e6)
        window.rest()
    print(
        f"judging 8 GPUs and 10 processes with {len(rules.rules)} rules: {quickest(times):.3f} ms "
        "(goal: 0.25 ms)"
    )
    tracemalloc.start()
    window = Window("bench")
    for number, snapshot in enumerate(snapshots(360)):
        window.add(snapshot)
        if number in (30, 359):
            size, _ = tracemalloc.get_traced_memory()
            print(f"its window after {INTERVAL * (number + 1) / 60:.0f} min: {size / 1024:.0f} KiB")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("ingest", "diagnose", "fleet", "judge"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=2_000)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--senders", type=int, default=2, help="processes that send for the fleet")
    parser.add_argument(
        "--packing", type=float, default=0.4e-3, help="seconds to pack one report before the fleet starts"
    )
    parser.add_argument(
        "--fill", action=argparse.BooleanOptionalAction, default=True, help="fill windows first"
    )
    options = parser.parse_args()
    {"ingest": ingest, "diagnose": diagnose, "fleet": fleet, "judge": judging}[options.what](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
