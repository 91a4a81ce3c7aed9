"""An API of the contract that says what it is told to: for what the real one does not do on demand.

It can be slow, away, or talk nonsense. Its diagnoses are the examples of `bot.examples`.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from bot.examples import ExampleApi
from bot.questions import ApiRefused

Json = dict[str, Any]


@dataclass
class RecordedApi:
    slow_seconds: float = 0.0
    nonsense: bytes | None = None
    age_seconds: float = 6.0
    feed: list[Json] = field(default_factory=list)
    kept_mutes: list[Json] = field(default_factory=list)
    decided: list[tuple[str, Json]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    hold: threading.Event | None = None

    def __enter__(self) -> RecordedApi:
        handler = type("Handler", (ApiHandler,), {"api": self})
        self.http = Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.start()
        return self

    def start(self) -> None:
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    # What happens on the nodes.

    def opens(self, node: str, rule: str = "ecc-uncorrectable-new", **more: Any) -> str:
        """A finding opens; its id."""
        number = len(self.feed) + 1
        finding = f"f-{number:012x}"
        self.tell("opened", node, rule, finding, **more)
        return finding

    def tell(self, what: str, node: str, rule: str, finding: str, **more: Any) -> None:
        headlines = {"ecc-uncorrectable-new": "Uncorrectable ECC errors", "agent-stale": "agent silent"}
        state = {"opened": "open", "changed": "open"}.get(what, what)
        found = {
            "id": finding, "state": state, "rule": rule, "severity": "critical", "confidence": "proven",
            "headline": headlines.get(rule, rule), "gpu": None, "runbook_url": f"/runbooks/{rule}",
            "next_steps": [{"text": "Drain the node.", "command": None}], "evidence": [], "explains": [],
            **more,
        }  # fmt: skip
        item = {"cursor": str(len(self.feed) + 1), "at": datetime.now(UTC).isoformat(), "what": what,
                "node": node, "quiet": None, "finding": found}  # fmt: skip
        self.feed.append(item)

    def resolves(self, node: str, finding: str, rule: str = "ecc-uncorrectable-new") -> None:
        self.tell("resolved", node, rule, finding)

    # What is asked.

    def answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        example = ExampleApi()
        match method, parts:
            case "GET", ["v1", "nodes"]:
                return 200, example.nodes()
            case "GET", ["v1", "nodes", node, "history"]:
                example.diagnosis(node)  # 404 where there is no such node
                return 200, history(node)
            case "GET", ["v1", "nodes", node]:
                found = example.diagnosis(node, int(query["gpu"]) if "gpu" in query else None)
                if node == "node-3":
                    found["observed"]["age_seconds"] = self.age_seconds
                return 200, found
            case "GET", ["v1", "kv"]:
                return 200, example.kv(**query)
            case "GET", ["v1", "findings"]:
                after = int(query.get("after") or 0)
                items = self.feed[after : after + int(query.get("limit", 500))]
                return 200, {"items": items, "next": items[-1]["cursor"] if items else None}
            case "GET", ["v1", "findings", finding]:
                return 200, next(i["finding"] for i in reversed(self.feed) if i["finding"]["id"] == finding)
            case "POST", ["v1", "findings", finding, "ack"]:
                return self.acknowledge(finding, json.loads(body))
            case "GET", ["v1", "mutes"]:
                return 200, {"items": self.kept_mutes, "next": None}
            case "POST", ["v1", "mutes"]:
                return self.mute(json.loads(body))
            case "DELETE", ["v1", "mutes", name]:
                self.decided.append(("unmute", {"id": name, **query}))
                self.kept_mutes = [mute for mute in self.kept_mutes if str(mute["id"]) != name]
                return 200, {}
            case "GET", ["v1", "rules"]:
                return 200, {
                    "items": [{"rule": "kv-pool-reserved-idle", "title": "Reserved pool"}],
                    "next": None,
                }
            case "POST", ["diagnose"]:
                self.decided.append(("paste", {"text": body.decode()}))
                return 200, {**example.diagnosis("node-3"), "node": "pasted", "source": "pasted"}
        return 404, {"title": "Not Found", "detail": f"there is no {path}"}

    def acknowledge(self, finding: str, body: Json) -> tuple[int, Any]:
        known = next((i for i in self.feed if i["finding"]["id"] == finding), None)
        if known is None:
            return 404, {"title": "Not Found", "detail": f"there is no finding {finding}"}
        self.decided.append(("ack", {"finding": finding, **body}))
        deeds = [{"what": "ack", "who": body["by"], "why": body.get("why", "")}]
        self.tell("acknowledged", known["node"], known["finding"]["rule"], finding, decisions=deeds)
        return 200, {**known["finding"], "node": known["node"]}

    def mute(self, body: Json) -> tuple[int, Any]:
        until = datetime.fromtimestamp(time.time() + body["seconds"], UTC).isoformat()
        kept = {"id": len(self.kept_mutes) + 1, "until": until, **body}
        self.kept_mutes.append(kept)
        self.decided.append(("mute", body))
        return 201, kept


def history(node: str) -> Json:
    times = [1_795_967_000.0 + 10 * step for step in range(60)]
    series = {
        "utilization_percent": [[at, 92.0 if 20 < step < 40 else 0.0] for step, at in enumerate(times)],
        "memory_used_bytes": [[at, 75 * 2**30] for at in times],
    }
    gpu = {"index": 0, "name": "H100", "memory_total_bytes": 80 * 2**30, "series": series}
    return {"node": node, "from": "", "to": "", "gpus": [gpu]}


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error here."""


class ApiHandler(BaseHTTPRequestHandler):
    api: RecordedApi
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.api.asked.append(f"{self.command} {self.path}")
        if self.api.hold and not parts.path.startswith("/v1/findings"):
            self.api.hold.wait(10)
        if self.api.slow_seconds and not parts.path.startswith("/v1/findings"):
            time.sleep(self.api.slow_seconds)
        if self.api.nonsense is not None:
            self.reply(200, self.api.nonsense, "text/html")
            return
        try:
            status, found = self.api.answer(self.command, parts.path, dict(parse_qsl(parts.query)), body)
        except ApiRefused as refused:
            status, found = (
                refused.status,
                {"status": refused.status, "detail": str(refused), "nearest": list(refused.nearest)},
            )
        kind = "application/json" if status < 400 else "application/problem+json"
        self.reply(status, json.dumps(found).encode(), kind)

    do_POST = do_DELETE = do_GET

    def reply(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
