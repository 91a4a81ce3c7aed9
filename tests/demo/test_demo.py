"""`gpudiag demo` as a person starts it: a process, its addresses, its end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpudiag.cli import main
from tests.waiting import PATIENCE_SECONDS, until

GPUDIAG = str(Path(sys.executable).with_name("gpudiag"))
ALLOWED_SECONDS = 5.0
PROMISES = {
    "node-1": "healthy-busy",
    "node-2": "cpu-bound-single-core",
    "node-3": "kv-pool-reserved-idle",
    "node-4": "stuck-job",
    "node-5": "hidden-memory",
    "node-6": "gpu-lost-bus",
    "node-7": "orphaned-engine",
    "node-8": "agent-stale",
}


@dataclass
class Running:
    """A demo that runs, what it printed and how many seconds of a processor that took."""

    process: subprocess.Popen[str]
    url: str
    printed: str
    seconds: float
    ready: datetime

    def ask(self, path: str, **headers: str) -> Any:
        request = urllib.request.Request(self.url + path, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.read().decode()

    def json(self, path: str) -> Any:
        return json.loads(self.ask(path, Accept="application/json"))


def started(folder: Path) -> Running:
    process = subprocess.Popen(
        [GPUDIAG, "demo", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    printed = "".join(lines)
    address = re.search(r"http://[\d.]+:\d+", printed)
    assert address, printed
    return Running(process, address[0], printed, seconds_worked(process.pid), datetime.now(UTC))


def seconds_worked(pid: int) -> float:
    """Of a processor: a machine that does other work as well lets it wait, and counts only this."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = started(tmp_path_factory.mktemp("demo"))
    yield running
    running.process.terminate()
    running.process.communicate(timeout=PATIENCE_SECONDS)


def test_the_first_answers_are_there_soon(demo: Running) -> None:
    assert demo.seconds <= ALLOWED_SECONDS


def test_it_prints_an_example_that_works(demo: Running) -> None:
    example = re.search(r"curl '(\S+)'", demo.printed)
    assert example

    answer = demo.ask(example[1].removeprefix(demo.url))

    assert answer.startswith("memory full, util 0%: reserved KV pool, normal\n")


def test_it_prints_a_command_that_the_shell_finds(demo: Running) -> None:
    command = re.search(r"\S*gpudiag why .+", demo.printed)
    assert command

    answer = subprocess.run(command[0], shell=True, capture_output=True, text=True, check=False, timeout=60)

    assert (0, "") == (answer.returncode, answer.stderr)
    assert "node-7" in answer.stdout


def test_no_node_that_has_an_agent_is_told_to_install_one(demo: Running) -> None:
    answers = [" ".join(demo.ask(f"/diagnose?node={node}&lang=en").split()) for node in PROMISES]

    assert any(
        "a GPU that answers, and an agent of this version, would report it" in said for said in answers
    )
    assert not any("install the agent" in said for said in answers)


def test_the_terminal_names_a_runbook_that_opens(demo: Running) -> None:
    why = [GPUDIAG, "why", "node-3", "--lang", "en", "--api", demo.url]
    answer = subprocess.run(why, capture_output=True, text=True, check=True, timeout=60).stdout
    runbook = answer.partition("Runbook: ")[2].partition("\n")[0]

    assert runbook == f"{demo.url}/runbooks/kv-pool-reserved-idle"
    assert "kv-pool-reserved-idle" in demo.ask(runbook.removeprefix(demo.url))


def test_each_node_has_its_own_situation(demo: Running) -> None:
    nodes = {item["node"]: item["verdict"]["rule"] for item in demo.json("/v1/nodes")["items"]}
    if nodes["node-4"] == "hang-suspect-rank":  # once the fleet was looked at, the cause of the stuck job
        nodes["node-4"] = "stuck-job"

    assert nodes == PROMISES


def test_a_hang_is_shown_with_the_gpu_that_is_suspected(demo: Running) -> None:
    page = demo.ask("/nodes/node-4", Accept="text/html")
    opened = re.findall(r'<details class="gpu" id="gpu-(\d+)" open>', page)
    text = demo.ask("/diagnose?node=node-4")

    assert ["5"] == opened
    assert "Memory (GPU 5)" in text
    assert "pid 7205" in text and "pid 7200" not in text


def test_the_cause_and_its_umbrella_are_both_among_the_findings(demo: Running) -> None:
    diagnosis = demo.json("/v1/nodes/node-2")
    rules = {finding["rule"] for gpu in diagnosis["gpus"] for finding in gpu["findings"]}

    assert {"low-util-under-load", "cpu-bound-single-core"} <= rules


def test_every_answer_says_that_it_is_simulated(demo: Running) -> None:
    for node in PROMISES:
        assert demo.json(f"/v1/nodes/{node}")["source"] == "simulated"
        assert "simulated" in demo.ask(f"/diagnose?node={node}")
        assert "Simulated data" in demo.ask(f"/nodes/{node}", Accept="text/html")
    assert demo.ask("/diagnose").endswith("simulated data\n")
    parts = demo.json("/v1/nodes/node-3")["gpus"][0]["memory"]["parts"]
    assert {part["part"]: part["kind"] for part in parts} == {
        "weights": "simulated", "kv_pool": "simulated", "runtime": "calculated"
    }  # fmt: skip


def test_a_monitor_is_told_that_it_checks_a_simulation(
    demo: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "node-2", "--api", demo.url]) == 1
    assert capsys.readouterr().out.endswith("[cpu-bound-single-core] (simulated data)\n")


def test_an_hour_of_history_is_there_at_once(demo: Running) -> None:
    series = demo.json("/v1/nodes/node-3/history?window=1h")["gpus"][0]["series"]["utilization_percent"]
    span = series[-1][0] - series[0][0]

    assert span > 3300
    assert max(value for _, value in series) > 50
    assert series[-1][1] == 0


def test_the_past_can_be_asked(demo: Running) -> None:
    assert "healthy-busy" in demo.ask("/diagnose?node=node-3&at=45m")


def test_reports_go_on_in_real_time(demo: Running) -> None:
    def newest() -> str:
        return str(demo.json("/v1/nodes/node-1")["observed"]["to"])

    before = newest()

    until(lambda: newest() > before)


@pytest.mark.parametrize("token", [None, "guess"])
def test_reports_from_outside_are_refused(demo: Running, token: str | None) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    report = urllib.request.Request(
        demo.url + "/v1/snapshots", data=b'{"node": "node-1", "taken_at": 1}', headers=headers, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(report, timeout=PATIENCE_SECONDS)
    status, said = refused.value.code, refused.value.read().decode()
    refused.value.close()

    assert status == 403
    assert "simulated" in said


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_it_stops_cleanly_and_leaves_nothing(tmp_path: Path, told: signal.Signals) -> None:
    running = started(tmp_path)
    running.process.send_signal(told)
    said, _ = running.process.communicate(timeout=PATIENCE_SECONDS)

    assert running.process.returncode == 0
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_a_port_that_is_taken_is_a_sentence(demo: Running) -> None:
    port = demo.url.rsplit(":", 1)[1]
    command = [GPUDIAG, "demo", "--port", port]
    again = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)

    assert again.returncode != 0
    assert f"port {port}" in again.stderr
    assert "Traceback" not in again.stderr


def test_the_past_is_told_as_it_was(demo: Running) -> None:
    told = demo.json("/v1/findings?limit=1000")["items"]
    of_history = (demo.ready + timedelta(seconds=30)).isoformat()  # later a busy machine may really be late
    silent = {
        item["node"] for item in told if item["finding"]["rule"] == "agent-stale" and item["at"] < of_history
    }

    assert silent == {"node-8"}
