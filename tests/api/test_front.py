"""Reports wait without holding a thread, and each is answered once."""

from __future__ import annotations

import gc
import gzip
import json
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import zstandard
from werkzeug.test import EnvironBuilder

from api.front import Front
from api.gateway import ANSWER, LATER, WsgiApp, gateway, whole
from api.reports.report import Report
from api.reports.writer import MOST_IN_A_BATCH
from api.server import THREADS
from gpudiag.client import Busy, Client, Refused
from tests.api.conftest import Api, ReportingNode
from tests.waiting import PATIENCE_SECONDS, until

Answered = list[tuple[str, dict[str, str], bytes]]


@contextmanager
def busy(api: Api) -> Iterator[None]:
    """While the writer has something else to do."""
    begun, release = threading.Event(), threading.Event()

    def act() -> None:
        begun.set()
        release.wait(PATIENCE_SECONDS)

    blocker = threading.Thread(target=lambda: api.parts.writer.do(act))
    blocker.start()
    assert begun.wait(PATIENCE_SECONDS)
    try:
        yield
    finally:
        release.set()
        blocker.join()


def flask_of(api: Api) -> WsgiApp:
    assert api.server is not None
    app: WsgiApp = api.server.app.wsgi_app
    return app


def reported(front: Front, body: bytes, **more: Any) -> Answered:
    """What is answered to a report, now or later."""
    answered: Answered = []
    environ = EnvironBuilder("/v1/snapshots", method="POST", data=body, **more).get_environ()
    environ["REMOTE_ADDR"] = "127.0.0.1"
    environ[ANSWER] = lambda status, headers, said: answered.append((status, dict(headers), said))
    assert front(environ, lambda *_: pytest.fail("answered at once")) is LATER
    return answered


def test_more_reports_wait_than_there_are_threads_and_questions_are_answered_meanwhile(
    api: Api, node: ReportingNode
) -> None:
    node.now -= 3_600  # the client says when it sends, by its own clock
    bodies = node.unsent(minutes=2 * THREADS / 6)
    api.clock.now = node.now
    answers: list[dict[str, Any]] = []

    def send(body: bytes) -> None:
        with Client(api.url, timeout=PATIENCE_SECONDS) as client:
            answers.append(client.send(body))

    threads = [threading.Thread(target=send, args=(body,)) for body in bodies]
    with busy(api):
        for thread in threads:
            thread.start()
        until(lambda: api.parts.writer.waiting == len(bodies))

        assert api.ask("GET", "/v1/nodes")["items"] == []
        assert answers == []
    for thread in threads:
        thread.join()

    assert len(bodies) > THREADS
    assert [answer["stored"] for answer in answers] == [1] * len(bodies)
    assert api.parts.store.snapshots.count() == len(bodies)


def test_what_waits_too_long_hears_so_once_and_counts_once(api: Api, node: ReportingNode) -> None:
    front = Front(flask_of(api), api.parts, patience=0.0)
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    with busy(api):
        answered = reported(front, body)
        front.look()
        front.look()

        assert [status for status, _, _ in answered] == ["503 SERVICE UNAVAILABLE"]
        assert int(answered[0][1]["Retry-After"]) > 0
    until(lambda: api.parts.writer.stored == 1)
    again = reported(front, body)
    until(lambda: bool(again))

    assert len(answered) == 1
    assert json.loads(again[0][2])["duplicates"] == 1


def test_who_does_not_wait_long_is_left_alone(api: Api, node: ReportingNode) -> None:
    front = Front(flask_of(api), api.parts)
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    with busy(api):
        answered = reported(front, body)
        front.look()
        assert answered == []
    until(lambda: bool(answered))

    assert answered[0][0] == "200 OK"
    assert json.loads(answered[0][2])["stored"] == 1


def test_a_report_that_is_none_is_refused_in_words_and_the_next_one_is_taken(
    api: Api, node: ReportingNode
) -> None:
    front = Front(flask_of(api), api.parts)
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    with busy(api):
        wrong = reported(front, body.replace(b'"index":0', b'"index":"zero"', 1))
        packed = reported(front, b"not zstd", headers={"Content-Encoding": "zstd"})
        right = reported(front, body)
    until(lambda: bool(right and packed and wrong))

    assert [answered[0][0][:3] for answered in (wrong, packed, right)] == ["422", "400", "200"]
    assert b"gpus[0].index" in wrong[0][2]


def test_nothing_of_a_refused_report_stays_in_memory(api: Api, node: ReportingNode) -> None:
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    wrong = body.replace(b'"index":0', b'"index":"zero"', 1)
    with uncollected():
        with pytest.raises(Refused):
            api.ask("POST", "/v1/snapshots", wrong)
        impatient = Front(flask_of(api), api.parts, patience=0.0)
        with busy(api):
            reported(impatient, wrong)
            impatient.look()
        api.parts.writer.stop()
        with pytest.raises(Busy):
            api.ask("POST", "/v1/snapshots", body)

        until(lambda: not any(isinstance(thing, Report) for thing in gc.get_objects()))


@contextmanager
def uncollected() -> Iterator[None]:
    """While nobody looks for what holds itself: the server does so rarely, and bodies are large."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (zstandard.ZstdCompressor().compress, "zstd"),
        (lambda body: body, None),
        (lambda body: gzip.compress(body, 1), "gzip"),
    ],
    ids=["zstd", "as it is", "gzip"],
)
def test_what_is_large_unpacked_has_a_turn_for_itself(
    packed: Callable[[bytes], bytes], encoding: str | None
) -> None:
    def size_of(body: bytes) -> int:
        return Report(packed(body), encoding, 0.0, None, lambda node: None).size

    assert size_of(b" " * (30 << 20)) > MOST_IN_A_BATCH
    assert size_of(b" " * 2_000) == 1


def test_what_does_not_say_how_large_it_is_unpacked_has_a_turn_for_itself() -> None:
    body = zstandard.ZstdCompressor(write_content_size=False).compress(b" " * 2_000)

    assert Report(body, "zstd", 0.0, None, lambda node: None).size > MOST_IN_A_BATCH


def test_a_body_that_is_not_packed_as_it_says_counts_as_it_came() -> None:
    assert Report(b"not zstd", "zstd", 0.0, None, lambda node: None).size == 1


def waits_more_than(api: Api, before: int) -> bool:
    waiting: int = api.parts.writer.waiting
    return waiting > before


def test_a_node_deleted_twice_while_it_reports_is_gone_everywhere(api: Api, node: ReportingNode) -> None:
    node.passes(seconds=20)
    ReportingNode("node-4", api).reports()
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    delete, report = partial(api.ask, "DELETE", "/v1/nodes/node-3"), partial(api.send, body)
    with ThreadPoolExecutor(3) as pool, busy(api):
        for act in (delete, report, delete):
            before = api.parts.writer.waiting
            pool.submit(act)
            until(partial(waits_more_than, api, before))

    assert api.parts.judge.nodes.keys() == {row.name for row in api.parts.store.snapshots.nodes()}
    assert "node-3" not in api.parts.judge.nodes


def test_a_report_that_waits_when_the_server_stops_is_stored_and_answered(
    api: Api, node: ReportingNode
) -> None:
    (body,) = node.unsent(seconds=10)
    api.clock.now = node.now
    answers: list[dict[str, Any]] = []

    def send() -> None:
        with Client(api.url, timeout=PATIENCE_SECONDS) as client:
            answers.append(client.send(body))

    sender, stopping = threading.Thread(target=send), threading.Thread(target=api.stop)
    with busy(api):
        writer = api.parts.writer
        sender.start()
        until(lambda: writer.waiting == 1)
        stopping.start()
        until(lambda: not accepts(api))
    sender.join()
    stopping.join()

    assert answers[0]["stored"] == 1


def accepts(api: Api) -> bool:
    """Whether the server takes new connections."""
    server = api.server
    if server is None:
        return False
    try:
        with Client(server.url, timeout=1.0) as client:
            client.nodes()
    except Exception:
        return False
    return True


# ---------------------------------------------------------------------------------------- WSGI


class Protocol:
    """What granian gives with a request."""

    def __init__(self) -> None:
        self.said: list[tuple[int, dict[str, str], bytes]] = []

    def response_bytes(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.said.append((status, dict(headers), body))

    def response_iter(self, status: int, headers: list[tuple[str, str]], parts: Any) -> None:
        self.said.append((status, dict(headers), b"".join(parts)))
        parts.close()


class Closing:
    """A body in parts that wants to be closed."""

    def __init__(self) -> None:
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from (b"a", b"b")

    def close(self) -> None:
        self.closed = True


@pytest.mark.parametrize("body", [[b"a", b"b"], (part for part in (b"a", b"b")), Closing()])
def test_an_application_answers_at_once(body: Iterable[bytes]) -> None:
    seen: dict[str, Any] = {}

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        seen.update(environ)
        start_response("418 I AM A TEAPOT", [("Tea", "green")])
        return body

    protocol = Protocol()
    gateway(app)(protocol, {"PATH_INFO": "/x"})

    assert protocol.said == [(418, {"Tea": "green"}, b"ab")]
    assert seen["PATH_INFO"] == "/x"
    assert seen["wsgi.multithread"] is True
    assert not isinstance(body, Closing) or body.closed


def test_an_answer_without_a_body_is_one() -> None:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("204 NO CONTENT", [])
        return ()

    protocol = Protocol()
    gateway(app)(protocol, {})

    assert protocol.said == [(204, {}, b"")]


def test_an_application_answers_later() -> None:
    kept: list[Any] = []

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        kept.append(environ[ANSWER])
        return LATER

    protocol = Protocol()
    gateway(app)(protocol, {})
    assert protocol.said == []

    kept[0]("200 OK", [], b"now")

    assert protocol.said == [(200, {}, b"now")]


def test_a_whole_answer_is_closed() -> None:
    body = Closing()

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("200 OK", [])
        return body

    assert whole(app, {}) == ("200 OK", [], b"ab")
    assert body.closed
