"""`/v1/rules`: the rules in force; and a rule's page as Markdown or plain text (web/ lays it out as HTML)."""

from __future__ import annotations

import difflib
from typing import Any

from flask import Blueprint, Response, request

from api.parts import parts
from api.problems import NoSuch
from api.resources.asked import json_answer, language, text_answer
from api.web.words import SENTENCES
from api.words import Sentence
from gpudiag.rule import Rule
from gpudiag.rule_search import LONGEST, search
from gpudiag.runbook import about, list_text, markdown, page_text
from gpudiag.words import Language
from gpudiag.words.foreign import plain
from gpudiag.words.pages import page_of

rules = Blueprint("rules", __name__)


@rules.get("/v1/rules")
def catalogue() -> Response:
    """Every rule with its severity, thresholds and headline."""
    here = parts()
    lang = language(here.settings.serve.lang)
    items = [rule_json(rule, lang, here.answers.runbooks) for rule in here.answers.rules.rules]
    return json_answer({"items": items, "next": None})


def rule_json(rule: Rule, lang: Language, runbooks: str) -> dict[str, Any]:
    page = page_of(rule.module, rule.id, lang)
    return {
        "rule": rule.id,
        "family": rule.family,
        "subject": rule.subject,
        "severity": rule.severity,
        "confidence": rule.confidence,
        "maturity": rule.maturity,
        "headline": page.headline(None),
        "summary": about(rule, lang),
        "explains": list(rule.explains),
        "latched": rule.latched,
        "thresholds": rule.thresholds,
        "runbook_url": f"{runbooks}/{rule.id}",
    }


WRITTEN = {"text/plain": page_text, "text/markdown": markdown}
"""How a rule's page is written without HTML."""

HTML = "text/html"


def written_kind(*kinds: str) -> str | None:
    """The kind of text, of those that there are, in which a page is wanted; None where HTML is.

    HTML is for who names it, as browsers do: `*/*`, as curl asks, is a person at a terminal.
    """
    offered = [HTML, *kinds] if "html" in request.headers.get("Accept", "") else [*kinds]
    best = request.accept_mimetypes.best_match(offered, offered[0])
    return None if best == HTML else best


def written_list() -> Response:
    """The list of rules as plain text; with `q` those that have its words, after how many they are."""
    here = parts()
    known, lang = here.answers.rules.rules, language(here.settings.serve.lang)
    asked = plain(request.args.get("q", "").strip(), LONGEST)
    if not asked:
        return text_answer(list_text(known, lang))
    found = search(known, asked)
    count = SENTENCES[lang]["search_count"].format(count=len(found), known=len(known))
    return text_answer(f"{count}\n\n{list_text(found, lang)}" if found else f"{count}\n")


def written_runbook(rule: str, kind: str) -> Response:
    """A rule's page as Markdown or as plain text."""
    here = parts()
    known = here.answers.rules.by_id.get(rule)
    if known is None:
        nearest = difflib.get_close_matches(rule, list(here.answers.rules.by_id), 3, 0.5)
        hint = Sentence("near", names=", ".join(nearest)) if nearest else Sentence("rules")
        raise NoSuch("rule", nearest, rule=plain(rule, 64), hint=hint)
    text = WRITTEN[kind](known, language(here.settings.serve.lang))
    return text_answer(text, f"{kind}; charset=utf-8")
