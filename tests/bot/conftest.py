"""A running bot between a stand-in for Slack and an API that answers what a test tells it to."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.serving import WSGIRequestHandler, make_server

from bot.program import Program, build
from bot.settings import Settings
from tests.bot.recorded import RecordedApi
from tests.doubles.slack.people import SECRET, ByHttp, Person
from tests.doubles.slack.server import Message, SlackDouble


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """slack_sdk would send loopback calls to a proxy of the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def slack() -> Iterator[SlackDouble]:
    with SlackDouble() as double:
        yield double


@pytest.fixture
def api() -> Iterator[RecordedApi]:
    with RecordedApi() as recorded:
        yield recorded


@pytest.fixture
def settings(slack: SlackDouble, api: RecordedApi, tmp_path: Path) -> Settings:
    return Settings(
        bot_token="xoxb-test",
        signing_secret=SECRET,
        api_url=api.url,
        public_url="https://gpudiag.example.com",
        slack_api_url=slack.api_url,
        state_path=str(tmp_path / "bot.sqlite3"),
        answer_seconds=20.0,  # longer than any answer takes: every one is in its acknowledgement
        api_seconds=30.0,
        reconnect_seconds=0.2,
        look_seconds=0.1,
        settle_seconds=0.3,
        edit_seconds=0.3,
    )


class Running:
    """A started bot with its web server on a free port."""

    def __init__(self, settings: Settings):
        self.program: Program = build(settings)
        web = self.program.web or Flask("socket mode serves no address")
        self.server = make_server("127.0.0.1", 0, web, threaded=True, request_handler=Quiet)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Running:
        self.program.start()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
        self.program.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/slack/events"


class Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


def firing(slack: SlackDouble) -> Message:
    """The message of what opened, as soon as it stands in its channel."""
    return slack.wait(lambda: next((m for m in slack.posts() if "Firing" in m.text), None))


@pytest.fixture
def bot(settings: Settings) -> Iterator[Running]:
    with Running(settings) as running:
        yield running


@pytest.fixture
def person(bot: Running, slack: SlackDouble) -> Person:
    """Somebody who talks to the bot over HTTP."""
    return Person(slack, ByHttp(bot.url))
