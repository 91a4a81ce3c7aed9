"""Sending: in order, each once, and politely to a server that has trouble."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from api.words import Sentence
from gpudiag.agent.reporter import LONGEST_WAIT, Reporter
from gpudiag.agent.spool import Spool
from gpudiag.client import Answer, Busy, Forbidden, Refused, Unauthorized, Unreachable
from gpudiag.client.failures import failure
from gpudiag.words.refusals import Refusal


class Server:
    """The API's side: takes snapshots, or fails as told; nothing larger than `largest` gets through to it."""

    def __init__(self) -> None:
        self.largest = 1_000
        self.got: list[bytes] = []
        self.fails: Exception | None = None
        self.tries = 0

    def send(self, snapshot: bytes) -> object:
        self.tries += 1
        if self.fails is not None:
            raise self.fails
        if len(snapshot) > self.largest:
            raise failure(Answer(413, {"content-type": "text/html"}, b"<h1>413</h1>"), "http://api")
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


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_token_of_another_node_is_told_with_one_command(
    server: Server, tmp_path: Path, said: list[str], language: str
) -> None:
    told = Sentence("token.node", bound="vm", node="node-1").said(language)
    server.fails = Unauthorized(told)
    Reporter(server, Spool(tmp_path), say=said.append, language=language).report(b"one", 0.0)

    assert said == [told]
    assert said[0].count("gpudiag token create agent") == 1


def test_a_server_of_simulated_nodes_asks_for_no_other_token(
    server: Server, reporter: Reporter, said: list[str]
) -> None:
    told = Sentence("simulated.only").said("en")
    server.fails = Forbidden(told)
    server.fails.ours = True
    reporter.report(b"one", 0.0)

    assert said == [told]
    assert "gpudiag serve" in told


def test_what_waits_has_a_reason_until_it_is_sent(server: Server, reporter: Reporter) -> None:
    assert reporter.trouble("en") is None
    server.fails = Unauthorized("the token is not known")
    reporter.report(b"one", 0.0)
    assert "the token is not known" in (reporter.trouble("en") or "")

    server.fails = Busy("full")
    reporter.push(30.0)
    assert reporter.trouble("en") == "full"

    server.fails = None
    drain(reporter, 60.0)
    assert reporter.trouble("en") is None


def test_the_reason_is_told_in_the_language_of_who_asks(server: Server, reporter: Reporter) -> None:
    server.fails = Unreachable(Refusal("api-nobody", url="http://127.0.0.1:1"))
    reporter.report(b"one", 0.0)

    assert "nothing listens at http://127.0.0.1:1" in (reporter.trouble("en") or "")
    assert reporter.trouble("ko") == Refusal("api-nobody", url="http://127.0.0.1:1").said("ko")


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


def test_what_cannot_be_sent_nor_kept_is_said_once_each(
    server: Server, said: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    reporter = Reporter(server, Spool(tmp_path / "file" / "spool"), say=said.append)
    assert len(said) == 1 and "--spool" in said[0]  # before anything is lost

    server.fails = Unreachable("nothing listens")
    for number in range(50):
        reporter.report(b"x", number * 100.0)

    assert said[1:] == ["nothing listens"]
    assert "--spool" in str(reporter.trouble("en"))
    assert reporter.lost == 50


def test_a_full_disk_is_told_once_while_newer_snapshots_replace_older_ones(
    server: Server, reporter: Reporter, said: list[str], tmp_path: Path
) -> None:
    server.fails = Unreachable("nothing listens")
    reporter.report(b"one", 0.0)
    for number in (1, 2, 3):
        (tmp_path / f"{number:016d}.snapshot.part").symlink_to("/dev/full")  # the first write finds no space
        reporter.report(b"%d" % number, 0.0)
    server.fails = None
    drain(reporter, 100.0)

    assert server.got == [b"3"]
    assert reporter.lost == 3
    assert [line for line in said if "no space is left" in line] == said[1:2]


LARGE = b"x" * 2_000


def test_a_snapshot_that_is_too_large_for_a_proxy_does_not_hold_up_the_others(
    server: Server, reporter: Reporter, said: list[str], tmp_path: Path
) -> None:
    snapshots = [b"one", LARGE, b"three", b"four"]
    for number, snapshot in enumerate(snapshots):
        reporter.report(snapshot, number * 10.0)
    drain(reporter, 40.0)

    assert server.got == [b"one", b"three", b"four"]
    assert (reporter.lost, reporter.waiting) == (1, 0)
    aside = list(tmp_path.glob("set-aside/*.jsonl"))
    assert [LARGE + b"\n"] == [file.read_bytes() for file in aside]
    assert any(str(aside[0]) in line and "413" in line for line in said)


def test_where_all_are_too_large_none_is_lost_and_all_arrive_when_the_limit_is_raised(
    server: Server, reporter: Reporter
) -> None:
    snapshots = [LARGE + b"%d" % number for number in range(30)]
    now = 0.0
    for snapshot in snapshots:
        reporter.report(snapshot, now)
        now += 10
    assert (server.got, reporter.lost, reporter.waiting) == ([], 0, 30)

    server.largest = 10_000
    drain(reporter, now)
    assert sorted(server.got) == sorted(snapshots)
    assert reporter.lost == 0


def test_of_several_that_are_too_large_each_is_set_aside(
    server: Server, reporter: Reporter, tmp_path: Path
) -> None:
    for number, snapshot in enumerate([LARGE, LARGE, LARGE, b"small", LARGE, b"last"]):
        reporter.report(snapshot, number * 1.0)
    now = 10.0
    for _ in range(60):
        now += reporter.push(now) or 1.0
        reporter.report(b"new %f" % now, now)

    assert [b"small", b"last"] == [snapshot for snapshot in server.got if not snapshot.startswith(b"new")]
    assert (4, 4) == (reporter.lost, len(list(tmp_path.glob("set-aside/*.jsonl"))))


def test_one_that_is_alone_waits_for_the_way_to_be_free(server: Server, reporter: Reporter) -> None:
    reporter.report(LARGE, 0.0)
    now = 0.0
    for _ in range(20):
        now += reporter.push(now) + 0.001
    assert (reporter.waiting, reporter.lost) == (1, 0)

    server.largest = 10_000
    drain(reporter, now)
    assert server.got == [LARGE]


def test_a_problem_that_does_not_name_our_api_drops_nothing(
    server: Server, reporter: Reporter, said: list[str]
) -> None:
    theirs = Answer(422, {"content-type": "application/problem+json"}, b'{"detail": "no such route"}')
    server.fails = failure(theirs, "http://gateway")
    reporter.report(b"one", 0.0)
    assert (reporter.waiting, reporter.lost) == (1, 0)
    assert "no such route (so says what answers at http://gateway, 422" in said[0]

    server.fails = None
    drain(reporter, 40.0)
    assert server.got == [b"one"]


def test_what_the_agent_says_is_said_in_korean_too(server: Server, tmp_path: Path, said: list[str]) -> None:
    reporter = Reporter(server, Spool(tmp_path), say=said.append, language="ko", chance=random.Random(7))
    server.fails = Refused("gpus[0]")
    reporter.report(b"one", 0.0)
    server.fails = failure(Answer(502, {}, b""), "http://api")
    reporter.report(b"two", 10.0)
    server.fails = None
    drain(reporter, 100.0)

    assert [line.split(":")[0] for line in said] == [
        "API가 거절한 스냅샷을 버립니다",
        "http",
        "다시 보고합니다. 전송 대기 중인 스냅샷",
    ]
    assert "이유 없이 502 Bad Gateway 응답을 보냈습니다" in said[1]
