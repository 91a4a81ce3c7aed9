"""A command says on which host it has to be typed, where its reader may sit at another one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.plaintext import diagnosis_text
from gpudiag.rules.memory.orphaned_engine.cases import CASES
from gpudiag.window import Window
from gpudiag.words.hosts import host_of, is_of_its_host, with_hosts


@pytest.mark.parametrize(
    "command",
    [
        "ps -o pid,cmd -p 6121",
        "py-spy dump --pid 5121",
        "kill 6121; sleep 5; kill -9 6121",
        "sudo systemctl restart vllm.service",
        "sudo gpudiag agent release && sudo nvidia-smi --gpu-reset -i 0",
        "pgrep -a nvidia-cuda-mps; nvidia-smi",
        "curl -m 2 -sf http://127.0.0.1:8000/health && echo alive",
        "ibstat; rdma link",
        "nvidia-smi",
    ],
)
def test_what_looks_at_its_own_host_is_typed_there(command: str) -> None:
    assert is_of_its_host(command)


@pytest.mark.parametrize(
    "command",
    [
        "ssh node-4 py-spy dump --pid 7205",
        "kubectl -n serving delete pod llm-0",
        "scontrol update nodename=node-6 state=drain",
        "scancel 77123",
        "ping -c 2 node-8",
        "gpudiag why node-7",
        "vllm serve MODEL --gpu-memory-utilization 0.5",
    ],
)
def test_what_reaches_a_node_from_anywhere_is_typed_anywhere(command: str) -> None:
    assert not is_of_its_host(command)


def test_the_host_is_named_before_the_first_command_and_again_after_one_for_elsewhere() -> None:
    steps = [{"text": "", "command": c} for c in ("ps", None, "kill 1", "scancel 7", "dmesg -T", "df -h")]

    assert ["on node-7:", "", "", "", "on node-7:", ""] == [
        step["on"] for step in with_hosts(steps, "node-7", "en")
    ]
    assert "node-7 노드에서:" == with_hosts(steps, "node-7", "ko")[0]["on"]


def orphan(source: str) -> dict[str, Any]:
    case = next(case for case in CASES if case.expect == "fires")
    window = case.window()
    assert isinstance(window, Window)
    found: dict[str, Any] = msgspec.to_builtins(explain(examine(window), "en"))
    return {**found, "node": "node-7", "source": source}


@pytest.mark.parametrize("source", ["agent", "simulated"])
def test_an_answer_about_another_machine_says_where_to_type(source: str) -> None:
    text = diagnosis_text(orphan(source), "en")

    assert "     on node-7:\n     $ ps -o" in text
    assert 1 == text.count("on node-7:")


@pytest.mark.parametrize("source", ["local", "pasted"])
def test_an_answer_about_this_machine_or_one_without_a_name_does_not(source: str) -> None:
    assert host_of(orphan(source)) is None
    assert "on node-7:" not in diagnosis_text(orphan(source), "en")


def test_read_on_the_node_itself_its_agents_history_needs_no_host() -> None:
    assert "on node-7:" not in diagnosis_text(orphan("agent"), "en", here=True)
