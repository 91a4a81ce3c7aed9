"""Slack's servers: Web API, response_urls, uploads and Socket Mode, with their states and refusals."""

from __future__ import annotations

import io
import itertools
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from . import judge
from .websocket import Connection, accept_key

Json = dict[str, Any]

TEAM, BOT_USER, BOT_ID = "T0001", "U0BOT", "B0001"
RESPONSE_URL_USES, RESPONSE_URL_SECONDS, TRIGGER_SECONDS = 5, 1800.0, 3.0
SCOPES = "commands,chat:write,app_mentions:read,im:history,users:read,files:write,files:read"
SCOPE_OF = {
    "chat.postMessage": "chat:write", "chat.update": "chat:write", "chat.postEphemeral": "chat:write",
    "users.info": "users:read", "files.getUploadURLExternal": "files:write",
    "files.completeUploadExternal": "files:write",
}  # fmt: skip


@dataclass
class Message:
    """What stands in a channel. `only_for` is the person who alone sees it (ephemeral)."""

    channel: str
    ts: str
    text: str
    blocks: list[Json]
    thread_ts: str | None = None
    only_for: str | None = None
    edits: int = 0
    response_type: str = ""

    def action(self, label: str) -> Json:
        """The button with this label (or the menu with this placeholder)."""
        for block in self.blocks:
            for element in block.get("elements") or []:
                named = element.get("text") or element.get("placeholder")
                if isinstance(named, dict) and named.get("text") == label:
                    return {**element, "block_id": block.get("block_id", "b1")}
        raise LookupError(f"no button {label!r} in {self.text!r}")

    @property
    def labels(self) -> list[str]:
        elements = [e for b in self.blocks if b["type"] == "actions" for e in b["elements"]]
        return [(e.get("text") or e.get("placeholder"))["text"] for e in elements]

    @property
    def words(self) -> str:
        """Everything that can be read in it."""
        return "\n".join([self.text, *judge.texts(self.blocks)])


@dataclass
class ResponseUrl:
    channel: str
    user: str
    born: float
    original: Message | None = None
    uses: int = 0
    is_command: bool = False  # its acknowledgement may become the original
    early: Json | None = None  # a replacement that came before the acknowledgement was read


@dataclass
class SlackDouble:
    """One workspace. `clock` may be moved on by `pass_time`, so that half an hour takes no time."""

    scopes: str = SCOPES
    offset: float = 0.0
    messages: list[Message] = field(default_factory=list)
    homes: dict[str, Json] = field(default_factory=dict)
    views: list[Json] = field(default_factory=list)
    files: list[Json] = field(default_factory=list)
    stored: dict[str, bytes] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    refusals: list[str] = field(default_factory=list)
    response_urls: dict[str, ResponseUrl] = field(default_factory=dict)
    triggers: dict[str, float] = field(default_factory=dict)
    tickets: set[str] = field(default_factory=set)
    sockets: list[Connection] = field(default_factory=list)
    users: dict[str, Json] = field(default_factory=dict)
    missing_channels: set[str] = field(default_factory=set)
    limits: dict[str, list[int]] = field(default_factory=dict)  # method → [refusals left, Retry-After]
    odd: dict[str, tuple[int, bytes, str]] = field(default_factory=dict)  # method → status, body, Retry-After
    slow: dict[str, float] = field(default_factory=dict)  # method → seconds until it is answered
    is_away: bool = False
    date_offset: float = 0.0

    def __enter__(self) -> SlackDouble:
        self.counter = itertools.count(1)
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        handler = type("Handler", (SlackHandler,), {"slack": self})
        self.http = QuietServer(("127.0.0.1", 0), handler)
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hangs_up()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    @property
    def api_url(self) -> str:
        return f"{self.origin}/api/"

    # The world around.

    def now(self) -> float:
        return time.time() + self.offset

    def pass_time(self, seconds: float) -> None:
        self.offset += seconds

    def rate_limits(self, method: str, times: int, retry_after: int = 1) -> None:
        self.limits[method] = [times, retry_after]

    def answers_oddly(self, method: str, status: int, body: bytes = b"", retry_after: str = "") -> None:
        """What a proxy, a fault, or an outage in between answers instead of Slack."""
        self.odd[method] = status, body, retry_after

    def goes_away(self) -> None:
        """Every connection is cut without an answer."""
        self.is_away = True

    def comes_back(self) -> None:
        self.is_away = False

    def hangs_up(self) -> None:
        """Every open Socket Mode connection is ended by Slack."""
        for connection in list(self.sockets):
            if connection.open:
                connection.close()

    def trigger(self) -> str:
        name = f"trigger.{next(self.counter)}"
        self.triggers[name] = self.now()
        return name

    def response_url(self, channel: str, user: str, original: Message | None = None) -> str:
        name = f"r{next(self.counter)}"
        self.response_urls[name] = ResponseUrl(channel, user, self.now(), original)
        return f"{self.origin}/respond/{name}"

    def ts(self) -> str:
        return f"{int(self.now())}.{next(self.counter):06d}"

    def add(self, message: Message) -> Message:
        with self.changed:
            self.messages.append(message)
            self.changed.notify_all()
        return message

    def posts(self, channel: str | None = None) -> list[Message]:
        """What everybody sees, oldest first."""
        return [m for m in self.messages if m.only_for is None and channel in (None, m.channel)]

    def wait(self, condition: Any, seconds: float = 30.0) -> Any:
        """What `condition` returns as soon as it is true."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not (found := condition()):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AssertionError(
                        f"Slack waited {seconds} s in vain; it has {[m.text for m in self.messages]}"
                    )
                self.changed.wait(min(left, 0.05))
        return found

    # The Web API.

    def method(self, name: str, what: Json, token: str) -> tuple[int, Json, dict[str, str]]:
        self.calls[name] += 1
        time.sleep(self.slow.get(name, 0.0))
        if name in self.limits and self.limits[name][0] > 0:
            self.limits[name][0] -= 1
            return 429, {"ok": False, "error": "ratelimited"}, {"Retry-After": str(self.limits[name][1])}
        wanted = "xapp-" if name == "apps.connections.open" else "xoxb-"
        if not token.startswith(wanted):
            return 200, {"ok": False, "error": "not_authed" if not token else "invalid_auth"}, {}
        scope = SCOPE_OF.get(name)
        if scope and scope not in self.scopes.split(","):
            return 200, {"ok": False, "error": "missing_scope", "needed": scope, "provided": self.scopes}, {}
        act = METHODS.get(name)
        if act is None:
            return 200, {"ok": False, "error": "unknown_method"}, {}
        with self.changed:
            answer = act(self, what)
            self.changed.notify_all()
        if not answer.get("ok"):
            self.refusals.append(f"{name}: {answer.get('error')} {answer.get('errors', '')}")
        return 200, answer, {"X-OAuth-Scopes": self.scopes}

    def auth_test(self, what: Json) -> Json:
        return {
            "ok": True, "url": "https://example.slack.com/", "team": "Example", "team_id": TEAM,
            "user": "gpudiag", "user_id": BOT_USER, "bot_id": BOT_ID, "is_enterprise_install": False,
        }  # fmt: skip

    def refused(self, what: Json) -> Json | None:
        """Why a message cannot be taken, as chat.postMessage says it."""
        blocks = what.get("blocks") or []
        blocks = json.loads(blocks) if isinstance(blocks, str) else blocks
        channel = str(what.get("channel") or "")
        if channel in self.missing_channels:
            return {"ok": False, "error": "not_in_channel"}
        if not channel.startswith(("C", "D", "G", "U")):
            return {"ok": False, "error": "channel_not_found"}
        if faults := judge.faults(blocks):
            return {"ok": False, "error": "invalid_blocks", "errors": faults,
                    "response_metadata": {"messages": [f"[ERROR] {fault}" for fault in faults]}}  # fmt: skip
        if judge.too_long_together(blocks):
            return {"ok": False, "error": "msg_blocks_too_long"}
        if not blocks and not str(what.get("text") or "").strip():
            return {"ok": False, "error": "no_text"}
        what["blocks"] = blocks
        return None

    def post_message(self, what: Json) -> Json:
        if no := self.refused(what):
            return no
        text = str(what.get("text") or "")
        message = Message(
            what["channel"], self.ts(), text[: judge.MOST_TEXT], what["blocks"], what.get("thread_ts")
        )
        self.messages.append(message)
        extra = (
            {"response_metadata": {"messages": ["[WARN] message_truncated"]}}
            if len(text) > judge.MOST_TEXT
            else {}
        )
        return {
            "ok": True,
            "channel": message.channel,
            "ts": message.ts,
            "message": {"text": message.text},
            **extra,
        }

    def post_ephemeral(self, what: Json) -> Json:
        if no := self.refused(what):
            return no
        if not what.get("user"):
            return {"ok": False, "error": "user_not_in_channel"}
        message = Message(
            what["channel"],
            self.ts(),
            str(what.get("text") or ""),
            what["blocks"],
            what.get("thread_ts"),
            what["user"],
        )
        self.messages.append(message)
        return {"ok": True, "message_ts": message.ts}

    def update(self, what: Json) -> Json:
        found = [m for m in self.posts(what.get("channel")) if m.ts == what.get("ts")]
        if not found:
            return {"ok": False, "error": "message_not_found"}
        if no := self.refused(what):
            return no
        if not what["blocks"] and len(str(what.get("text") or "").encode()) > 4000:
            return {"ok": False, "error": "msg_too_long"}
        found[0].text, found[0].blocks = str(what.get("text") or ""), what["blocks"]
        found[0].edits += 1
        return {"ok": True, "channel": found[0].channel, "ts": found[0].ts, "text": found[0].text}

    def permalink(self, what: Json) -> Json:
        return {
            "ok": True,
            "permalink": f"https://example.slack.com/archives/{what['channel']}/p{what['message_ts']}",
        }

    def open_view(self, what: Json) -> Json:
        born = self.triggers.pop(str(what.get("trigger_id")), None)
        if born is None:
            return {"ok": False, "error": "invalid_trigger_id"}
        if self.now() - born > TRIGGER_SECONDS:
            return {"ok": False, "error": "expired_trigger_id"}
        return self.show(what["view"])

    def show(self, view: Any) -> Json:
        view = json.loads(view) if isinstance(view, str) else view
        if faults := judge.view_faults(view):
            return {"ok": False, "error": "invalid_arguments", "response_metadata": {"messages": faults}}
        shown = {**view, "id": f"V{next(self.counter)}"}
        self.views.append(shown)
        return {"ok": True, "view": shown}

    def publish(self, what: Json) -> Json:
        answer = self.show(what["view"])
        if answer["ok"]:
            self.homes[what["user_id"]] = answer["view"]
        return answer

    def user_info(self, what: Json) -> Json:
        user = self.users.get(str(what.get("user")), {"tz": "Etc/UTC", "locale": "en-US"})
        shown = {key: value for key, value in user.items() if key != "locale" or what.get("include_locale")}
        return {"ok": True, "user": {"id": what.get("user"), **shown}}

    def conversation(self, what: Json) -> Json:
        return {
            "ok": True,
            "channel": {"id": what.get("channel") or "D0001", "name": "general"},
            "channels": [],
        }

    def upload_url(self, what: Json) -> Json:
        name = f"F{next(self.counter)}"
        return {"ok": True, "file_id": name, "upload_url": f"{self.origin}/upload/{name}"}

    def complete_upload(self, what: Json) -> Json:
        files = json.loads(what["files"]) if isinstance(what["files"], str) else what["files"]
        if str(what.get("channel_id")) in self.missing_channels:
            return {"ok": False, "error": "not_in_channel"}
        for file in files:
            kept = {"id": file["id"], "title": file.get("title"), "channel": what.get("channel_id"),
                    "thread_ts": what.get("thread_ts"), "data": self.stored[file["id"]]}  # fmt: skip
            self.files.append(kept)
        return {"ok": True, "files": [{"id": file["id"]} for file in files]}

    def connect(self, what: Json) -> Json:
        ticket = f"ticket{next(self.counter)}"
        self.tickets.add(ticket)
        return {"ok": True, "url": f"ws://127.0.0.1:{self.http.server_port}/link/?ticket={ticket}"}

    def validate(self, what: Json) -> Json:
        blocks = json.loads(what["blocks"]) if isinstance(what["blocks"], str) else what["blocks"]
        faults = judge.faults(blocks)
        return {"ok": not faults, **({"error": "invalid_blocks", "errors": faults} if faults else {})}

    # response_url.

    def respond(self, name: str, what: Json) -> tuple[int, str]:
        reply = self.response_urls.get(name)
        if reply is None:
            return 404, "no_service"
        if self.now() - reply.born > RESPONSE_URL_SECONDS:
            return 404, "expired_url"
        if reply.uses >= RESPONSE_URL_USES:
            return 404, "used_url"
        if faults := judge.faults(what.get("blocks") or []):
            self.refusals.append(f"response_url: invalid_blocks {faults}")
            return 400, "invalid_blocks"
        if not what.get("blocks") and not what.get("text") and not what.get("delete_original"):
            return 400, "no_text"
        reply.uses += 1
        everybody = what.get("response_type") == "in_channel"
        old = reply.original
        if what.get("replace_original") and old is not None and old in self.messages:
            old.text, old.blocks, old.edits = (
                str(what.get("text") or ""),
                what.get("blocks") or [],
                old.edits + 1,
            )
            return 200, "ok"
        if what.get("replace_original") and old is None and reply.is_command and reply.early is None:
            reply.early = what
            return 200, "ok"
        message = Message(
            reply.channel, self.ts(), str(what.get("text") or ""), what.get("blocks") or [],
            old.thread_ts if old else None, None if everybody else reply.user,
            response_type="in_channel" if everybody else "ephemeral",
        )  # fmt: skip
        self.messages.append(message)
        return 200, "ok"


METHODS = {
    "auth.test": SlackDouble.auth_test,
    "chat.postMessage": SlackDouble.post_message,
    "chat.postEphemeral": SlackDouble.post_ephemeral,
    "chat.update": SlackDouble.update,
    "chat.getPermalink": SlackDouble.permalink,
    "views.open": SlackDouble.open_view,
    "views.publish": SlackDouble.publish,
    "views.update": lambda slack, what: slack.show(what["view"]),
    "users.info": SlackDouble.user_info,
    "conversations.info": SlackDouble.conversation,
    "conversations.list": SlackDouble.conversation,
    "conversations.join": SlackDouble.conversation,
    "conversations.open": SlackDouble.conversation,
    "files.getUploadURLExternal": SlackDouble.upload_url,
    "files.completeUploadExternal": SlackDouble.complete_upload,
    "apps.connections.open": SlackDouble.connect,
    "blocks.validate": SlackDouble.validate,
}


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A bot that hangs up is no error of Slack's."""


class SlackHandler(BaseHTTPRequestHandler):
    slack: SlackDouble
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.slack.is_away:
            self.cut()
        elif self.path.startswith("/link/"):
            self.upgrade()
        elif self.path.startswith("/files/"):
            data = self.slack.stored.get(self.path.rpartition("/")[2])
            allowed = self.headers.get("Authorization", "").startswith("Bearer xoxb-")
            self.answer(200 if data is not None and allowed else 403, data or b"", "text/plain")
        elif self.path.startswith("/api/"):
            self.api({})
        else:
            self.answer(404, b"")

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length)
        if self.slack.is_away:
            self.cut()
        elif self.path.startswith("/api/"):
            self.api(self.decoded(data))
        elif self.path.startswith("/respond/"):
            with self.slack.changed:
                status, text = self.slack.respond(self.path.rpartition("/")[2], self.decoded(data))
                self.slack.calls["response_url"] += 1
                self.slack.changed.notify_all()
            self.answer(status, text.encode(), "text/plain")
        elif self.path.startswith("/upload/"):
            self.slack.stored[self.path.rpartition("/")[2]] = data
            self.answer(200, b"OK")
        else:
            self.answer(404, b"")

    def decoded(self, data: bytes) -> Json:
        if "json" in self.headers.get("Content-Type", ""):
            found: Json = json.loads(data or b"{}")
            return found
        return dict(parse_qsl(data.decode()))

    def api(self, what: Json) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ") or str(what.get("token") or "")
        name = urlsplit(self.path).path.removeprefix("/api/")
        if name in self.slack.odd:
            status, body, wait = self.slack.odd[name]
            self.slack.calls[name] += 1
            self.answer(status, body, "text/html", {"Retry-After": wait} if wait else {})
            return
        status, answer, headers = self.slack.method(name, {**query, **what}, token)
        self.answer(status, json.dumps(answer).encode(), "application/json; charset=utf-8", headers)

    def answer(
        self, status: int, data: bytes, kind: str = "text/plain", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.slack.date_offset)

    def cut(self) -> None:
        self.close_connection = True
        self.wfile = io.BytesIO()
        self.connection.close()

    def upgrade(self) -> None:
        ticket = dict(parse_qsl(urlsplit(self.path).query)).get("ticket", "")
        if ticket not in self.slack.tickets:
            self.answer(408, b"")
            return
        self.slack.tickets.discard(ticket)
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept_key(self.headers["Sec-WebSocket-Key"]))
        self.end_headers()
        connection = Connection(self.connection)
        connection.send({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A0001"}})
        with self.slack.changed:
            self.slack.sockets.append(connection)
            self.slack.changed.notify_all()
        connection.serve()
        self.close_connection = True
