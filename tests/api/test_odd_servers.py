"""Whatever answers at the API's address: people and agents get one sentence, and get it in time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from gpudiag.cli import main
from gpudiag.client import ApiError, Broken, Busy, Client

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
PROBLEM = b"HTTP/1.1 404 No\r\nContent-Type: application/problem+json\r\n\r\n"


@contextlib.contextmanager
def answering(say: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that reads one request a connection and lets `say` answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    asked, _ = listening.accept()
                    with asked, contextlib.suppress(OSError):
                        _whole_request(asked)
                        say(asked)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _whole_request(asked: socket.socket) -> None:
    """Read headers and body: what is left unread would be answered with a reset."""
    asked.settimeout(5)
    got = b""
    while b"\r\n\r\n" not in got:
        part = asked.recv(65_536)
        if not part:
            return
        got += part
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length:
        body += asked.recv(65_536)


ODD = {
    "garbage": b"\x00\xff\x1b[31m garbage\r\n" * 9,
    "a page": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>",
    "elsewhere": b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n",
    "a list": JSON + b"[]",
    "other keys": JSON + b'{"verdict": 1, "items": null}',
    "a verdict alone": JSON + b'{"verdict": {"severity": "ok", "rule": "x", "headline": "y"}}',
    "deep": JSON + b"[" * 100_000,
    "not UTF-8": JSON + b'{"node":"\xff"}',
    "half": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",
    "nothing": b"",
    "an odd problem": PROBLEM + b'{"detail":["\\u001b"],"nearest":5,"status":"x"}',
    "a problem with escapes": PROBLEM + b'{"detail":"\\u001b[31mred\\nline","nearest":["\\u001b[1m"]}',
}


@pytest.mark.parametrize("said", ODD.values(), ids=ODD.keys())
@pytest.mark.parametrize("words", [["why", "node-3"], ["check", "node-3"]], ids=["why", "check"])
def test_an_odd_server_is_told_in_one_line(
    said: bytes, words: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(lambda asked: asked.sendall(said)) as url:
        monkeypatch.setenv("GPUDIAG_API_URL", url)

        code = main(words)

    told = "".join(capsys.readouterr())
    assert code != 0
    assert 1 == len(told.strip().splitlines())
    assert "Traceback" not in told and "\x1b" not in told


@pytest.mark.parametrize("said", [b"{}", b"[]", b'{"status":"ok"}', b'{"stored":"yes","duplicates":0}'])
def test_only_our_api_can_acknowledge_a_report(said: bytes) -> None:
    with answering(lambda asked: asked.sendall(JSON + said)) as url:
        client = Client(url)

        with client, pytest.raises(Broken, match="another form"):
            client.send(b"{}")


def test_a_byte_a_second_is_no_answer() -> None:
    def dripping(asked: socket.socket) -> None:
        asked.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        for _ in range(200):
            asked.sendall(b"x")
            time.sleep(0.1)

    began = time.monotonic()
    with answering(dripping) as url, Client(url, timeout=1.0) as client:
        with pytest.raises(ApiError, match="did not answer within"):
            client.nodes()
        assert time.monotonic() - began < 15


@pytest.mark.parametrize("said", [b"99999999999999999999", b"inf", b"nan", b"-5", b"soon"])
def test_whatever_a_busy_server_asks_for_the_wait_is_bounded(said: bytes) -> None:
    head = b"HTTP/1.1 503 Busy\r\nRetry-After: " + said + b"\r\nContent-Length: 0\r\n\r\n"
    with answering(lambda asked: asked.sendall(head)) as url, Client(url) as client:
        with pytest.raises(Busy) as caught:
            client.nodes()

        assert 0 <= caught.value.retry_after <= 300
