"""Servers on loopback, for what speaks HTTP: the API that takes reports, and inference engines."""

from __future__ import annotations

import contextlib
import threading
import time
import zlib
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import zstandard

from gpudiag.model import Snapshot

ENGINE_PAGE = b"""\
vllm:num_requests_running{model_name="m",engine="0"} 3
vllm:num_requests_waiting{model_name="m",engine="0"} 1
vllm:kv_cache_usage_perc{model_name="m",engine="0"} 0.25
"""


TAKEN = b'{"stored": 1, "duplicates": 0, "time": 0}'


class Loopback:
    """A server that answers with `answer(handler)` until it is closed."""

    def __init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.answer(self)

            do_POST = do_GET

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        raise NotImplementedError

    @staticmethod
    def send(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
        """Writes an answer; the other side may have had enough."""
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(body)


class Receiver(Loopback):
    """Takes reports, answers as told (`status`, `body`, `kind`, `delay`), and remembers what it took.

    What is packed in a way that it `refuses` is answered with 415, as a proxy does it.
    """

    def __init__(self) -> None:
        self.status, self.delay, self.kind = 200, 0.0, "application/problem+json"
        self.refuses: tuple[str, ...] = ()
        self.body = TAKEN
        self.got: list[Snapshot] = []
        self.answered: Counter[int] = Counter()  # how often with which status
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        time.sleep(self.delay)
        if request.headers["Content-Encoding"] in self.refuses:
            self.send(request, 415, b"<h1>415 Unsupported Media Type</h1>", Content_Type="text/html")
            return
        status, said = self.status, self.body  # once: others may be told meanwhile, the body first
        if (status, said) == (200, TAKEN):
            self.got.append(msgspec.json.decode(_plain(body, request), type=Snapshot))
        kind = self.kind if status >= 400 else "application/json"
        self.send(request, status, said, Content_Type=kind, Retry_After="2")
        self.answered[status] += 1

    def sequences(self) -> list[int]:
        return [snapshot.agent.sequence for snapshot in self.got if snapshot.agent]


def _plain(body: bytes, request: BaseHTTPRequestHandler) -> bytes:
    match request.headers["Content-Encoding"]:
        case "gzip":
            return zlib.decompress(body, 31)
        case "zstd":
            return zstandard.ZstdDecompressor().decompress(body)
        case _:
            return body


class Engine(Loopback):
    """An inference server that answers as told: `page`, `health`, `delay`, `redirect`."""

    def __init__(self) -> None:
        self.page, self.delay, self.redirect = ENGINE_PAGE, 0.0, ""
        self.health = 200
        self.asked: list[str] = []
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        request.close_connection = True
        self.asked.append(request.path)
        time.sleep(self.delay)
        body = b"" if request.path == "/health" else self.page
        if self.redirect:
            self.send(request, 302, body, Location=self.redirect)
        else:
            self.send(request, self.health if request.path == "/health" else 200, body)
