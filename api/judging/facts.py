"""What is known of a node or a paste that our rules fail over: its facts, and that nothing was judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from api.words import Sentence
from gpudiag.examine import Ruleset, observed
from gpudiag.explain import explain
from gpudiag.model import Checkup, Finding, Observed, Snapshot
from gpudiag.verdict import NOT_ENOUGH
from gpudiag.window import Window
from gpudiag.words import Language


def facts_of(
    window: Window,
    known: Sequence[Finding],
    at: float,
    error: Exception,
    language: Language,
    rules: Ruleset,
    runbooks: str,
    pasted: bool = False,
) -> dict[str, Any]:
    """A diagnosis with the newest snapshot and what was `known` before, but without a verdict.

    `pasted` text is told of as that. Where the words fail over those, too, with less of them. Raises the
    `error` where they fail over all.
    """
    latest = window.latest
    if latest is None:
        raise error
    bare = Snapshot(node=window.node, taken_at=latest.taken_at, source=latest.source)
    for snapshot, findings in ((latest, known), (latest, ()), (bare, known), (bare, ())):
        try:
            checkup = Checkup(
                node=window.node,
                judged_at=at,
                observed=observed(window) if snapshot is latest else Observed(start=None, end=window.time),
                snapshot=snapshot,
                findings=list(findings),
            )
            said = msgspec.to_builtins(explain(checkup, language, rules, now=at, runbooks=runbooks))
            return _without_verdict(said, error, language, pasted)
        except Exception:
            continue
    raise error


def failed(language: Language, pasted: bool = False) -> dict[str, Any]:
    """The verdict on a node, or a paste, that our rules fail over."""
    headline = Sentence("failed.paste" if pasted else "failed.node").said(language)
    return {"severity": "unknown", "rule": NOT_ENOUGH, "headline": headline, "confidence": None, "gpu": None}


def _without_verdict(
    said: dict[str, Any], error: Exception, language: Language, pasted: bool
) -> dict[str, Any]:
    verdict = failed(language, pasted)
    for gpu in said["gpus"]:
        if gpu["verdict"]["rule"] == NOT_ENOUGH:
            gpu["verdict"]["headline"] = verdict["headline"]
    note = Sentence("failed.paste.note" if pasted else "failed.node.note", name=type(error).__name__)
    return {**said, "verdict": verdict, "notes": [note.said(language), *said["notes"]]}
