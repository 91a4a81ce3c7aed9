"""How fast the bot answers in Slack, beside an empty Bolt application in the same run.

    python benchmarks/slack.py            bot and API as two processes; about a minute

Measured from Slack's side: a signed slash command over HTTP on a new connection each time, as Slack does it,
until the complete answer has been read: in the acknowledgement, or posted to the response_url after it.
The slow requests are questions to a node whose answer the API holds back for some seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.doubles.slack.people import SECRET, ByHttp, Person  # noqa: E402
from tests.doubles.slack.server import SlackDouble  # noqa: E402

GPUDIAG = (sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())")
TARGETS = {"answer p50": 15.0, "answer p99 with 8 slow": 100.0, "ack p99 with 8 slow": 20.0}
SLOW_NODE, SLOW_SECONDS, SLOW_REQUESTS = "node-slow", 4.0, 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--question", default="why node-3")
    options = parser.parse_args()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        os.environ.pop(name, None)
    with SlackDouble() as slack, empty_bolt(slack) as empty, demo_api() as api, Front(api) as front:
        floor = Person(slack, ByHttp(empty))
        baseline = times(floor, "x", options.requests)
        with bot(slack, front.url) as url:
            person = Person(slack, ByHttp(url))
            person.asks(options.question)
            quiet = times(person, options.question, options.requests)
            loaded = times_beside_slow(person, options.question, options.requests)
    report(baseline, quiet, loaded, options)
    return 0 if verdict(quiet, loaded) else 1


# One measurement: (acknowledgement, complete answer) in milliseconds.
Times = list[tuple[float, float]]


def times(person: Person, question: str, count: int) -> Times:
    return [one(person, question) for _ in range(count)]


def one(person: Person, question: str) -> tuple[float, float]:
    started = time.perf_counter()
    reply = person.types(question)
    assert reply.status == 200, reply
    message = reply.message
    if message is not None and not message.blocks and message.text.startswith("Asking"):
        person.slack.wait(lambda: message.blocks, 30)
    return 1000 * reply.seconds, 1000 * (time.perf_counter() - started)


def times_beside_slow(person: Person, question: str, count: int) -> Times:
    """Measure while eight slow requests are always in flight."""
    ended = threading.Event()
    slow_acks: list[float] = []

    def keep_one_in_flight() -> None:
        while not ended.is_set():
            ack, _ = one(person, f"why {SLOW_NODE}")
            slow_acks.append(ack)

    threads = [threading.Thread(target=keep_one_in_flight, daemon=True) for _ in range(SLOW_REQUESTS)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    found = times(person, question, count)
    ended.set()
    for thread in threads:
        thread.join()
    return found + [(ack, float("nan")) for ack in slow_acks]


def report(baseline: Times, quiet: Times, loaded: Times, options: argparse.Namespace) -> None:
    print(
        f"{options.requests} signed slash commands /gpu {options.question}, new connection each; milliseconds"
    )
    print(f"{'':34}{'p50':>8}{'p95':>8}{'p99':>8}{'max':>8}")
    complete = [answer for _, answer in loaded if answer == answer]
    rows = {
        "empty Bolt app: ack": [ack for ack, _ in baseline],
        "gpudiag: complete answer": [answer for _, answer in quiet],
        "gpudiag: ack": [ack for ack, _ in quiet],
        "with 8 slow: complete answer": complete,
        "with 8 slow: ack (slow ones too)": [ack for ack, _ in loaded],
    }
    for name, values in rows.items():
        print(f"{name:34}" + "".join(f"{at(values, share):8.1f}" for share in (0.5, 0.95, 0.99, 1.0)))
    ratio = at(rows["gpudiag: complete answer"], 0.5) / at(rows["empty Bolt app: ack"], 0.5)
    print(f"complete answer / empty Bolt app, p50: {ratio:.1f}")
    print("targets:", ", ".join(f"{name} <= {limit:.0f}" for name, limit in TARGETS.items()))


def verdict(quiet: Times, loaded: Times) -> bool:
    complete = [answer for _, answer in loaded if answer == answer]
    measured = {
        "answer p50": at([answer for _, answer in quiet], 0.5),
        "answer p99 with 8 slow": at(complete, 0.99),
        "ack p99 with 8 slow": at([ack for ack, _ in loaded], 0.99),
    }
    missed = {name: value for name, value in measured.items() if value > TARGETS[name]}
    print(
        "missed: " + ", ".join(f"{name} {value:.1f}" for name, value in missed.items())
        if missed
        else "all met"
    )
    return not missed


def at(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else statistics.nan


# What is measured.


@contextlib.contextmanager
def process(*command: str, env: dict[str, str], port: int) -> Iterator[None]:
    with tempfile.TemporaryFile() as log:
        running = subprocess.Popen(command, env={**os.environ, **env}, stdout=log, stderr=log, cwd=ROOT)
        try:
            wait_for(port, running)
            yield
        finally:
            running.terminate()
            running.wait(20)


def wait_for(port: int, running: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and running.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
            return
        time.sleep(0.05)
    raise SystemExit(f"nothing came up at port {port}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def bot(slack: SlackDouble, api: str) -> Iterator[str]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        env = {
            "SLACK_BOT_TOKEN": "xoxb-bench", "SLACK_SIGNING_SECRET": SECRET, "GPUDIAG_API_URL": api,
            "GPUDIAG_SLACK_API_URL": slack.api_url, "GPUDIAG_BOT_STATE": f"{folder}/bot.sqlite3",
        }  # fmt: skip
        with process(*GPUDIAG, "bot", "--port", str(port), env=env, port=port):
            yield f"http://127.0.0.1:{port}/slack/events"


@contextlib.contextmanager
def demo_api() -> Iterator[str]:
    """The real API with the simulated fleet."""
    import urllib.request

    port = free_port()
    with process(*GPUDIAG, "demo", "--port", str(port), env={}, port=port):
        url = f"http://127.0.0.1:{port}"
        for _ in range(100):
            with urllib.request.urlopen(f"{url}/v1/nodes") as answer:
                nodes = json.load(answer)["items"]
            if len(nodes) >= 8 and min(node["age_seconds"] or 1e9 for node in nodes) < 15:
                break
            time.sleep(0.2)
        yield url


class Front:
    """Stands before the API and holds back what is asked about one node; everything else goes straight on."""

    def __init__(self, api: str):
        self.api = api

    def __enter__(self) -> Front:
        handler = type("Handler", (FrontHandler,), {"api": self.api})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()


class FrontHandler(BaseHTTPRequestHandler):
    api: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    local = threading.local()

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        import http.client
        from urllib.parse import urlsplit

        if SLOW_NODE in self.path:
            time.sleep(SLOW_SECONDS)
        where = urlsplit(self.api)
        connection = getattr(self.local, "connection", None)
        if connection is None:
            connection = self.local.connection = http.client.HTTPConnection(where.hostname or "", where.port)
        connection.request(
            "GET", self.path.replace(SLOW_NODE, "node-3"), headers={"Accept": "application/json"}
        )
        answer = connection.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


EMPTY = """
from flask import Flask, request
from slack_bolt import App
from slack_bolt.adapter.flask import SlackRequestHandler
from slack_sdk import WebClient
import os
app = App(token="xoxb-x", signing_secret=os.environ["SLACK_SIGNING_SECRET"], token_verification_enabled=False,
          client=WebClient(token="xoxb-x", base_url=os.environ["SLACK_API"]), process_before_response=True)
app.command("/gpu")(lambda ack: ack("x"))
handler = SlackRequestHandler(app)
web = Flask("empty")
web.post("/slack/events")(lambda: handler.handle(request))
if __name__ == "__main__":
    from granian import Granian
    from granian.constants import Interfaces
    Granian("empty_bolt:web", address="127.0.0.1", port=int(os.environ["PORT"]), interface=Interfaces.WSGI,
            workers=1, blocking_threads=32, websockets=False).serve()
"""


@contextlib.contextmanager
def empty_bolt(slack: SlackDouble) -> Iterator[str]:
    """Bolt with one listener that says "x", behind the same server."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "empty_bolt.py").write_text(EMPTY)
        env = {
            "SLACK_SIGNING_SECRET": SECRET,
            "SLACK_API": slack.api_url,
            "PORT": str(port),
            "PYTHONPATH": folder,
        }
        with process(sys.executable, f"{folder}/empty_bolt.py", env=env, port=port):
            yield f"http://127.0.0.1:{port}/slack/events"


if __name__ == "__main__":
    raise SystemExit(main())
