"""Whose the memory is, and the command that frees it for that kind of owner, in both languages."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import ProcessReading
from gpudiag.owners import COMMANDS, freeing, log_of, owner_of, ownership
from gpudiag.rules.situations import GIB, Situation
from gpudiag.words import LANGUAGES, Language, words
from gpudiag.words.units import NOBODY


def process(**values: Any) -> ProcessReading:
    return ProcessReading(pid=4711, **{"name": "python3", "user": "kim", "parent_pid": 1, **values})


def command(reading: ProcessReading, **how: bool) -> str | None:
    step = freeing(ownership(reading, **how), "en")
    assert step is not None
    return step["command"]


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"pod": "trainer-0", "namespace": "vision"}, "kubectl -n vision delete pod trainer-0"),
        ({"pod": "trainer-0"}, "kubectl get pods -A --field-selector metadata.name=trainer-0"),
        ({"slurm_job": "77123"}, "scancel 77123"),
        ({"slurm_job": "77123", "unit": "slurmstepd.scope"}, "scancel 77123"),
        ({"container": "4f6b"}, "docker stop 4f6b"),
        ({"container": "4f6b", "pod": "t-0", "namespace": "ml"}, "kubectl -n ml delete pod t-0"),
        ({"unit": "embedder.service"}, "sudo systemctl restart embedder.service"),
        ({"unit": "session-12.scope"}, "kill 4711"),
        ({"unit": "docker.service"}, "kill 4711"),
        ({"unit": "user@1000.service"}, "kill 4711"),
        ({}, "kill 4711"),
        ({"hidden": True, "name": None}, "ps -o pid,user,lstart,cgroup:120,cmd -p 4711"),
        ({"name": "python.exe"}, "taskkill /PID 4711"),
        ({"name": "VLLM::EngineCore", "parent_pid": 4100}, "kill 4100"),
        ({"container": "4f6b", "parents": ["jupyter-lab", "tini"]}, "kill 4711"),
        ({"container": "4f6b", "command": "python -m ipykernel_launcher -f kernel.json"}, "kill 4711"),
    ],
)
def test_each_kind_of_owner_has_its_own_command(owner: dict[str, Any], expected: str) -> None:
    assert command(process(**owner)) == expected


def test_a_server_is_ended_itself_and_never_the_shell_that_started_it() -> None:
    assert command(process(command="python3 /usr/bin/vllm serve llama", parent_pid=900)) == "kill 4711"


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"pod": "trainer-0", "namespace": "vision", "slurm_job": "7"}, "pod vision/trainer-0"),
        ({"pod": "trainer-0"}, "pod trainer-0"),
        ({"slurm_job": "77123", "unit": "slurmstepd.scope"}, "Slurm job 77123"),
        ({"unit": "embedder.service"}, "embedder.service"),
        ({}, "user kim"),
        ({"user": None}, NOBODY),
    ],
)
def test_a_process_is_of_whom_says_most(owner: dict[str, Any], expected: str) -> None:
    assert owner_of(process(**owner)) == expected


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"pod": "trainer-0", "namespace": "vision"}, "kubectl -n vision logs trainer-0 --previous"),
        ({"slurm_job": "77123"}, "scontrol show job 77123 | grep -E 'StdOut|StdErr'"),
        ({"unit": "vllm.service"}, "journalctl -u vllm.service -n 200"),
        ({"container": "4f6b"}, "docker logs --tail 200 4f6b"),
        ({"pod": "$(reboot)", "namespace": "vision"}, None),
        ({"unit": "docker.service"}, None),
        ({}, None),
    ],
)
def test_the_log_is_read_where_its_owner_keeps_it(owner: dict[str, Any], expected: str | None) -> None:
    assert log_of(process(**owner)) == expected


def test_an_orphaned_worker_is_ended_itself() -> None:
    assert command(process(name="VLLM::EngineCore", parent_pid=900), alone=True) == "kill 4711"


@pytest.mark.parametrize("name", ["x; rm -rf /", "$(reboot)", "-all", "a b", "`id`", "\x1b[2J", "|tee"])
def test_a_name_that_a_shell_would_obey_makes_no_command(name: str) -> None:
    step = freeing(ownership(process(pod=name, namespace="ml")), "en")

    assert step is not None
    assert step["command"] is None
    assert "\x1b" not in str(step["text"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_kind_of_owner_is_worded(language: Language) -> None:
    assert set(words(language).FREE) == set(COMMANDS)


def held_by(**owner: Any) -> Situation:
    """A python program that keeps 60 GiB and does nothing."""
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB, power_watts=70.0)
    s.runs({0: 60 * GIB}, **{"pid": 4711, "name": "python3", "command": "python3 serve.py", **owner})
    return s.passes(minutes=6)


def steps(s: Situation, rule: str, language: Language = "en") -> list[dict[str, Any]]:
    said = explain(examine(s.window), language)
    findings = said.findings + [finding for gpu in said.gpus for finding in gpu["findings"]]
    found: list[dict[str, Any]] = next(f["next_steps"] for f in findings if f["rule"] == rule)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"pod": "trainer-0", "namespace": "vision"}, "kubectl -n vision delete pod trainer-0"),
        ({"slurm_job": "77123"}, "scancel 77123"),
        ({"unit": "embedder.service"}, "sudo systemctl restart embedder.service"),
        ({"user": "kim"}, "kill 4711"),
    ],
)
def test_idle_memory_names_its_owner_and_the_command(
    owner: dict[str, str], expected: str, language: Language
) -> None:
    last = steps(held_by(**owner), "memory-held-idle", language)[-1]

    assert last["command"] == expected
    assert all(value in last["text"] for value in owner.values())


@pytest.mark.parametrize(
    ("language", "seen", "step"),
    [("en", "pid 4711, of unknown owner.", "owner unknown,"), ("ko", "소유자 미확인.", "소유자(미확인)")],
)
def test_an_owner_that_is_not_shown_is_called_unknown(language: Language, seen: str, step: str) -> None:
    s = held_by(user=None)
    said = explain(examine(s.window), language)
    finding = next(f for f in said.gpus[0]["findings"] if f["rule"] == "memory-held-idle")

    assert seen in finding["seen"]
    assert step in steps(s, "memory-held-idle", language)[-1]["text"]


def orphan(**owner: Any) -> Situation:
    engine = {"name": "VLLM::EngineCore", "command": "VLLM::EngineCore", "parent_pid": 1}
    return held_by(**engine, parent_name="systemd", **owner)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        ({"pod": "llm-0", "namespace": "serving"}, "kubectl -n serving delete pod llm-0"),
        ({"slurm_job": "77123"}, "scancel 77123"),
        ({"unit": "llm.service"}, "sudo systemctl restart llm.service"),
    ],
)
def test_what_owns_an_orphan_is_ended_before_its_process_is_killed(
    owner: dict[str, str], expected: str, language: Language
) -> None:
    commands = [step["command"] or "" for step in steps(orphan(**owner), "orphaned-engine", language)]
    ends = [command for command in commands if command == expected or command.startswith("kill")]

    assert [expected, "kill 4711; sleep 5; kill -9 4711"] == ends


def test_an_orphan_of_nobody_is_ended_once_and_not_twice() -> None:
    commands = [step["command"] for step in steps(orphan(), "orphaned-engine")]

    assert [True] == ["kill 4711" in command for command in commands if command and "kill" in command]


def test_hidden_memory_names_the_one_process_that_has_the_device_open() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB)
    s.runs(pid=900, name="python3", open_devices=[0], in_nvml=False, slurm_job="55", gpus=[])
    last = steps(s.passes(minutes=6), "hidden-memory")[-1]

    assert last["command"] == "scancel 55"
    assert "may be the holder" in last["text"]


def test_hidden_memory_of_several_possible_holders_blames_none() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB)
    for pid in (900, 901):
        s.runs(pid=pid, name="python3", open_devices=[0], in_nvml=False, slurm_job="55", gpus=[])

    assert not any("scancel" in str(step["command"]) for step in steps(s.passes(minutes=6), "hidden-memory"))


def hidden_on_gpu_0(uses: dict[int, int | None]) -> dict[str, Any]:
    """What is said of memory of GPU 0 that nobody is listed for, beside a process that has both GPUs open."""
    s = Situation(gpus=2)
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    s.runs(uses, pid=4711, name="python3", user="kim", open_devices=[0, 1])
    found = examine(s.passes(minutes=6).window).findings
    return next(finding.words for finding in found if finding.rule == "hidden-memory")


def test_a_process_that_is_listed_on_another_gpu_may_hold_what_is_hidden_on_this_one() -> None:
    assert hidden_on_gpu_0({1: 12 * GIB})["free"]["pid"] == "4711"


def test_a_process_whose_memory_is_listed_holds_no_more_than_that() -> None:
    assert "free" not in hidden_on_gpu_0({0: GIB, 1: 12 * GIB})
