"""From a node's report to a person's thread: the real API, the real bot, and Slack's stand-in around them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gpudiag.rules.situations import GIB
from tests.api.conftest import Api, ReportingNode
from tests.bot.conftest import Running, firing
from tests.doubles.slack import judge
from tests.doubles.slack.people import ByHttp, Person
from tests.doubles.slack.server import Message, SlackDouble

POOL = "node-3: memory full, util 0%: reserved KV pool, normal"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Api]:
    running = Api(f"sqlite:///{tmp_path}/store.sqlite3").start()
    yield running
    running.stop()


@pytest.fixture
def node(server: Api) -> ReportingNode:
    return ReportingNode("node-3", server).serves_idle_vllm().passes(minutes=6)


@pytest.fixture
def journey(
    server: Api, node: ReportingNode, settings, slack: SlackDouble
) -> Iterator[tuple[Person, Running]]:
    with Running(replace(settings, api_url=server.url)) as running:
        yield Person(slack, ByHttp(running.url)), running


def title(message: Message) -> str:
    return message.blocks[0]["text"]["text"]


def test_every_question_is_answered_from_the_real_api(journey, slack: SlackDouble):
    person, _ = journey
    answers = {
        question: title(person.asks(question))
        for question in (
            "status", "why node-3", "node-3:0", "why nod-3", "why pid 4121", "why pid 9",
            "4121", "why job 7", "mute list", "help", "doctor",
            "kv llama-3-8b 8192 x32 on node-3", "top node-3", "top", "idle 1",
            "runbook kv-pool-reserved-idle",
            "kv llama-3-8b 8192 x32 on H100", "why node-3 at 1m ago", "why node-3 at 5h ago", "why node-3:7",
        )
    }  # fmt: skip

    assert answers["why node-3"] == POOL
    assert answers["why pid 4121"] == POOL.replace("node-3", "node-3:0", 1)
    assert answers["why pid 9"] == "I find nothing named pid/9"
    assert answers["status"] == "1 node, 1 GPU: nothing needs action"
    assert answers["why nod-3"] == "There is no node nod-3"
    assert answers["why node-3 at 5h ago"].startswith("nothing is kept of node-3 at ")
    assert answers["why node-3:7"] == "node node-3 has no GPU 7; it has: 0"
    assert "32.0 GiB of KV cache, fits on H100" in answers["kv llama-3-8b 8192 x32 on H100"]
    assert answers["doctor"] == "Everything needed is there"
    assert slack.refusals == []
    assert not [text for text in answers.values() if "cannot read" in text or "went wrong" in text]
    assert [judge.faults(m.blocks) for m in slack.messages] == [[]] * len(slack.messages)


@pytest.mark.parametrize(
    ("question", "found", "there_is", "next_step"),
    [
        ("asdf", "I find nothing named asdf", "these report: node-3", "/gpu status"),
        ("asdf lang=ko", "asdf 이름으로 찾은 것이 없습니다", "보고하는 노드: node-3", "/gpu 현황"),
        ("why job:9", "I find nothing named job/9", "does it still run", "/gpu status"),
        ("runbook asdf", "There is no rule asdf", "There are", "gpudiag rules"),
    ],
)
def test_what_is_like_nothing_is_answered_with_what_there_is(
    journey, question: str, found: str, there_is: str, next_step: str
):
    person, _ = journey
    answer = person.asks(question)

    assert title(answer) == found
    assert there_is in answer.words
    assert next_step in answer.words
    assert "/v1/" not in answer.words


def test_a_lost_gpu_is_told_acknowledged_and_kept(
    journey, node: ReportingNode, server: Api, slack: SlackDouble
):
    person, bot = journey
    person.types("watch all")
    slack.wait(lambda: bot.program.state.note("cursor"))
    node.loses_its_gpu().passes(seconds=30)
    alert = firing(slack)
    person.presses(alert, "Acknowledge")
    slack.wait(lambda: "acknowledged by <@U0001>" in alert.words)
    finding = next(i["finding"] for i in server.client.findings()["items"] if i["what"] == "acknowledged")
    deeds = server.client.finding(finding["id"])["decisions"]

    assert "fell off the" in alert.text
    assert [(deed["what"], deed["who"]) for deed in deeds] == [("ack", "slack:T0001:U0001")]


def test_a_silent_node_is_shown_as_no_data(journey, node: ReportingNode, server: Api, slack: SlackDouble):
    person, bot = journey
    person.types("watch all")
    slack.wait(lambda: bot.program.state.note("cursor"))
    node.loses_its_gpu().passes(seconds=30)
    alert = firing(slack)
    server.time_passes(900)
    slack.wait(lambda: alert.text.startswith("No data"))

    assert "not resolved, not known" in alert.words


def test_a_mute_in_slack_is_kept_by_the_api_with_who_and_why(journey, server: Api):
    person, _ = journey
    person.types("watch all")
    person.types("mute node-3 2h changing the fan")
    kept = server.client.mutes()["items"]

    assert [(m["node"], m["by"], m["why"]) for m in kept] == [
        ("node-3", "slack:T0001:U0001", "changing the fan")
    ]


def test_the_real_history_becomes_a_picture(journey, slack: SlackDouble):
    person, _ = journey
    person.mentions("chart node-3", thread_ts="1700000000.000001")
    picture = slack.wait(lambda: slack.files)[0]

    assert picture["data"][:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture["data"]) > 5000


@pytest.mark.parametrize("asked", ["pod/default/vllm-0", "default/vllm-0", "pid 77"])
def test_the_history_of_a_pod_becomes_the_picture_of_its_gpu(
    journey, server: Api, slack: SlackDouble, asked: str
):
    person, _ = journey
    owned = ReportingNode("node-4", server, gpus=2)
    owned.runs({1: 20 * GIB}, pid=77, name="python3", pod="vllm-0", namespace="default")
    owned.passes(minutes=1)
    person.mentions(f"chart {asked}", thread_ts="1700000000.000001")
    picture = slack.wait(lambda: slack.files)[0]

    assert picture["title"].startswith("node-4:1")


def test_buttons_about_a_node_that_is_called_like_a_word_of_a_sentence(
    journey, server: Api, slack: SlackDouble
):
    person, _ = journey
    person.types("watch all")
    ReportingNode("slow", server).serves_idle_vllm().passes(minutes=6)
    person.presses(person.asks("status"), "Why…", option="slow")
    answer = slack.wait(lambda: next((m for m in slack.messages if m.text.startswith("slow: ")), None))
    person.presses(answer, "Refresh")
    slack.wait(lambda: answer.edits)
    person.presses(answer, "Mute 1 h")
    muted = slack.wait(lambda: server.client.mutes()["items"])

    assert title(answer).startswith("slow: memory full")
    assert [(mute["node"], mute["rule"]) for mute in muted] == [("slow", "kv-pool-reserved-idle")]


def test_what_is_not_there_is_told_in_the_language_of_the_question(journey, server: Api):
    person, _ = journey
    person.types("watch all")

    korean = {
        title(person.asks(question))
        for question in ("ack f-0000000000aa lang=ko", "mute node-3 no-such-rule 1h lang=ko")
    }

    assert korean == {
        "열려 있는 f-0000000000aa 진단이 없습니다",
        "no-such-rule 규칙이 없습니다",
    }
    assert title(person.asks("ack f-0000000000aa")) == "There is no open finding f-0000000000aa"


def test_pasted_output_is_diagnosed(journey, slack: SlackDouble):
    person, _ = journey
    columns = "index, name, memory.used [MiB], memory.total [MiB], utilization.gpu [%]"
    person.uses_shortcut(f"```{columns}\n0, NVIDIA H100, 76000 MiB, 81559 MiB, 0 %```")
    answer = slack.wait(lambda: slack.messages)[0]

    assert answer.blocks and "cannot" not in answer.text


def test_the_api_restarting_is_survived(journey, server: Api, slack: SlackDouble):
    person, _ = journey
    server.stop()
    away = title(person.asks("why node-3"))

    assert away.startswith("The gpudiag API cannot be reached")


def test_slack_is_served_beside_the_api_in_one_process(
    server: Api, node: ReportingNode, settings, slack: SlackDouble
):
    from flask import Flask
    from werkzeug.serving import make_server

    from bot.program import mount

    assert server.server is not None
    beside = Flask("pages of another application")
    program = mount(beside, replace(settings, api_url=server.url))
    web = make_server("127.0.0.1", 0, beside, threaded=True)
    thread = threading.Thread(target=web.serve_forever, args=(0.02,))
    thread.start()
    try:
        url = f"http://127.0.0.1:{web.server_port}/slack/events"
        answer = Person(slack, ByHttp(url)).asks("why node-3")
    finally:
        web.shutdown()
        web.server_close()
        thread.join()
        program.stop()

    assert title(answer) == POOL
