"""Every message, with every hostile string, judged by both oracles of what Slack accepts."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from slack_sdk.models.blocks import Block

from bot.answer import Action, Answer, Bar, By, Choice, Evidence, Figure, Slice, Step, Table
from bot.answers import answer_text
from bot.answers.alert import of_card
from bot.answers.asking import Asking
from bot.answers.diagnosis import also_seen, drawn
from bot.blocks import explain_modal, home, message
from bot.examples import NOW, ExampleApi, answers, card
from bot.grammar import VERBS
from bot.markdown import markdown, page, terminal
from bot.request import Target
from tests.doubles.slack import judge

HOSTILE = [
    "<!channel>", "<!here>", "<!everyone>", "@channel @here", "<@U0001>", "<#C0001>", "<!subteam^S1>",
    "<https://evil.example|node-3>", "https://evil.example/x", "evil.example",
    "mailto:a@b.example",
    "`", "``", "```", "`a`b`", "a`<!channel>`b", "``` <!here> ```", "*bold* _it_ ~no~", "*`_`*",
    "&lt;!channel&gt;", "&amp;lt;", "<", ">", "&", "<!date^0^{date}|x>", "> quote\n> quote",
    "\n\n\n", "\r\n",
    "\x1b[31mred\x1b[0m", "\x00user:U1\x00", "\u202eevil", "\u2066\u2069", "\u200b\u200d\ufeff",
    ":tada: :fire:",
    "<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "{who}", "{0.__class__}", "%s%n",
    "| a | b |\n|---|", "[x](javascript:alert(1))", "![x](http://evil.example/p.png)",
    "A" * 5000, "가" * 5000,
    "`" * 300, "<" * 3000, "&" * 3000, "🔥" * 2000, "", " ", "\ud7ff\u0301", "../../etc/passwd", "-" * 400,
]  # fmt: skip


def everything(text: str, lang: str = "en") -> Answer:
    """An answer that says `text` in every place an answer has."""
    return Answer(
        headline=text,
        lang=lang,
        state="warning",
        facts=(text, text),
        bar=Bar((Slice(text, 2**30, "weights"), Slice(text, 2**33, "kv_pool", 0.5)), 2**32),
        paragraphs=(text, f"so `{text}` it is"),
        figures=(Figure(text, text, "measured"), Figure(text, text, text)),
        evidence=(Evidence(text, "measured"), Evidence(text, text)),
        steps=(Step(text, text), Step(text)),
        also=(text,),
        table=Table((text, "b"), ((text, text),) * 3, frozenset({1})),
        notes=(text,),
        preformatted=text,
        actions=(
            Action(text or "x", "ask", f"why {text}"),
            Action("x", "link", url=f"https://gpudiag.example.com/{text}"),
        ),
        choice=Choice(text or "x", (("a", "why a"), (text[:70] or "b", f"why {text}"))),
        key=text,
    )


def second_oracle(blocks: list[dict[str, Any]]) -> None:
    """slack_sdk's own models of the blocks."""
    for block in blocks:
        parsed = Block.parse(json.loads(json.dumps(block)))
        assert parsed is not None
        parsed.to_dict()


def control_tokens(said: dict[str, Any]) -> list[str]:
    """What Slack would read as a mention, a channel, a date or a link."""
    return re.findall(r"<[@#!a-zA-Z][^>]*>", "\n".join([said["text"], *mrkdwn(said["blocks"])]))


def mrkdwn(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["text"]] if node.get("type") == "mrkdwn" else []
        return own + [text for value in node.values() for text in mrkdwn(value)]
    return [text for item in node for text in mrkdwn(item)] if isinstance(node, list) else []


def test_the_example_of_the_help_is_that_of_a_channel() -> None:
    offered = " ".join(map(str, answers()["help"].paragraphs))

    assert [verb.name for verb in VERBS if f"/gpu {verb.name}" not in offered] == []


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_message_is_accepted_by_both_oracles(lang: str):
    for name, answer in answers(lang).items():
        said = message(answer)
        assert (name, judge.faults(said["blocks"])) == (name, [])
        assert not judge.too_long_together(said["blocks"])
        assert said["text"].strip()
        second_oracle(said["blocks"])
        assert judge.view_faults(home(answer)) == []


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_strings_stay_words(text: str, lang: str):
    said = message(everything(text, lang))

    assert judge.faults(said["blocks"]) == []
    assert control_tokens(said) == []
    assert not judge.too_long_together(said["blocks"])
    second_oracle(said["blocks"])


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_node_names_stay_words_in_real_answers(text: str):
    class Hostile(ExampleApi):
        def diagnosis(self, node: str, gpu=None, at=None, lang="en"):
            return poisoned(super().diagnosis("node-3"), text)

        def nodes(self, limit=None, cursor=None, lang="en"):
            return poisoned(super().nodes(), text)

    from bot.answers import answer_text

    asking = Asking(api=Hostile(), now=NOW, public_url="https://gpudiag.example.com")
    for question in (
        "why node-3",
        "why node-3:1",
        "status",
        "top node-3",
        "idle 10",
        "why pid 4121",
        "kv m on node-3",
    ):
        answer = answer_text(question, asking)
        said = message(answer)
        assert judge.faults(said["blocks"]) == []
        assert control_tokens(said) == []
        assert "\x1b" not in terminal(answer)
        assert "<script" not in page(answer)


def poisoned(found: Any, text: str) -> Any:
    """The same answer with `text` as every name a machine reports."""
    if isinstance(found, dict):
        foreign = ("node", "name", "user", "owner", "headline", "text", "value", "means", "command")
        return {key: text if key in foreign and isinstance(value, str) else poisoned(value, text)
                for key, value in found.items()}  # fmt: skip
    return [poisoned(item, text) for item in found] if isinstance(found, list) else found


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_alerts_stay_words(text: str):
    one = card("acknowledged")
    one.members[0].said = {"en": [text, text]}
    one.members[0].node = one.members[0].why = text
    one.members[0].acknowledged_by = f"slack:T1:{text}"
    said = message(of_card(one, Asking(api=ExampleApi(), now=NOW), NOW.timestamp()))

    assert judge.faults(said["blocks"]) == []
    assert control_tokens(said) == []


@pytest.mark.parametrize("text", ["a`<!channel>`b", "``` <!here> ```", "`", "`` `x"])
def test_a_foreign_string_cannot_leave_its_code_span(text: str):
    from bot.answer import code
    from bot.mrkdwn import prose

    shown = prose(f"node {code(text)} is down")

    assert shown.count("`") == 2
    assert shown.startswith("node `") and shown.endswith("` is down")


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_the_second_renderer_is_as_safe(text: str):
    answer = everything(text)

    shown = terminal(answer)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", shown)
    assert not re.search(
        r"<(?!/?(article|h2|h3|div|p|strong|em|code|pre|ul|ol|li|dl|dt|dd|table|thead|tbody|tr|th|td|form|a|button)\b)",
        page(answer),
    )
    assert all(
        link.startswith("https://gpudiag.example.com/")
        for link in re.findall(r'href="([^"]*)"', page(answer))
    )


def test_markdown_becomes_html_without_foreign_markup():
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    for text in HOSTILE:
        made = reader.render(markdown(everything(text)))
        assert not re.search(r"<(script|img|a)\b", made), text


CROWDED = {
    "sixty people": Answer(headline="x", paragraphs=tuple(By("set by ", f"U{n}") for n in range(60))),
    "long paragraphs": Answer(headline="x", paragraphs=("word " * 300,) * 200),
    "blank paragraphs": Answer(headline="\u200b", paragraphs=("", "\u200b"), facts=("",), notes=("",)),
    "evidence": Answer(headline="x", evidence=(Evidence("&" * 3000, "measured"),) * 200),
    "steps": Answer(headline="x", steps=(Step("`" * 3000, "<" * 3000),) * 200),
    "a wide table": Answer(headline="x", table=Table(("c",) * 20, (("y" * 300,) * 20,) * 300)),
    "a menu without usable commands": Answer(headline="x", choice=Choice("p", (("a", "c" * 80),) * 3)),
    "buttons": Answer(headline="x", actions=(Action("l" * 300, "ask", "c" * 1900),) * 60),
}


@pytest.mark.parametrize("name", CROWDED)
def test_a_crowded_answer_is_still_a_message(name: str):
    said = message(CROWDED[name])

    assert judge.faults(said["blocks"]) == []
    assert not judge.too_long_together(said["blocks"])


def test_everybody_in_a_long_list_is_named():
    assert "\n".join(mrkdwn(message(CROWDED["sixty people"])["blocks"])).count("<@U") == 60


def test_answers_stay_within_our_own_budget():
    for name, answer in answers().items():
        said = message(answer)
        length = sum(len(text) for text in judge.texts(said["blocks"]))
        assert (name, length <= 6000, len(said["blocks"]) <= 30) == (name, True, True)


def test_a_preformatted_line_does_not_wrap_on_a_phone():
    bars = [answer for answer in answers().values() if answer.bar]
    for answer in bars:
        text = next(t for t in mrkdwn(message(answer)["blocks"]) if t.startswith("```"))
        assert max(len(line) for line in text.splitlines()) <= 40
    assert bars


def test_a_bar_that_does_not_fit_shows_how_much():
    said = message(answers()["kv-over"])
    text = next(t for t in mrkdwn(said["blocks"]) if t.startswith("```"))

    assert "! OVER BY 694.0 GiB" in text
    assert "|" in text.splitlines()[1]


def test_every_kind_is_said_in_words():
    text = "\n".join(mrkdwn(message(answers()["why"])["blocks"]))

    for word in ("(measured)", "(calculated)", "(inferred)"):
        assert word in text


def test_in_markdown_a_kind_stands_apart_from_its_number():
    shown = markdown(answers()["why"])

    assert " (measured)" in shown
    assert not re.search(r"\S\((measured|calculated|inferred|declared|simulated)\)", shown)


def test_the_form_for_pasted_output_is_accepted():
    for lang in ("en", "ko"):
        assert judge.view_faults(explain_modal("{}", lang)) == []


def test_the_same_answer_is_read_on_every_surface():
    answer = answers()["why"]
    surfaces = (terminal(answer), markdown(answer), page(answer), json.dumps(message(answer)))

    assert all("reserved KV pool, normal" in shown for shown in surfaces)


def test_a_message_has_a_new_block_id_in_every_state():
    ids = set()
    for state in ("open", "acknowledged", "resolved"):
        said = message(
            of_card(
                card(state),
                Asking(api=ExampleApi(), now=NOW, public_url="https://g.example.com"),
                NOW.timestamp(),
            )
        )
        ids.add(next(block["block_id"] for block in said["blocks"] if block["type"] == "actions"))

    assert len(ids) == 3


def test_what_else_is_seen_is_said_with_how_bad_it_is() -> None:
    asking = Asking(api=ExampleApi("en"), lang="en", now=NOW)
    worse = {"rule": "oom-risk", "severity": "critical", "gpu": 1, "headline": "nearly full"}
    better = {"rule": "gpu-free", "severity": "ok", "gpu": 0, "headline": "free"}

    said = also_seen([better, worse], asking)

    assert said == ("GPU 1: nearly full (critical, `oom-risk`)", "GPU 0: free (normal, `gpu-free`)")


@pytest.mark.parametrize(
    ("verdict", "evidence", "shown"),
    [
        ({"rule": "stuck-job", "gpu": 0}, [{"name": "suspect_gpu", "value": 5}], "node-4:5"),
        ({"rule": "hang-suspect-rank", "gpu": 5}, [], "node-4:5"),
        ({"rule": "agent-stale", "gpu": None}, [], "node-4"),
    ],
)
def test_the_timeline_of_a_node_shows_the_gpu_that_is_suspected(
    verdict: dict[str, Any], evidence: list[dict[str, Any]], shown: str
):
    found = {"verdict": verdict, "gpus": [{"index": 0}, {"index": 5}]}

    assert shown == str(drawn(found, {"evidence": evidence}, Target("node-4")))
    assert "node-4:0" == str(drawn(found, {"evidence": evidence}, Target("node-4", 0)))


def test_a_terminal_shows_a_command_whole_and_alone_and_indents_what_goes_on() -> None:
    command = "ssh node-4 'journalctl -u gpudiag-agent -n 50 --no-pager | grep -i -E \"nvrm|xid\" | tail -30'"
    answer = Answer(headline="x", also=("one two three",), steps=(Step("look at the agent's log", command),))
    lines = terminal(answer, 14).splitlines()

    assert f"     $ {command}" in lines
    assert lines[2:5] == ["Also seen", "  • one two", "    three"]
    assert "  1. look at" in lines


@pytest.mark.parametrize(("asked", "gpus", "held"), [("idle 1", 8, "600.0 GiB"), ("idle 100d", 0, "")])
def test_idle_names_what_was_held_without_work_for_as_long_as_was_asked(asked: str, gpus: int, held: str):
    answer = answer_text(asked, Asking(api=ExampleApi(), now=NOW))

    assert gpus == (len(answer.table.rows) if answer.table else 0)
    assert held in answer.headline
    assert bool(answer.notes) == bool(gpus)
