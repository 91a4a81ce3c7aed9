"""Persons in the workspace: they type commands, mention the bot, press buttons; Slack carries it over.

Slack signs what it sends over HTTP with the SDK's own signer, so that the bot's verification is the real one.
"""
# ruff: noqa: E501  (payloads as they stand on the wire)

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from slack_sdk.signature import SignatureVerifier

from tests.waiting import PATIENCE_SECONDS

from .server import BOT_USER, TEAM, Message, SlackDouble

Json = dict[str, Any]
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"  # the example secret of Slack's documentation


@dataclass
class Reply:
    """What came back at once: the acknowledgement, the message in it, and how long it took."""

    status: int
    body: Any
    seconds: float
    message: Message | None = None


@dataclass
class ByHttp:
    """Slack's requests to a public address."""

    url: str
    secret: str = SECRET

    def send(self, form: Json | None, event: Json | None, headers: Json | None = None) -> Reply:
        if form is not None:
            body, kind = urlencode(form), "application/x-www-form-urlencoded"
        else:
            body, kind = json.dumps(event), "application/json"
        return self.raw(body.encode(), {"Content-Type": kind, **self.signature(body), **(headers or {})})

    def signature(self, body: str, timestamp: str | None = None) -> dict[str, str]:
        when = timestamp or str(int(time.time()))
        made = SignatureVerifier(self.secret).generate_signature(timestamp=when, body=body)
        return {"X-Slack-Request-Timestamp": when, "X-Slack-Signature": str(made)}

    def raw(self, body: bytes, headers: Json) -> Reply:
        """One request as it stands, for what Slack itself would never send."""
        where = urlsplit(self.url)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE_SECONDS)
        started = time.perf_counter()
        try:
            connection.request("POST", where.path, body=body, headers=headers)
            answer = connection.getresponse()
            data = answer.read()
        finally:
            connection.close()
        seconds = time.perf_counter() - started
        kind = answer.headers.get("Content-Type", "")
        return Reply(answer.status, json.loads(data) if "json" in kind else data.decode(), seconds)


@dataclass
class BySocket:
    """Slack's envelopes over the newest connection of the bot."""

    slack: SlackDouble

    def send(self, form: Json | None, event: Json | None, headers: Json | None = None) -> Reply:
        if event is not None:
            kind, payload = "events_api", event
        elif form is not None and "payload" in form:
            kind, payload = "interactive", json.loads(form["payload"])
        else:
            kind, payload = "slash_commands", form or {}
        connection = self.slack.sockets[-1]
        envelope = f"envelope-{time.perf_counter_ns()}"
        retry = {"retry_attempt": int((headers or {}).get("X-Slack-Retry-Num", 0)), "retry_reason": ""}
        started = time.perf_counter()
        connection.send(
            {
                "type": kind,
                "envelope_id": envelope,
                "payload": payload,
                "accepts_response_payload": True,
                **retry,
            }
        )
        done, body = connection.ack_of(envelope, PATIENCE_SECONDS)
        return Reply(200 if done else 0, body or "", time.perf_counter() - started)


@dataclass
class Person:
    """Somebody in a channel of the workspace."""

    slack: SlackDouble
    way: ByHttp | BySocket
    user: str = "U0001"
    channel: str = "C0001"
    team: str = TEAM
    enterprise: str | None = None

    def types(self, text: str, command: str = "/gpu", **changed: Any) -> Reply:
        """A slash command."""
        form = {
            "token": "deprecated", "team_id": self.team, "team_domain": "example", "channel_id": self.channel,
            "channel_name": "general", "user_id": self.user, "user_name": "somebody", "command": command,
            "text": text, "api_app_id": "A0001", "is_enterprise_install": "false",
            "response_url": self.slack.response_url(self.channel, self.user), "trigger_id": self.slack.trigger(),
        }  # fmt: skip
        if self.enterprise:
            form |= {"enterprise_id": self.enterprise, "enterprise_name": "Example Inc"}
        self.slack.response_urls[form["response_url"].rpartition("/")[2]].is_command = True
        reply = self.way.send({**form, **changed}, None)
        return self.shown(reply, form["response_url"])

    def shown(self, reply: Reply, response_url: str) -> Reply:
        """An acknowledgement with text or blocks is a message; a bare text is one too."""
        if reply.status == 200 and isinstance(reply.body, str) and reply.body:
            reply.body = {"text": reply.body}
        if (
            reply.status == 200
            and isinstance(reply.body, dict)
            and ("text" in reply.body or "blocks" in reply.body)
        ):
            everybody = reply.body.get("response_type") == "in_channel"
            message = Message(
                self.channel, self.slack.ts(), reply.body.get("text") or "", reply.body.get("blocks") or [],
                None, None if everybody else self.user, response_type="in_channel" if everybody else "ephemeral",
            )  # fmt: skip
            with self.slack.lock:
                url = self.slack.response_urls[response_url.rpartition("/")[2]]
                url.original = reply.message = self.slack.add(message)
                if url.early:
                    message.text, message.edits = url.early.get("text") or "", 1
                    message.blocks = url.early.get("blocks") or []
        return reply

    def asks(self, text: str) -> Message:
        """Type a command and read its full answer, in the acknowledgement or after it."""
        seen = len(self.slack.messages)
        reply = self.types(text)
        assert reply.status == 200, reply
        if reply.message is None:
            return self.slack.wait(lambda: (self.slack.messages[seen:] or [None])[0])
        waiting = reply.message
        if waiting.blocks:
            return waiting
        return self.slack.wait(lambda: next((m for m in self.slack.messages[seen:] if m.blocks), None))

    def event(self, event: Json, event_id: str | None = None, headers: Json | None = None) -> Reply:
        body = {
            "token": "deprecated", "team_id": self.team, "api_app_id": "A0001", "type": "event_callback",
            "event_id": event_id or f"Ev{time.perf_counter_ns()}", "event_time": int(time.time()), "event": event,
            "authorizations": [{"team_id": self.team, "enterprise_id": self.enterprise, "user_id": BOT_USER,
                                "is_bot": True, "is_enterprise_install": False}],
        }  # fmt: skip
        if self.enterprise:
            body["enterprise_id"] = self.enterprise
        return self.way.send(None, body, headers)

    def mentions(
        self, text: str, thread_ts: str | None = None, event_id: str | None = None, **more: Any
    ) -> Reply:
        event = {"type": "app_mention", "user": self.user, "text": f"<@{BOT_USER}> {text}", "ts": self.slack.ts(),
                 "channel": self.channel, "event_ts": "1"}  # fmt: skip
        if thread_ts:
            event["thread_ts"] = thread_ts
        return self.event(event, event_id, **more)

    def writes_directly(self, text: str, **more: Any) -> Reply:
        return self.event(
            {"type": "message", "channel_type": "im", "channel": "D0001", "user": self.user, "text": text,
             "ts": self.slack.ts(), **more}
        )  # fmt: skip

    def opens_home(self) -> Reply:
        return self.event({"type": "app_home_opened", "user": self.user, "channel": "D0001", "tab": "home"})

    def presses(self, message: Message, label: str, option: str | None = None) -> Reply:
        """Press a button; for a menu, `option` is the label chosen."""
        element = message.action(label)
        told = ("action_id", "block_id", "type", "value", "text")
        action: dict[str, Any] = {key: element[key] for key in told if key in element}
        if option is not None:
            action["selected_option"] = next(o for o in element["options"] if o["text"]["text"] == option)
        container = {
            "type": "message", "message_ts": message.ts, "channel_id": message.channel,
            "is_ephemeral": message.only_for is not None,
        }  # fmt: skip
        payload: dict[str, Any] = {
            "type": "block_actions", "team": {"id": self.team, "domain": "example"},
            "user": {"id": self.user, "username": "somebody", "team_id": self.team},
            "container": container, "channel": {"id": message.channel, "name": "general"},
            "trigger_id": self.slack.trigger(), "actions": [{**action, "action_ts": self.slack.ts()}],
            "response_url": self.slack.response_url(message.channel, self.user, message),
        }  # fmt: skip
        if message.only_for is None:
            payload["message"] = {"ts": message.ts, "text": message.text, "blocks": message.blocks}
            if message.thread_ts:
                payload["message"]["thread_ts"] = message.thread_ts
        return self.interacts(payload)

    def presses_at_home(self, label: str) -> Reply:
        view = self.slack.homes[self.user]
        element = Message("", "", "", view["blocks"]).action(label)
        return self.interacts(
            {"type": "block_actions", "team": {"id": self.team}, "user": {"id": self.user, "team_id": self.team},
             "container": {"type": "view", "view_id": view["id"]}, "view": view,
             "trigger_id": self.slack.trigger(), "actions": [element]}
        )  # fmt: skip

    def uses_shortcut(self, text: str, files: list[Json] | None = None) -> Reply:
        message = {
            "type": "message",
            "user": "U0002",
            "ts": self.slack.ts(),
            "text": text,
            "files": files or [],
        }
        return self.interacts(
            {"type": "message_action", "callback_id": "explain_smi", "team": {"id": self.team},
             "user": {"id": self.user, "team_id": self.team}, "channel": {"id": self.channel},
             "trigger_id": self.slack.trigger(), "message": message, "message_ts": message["ts"],
             "response_url": self.slack.response_url(self.channel, self.user)}
        )  # fmt: skip

    def submits(self, view: Json, text: str = "") -> Reply:
        values = {"text": {"text": {"type": "plain_text_input", "value": text or None}},
                  "file": {"file": {"type": "file_input", "files": []}}}  # fmt: skip
        return self.interacts(
            {"type": "view_submission", "team": {"id": self.team}, "user": {"id": self.user, "team_id": self.team},
             "trigger_id": self.slack.trigger(), "view": {**view, "state": {"values": values}}}
        )  # fmt: skip

    def interacts(self, payload: Json) -> Reply:
        body = {"api_app_id": "A0001", "token": "deprecated", "enterprise": None, **payload}
        if self.enterprise:
            body["enterprise"] = {"id": self.enterprise, "name": "Example Inc"}
        return self.way.send({"payload": json.dumps(body)}, None)
