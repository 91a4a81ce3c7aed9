"""`why` of a pod, a Slurm job or a pid, and what changed since a node was last ok."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpudiag.client import NotFound, Refused
from gpudiag.rules.situations import GIB
from tests.api.conftest import Api, ReportingNode


def training(
    name: str, api: Api, gpus: int = 2, on: tuple[int, ...] = (1,), **owner: object
) -> ReportingNode:
    """A node with one job on some of its GPUs."""
    node = ReportingNode(name, api, gpus=gpus)
    node.runs(dict.fromkeys(on, 20 * GIB), **{"pid": 4711, "name": "python3", **owner})
    node.passes(seconds=30)
    return node


@pytest.mark.parametrize(
    "asked", ["trainer-0", "ml/trainer-0", "pod:trainer-0", "pod:ml/trainer-0", "pid:4711"]
)
def test_a_pod_or_a_pid_is_answered_by_its_node_and_gpu(api: Api, asked: str) -> None:
    training("node-1", api, pod="trainer-0", namespace="ml")
    training("node-2", api, pod="other-0", namespace="ml", pid=99)

    said = api.client.diagnosis(asked)

    assert (said["node"], [gpu["index"] for gpu in said["gpus"]]) == ("node-1", [1])
    assert said["asked"]["where"] == "node-1:1"
    assert "node-1:1" in said["notes"][0]


@pytest.mark.parametrize("asked", ["ml/trainer-0", "pod:ml/trainer-0", "pid/4711", "trainer-0", "node-1:1"])
def test_the_history_of_a_pod_is_that_of_its_gpu(api: Api, asked: str) -> None:
    training("node-1", api, pod="trainer-0", namespace="ml")

    said = api.client.history(asked)

    assert (said["node"], [gpu["index"] for gpu in said["gpus"]]) == ("node-1", [1])
    assert said["gpus"][0]["series"]["memory_used_bytes"]


def test_the_history_of_a_job_is_that_of_its_node(api: Api) -> None:
    training("node-1", api, slurm_job="123", on=(0, 1))

    said = api.ask("GET", "/v1/nodes/job/123/history")

    assert (said["node"], [gpu["index"] for gpu in said["gpus"]]) == ("node-1", [0, 1])


@pytest.mark.parametrize("asked", ["job:123", "job/123", "slurm:123", "123"])
def test_a_slurm_job_is_answered_by_its_node(api: Api, asked: str) -> None:
    training("node-1", api, slurm_job="123", on=(0, 1))
    training("node-2", api, slurm_job="124")

    said = api.client.diagnosis(asked)

    assert (said["node"], said["asked"]["who"], said["asked"]["where"]) == (
        "node-1",
        "Slurm job 123",
        "node-1:0-1",
    )
    assert [gpu["index"] for gpu in said["gpus"]] == [0, 1]


def test_a_job_on_several_nodes_is_answered_where_it_is_worst(api: Api) -> None:
    training("node-1", api, slurm_job="123")
    training("node-2", api, slurm_job="123").loses_its_gpu().passes(minutes=1)

    said = api.client.diagnosis("job:123")

    assert said["node"] == "node-2"
    assert "node-1:1" in said["asked"]["where"]
    assert "node-2:1" in said["asked"]["where"]


def test_a_pid_on_several_nodes_is_told_and_not_guessed(api: Api) -> None:
    training("node-1", api)
    training("node-2", api)

    with pytest.raises(Refused) as caught:
        api.client.diagnosis("pid:4711")

    assert caught.value.problem["status"] == 409
    assert "pid 4711 (node-1:1); pid 4711 (node-2:1)" in str(caught.value)


def test_a_pod_s_name_in_two_namespaces_is_told_and_not_guessed(api: Api) -> None:
    training("node-1", api, pod="trainer-0", namespace="ml")
    training("node-2", api, pod="trainer-0", namespace="vision")

    with pytest.raises(Refused, match=r"pod ml/trainer-0 \(node-1:1\); pod vision/trainer-0 \(node-2:1\)"):
        api.client.diagnosis("trainer-0")
    assert api.client.diagnosis("vision/trainer-0")["node"] == "node-2"


def test_a_node_s_name_comes_before_a_pod_s(api: Api) -> None:
    training("node-1", api, pod="node-2", namespace="ml")
    training("node-2", api)

    assert api.client.diagnosis("node-2")["node"] == "node-2"


@pytest.mark.parametrize("asked", ["job:9", "pid:1", "ml/none", "none", "pod:", "pid:x/y", "a:b:c"])
def test_nobody_of_that_name_is_not_found(api: Api, asked: str) -> None:
    training("node-1", api)

    with pytest.raises(NotFound):
        api.client.diagnosis(asked)


def test_text_and_page_answer_a_pod_too(api: Api) -> None:
    training("node-1", api, pod="trainer-0", namespace="ml")

    text = shown(api, "/diagnose/ml/trainer-0")
    by_query = shown(api, "/diagnose?node=ml/trainer-0")
    page = shown(api, "/nodes/ml/trainer-0")

    assert "You asked for pod ml/trainer-0: it runs on node-1:1." in text
    assert by_query == text
    assert "You asked for pod ml/trainer-0" in page


def test_one_gpu_is_named_after_a_colon(api: Api) -> None:
    training("node-1", api)

    assert [1] == [gpu["index"] for gpu in api.client.diagnosis("node-1:1")["gpus"]]


def test_history_follows_the_pod(api: Api) -> None:
    training("node-1", api, pod="trainer-0", namespace="ml")

    assert api.client.history("trainer-0")["node"] == "node-1"


# ---- what changed


def test_what_opened_since_the_node_was_ok_is_told(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    ok_at = api.clock.now
    node.loses_its_gpu().passes(minutes=1)

    changed = api.client.diagnosis("node-3")["changed"]

    assert "gpu-lost-bus" in [item["rule"] for item in changed["items"] if item["what"] == "opened"]
    assert changed["last_ok"] is not None
    assert all(item["at"] >= iso(ok_at) for item in changed["items"])


def test_a_node_that_is_ok_has_no_changes_to_tell(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)

    assert api.client.diagnosis("node-3")["changed"] is None


def test_a_node_that_was_never_ok_says_so(node: ReportingNode, api: Api) -> None:
    node.loses_its_gpu().passes(minutes=2)

    changed = api.client.diagnosis("node-3")["changed"]
    text = shown(api, "/diagnose/node-3")

    assert changed["last_ok"] is None
    assert "Changed since it first reported (it has never been ok)" in text


@pytest.mark.parametrize(
    ("language", "said"), [("en", "Changed since it was last ok"), ("ko", "마지막 정상")]
)
def test_text_and_page_tell_what_changed(node: ReportingNode, api: Api, language: str, said: str) -> None:
    node.serves_idle_vllm().passes(minutes=6).loses_its_gpu().passes(minutes=1)

    assert said in shown(api, f"/diagnose/node-3?lang={language}")
    assert said in shown(api, f"/nodes/node-3?lang={language}")


def test_the_past_is_told_as_it_was(node: ReportingNode, api: Api) -> None:
    node.serves_idle_vllm().passes(minutes=6)
    ok_at = api.clock.now
    node.loses_its_gpu().passes(minutes=1)

    assert api.client.diagnosis("node-3", at=ok_at - 30.0)["changed"] is None
    assert api.client.diagnosis("node-3", at=api.clock.now)["changed"]["items"]


def shown(api: Api, path: str) -> str:
    """What curl or a browser gets, in one line."""
    found: str = api.ask("GET", path, headers={"Accept": "*/*"})
    return " ".join(found.split())


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
