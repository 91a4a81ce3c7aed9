"""The agent as a program."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import msgspec
import pytest

from gpudiag.model import Snapshot
from tests.agent.loopback import Receiver
from tests.agent.running import command, environment
from tests.doubles.nvml import Nvml
from tests.waiting import PATIENCE_SECONDS, until


def test_the_program_reports_answers_at_its_door_and_ends_on_a_signal(
    receiver: Receiver, tmp_path: Path
) -> None:
    with Nvml(gpus=2) as nvml:
        env = environment(nvml, tmp_path)
        agent = subprocess.Popen(
            command("agent", "--api", receiver.address, "--node", "node-7", "--interval", "1"),
            env=env,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: len(receiver.got) >= 2)
            status = subprocess.run(command("agent", "status"), env=env, capture_output=True, text=True)
            record = subprocess.run(
                command("record", str(tmp_path / "past"), "--past", "--for", "1h"),
                env=env,
                capture_output=True,
                text=True,
            )
            release = subprocess.run(
                command("agent", "release", "--for", "5m"), env=env, capture_output=True, text=True
            )
        finally:
            agent.send_signal(signal.SIGTERM)
            _, said = agent.communicate(timeout=PATIENCE_SECONDS)

    assert {snapshot.node for snapshot in receiver.got} == {"node-7"}
    assert "reports as node-7" in status.stdout
    assert "snapshots in" in record.stdout
    assert len((tmp_path / "past").read_text().splitlines()) >= 2
    assert "let go of the GPUs for 300 s" in release.stdout
    assert (agent.returncode, "Traceback" in said) == (0, False)


def test_the_status_says_why_reports_wait(receiver: Receiver, tmp_path: Path) -> None:
    receiver.status = 403
    with Nvml(gpus=1) as nvml:
        env = environment(nvml, tmp_path)
        agent = subprocess.Popen(
            command("agent", "--api", receiver.address, "--interval", "1"), env=env, stderr=subprocess.PIPE
        )

        def status(language: str) -> str:
            asked = command("agent", "status", "--lang", language)
            return subprocess.run(asked, env=env, capture_output=True, text=True, check=False).stdout

        try:
            until(lambda: "403" in status("en"))
            english, korean = status("en"), status("ko")
        finally:
            agent.send_signal(signal.SIGTERM)
            agent.communicate(timeout=PATIENCE_SECONDS)

    assert receiver.address in english.partition("Why they wait: ")[2]
    reason = korean.partition("대기하는 이유: ")[2]
    assert receiver.address in reason
    assert "주소가 맞는지 확인하십시오" in reason


def test_an_agent_that_is_killed_loses_nothing_that_waited_and_sends_nothing_twice(
    receiver: Receiver, tmp_path: Path
) -> None:
    receiver.status = 503
    with Nvml(gpus=1) as nvml:
        env = environment(nvml, tmp_path)
        words = command("agent", "--api", receiver.address, "--interval", "0.5")
        spool = tmp_path / "state" / "gpudiag" / "spool"
        agent = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        until(lambda: spool.exists() and len(list(spool.glob("*/*.snapshot"))) >= 4)
        agent.kill()
        agent.wait()
        waited = len(list(spool.glob("*/*.snapshot")))
        receiver.status = 200
        again = subprocess.Popen(words, env=env, stderr=subprocess.DEVNULL)
        until(lambda: len(receiver.got) >= waited + 2)
        again.send_signal(signal.SIGTERM)
        again.wait(timeout=PATIENCE_SECONDS)
    names = [(s.agent.start_id, s.agent.sequence) for s in receiver.got if s.agent]
    first = [sequence for start, sequence in names if start == names[0][0]]

    assert first == list(range(waited))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["agent", "--token-file", "/nowhere/token"], "token file /nowhere/token cannot be read"),
        (["agent", "--api", "nonsense"], "wants an address"),
        (["agent", "--interval", "soon"], "wants a span of time"),
        (["agent", "--interval", "2h"], "--interval wants a time between 0.1s and 1h"),
        (["agent", "status"], "no agent answers on this host"),
        (["record", "/nowhere/file", "--for", "0.2s", "--interval", "0.2s"], "cannot be written"),
        (["replay", "/nowhere/file"], "cannot be read"),
    ],
)
def test_a_mistake_is_one_sentence_and_no_traceback(tmp_path: Path, words: list[str], sentence: str) -> None:
    with Nvml(gpus=1) as nvml:
        result = subprocess.run(
            command(*words), env=environment(nvml, tmp_path), capture_output=True, text=True
        )

    assert result.returncode != 0
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_recording_is_diagnosed_again(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    with Nvml(gpus=2) as nvml:
        nvml.gpu(1).is_lost()
        env = environment(nvml, tmp_path)
        recorded = subprocess.run(
            command("record", str(file), "--for", "2s", "--interval", "0.5s", "--node", "node-9"),
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        replayed = subprocess.run(
            command("replay", str(file), "--json", "--lang", "en"),
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
    answer = msgspec.json.decode(replayed.stdout)

    assert "4 snapshots" in recorded.stdout
    assert (answer["node"], answer["verdict"]["rule"]) == ("node-9", "gpu-lost-bus")


def test_a_recording_is_sent_to_an_api(receiver: Receiver, tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    snapshots = [Snapshot(node="node-3", taken_at=float(second)) for second in range(5)]
    file.write_bytes(b"\n".join(msgspec.json.encode(snapshot) for snapshot in snapshots))
    result = subprocess.run(
        command("replay", str(file), "--api", receiver.address), capture_output=True, text=True, check=True
    )

    assert result.stdout == f"Snapshots sent to {receiver.address}: 5.\n"
    assert [snapshot.taken_at for snapshot in receiver.got] == [0, 1, 2, 3, 4]


def test_pasted_output_that_is_replayed_is_sent_to_the_command_that_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "smi.txt"
    file.write_text("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
    result = subprocess.run(command("replay", str(file)), capture_output=True, text=True)

    assert result.returncode != 0
    assert f"gpudiag explain {file}" in result.stderr


def test_a_line_that_is_no_snapshot_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.jsonl"
    file.write_text('{"node": "a", "taken_at": 1}\n{"node": "a", "taken_at": "yesterday"}\n')
    result = subprocess.run(command("replay", str(file)), capture_output=True, text=True)

    assert result.returncode != 0
    assert "line 2 is no snapshot" in result.stderr
    assert os.linesep.join(result.stderr.splitlines()[1:]) == ""
