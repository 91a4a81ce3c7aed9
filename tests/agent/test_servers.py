"""Inference servers on the host: found by their processes, asked at their own address."""

from __future__ import annotations

import os
import time

import msgspec
import pytest

from api.reports.intake import read
from gpudiag.agent.servers import (
    DeclaredServer,
    Servers,
    client_connections,
    listening_ports,
    server_address,
)
from gpudiag.model import EngineReading, GpuUse, ProcessReading, Snapshot
from tests.agent.loopback import Engine
from tests.agent.machine import FakeHost


def server(port: int, pid: int = 50, *more: str) -> ProcessReading:
    command = " ".join(["python3 /usr/bin/vllm serve m --port", str(port), *more])
    return ProcessReading(pid=pid, name="vllm", command=command, parent_pid=1, started_at=1.0)


def worker(pid: int = 70, parent: int = 50, gpu: int = 0) -> ProcessReading:
    return ProcessReading(
        pid=pid,
        name="VLLM::EngineCor",
        command="VLLM::EngineCore",
        parent_pid=parent,
        started_at=2.0,
        gpus=[GpuUse(gpu=gpu, memory_used_bytes=1)],
    )


def ask(host: FakeHost, processes: list[ProcessReading], *declared: DeclaredServer) -> list[EngineReading]:
    for process in processes:
        host.process(process.pid, process.name or "", parent=process.parent_pid or 1)
    return Servers(str(host.proc), declared).read(processes)


def test_a_server_is_found_and_asked(host: FakeHost, engine: Engine) -> None:
    [reading] = ask(host, [server(engine.port), worker()])

    assert (reading.engine, reading.name) == ("vllm", f"vllm:{engine.port}")
    assert (reading.requests_running, reading.requests_waiting, reading.kv_used_ratio) == (3, 1, 0.25)
    assert (reading.metrics_ok, reading.health_ok, reading.ever_answered) == (True, True, True)
    assert (reading.pid, reading.worker_pids, reading.gpus) == (50, [70], [0])
    assert reading.parent_alive is True


@pytest.mark.parametrize(("status", "health"), [(200, True), (503, False), (404, None), (401, None)])
def test_a_health_check_that_is_not_there_says_nothing(
    host: FakeHost, engine: Engine, status: int, health: bool | None
) -> None:
    engine.health = status
    [reading] = ask(host, [server(engine.port), worker()])

    assert (reading.health_ok, reading.metrics_ok) == (health, True)


def test_what_the_command_line_declares_is_kept(host: FakeHost, engine: Engine) -> None:
    flags = ("--max-num-seqs", "128", "--gpu-memory-utilization=0.85", "--tensor-parallel-size", "2")
    [reading] = ask(host, [server(engine.port, 50, *flags)])

    assert (reading.max_num_seqs, reading.gpu_memory_utilization, reading.tensor_parallel) == (128, 0.85, 2)


def test_a_worker_without_a_server_is_an_orphan(host: FakeHost) -> None:
    [reading] = ask(host, [worker(parent=1)])

    assert (reading.engine, reading.pid, reading.parent_alive) == ("vllm", None, False)
    assert (reading.metrics_ok, reading.worker_pids, reading.gpus) == (False, [70], [0])


def test_a_worker_of_a_script_that_makes_the_engine_itself_has_no_server(host: FakeHost) -> None:
    mine = worker(parent=40)
    mine.parents = ["python3", "bash", "sshd"]
    host.process(40, "python3")

    assert [] == ask(host, [mine])


def test_a_worker_of_ray_is_no_orphan_for_its_parent_is_never_the_server(host: FakeHost) -> None:
    ray = ProcessReading(pid=70, name="ray::RayWorkerW", command="ray::RayWorkerWrapper", parent_pid=1)
    ray.started_at = 2.0
    [reading] = ask(host, [ray])

    assert (reading.engine, reading.parent_alive, reading.worker_pids) == ("vllm", None, [70])


def test_a_server_that_listens_only_later_is_asked_then(host: FakeHost, engine: Engine) -> None:
    servers = Servers(str(host.proc))
    process = server(engine.port)
    process.command = "python3 /usr/bin/vllm serve m"  # no port named
    host.process(50, "vllm", opens=[])
    [before] = servers.read([process])
    host.process(50, "vllm", opens=["socket:[4711]"])
    line = f"0: 0100007F:{engine.port:04X} 00000000:0000 0A 0:0 00:0 0 0 0 4711 1"
    host.file("50/net/tcp", f"sl local rem st\n{line}\n")
    [after] = servers.read([process])

    assert (before.address, before.metrics_ok, before.name) == (None, False, "vllm:8000")
    assert (after.address, after.metrics_ok, after.name) == (
        f"http://127.0.0.1:{engine.port}",
        True,
        "vllm:8000",
    )


def test_connections_of_clients_to_a_server_that_does_not_say_how_many_requests_run(host: FakeHost) -> None:
    rows = [
        "0: 0100007F:2CAA 00000000:0000 0A 0:0 00:0 0 0 0 4711 1",  # it listens on 11434
        "1: 0100007F:2CAA 0100007F:9C40 01 0:0 00:0 0 0 0 4712 1",  # a client
        "2: 0100007F:2CAA 0100007F:9C41 08 0:0 00:0 0 0 0 4713 1",  # one that went away
        "3: 0100007F:9C42 0100007F:C350 01 0:0 00:0 0 0 0 4714 1",  # its own, to its runner
    ]
    host.process(60, "ollama", opens=["socket:[4711]"])
    host.file("60/net/tcp", "\n".join(["sl local rem st", *rows]))

    assert 1 == client_connections(str(host.proc), 60)


def test_clients_of_a_metrics_port_ask_for_no_work(host: FakeHost) -> None:
    rows = [
        "0: 0100007F:1F40 00000000:0000 0A 0:0 00:0 0 0 0 4711 1",  # 8000
        "1: 0100007F:1F42 00000000:0000 0A 0:0 00:0 0 0 0 4712 1",  # 8002, the metrics
        "2: 0100007F:1F42 0100007F:9C41 01 0:0 00:0 0 0 0 4713 1",
    ]
    host.process(60, "tritonserver", opens=["socket:[4711]", "socket:[4712]"])
    host.file("60/net/tcp", "\n".join(["sl local rem st", *rows]))

    assert (0, 1) == (client_connections(str(host.proc), 60, 8002), client_connections(str(host.proc), 60))


def test_a_server_whose_ports_are_hidden_has_unknown_connections(host: FakeHost) -> None:
    assert client_connections(str(host.proc), 61) is None


def test_only_a_server_that_does_not_count_its_requests_has_its_connections_counted(
    host: FakeHost, engine: Engine
) -> None:
    host.process(50, "vllm", opens=["socket:[4711]"])
    line = f"0: 0100007F:{engine.port:04X} 00000000:0000 0A 0:0 00:0 0 0 0 4711 1"
    host.file("50/net/tcp", f"sl local rem st\n{line}\n")
    [counts] = ask(host, [server(engine.port)])
    engine.page = b"vllm:num_requests_swapped 0\n"
    [silent] = ask(host, [server(engine.port)])

    assert (counts.requests_running is not None, counts.connections) == (True, None)
    assert (silent.requests_running, silent.connections) == (None, 0)


def test_a_server_that_hangs_delays_nobody_for_longer_than_two_seconds(
    host: FakeHost, engine: Engine
) -> None:
    engine.delay = 15.0
    other = Engine()
    try:
        start = time.monotonic()
        slow, quick = ask(host, [server(engine.port, 50), server(other.port, 51)])
        took = time.monotonic() - start
    finally:
        other.close()

    assert took < 10
    assert (slow.metrics_ok, slow.health_ok) == (False, False)
    assert quick.metrics_ok is True


def test_a_redirect_is_not_followed(host: FakeHost, engine: Engine) -> None:
    other = Engine()
    try:
        engine.redirect = f"http://127.0.0.1:{other.port}/metrics"
        [reading] = ask(host, [server(engine.port)])
    finally:
        other.close()

    assert reading.metrics_ok is False
    assert other.asked == []


def test_an_endless_page_is_cut_off(host: FakeHost, engine: Engine) -> None:
    engine.page = b"# " + b"x" * (3 << 20)
    [reading] = ask(host, [server(engine.port)])

    assert (reading.metrics_ok, reading.health_ok) == (False, True)


@pytest.mark.parametrize(
    ("kind", "page"),
    [
        (
            "vllm",
            b'vllm:num_requests_running 1e300\nvllm:cache_config_info{kv_cache_size_tokens="1e30"} 1',
        ),
        ("sglang", b"sglang:max_total_num_tokens 1e300\nsglang:num_running_reqs -1e99\n"),
        ("tensorrt-llm", b"trtllm_kv_cache_max_blocks 1e25\ntrtllm_kv_cache_tokens_per_block 64\n"),
        ("llama.cpp", rb'"llamacpp:requests_processing{model=\"\ud800\"} 1e77\n"'),
        ("ollama", rb'{"models": [{"name": "\ud800", "expires_at": "0001-01-01T00:00:00Z"}]}'),
        ("ollama", b'{"models": [{"name": "a", "context_length": 1' + b"0" * 40 + b"}]}"),
        ("ollama", b"[" * 100_000),
    ],
)
def test_a_server_that_talks_nonsense_spoils_no_report(
    host: FakeHost, engine: Engine, kind: str, page: bytes
) -> None:
    engine.page = page
    [reading] = ask(host, [], DeclaredServer(kind, engine.address))
    snapshot = Snapshot(node="node-3", taken_at=1.0, engines=[reading])
    report = msgspec.json.encode(snapshot)

    assert read(report).engines == [reading]
    assert reading.requests_running is None


def test_a_command_line_that_talks_nonsense_spoils_no_report(host: FakeHost, engine: Engine) -> None:
    [reading] = ask(host, [server(engine.port, 50, "--max-num-seqs", "9" * 40, "--block-size", "16")])

    assert (reading.max_num_seqs, reading.block_size) == (None, 16)


def test_a_server_that_is_down_says_so(host: FakeHost, engine: Engine) -> None:
    port = engine.port
    down = Engine()
    free = down.port
    down.close()
    first, second = ask(host, [server(port, 50), server(free, 51)])

    assert first.metrics_ok is True
    assert (second.metrics_ok, second.port_open) == (False, False)


def test_a_declared_server_is_asked_without_its_process(host: FakeHost, engine: Engine) -> None:
    declared = DeclaredServer("vllm", f"http://127.0.0.1:{engine.port}")
    [reading] = ask(host, [], declared)

    assert (reading.declared, reading.metrics_ok, reading.parent_alive) == (True, True, None)


def test_a_restarted_server_has_not_answered_yet(host: FakeHost, engine: Engine) -> None:
    servers = Servers(str(host.proc))
    host.process(50, "vllm")
    servers.read([server(engine.port)])
    down = server(1, 50)
    down.started_at = 99.0
    [reading] = servers.read([down])

    assert reading.ever_answered is False


def test_an_engine_that_nobody_can_read_yet_is_still_named(host: FakeHost) -> None:
    unknown = ProcessReading(pid=50, name="lmdeploy", command="lmdeploy serve api_server m", parent_pid=1)
    [reading] = ask(host, [unknown])

    assert (reading.engine, reading.pid, reading.metrics_ok) == ("lmdeploy", 50, False)


def test_a_server_in_another_network_namespace_is_asked_at_its_own_address(host: FakeHost) -> None:
    process = server(8000, 50)
    for place, namespace in (("self", 1), ("50", 2)):
        folder = host.proc / place / "ns"
        folder.mkdir(parents=True)
        (folder / "net").symlink_to(f"net:[{namespace}]")
    own = "Local:\n |-- 127.0.0.1\n  /32 host LOCAL\n |-- 127.1.2.3\n  /32 host LOCAL\n"
    host.file("50/net/fib_trie", own + " |-- 10.244.1.7\n  /32 host LOCAL\n")
    host.process(50, "vllm")

    assert server_address(str(host.proc), "vllm", process) == "http://10.244.1.7:8000"


def test_servers_of_two_pods_that_listen_on_the_same_port_are_told_apart(host: FakeHost) -> None:
    servers = Servers(str(host.proc))
    first, second = server(8000, 50), server(8000, 60)
    for process in (first, second):
        host.process(process.pid, "vllm")
    before = servers.read([second])
    both = servers.read([first, second])
    after = servers.read([first])

    assert [["vllm:8000"], ["vllm:8000:pid50", "vllm:8000"], ["vllm:8000:pid50"]] == [
        [reading.name for reading in readings] for readings in (before, both, after)
    ]


def test_declared_servers_of_two_hosts_are_told_apart(host: FakeHost) -> None:
    declared = [DeclaredServer("vllm", f"http://127.0.0.{n}:9") for n in (1, 2)]
    readings = ask(host, [], *declared)

    assert ["vllm:9", "vllm:127.0.0.2:9"] == [reading.name for reading in readings]


def test_the_ports_on_which_a_process_listens(engine: Engine) -> None:
    ports = listening_ports("/proc", os.getpid())

    assert ports is not None
    assert engine.port in ports


def test_the_model_that_is_loaded_is_known_whatever_it_is_called(host: FakeHost, engine: Engine) -> None:
    [reading] = ask(host, [server(engine.port, 50, "--served-model-name", "chat"), worker()])

    assert reading.model_path == "m"
