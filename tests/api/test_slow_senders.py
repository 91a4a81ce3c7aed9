"""Senders that stop in the middle, and those that never meant to end."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from api.app import create_app
from api.server import IDLE_SECONDS, Server
from gpudiag.client import Busy, Client
from gpudiag.settings import load
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[..., Server]]:  # type: ignore[no-untyped-def]
    """Start a server with so much patience for a sender that says nothing."""
    made: list[Server] = []

    def start(patience: float, idle: float = IDLE_SECONDS) -> Server:
        settings = load(None, environ={}, given={"serve": {"store": f"sqlite:///{tmp_path}/store.sqlite3"}})
        made.append(Server(create_app(settings), port=0, patience=patience, idle=idle).start())
        return made[-1]

    yield start
    for server in made:
        server.stop()


@pytest.fixture
def server(serve: Callable[[float], Server]) -> Server:
    return serve(2.0)


@contextlib.contextmanager
def stalled(server: Server, number: int, path: str = "/v1/snapshots", length: int = 1000) -> Iterator[None]:
    """So many requests that stop in the middle of their bodies."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            sender = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n"
            sender.sendall(head.encode() + b'{"node')
        time.sleep(0.3)
        yield


def refusal(client: Client) -> Busy | None:
    """How a paste is refused just now."""
    try:
        client.explain_text(b"No devices were found")
    except Busy as busy:
        return busy
    return None


@pytest.mark.parametrize(
    ("path", "length"), [("/v1/snapshots", 1000), ("/v1/snapshots", 10**10), ("/login", 1000)]
)
def test_questions_are_answered_while_many_senders_stop_in_the_middle(
    serve: Callable[[float], Server], path: str, length: int
) -> None:
    server = serve(PATIENCE_SECONDS)
    with stalled(server, 150, path, length), Client(server.url, timeout=PATIENCE_SECONDS) as client:
        began = time.monotonic()

        assert client.nodes()["items"] == []
        assert time.monotonic() - began < PATIENCE_SECONDS / 2


def test_a_report_is_asked_to_come_back_and_is_taken_when_they_are_cut_off(
    serve: Callable[[float], Server],
) -> None:
    server = serve(5.0)
    with stalled(server, 60), Client(server.url, timeout=PATIENCE_SECONDS) as client:
        assert until(lambda: refusal(client)).retry_after > 0

        until(lambda: refusal(client) is None)


def test_a_sender_that_stops_hears_why(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as sender:
        sender.sendall(
            b"POST /diagnose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n| 0  NVIDIA"
        )

        answer = sender.recv(4096)

    assert b" 400 " in answer.splitlines()[0]
    assert b"ends in the middle" in answer


def test_a_sender_that_announces_too_much_and_stops_hears_why(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as sender:
        sender.sendall(b"POST /diagnose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999999\r\n\r\nx")

        assert b" 413 " in sender.recv(4096).splitlines()[0]


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_a_connection_on_which_no_request_comes_is_closed(serve: Callable[..., Server], said: bytes) -> None:
    server = serve(PATIENCE_SECONDS, idle=0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as idle:
        idle.sendall(said)
        while idle.recv(4096):
            pass

    with Client(server.url) as client:  # whose connection is closed between two questions
        for _ in range(2):
            assert client.nodes()["items"] == []
            time.sleep(1.0)


def test_a_connection_is_not_idle_while_its_request_comes_in(serve: Callable[..., Server]) -> None:
    server = serve(PATIENCE_SECONDS, idle=0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_SECONDS) as sender:
        sender.sendall(b"POST /diagnose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 21\r\n\r\n")
        time.sleep(1.5)
        sender.sendall(b"No devices were found")

        assert b" 200 " in sender.recv(4096).splitlines()[0]


def test_an_answer_reaches_whoever_sends_too_much_to_a_page(server: Server) -> None:
    with Client(server.url, timeout=PATIENCE_SECONDS) as client:
        form = {"Content-Type": "application/x-www-form-urlencoded"}

        assert client._exchange("POST", "/kv", b"config=" + b"1" * (6 << 20), form).status == 413
