"""A node's checkup in words, kept until the next one: lists and answers say the same over and over."""

from __future__ import annotations

from typing import Any

import msgspec

from api.judging.facts import failed
from api.judging.nodes import FAILED, NodeState
from gpudiag.examine import STALE, Ruleset
from gpudiag.explain import explain, verdict_of
from gpudiag.ledger import ledger_of
from gpudiag.model import Checkup, Finding
from gpudiag.words import Language


class Wording:
    """Puts what was judged into words, by these rules' pages."""

    def __init__(self, rules: Ruleset) -> None:
        self._rules = rules

    def verdict(self, state: NodeState, language: Language) -> dict[str, Any]:
        """The node's verdict in words, as lists show it."""
        headlines = state.headlines
        known = headlines.get(language)
        if known is None:
            if state.checkup is None:
                return self._without_checkup(state, language)
            known = verdict_of(state.checkup, language, self._rules)
            headlines[language] = known
        return known

    def verdict_at(self, now: float, state: NodeState, language: Language) -> dict[str, Any]:
        """The same, with a silence in it told as old as it is, and not as when it was last judged."""
        known = self.verdict(state, language)
        if known["rule"] != STALE or state.checkup is None:
            return known
        return verdict_of(_silent_for(state.window.age(now), state.checkup), language, self._rules)

    @staticmethod
    def _without_checkup(state: NodeState, language: Language) -> dict[str, Any]:
        """The verdict as the store has it, of a node that was not judged here; else unknown."""
        if state.rank == FAILED:
            return failed(language)
        stored = (state.stored or {}).get("verdicts", {})
        return stored.get(language) or {**failed(language), "headline": ""}

    def explained(
        self, state: NodeState, checkup: Checkup, language: Language, runbooks: str
    ) -> dict[str, Any]:
        """The whole diagnosis of a checkup; the caller holds the node's lock."""
        said = state.said.get(language)
        if said is None:
            for gpu in state.window.gpus_in_order():
                ledger = ledger_of(gpu)
                if ledger is not None:
                    checkup.ledgers[gpu.index] = ledger
            found = explain(checkup, language, self._rules, runbooks=runbooks)
            said = state.said[language] = msgspec.to_builtins(found)
        return said


def _silent_for(age: float, checkup: Checkup) -> Checkup:
    """The checkup of a silent node, with that age."""
    replace = msgspec.structs.replace

    def aged(finding: Finding) -> Finding:
        if finding.rule != STALE:
            return finding
        evidence = [replace(e, value=round(age)) if e.name == "age_seconds" else e for e in finding.evidence]
        return replace(finding, evidence=evidence)

    return replace(checkup, findings=[aged(finding) for finding in checkup.findings])
