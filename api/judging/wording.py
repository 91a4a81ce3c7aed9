"""A node's checkup in words, kept until the next one: lists and answers say the same over and over."""

from __future__ import annotations

from typing import Any

import msgspec

from api.judging.facts import failed
from api.judging.nodes import FAILED, NodeState
from api.words import Sentence
from gpudiag.examine import STALE, Ruleset, add_ledgers
from gpudiag.explain import explain, verdict_of
from gpudiag.model import Checkup
from gpudiag.words import Language, units


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
        # All else stays as it was said: a silent fleet would be put into words anew each second.
        moments = (state.checkup.judged_at, now)
        told, age = (units.age(state.window.age(at), language) for at in moments)
        return known if told == age else {**known, "headline": known["headline"].replace(told, age, 1)}

    @staticmethod
    def _without_checkup(state: NodeState, language: Language) -> dict[str, Any]:
        """The verdict as the store has it, of a node that was not judged here; else unknown."""
        if state.rank is FAILED:
            return failed(language)
        stored = (state.stored or {}).get("verdicts", {})
        not_yet = Sentence("judge.not.yet").said(language)
        return stored.get(language) or {**failed(language), "headline": not_yet}

    def explained(
        self, state: NodeState, checkup: Checkup, language: Language, runbooks: str
    ) -> dict[str, Any]:
        """The whole diagnosis of a checkup; the caller holds the node's lock."""
        said = state.said.get(language)
        if said is None:
            add_ledgers(checkup, state.window)
            found = explain(checkup, language, self._rules, runbooks=runbooks)
            said = state.said[language] = msgspec.to_builtins(found)
        return said
