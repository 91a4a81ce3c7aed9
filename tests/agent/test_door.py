"""The agent's door on its own host."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

import msgspec
import pytest

from gpudiag.agent import NoAgent, ask
from gpudiag.model import Snapshot
from tests.agent.machine import FakeHost
from tests.agent.running import Running
from tests.doubles.nvml import Nvml
from tests.waiting import until


def test_history_is_given_at_the_door(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as running:
        running.takes(4)
        everything = msgspec.json.decode(ask({"ask": "history"}, running.runtime), type=list[Snapshot])
        latest = msgspec.json.decode(
            ask({"ask": "history", "seconds": 15}, running.runtime), type=list[Snapshot]
        )

    assert [s.agent.sequence for s in everything if s.agent] == list(range(len(everything)))
    assert len(latest) < len(everything)


def test_the_gpus_are_let_go_of_on_request(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as running:
        running.takes(1)
        answer = msgspec.json.decode(ask({"ask": "release", "seconds": 86_400}, running.runtime))
        calls = nvml.calls()
        snapshot = running.takes(2)[-1]
        status = msgspec.json.decode(ask({"ask": "status"}, running.runtime))

        assert answer["released"] is True
        assert nvml.calls() == calls
        assert snapshot.nvml is not None
        assert snapshot.nvml.released is True
        assert status["released"] is True

        ask({"ask": "resume"}, running.runtime)
        assert msgspec.json.decode(ask({"ask": "status"}, running.runtime))["holds_driver"] is True
        until(lambda: running.agent.history[-1].gpus[0].power_watts == 70)


@pytest.mark.parametrize(
    "request_line",
    [b"nonsense\n", b"[1]\n", b'{"ask": "secrets"}\n', b"\n", b"x" * 10_000, b"[" * 4_000 + b"\n"],
)
def test_a_visitor_who_talks_nonsense_gets_a_sentence(
    nvml: Nvml, host: FakeHost, tmp_path: Path, request_line: bytes
) -> None:
    with Running(host, tmp_path) as running:
        running.opens()
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(str(running.runtime / "agent.sock"))
            door.sendall(request_line)
            answer = msgspec.json.decode(door.recv(4096))

    assert answer["error"]


def test_a_visitor_who_goes_on_talking_is_cut_off(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as running, socket.socket(socket.AF_UNIX) as door:
        running.opens()
        door.connect(str(running.runtime / "agent.sock"))
        begun = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - begun < 20:
                door.sendall(b" ")
                time.sleep(0.2)
        ask({"ask": "status"}, running.runtime)

    assert time.monotonic() - begun < 10


def test_a_second_agent_leaves_the_first_ones_door_alone(nvml: Nvml, host: FakeHost, tmp_path: Path) -> None:
    with Running(host, tmp_path) as first:
        first.opens()
        with Running(host, tmp_path) as second:
            until(lambda: second.said)
        ask({"ask": "status"}, first.runtime)

    assert any("another agent runs here" in line for line in second.said)


def test_without_an_agent_the_sentence_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(NoAgent, match="gpudiag agent"):
        ask({"ask": "status"}, tmp_path)
