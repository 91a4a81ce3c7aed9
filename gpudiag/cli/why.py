"""`gpudiag why [NODE[:GPU]]`: the diagnosis, through the API or of this machine."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gpudiag.cli import sources, terminal
from gpudiag.words import Language

SUMMARY = "the diagnosis of a node; without a name, of this machine"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "node", nargs="?", metavar="NODE[:GPU]", help="a node, pod, job:ID or pid:N of the API"
    )
    parser.add_argument("--at", metavar="TIME", help="judge the past: 15:43 (UTC), 10m, 2026-11-29T03:12Z")
    parser.add_argument("--for", dest="seconds", metavar="10s", default="10s", help="how long to look (10s)")
    parser.add_argument("--explain-rule", metavar="RULE", help="say why a rule did not fire on this machine")
    terminal.add_config_option(parser)
    terminal.add_api_options(parser)
    terminal.add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    language = terminal.chosen_language(options.lang)
    if options.explain_rule:
        return explain_rule(options, language)
    diagnosis = answer(options, language)
    if options.json:
        terminal.print_json(diagnosis)
        return 0
    from gpudiag.plaintext import diagnosis_text

    here = not options.node
    site = "" if here else terminal.api_address(options.api)
    width, colour = terminal.columns(), terminal.colour()
    past = bool(options.at)
    text = diagnosis_text(diagnosis, language, width=width, colour=colour, site=site, here=here, past=past)
    sys.stdout.write(text)
    return 0


def answer(options: argparse.Namespace, language: str) -> dict[str, Any]:
    if sources.names_a_node(options):
        return sources.from_api(options, language)
    return here(options, language)


def here(options: argparse.Namespace, language: str) -> dict[str, Any]:
    if options.at:
        raise sources.BadTarget("past-of-no-node")
    return sources.from_here(terminal.span("--for", options.seconds), options.config, language)


def explain_rule(options: argparse.Namespace, language: Language) -> int:
    """For each GPU: did the rule fire, was it clear, could it not be judged, and why."""
    from gpudiag.cli.rules import rule_named
    from gpudiag.examine import Ruleset
    from gpudiag.settings import load
    from gpudiag.why_not import account_of

    if options.node:
        raise sources.BadTarget("rule-of-a-node")
    rule_named(Ruleset(thresholds=load(options.config).rules), options.explain_rule)
    window, rules = sources.window_here(terminal.span("--for", options.seconds), options.config, language)
    rule = rules.by_id[options.explain_rule]
    for line in account_of(rule, window, rules, language):
        print(line)
    return 0
