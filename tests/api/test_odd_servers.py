"""Whatever answers at the API's address: people and agents get one sentence, and get it in time."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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


@pytest.mark.parametrize(
    ("status", "blamed"),
    [
        (404, "is the address right"),
        (415, "without a reason"),
        (429, "without a reason"),
        (500, "without a reason"),
        (502, "without a reason"),
    ],
)
def test_a_bare_status_puts_the_address_in_doubt_only_where_it_may_be_wrong(status: int, blamed: str) -> None:
    head = f"HTTP/1.1 {status} Because\r\nContent-Length: 0\r\n\r\n".encode()
    with answering(lambda asked: asked.sendall(head)) as url:
        client = Client(url)

        with client, pytest.raises(ApiError, match=blamed):
            client.nodes()


AUTHORITY = """[ca]
default_ca = own
[own]
database = {folder}/database
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
[more]
subjectAltName = {name}
"""


def certified(folder: Path, name: str, until: str) -> ssl.SSLContext:
    """A server's certificate that it signed itself, good since 2020."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (folder / "database").touch()
    (folder / "ca.cnf").write_text(AUTHORITY.format(folder=folder, name=name))
    for words in (
        "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=test",
        "ca -batch -selfsign -config ca.cnf -extensions more -keyfile key.pem -in request.pem "
        f"-out certificate.pem -notext -startdate 20200101000000Z -enddate {until}",
    ):
        made = subprocess.run(["openssl", *words.split()], capture_output=True, text=True, cwd=folder)
        assert made.returncode == 0, made.stderr
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context


@contextlib.contextmanager
def encrypted(context: ssl.SSLContext) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            asked, _ = listening.accept()
            with contextlib.suppress(OSError), asked:
                asked.settimeout(10)
                context.wrap_socket(asked, server_side=True).close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"https://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("name", "until", "trusted", "said"),
    [
        ("IP:127.0.0.1", "20990101000000Z", False, "not trusted here (self-signed certificate); if your own"),
        ("IP:127.0.0.1", "20200201000000Z", True, "not valid now (certificate has expired); renew it"),
        ("DNS:gpudiag.example", "20990101000000Z", True, "is for another name (IP address mismatch"),
    ],
)
def test_a_certificate_that_is_refused_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, until: str, trusted: bool, said: str
) -> None:
    context = certified(tmp_path, name, until)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    with (
        encrypted(context) as address,
        contextlib.closing(Client(address)) as client,
        pytest.raises(ApiError) as refused,
    ):
        client.nodes()

    assert said in str(refused.value) and address in str(refused.value)


def test_an_address_without_tls_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            asked, _ = listening.accept()
            with asked:
                asked.recv(65_536)
                asked.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        with (
            contextlib.closing(Client(f"https://127.0.0.1:{listening.getsockname()[1]}")) as client,
            pytest.raises(ApiError, match="does not speak TLS; is it http:// there"),
        ):
            client.nodes()
        thread.join()
