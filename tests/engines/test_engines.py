"""Each engine's table against its page, over real HTTP; and what else may answer on such a port."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gpudiag.engines import TABLES, read
from gpudiag.engines.exposition import parse
from gpudiag.model import EngineReading
from gpudiag.workloads import workload_of_text
from tests.waiting import PATIENCE_SECONDS

PAGES = Path(__file__).parent / "pages"


@contextmanager
def served(answer: dict[str, tuple[int, bytes]], headers: dict[str, str] | None = None) -> Iterator[str]:
    """A server on loopback that answers each path with (status, body)."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = answer.get(self.path, (404, b""))
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


COMMANDS = {
    "vllm": "/usr/bin/python3 /usr/local/bin/vllm serve meta-llama/Llama-3.1-8B-Instruct",
    "sglang": "python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct",
    "tensorrt-llm": "trtllm-serve meta-llama/Llama-3.1-8B-Instruct",
    "triton": "tritonserver --model-repository=/models",
    "tgi": "text-generation-launcher --model-id meta-llama/Llama-3.1-8B-Instruct",
    "lmdeploy": "lmdeploy serve api_server meta-llama/Llama-3.1-8B-Instruct",
    "llama.cpp": "llama-server -m model.gguf",
    "ollama": "ollama serve",
}


def asked(engine: str, page: str) -> EngineReading:
    """What a server of `engine` with that page is read as."""
    table = TABLES[engine]
    body = (PAGES / page).read_bytes()
    with served({table.metrics_path: (200, body), table.health_path or "/-": (200, b"")}) as address:
        return read(table, address, f"{engine}:8000")


@pytest.mark.parametrize("engine", TABLES)
def test_every_engine_that_can_be_read_is_found_among_the_processes(engine: str) -> None:
    found = workload_of_text(COMMANDS[engine])

    assert (found.engine, found.role) == (engine, "server")


CAPTURED: list[tuple[str, str, dict[str, Any]]] = [
    ("vllm", "vllm.txt", {"requests_running": 5, "requests_waiting": 7, "kv_used_ratio": 0.84,
                          "prompt_tokens_total": 123456, "generation_tokens_total": 65432,
                          "requests_finished_total": 322, "preemptions_total": 4, "pool_blocks": 29751,
                          "pool_tokens": 476016, "block_size": 16, "gpu_memory_utilization": 0.92,
                          "model": "meta-llama/Llama-3.1-8B-Instruct", "replicas": 2, "sleeping": False,
                          "waiting_reason": "capacity", "prefix_hits_total": 12880, "pool_bytes": None}),
    ("vllm", "vllm_old.txt", {"requests_running": 1, "kv_used_ratio": 0.02, "pool_blocks": None,
                              "preemptions_total": None}),
    ("sglang", "sglang.txt", {"requests_running": 6, "requests_waiting": 3, "kv_used_ratio": 0.28,
                              "generation_tokens_total": 139795, "requests_finished_total": 512,
                              "steps_total": 231212,
                              "pool_tokens": 27962, "replicas": 2}),
    ("tensorrt-llm", "trtllm.txt", {"requests_running": 6, "requests_waiting": 1, "kv_used_ratio": 0.62,
                                    "pool_tokens": 132608, "requests_finished_total": 77}),
    ("triton", "triton.txt", {"requests_running": 8, "requests_waiting": 3, "pool_blocks": 6239,
                              "requests_finished_total": 41, "model": "tensorrt_llm"}),
    ("tgi", "tgi.txt", {"requests_running": 4, "requests_waiting": 7, "kv_used_ratio": None,
                        "generation_tokens_total": 8123, "prompt_tokens_total": 20480,
                        "requests_finished_total": 44, "pool_tokens": 16384}),
    ("lmdeploy", "lmdeploy.txt", {"requests_running": 5, "requests_waiting": 3, "kv_used_ratio": 0.4}),
    ("llama.cpp", "llama_cpp.txt", {"requests_running": 2, "requests_waiting": 1, "kv_used_ratio": None,
                                    "generation_tokens_total": 1250, "requests_finished_total": None,
                                    "steps_total": 4711}),
    ("ollama", "ollama.json", {"model": "mistral:latest", "max_model_len": 4096,
                               "requests_running": None, "unloads_at": 1795988311.0}),
]  # fmt: skip


def test_every_engine_that_can_be_read_has_a_captured_page() -> None:
    assert set(TABLES) == {engine for engine, _, _ in CAPTURED}


@pytest.mark.parametrize(("engine", "page", "expected"), CAPTURED)
def test_an_engine_is_read_from_its_own_page(engine: str, page: str, expected: dict[str, object]) -> None:
    reading = asked(engine, page)

    assert reading.metrics_ok is True
    assert expected == {name: getattr(reading, name) for name in expected}
    assert reading == msgspec.json.decode(msgspec.json.encode(reading), type=EngineReading)


def test_of_several_models_the_first_to_unload_is_told() -> None:
    later = {"name": "later", "expires_at": "2026-11-29T15:00:00-07:00"}
    models = [*json.loads((PAGES / "ollama.json").read_text())["models"], later]
    pages = {"/api/ps": (200, json.dumps({"models": models}).encode()), "/": (200, b"Ollama is running")}
    with served(pages) as address:
        reading = read(TABLES["ollama"], address, "ollama:11434")

    assert (reading.model, reading.unloads_at) == ("mistral:latest, later", 1795988311.0)


def test_numbers_that_are_none_leave_the_server_unread() -> None:
    page = (PAGES / "vllm.txt").read_bytes().replace(b'num_gpu_blocks="29751"', b'num_gpu_blocks="inf"')
    with served({"/metrics": (200, page), "/health": (200, b"")}) as address:
        reading = read(TABLES["vllm"], address, "vllm:8000")

    assert (reading.health_ok, reading.metrics_ok) == (True, False)


def test_the_ninety_fifth_percentile_is_of_what_was_gained_since_the_last_read() -> None:
    table = TABLES["vllm"]
    history: dict[str, Any] = {}
    first = (PAGES / "vllm.txt").read_text()
    later = first.replace("} 180.0", "} 190.0").replace("} 200.0", "} 210.0")
    with served({"/metrics": (200, first.encode()), "/health": (200, b"")}) as address:
        assert read(table, address, "vllm:8000", history).first_token_seconds_p95 is None
    with served({"/metrics": (200, later.encode()), "/health": (200, b"")}) as address:
        reading = read(table, address, "vllm:8000", history)

    assert pytest.approx(reading.first_token_seconds_p95, abs=0.005) == 0.48


def test_a_page_that_is_one_json_string_is_read_all_the_same() -> None:
    quoted = json.dumps((PAGES / "llama_cpp.txt").read_text())

    assert parse(quoted)["llamacpp:requests_processing"][0].value == 2


def test_another_program_on_the_port_is_not_the_engine() -> None:
    page = b"# TYPE node_load1 gauge\nnode_load1 0.3\n"
    with served({"/metrics": (200, page), "/health": (200, b"")}) as address:
        reading = read(TABLES["vllm"], address, "vllm:8000")

    assert (reading.metrics_ok, reading.requests_running) == (False, None)


def test_a_redirect_is_not_followed() -> None:
    with served({"/metrics": (302, b""), "/health": (302, b"")}, {"Location": "/elsewhere"}) as address:
        reading = read(TABLES["vllm"], address, "vllm:8000")

    assert (reading.metrics_ok, reading.health_ok) == (False, False)


def test_an_endless_page_is_given_up() -> None:
    endless = b"vllm:num_requests_running 1\n" * 200_000
    with served({"/metrics": (200, endless), "/health": (200, b"")}) as address:
        reading = read(TABLES["vllm"], address, "vllm:8000")

    assert (reading.metrics_ok, reading.port_open) == (False, True)


def test_a_server_that_never_answers_costs_no_more_than_the_time_it_is_given() -> None:
    class Mute(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            released.wait(PATIENCE_SECONDS)

    released = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mute) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        before = time.monotonic()
        reading = read(
            TABLES["vllm"], f"http://127.0.0.1:{server.server_address[1]}", "vllm:8000", seconds=0.3
        )
        took = time.monotonic() - before
        released.set()
        server.shutdown()
        thread.join()

    assert (reading.metrics_ok, reading.health_ok, reading.port_open) == (False, False, True)
    assert took < PATIENCE_SECONDS / 2


def test_nobody_listens() -> None:
    with served({}) as address:
        pass
    reading = read(TABLES["vllm"], address, "vllm:8000")

    assert (reading.metrics_ok, reading.health_ok, reading.port_open) == (False, False, False)
