"""Sending: in order, each once, and politely to a server that has trouble."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpudiag.agent.reporter import LONGEST_WAIT, Reporter
from gpudiag.agent.spool import Spool
from gpudiag.client import Busy, Refused, Unauthorized, Unreachable


class Server:
    """The API's side: takes snapshots, or fails as told."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.fails: Exception | None = None
        self.tries = 0

    def send(self, snapshot: bytes) -> object:
        self.tries += 1
        if self.fails is not None:
            raise self.fails
        self.got.append(snapshot)
        return {}


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def reporter(server: Server, tmp_path: Path, said: list[str]) -> Reporter:
    return Reporter(server, Spool(tmp_path), say=said.append, chance=random.Random(7))


def drain(reporter: Reporter, now: float) -> float:
    """Pushes until nothing waits; when that was."""
    while (wait := reporter.push(now)) > 0:
        now += wait
    return now


def test_a_snapshot_goes_out_at_once_and_touches_no_disk(
    server: Server, reporter: Reporter, tmp_path: Path
) -> None:
    assert reporter.report(b"one", 0.0) == 0.0
    assert (server.got, list(tmp_path.iterdir())) == ([b"one"], [])


def test_an_hour_without_a_server_loses_nothing_and_keeps_the_order(
    server: Server, reporter: Reporter
) -> None:
    server.fails = Unreachable("nothing listens")
    snapshots = [b"%d" % number for number in range(360)]
    now = 0.0
    for snapshot in snapshots:
        reporter.report(snapshot, now)
        now += 10
    assert reporter.waiting == 360

    server.fails = None
    drain(reporter, now)
    assert server.got == snapshots
    assert reporter.lost == 0


def test_tries_become_rarer_and_never_rarer_than_a_minute_and_a_half(
    server: Server, reporter: Reporter
) -> None:
    server.fails = Unreachable("nothing listens")
    reporter.report(b"one", 0.0)
    waits, now = [], 0.0
    for _ in range(12):
        wait = reporter.push(now)
        waits.append(wait)
        now += wait + 0.001

    assert waits[0] < 3
    assert max(waits) <= 1.5 * LONGEST_WAIT
    assert min(waits[-4:]) >= 0.5 * LONGEST_WAIT
    assert server.tries <= 13


def test_agents_that_failed_together_do_not_come_back_together(tmp_path: Path) -> None:
    waits = set()
    for seed in range(20):
        server = Server()
        server.fails = Busy("full")
        server.fails.retry_after = 30.0
        reporter = Reporter(server, Spool(tmp_path / str(seed)), chance=random.Random(seed))
        waits.add(round(reporter.report(b"x", 0.0), 1))

    assert len(waits) > 10
    assert all(30 <= wait <= 45 for wait in waits)


def test_a_retry_after_is_respected(server: Server, reporter: Reporter) -> None:
    server.fails = Busy("full")
    server.fails.retry_after = 20.0
    reporter.report(b"one", 0.0)
    server.fails = None
    reporter.report(b"two", 10.0)
    assert server.tries == 1

    drain(reporter, 40.0)
    assert server.got == [b"one", b"two"]


def test_a_server_that_says_come_back_at_once_is_not_hammered(server: Server, reporter: Reporter) -> None:
    server.fails = Busy("full")
    server.fails.retry_after = 0.0
    reporter.report(b"one", 0.0)

    assert reporter.push(0.5) > 0.4
    assert server.tries == 1


def test_the_first_report_comes_at_a_random_moment(tmp_path: Path) -> None:
    phases = {
        round(Reporter(Server(), Spool(tmp_path), chance=random.Random(seed)).phase(10.0), 2)
        for seed in range(20)
    }

    assert len(phases) == 20
    assert all(0 <= phase <= 10 for phase in phases)


def test_a_refused_snapshot_is_dropped_counted_and_told(
    server: Server, reporter: Reporter, said: list[str]
) -> None:
    server.fails = Refused("snapshot refused at gpus[2].power_watts: expected a number")
    reporter.report(b"bad", 0.0)
    server.fails = None
    reporter.report(b"good", 10.0)

    assert server.got == [b"good"]
    assert reporter.lost == 1
    assert any("power_watts" in line for line in said)


def test_a_wrong_token_loses_nothing_and_says_what_to_do(
    server: Server, reporter: Reporter, said: list[str]
) -> None:
    server.fails = Unauthorized("the token is not known")
    reporter.report(b"one", 0.0)

    assert (reporter.waiting, reporter.lost) == (1, 0)
    assert any("gpudiag token create" in line for line in said)


def test_a_surprise_while_sending_loses_nothing(server: Server, reporter: Reporter, said: list[str]) -> None:
    server.fails = ZeroDivisionError("nobody expected this")
    reporter.report(b"one", 0.0)
    server.fails = None
    drain(reporter, 10.0)

    assert server.got == [b"one"]
    assert "nobody expected this" in said[0]


def test_a_trouble_is_said_once(server: Server, reporter: Reporter, said: list[str]) -> None:
    server.fails = Unreachable("nothing listens")
    for number in range(50):
        reporter.report(b"x", number * 100.0)

    assert said == ["nothing listens"]
