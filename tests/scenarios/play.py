"""Plays a scenario through the real agent, over HTTP where it is of a fleet, and compares."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable

import msgspec

from gpudiag.examine import default_rules, examine, judge
from gpudiag.explain import explain
from gpudiag.model import Checkup, Snapshot
from gpudiag.plaintext import diagnosis_text
from gpudiag.verdict import verdict_of_node
from gpudiag.window import Window
from gpudiag.words import Language
from tests.scenarios.fleet import Fleet
from tests.scenarios.host import Host
from tests.scenarios.scenario import ALARMS, Outcome, Scenario, all_scenarios


class Judge:
    """Takes reports as they were sent, and judges at each what a user would be told."""

    def __init__(self, node: str, outcome: Outcome) -> None:
        self.window = Window(node)
        self.rules = default_rules()
        self.outcome = outcome
        self._decode = msgspec.json.Decoder(Snapshot).decode

    def send(self, snapshots: bytes) -> None:
        self.outcome.sent.append(snapshots)
        snapshot = self._decode(snapshots)
        self.window.add(snapshot)
        self.look(judge(self.window, self.rules))

    def look(self, checkup: Checkup) -> None:
        """Remembers what was found at this moment."""
        for finding in checkup.findings:
            if finding.severity in ALARMS:
                at = round(checkup.judged_at - self.window.started)
                words = f"{finding.severity} ({finding.confidence}) after {at} s"
                self.outcome.alarms.setdefault(finding.rule, words)


def play(scenario: Scenario, at_end: Callable[[Host], None] | None = None) -> Outcome:
    """Plays it and compares; `at_end` may look at the host before it is taken down."""
    begun = time.monotonic()
    outcome = Outcome(scenario.name)
    try:
        if scenario.over_http:
            with Fleet(outcome, scenario.config) as fleet:
                scenario.play(fleet)
        else:
            _play_on_one_host(scenario, outcome, at_end)
    except Exception:
        outcome.complaints.append("the story broke off:\n" + traceback.format_exc())
    else:
        _compare(scenario, outcome)
    outcome.seconds = time.monotonic() - begun
    return outcome


def play_by_name(name: str) -> Outcome:
    """The same for another process, which is told the name only."""
    return play(next(one for one in all_scenarios() if one.name == name))


def _play_on_one_host(scenario: Scenario, outcome: Outcome, at_end: Callable[[Host], None] | None) -> None:
    judged = Judge("node-1", outcome)
    host = Host(judged, **scenario.host)
    try:
        scenario.play(host)
        checkup = examine(judged.window, judged.rules, now=host.clock.time())
        if at_end is not None:
            at_end(host)
    finally:
        host.close()
    judged.look(checkup)
    verdict = verdict_of_node(checkup, judged.rules)
    outcome.rule, outcome.severity = verdict.rule, verdict.severity
    for finding in checkup.findings:
        place = "" if finding.gpu is None else f" gpu {finding.gpu}"
        variant = f" [{finding.variant}]" if finding.variant else ""
        outcome.findings.append(f"{finding.rule}{variant} {finding.severity}/{finding.confidence}{place}")
    outcome.unjudged = sorted({f"{u.rule} ({', '.join(u.missing)}: {u.reason})" for u in checkup.unjudged})
    languages: tuple[Language, ...] = ("en", "ko")
    for language in languages:
        said = explain(checkup, language, judged.rules, now=host.clock.time())
        outcome.text += diagnosis_text(msgspec.to_builtins(said), language) + "\n"


def _compare(scenario: Scenario, outcome: Outcome) -> None:
    given, expected = f"{outcome.rule} {outcome.severity}", f"{scenario.expects} {scenario.severity}"
    if given != expected:
        kind = "verdict"
        if scenario.severity in ALARMS and outcome.severity in ("ok", "info"):
            kind = "DANGEROUS NORMAL"
        outcome.complaints.append(f"{kind}: {given}")
    allowed = {scenario.expects, *scenario.also, *scenario.finds}
    for rule, words in outcome.alarms.items():
        if rule not in allowed:
            outcome.complaints.append(f"false alarm: {rule} {words}")
    found = {finding.split(" ")[0] for finding in outcome.findings}
    outcome.complaints += [f"said {rule}" for rule in scenario.never if rule in found]
    outcome.complaints += [f"did not find {rule}" for rule in scenario.finds if rule not in found]
    open_questions = {line.split(" ")[0] for line in outcome.unjudged}
    outcome.complaints += [
        f"{rule} is not unjudged" for rule in scenario.unjudged if rule not in open_questions
    ]
    outcome.complaints += [f"does not say “{words}”" for words in scenario.says if words not in outcome.text]
    sent = b"\n".join(outcome.sent).decode()
    outcome.complaints += [
        f"sends “{words}”" for words in scenario.hides if words in sent or words in outcome.text
    ]
    outcome.sent = []
    if any(ord(letter) < 32 and letter != "\n" for letter in outcome.text):
        outcome.complaints.append("the answer holds control characters")
