"""Rules × window → Checkup: what fires, what is clear, what cannot be told.

Pure: the same window and the same `now` give the same checkup.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from gpudiag.gates import BIT, gates_of, gates_of_all, gates_of_node
from gpudiag.ledger import ledger_of
from gpudiag.model import Checkup, Finding, Observed, Unjudged
from gpudiag.rule import BLIND, MEMORY_ERROR, Fires, Outcome, Rule, outcomes
from gpudiag.window import W5, GpuWindow, NotMeasured, Window
from gpudiag.words.refusals import Refusal

STALE = "agent-stale"
Ask = Callable[[Any], Outcome]


class NoSuchThreshold(Refusal):
    """Settings name a rule or a threshold that does not exist."""


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule found below `gpudiag.rules`, one folder each, in order of precedence."""
    import gpudiag.rules

    found = []
    for family in pkgutil.iter_modules(gpudiag.rules.__path__, "gpudiag.rules."):
        if not family.ispkg:
            continue
        package = importlib.import_module(family.name)
        for module in pkgutil.iter_modules(package.__path__, f"{family.name}."):
            if not module.ispkg:
                continue
            name = module.name.rsplit(".", 1)[-1]
            found.append(getattr(importlib.import_module(module.name), name))
    return tuple(sorted(found, key=lambda rule: (rule.rank, rule.id)))


class Ruleset:
    """Rules with the thresholds in force, sorted by what they are asked about.

    `thresholds` is {rule id: {threshold: value}}; a wrong name raises NoSuchThreshold listing the right ones.
    """

    def __init__(
        self, rules: Iterable[Rule] | None = None, thresholds: Mapping[str, Mapping[str, Any]] | None = None
    ) -> None:
        chosen = all_rules() if rules is None else tuple(rules)
        check_thresholds(chosen, thresholds or {})
        self.rules = tuple(_with(rule, (thresholds or {}).get(rule.id, {})) for rule in chosen)
        self.by_id = {rule.id: rule for rule in self.rules}
        self.umbrella_of = {rule.id: rule.also for rule in self.rules if rule.also}
        umbrellas = frozenset(self.umbrella_of.values())
        self.places = {rule.id: (rule.rank, int(rule.id in umbrellas)) for rule in self.rules}
        self.of_fleet = tuple(rule for rule in self.rules if rule.subject == "fleet")
        self._asked: dict[tuple[str, int], tuple[Rule, ...]] = {}
        self._asks: dict[tuple[str, int], tuple[tuple[Rule, Ask], ...]] = {}

    def for_gpu(self, gpu: GpuWindow) -> tuple[Rule, ...]:
        """The rules whose gates are open for this GPU: the others are clear by what is measured."""
        return self.asked("gpu", gates_of(gpu))

    def for_node(self, node: Window) -> tuple[Rule, ...]:
        """The same for rules about the node: a gate is open when it is for one of its GPUs."""
        return self.asked("node", gates_of_node(node, (gates_of(gpu) for gpu in node.gpus.values())))

    def asked(self, subject: str, gates: int) -> tuple[Rule, ...]:
        """The rules about `subject` that open gates leave to be asked."""
        rules = self._asked.get((subject, gates))
        if rules is None:
            rules = self._asked[subject, gates] = tuple(
                rule
                for rule in self.rules
                if rule.subject == subject and all(gates & BIT[name] for name in rule.given)
            )
        return rules

    def asks(self, subject: str, gates: int) -> tuple[tuple[Rule, Ask], ...]:
        """The same rules, each with the function that asks it."""
        asks = self._asks.get((subject, gates))
        if asks is None:
            asks = self._asks[subject, gates] = tuple((rule, rule.ask) for rule in self.asked(subject, gates))
        return asks


def _with(rule: Rule, thresholds: Mapping[str, Any]) -> Rule:
    return replace(rule, thresholds={**rule.thresholds, **thresholds}) if thresholds else rule


def check_thresholds(rules: Iterable[Rule], thresholds: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise NoSuchThreshold for the first wrong rule, threshold or type, naming the right ones."""
    known = {rule.id: rule.thresholds for rule in rules}
    for rule_id, values in thresholds.items():
        if rule_id not in known:
            raise NoSuchThreshold("threshold-no-rule", rule=rule_id)
        for name, value in values.items():
            if name not in known[rule_id]:
                has = ", ".join(sorted(known[rule_id])) or "none"
                raise NoSuchThreshold("threshold-none", rule=rule_id, name=name, known=has)
            default = known[rule_id][name]
            number = isinstance(default, (int, float)) and not isinstance(default, bool)
            wanted = (int, float) if number else type(default)
            if not isinstance(value, wanted) or (number and isinstance(value, bool)):
                key = "threshold-wants-number" if number else "threshold-wants"
                raise NoSuchThreshold(key, rule=rule_id, name=name, example=default, got=value)


@cache
def default_rules() -> Ruleset:
    return Ruleset()


def examine(window: Window, rules: Ruleset | None = None, now: float | None = None) -> Checkup:
    """Judge one node, with the memory ledger of each GPU: all that an answer needs."""
    checkup = judge(window, rules, now)
    add_ledgers(checkup, window)
    return checkup


def add_ledgers(checkup: Checkup, window: Window) -> None:
    """Add the memory ledger of each GPU of which there is one."""
    for gpu in window.gpus_in_order():
        ledger = ledger_of(gpu)
        if ledger is not None:
            checkup.ledgers[gpu.index] = ledger


def judge(window: Window, rules: Ruleset | None = None, now: float | None = None) -> Checkup:
    """What fires and what cannot be told, without the ledgers: made as each snapshot arrives.

    `now` is the judge's time (the window's own when None). Needs at least one snapshot.
    """
    rules = rules or default_rules()
    if window.latest is None:
        raise ValueError("a window without a snapshot cannot be examined")
    window.judged_at = window.time if now is None else now
    checkup = Checkup(
        node=window.node,
        judged_at=window.judged_at,
        observed=observed(window),
        snapshot=window.latest,
    )
    gates = gates_of_all(window)
    of_node = gates_of_node(window, (bits for _, bits in gates))
    _judge(rules.asks("node", of_node), (window,), checkup)
    if any(finding.rule == STALE for finding in checkup.findings):
        checkup.findings = [f for f in checkup.findings if f.rule == STALE or survives_silence(f, rules)]
    else:
        alike: dict[int, list[GpuWindow]] = {}  # by open gates
        for gpu, bits in gates:
            if not gpu.unread:
                alike.setdefault(bits, []).append(gpu)
        for bits, gpus in alike.items():
            _judge(rules.asks("gpu", bits), gpus, checkup)
    checkup.findings = precede(checkup.findings, rules)
    return checkup


def observed(window: Window, span: float = W5) -> Observed:
    """The span that was judged: the last five minutes, or what there is of them."""
    rows, seconds, _ = window.host.track.covered(span)
    start = max(window.started, window.time - span)
    paste = window.latest.paste if window.latest else None
    return Observed(
        start=start,
        end=window.time,
        samples=paste.samples if paste else round(window.host.rise("samples", span)),
        coverage_ratio=min(1.0, seconds / span) if rows > 1 else None,
    )


def _judge(
    asks: Iterable[tuple[Rule, Ask]], subjects: Sequence[Window] | Sequence[GpuWindow], checkup: Checkup
) -> None:
    """Ask each rule about every subject in turn: quicker than each subject about every rule."""
    for rule, ask in asks:
        for subject in subjects:
            try:
                outcome = ask(subject)
                if outcome is None:  # clear, as most are
                    continue
                fired = (outcome,) if type(outcome) is Fires else outcomes(outcome)
            except NotMeasured as absent:
                # A rule that kept it in a local and raised it later would else be held by its own traceback,
                # with all that called it: a cycle for each report.
                absent.__traceback__ = None
                checkup.unjudged.append(
                    Unjudged(
                        rule=rule.id,
                        missing=absent.missing,
                        gpu=_index_of(subject),
                        reason=absent.reason,
                        wait_seconds=absent.wait_seconds,
                    )
                )
                continue
            except (ArithmeticError, ValueError):  # a driver's nonsense: a total of 0, a power of 1e300
                checkup.unjudged.append(
                    Unjudged(
                        rule=rule.id,
                        missing=["plausible_values"],
                        gpu=_index_of(subject),
                        reason="nonsense",
                    )
                )
                continue
            gpu = subject if type(subject) is GpuWindow else None
            for fires in fired:
                checkup.findings.append(finding_of(rule, fires, gpu))


def _index_of(subject: Window | GpuWindow) -> int | None:
    return subject.index if isinstance(subject, GpuWindow) else None


def finding_of(rule: Rule, fires: Fires, gpu: GpuWindow | None = None) -> Finding:
    """The finding that an outcome makes."""
    return Finding(
        rule=rule.id,
        severity=fires.severity or rule.severity,
        confidence=fires.confidence or rule.confidence,
        gpu=gpu.index if gpu is not None else fires.gpu,
        gpu_uuid=gpu.reading.uuid if gpu is not None else None,
        key=fires.key,
        variant=fires.variant,
        maturity=rule.maturity,
        evidence=list(fires.evidence),
        words=fires.words,
        explains=[*rule.explains, *fires.also_explains],
        since=fires.since,
    )


def precede(findings: list[Finding], rules: Ruleset) -> list[Finding]:
    """Drop what another finding of the same GPU, or of the node, accounts for; sort by precedence.

    A finding about a node that names its `gpus` accounts for those of these GPUs alone, and a finding of
    one of them accounts for it. What is dropped stays named in `explains` of the finding that accounts for
    it. An umbrella stays beside its sub-cause.
    """
    accounts = {rule for finding in findings for rule in finding.explains}
    kept = [f for f in findings if f.rule not in accounts or not _accounted_for(f, findings, rules)]
    found = {finding.rule for finding in findings}
    for finding in kept:
        umbrella = rules.umbrella_of.get(finding.rule)
        named = [umbrella, *finding.explains] if umbrella else finding.explains
        if found.isdisjoint(named):
            finding.explains = []
            continue
        around = _found_beside(finding, findings)
        finding.explains = [name for name in dict.fromkeys(named) if name in around and name != finding.rule]
    return sorted(kept, key=lambda finding: precedence(finding, rules))


def gpus_of(finding: Finding) -> Collection[int | None]:
    """The GPU that a finding is about, or those that one about the node names."""
    named = finding.words.get("gpus") if finding.gpu is None else None
    return named if named and isinstance(named, (list, tuple)) else (finding.gpu,)


def covers(other: Finding, finding: Finding) -> bool:
    """Whether a finding speaks of the whole node, or of a GPU that the other one is about, too."""
    theirs = gpus_of(other)
    return None in theirs or any(gpu in theirs for gpu in gpus_of(finding))


def _found_beside(finding: Finding, findings: list[Finding]) -> set[str]:
    """Rules found of the same GPUs, or of the node."""
    gpus = gpus_of(finding)
    return {f.rule for f in findings if None in gpus or f.gpu is None or f.gpu in gpus}


def _accounted_for(finding: Finding, findings: list[Finding], rules: Ruleset) -> bool:
    """Whether another finding explains this one; of two that explain each other the first in order stays."""
    for other in findings:
        if finding.rule not in other.explains or not covers(other, finding):
            continue
        mutual = finding.rule != other.rule and other.rule in finding.explains
        if other.rule != finding.rule and not (
            mutual and precedence(finding, rules) < precedence(other, rules)
        ):
            return True
    return False


def precedence(finding: Finding, rules: Ruleset) -> tuple[int, int, int, str]:
    """Sort key: rank, umbrellas after their sub-causes, the node before its GPUs."""
    rank, is_umbrella = rules.places.get(finding.rule, _UNKNOWN)
    return rank, is_umbrella, -1 if finding.gpu is None else finding.gpu, finding.rule


_UNKNOWN = (BLIND, 0)  # a rule of another version


def survives_silence(finding: Finding, rules: Ruleset) -> bool:
    """Whether a finding still stands when its node no longer reports: faults do, states do not."""
    rule = rules.by_id.get(finding.rule)
    return rule is None or rule.rank <= MEMORY_ERROR or rule.latched
