"""`gpudiag rules [RULE|WORDS]`: the rules with the thresholds in force; one rule's runbook page."""

from __future__ import annotations

import argparse
import difflib
from typing import Any

from gpudiag.cli import terminal
from gpudiag.words import Language
from gpudiag.words.refusals import Refusal

SUMMARY = "the rules; one rule's runbook page, also by words: gpudiag rules xid 79"


class NoSuchRule(Refusal):
    """The word names no rule."""

    key = "no-such-rule"

    status = 404


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "asked", nargs="*", metavar="RULE", help="a rule, for its runbook page, or words to find rules by"
    )
    terminal.add_config_option(parser)
    terminal.add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    from gpudiag.examine import Ruleset
    from gpudiag.settings import load

    rules = Ruleset(thresholds=load(options.config).rules)
    language = terminal.chosen_language(options.lang)
    asked = " ".join(options.asked)
    found = rules.rules if not asked else found_by(rules, asked)
    if asked and len(found) < 2:
        return show(rules, found[0].id if found else asked, language, options.json)
    if options.json:
        terminal.print_json({"items": [rule_json(rule, language) for rule in found], "next": None})
        return 0
    from gpudiag.runbook import list_text

    print(list_text(found, language, terminal.columns()), end="")
    return 0


def found_by(rules: Any, asked: str) -> list[Any]:
    """The rule of that name, or else those that have all the words, as on the pages; none for a typo."""
    from gpudiag.rule_search import search

    if asked in rules.by_id:
        return [rules.by_id[asked]]
    typo = " " not in asked and nearest(rules, asked)
    return [] if typo else search(rules.rules, asked)


def nearest(rules: Any, name: str) -> list[str]:
    """Ids that `name` may be meant for."""
    return difflib.get_close_matches(name, rules.by_id, n=3, cutoff=0.5)


def rule_named(rules: Any, rule_id: str) -> Any:
    """The rule; raises NoSuchRule with the nearest names."""
    rule = rules.by_id.get(rule_id)
    if rule is None:
        near = nearest(rules, rule_id)
        if near:
            raise NoSuchRule("no-such-rule-near", name=rule_id, near=", ".join(near))
        raise NoSuchRule(name=rule_id)
    return rule


def show(rules: Any, rule_id: str, language: Language, as_json: bool) -> int:
    """One rule's page."""
    rule = rule_named(rules, rule_id)
    if as_json:
        terminal.print_json(rule_json(rule, language))
        return 0
    from gpudiag.runbook import page_text

    print(page_text(rule, language, terminal.columns()), end="")
    return 0


def rule_json(rule: Any, language: Language) -> dict[str, Any]:
    """A rule as `/v1/rules` lists it."""
    from gpudiag.runbook import about
    from gpudiag.words.pages import page_of

    return {
        "rule": rule.id,
        "family": rule.family,
        "subject": rule.subject,
        "severity": rule.severity,
        "maturity": rule.maturity,
        "summary": about(rule, language),
        "headline": page_of(rule.module, rule.id, language).headline(None),
        "thresholds": rule.thresholds,
        "explains": list(rule.explains),
        "latched": rule.latched,
        "runbook_url": f"/runbooks/{rule.id}",
    }
