"""Checkup × language → Diagnosis: one answer in words, as every surface lays it out.

facts.py writes what needs no words, findings.py what a rule found in the words of its page, missing.py what
could not be told. Pure apart from reading the packaged pages. Numbers stay numbers; texts are in the asked
language.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import msgspec

from gpudiag.examine import Ruleset, default_rules
from gpudiag.explain.facts import (
    READINGS,
    identity_json,
    iso,
    ledger_json,
    processes_json,
    readings_json,
    shown,
)
from gpudiag.explain.findings import Findings
from gpudiag.explain.missing import Missing
from gpudiag.ledger import DISAGREES
from gpudiag.model import SCHEMA, Checkup, Finding, GpuReading
from gpudiag.verdict import Verdict, verdict_of_gpu, verdict_of_node
from gpudiag.words import Language, units
from gpudiag.words.foreign import plain
from gpudiag.words.gpus import names_itself

__all__ = [
    "READINGS",
    "Diagnosis",
    "explain",
    "finding_in_words",
    "iso",
    "ledger_json",
    "verdict_of",
]


class Diagnosis(msgspec.Struct, kw_only=True):
    """One answer; its fields are the keys of the JSON."""

    schema: int = SCHEMA
    node: str
    source: str
    driver_version: str | None
    observed: dict[str, Any]
    verdict: dict[str, Any]
    findings: list[dict[str, Any]]
    gpus: list[dict[str, Any]]
    unjudged: list[dict[str, Any]]
    notes: list[str]
    language: str = "en"


def explain(
    checkup: Checkup,
    language: Language = "en",
    rules: Ruleset | None = None,
    *,
    now: float | None = None,
    runbooks: str = "/runbooks",
    past: bool = False,
) -> Diagnosis:
    """Put a checkup into words. `runbooks` is where the rules' pages stand: an address, or a command.

    `past`: it tells of a moment that is over, for which nobody can wait.
    """
    speaker = _Speaker(checkup, language, rules or default_rules(), runbooks, past)
    return speaker.diagnosis(checkup.judged_at if now is None else now)


def verdict_of(checkup: Checkup, language: Language, rules: Ruleset) -> dict[str, Any]:
    """The node's verdict alone, as `explain` says it: for lists, at a tenth of the price."""
    return _Speaker(checkup, language, rules, "").verdict(verdict_of_node(checkup, rules), node=True)


def finding_in_words(
    checkup: Checkup, finding: Finding, language: Language, rules: Ruleset, *, runbooks: str = "/runbooks"
) -> dict[str, Any]:
    """One finding alone, as `explain` says it."""
    return Findings(checkup, language, rules, runbooks).told(finding)


class _Speaker:
    """One checkup in one language."""

    def __init__(
        self, checkup: Checkup, language: Language, rules: Ruleset, runbooks: str, past: bool = False
    ) -> None:
        self.checkup, self.language, self.rules = checkup, language, rules
        self.past = past
        self.findings = Findings(checkup, language, rules, runbooks)

    @cached_property
    def missing(self) -> Missing:
        return Missing(self.findings, self.past)

    def diagnosis(self, now: float) -> Diagnosis:
        checkup, snapshot = self.checkup, self.checkup.snapshot
        observed = checkup.observed
        return Diagnosis(
            node=plain(checkup.node),
            source=snapshot.source,
            driver_version=shown(snapshot.driver_version),
            observed={
                "from": iso(observed.start),
                "to": iso(observed.end),
                "samples": observed.samples,
                "coverage_ratio": observed.coverage_ratio,
                "age_seconds": None if observed.end is None else round(max(0.0, now - observed.end), 1),
            },
            verdict=self.verdict(verdict_of_node(checkup, self.rules), node=True),
            findings=[self.findings.told(f) for f in checkup.findings if f.gpu is None],
            gpus=self.gpus(),
            unjudged=[self.missing.told(u) for u in checkup.unjudged if u.gpu is None],
            notes=self.notes(),
            language=self.language,
        )

    def notes(self) -> list[str]:
        notes = [self.findings.words.LABEL["simulated"]] if self.findings.simulated else []
        notes += [plain(note) for note in self.checkup.snapshot.notes] + self.disagreements()
        notes += self.missing.told_by_lines()
        joined = self.missing.topology()
        if joined is not None and joined.severity == "info":  # it decides nothing, and is what was asked for
            told = self.findings.told(joined)
            notes += [told["means"], *map(_as_a_note, told["next_steps"])]
        return notes

    def disagreements(self) -> list[str]:
        """Where the memory that was calculated is not the one that is there, and what that usually means."""
        gpus_by_share: dict[str, list[int]] = {}
        for index, ledger in sorted(self.checkup.ledgers.items()):
            ratio = ledger.disagreement_ratio
            if ratio is not None and ratio > DISAGREES:
                gpus_by_share.setdefault(units.percent(100 * ratio), []).append(index)
        return [
            self.findings.words.DISAGREEMENT.format(gpus=f"GPU {units.runs(indexes)}", share=share)
            for share, indexes in gpus_by_share.items()
        ]

    def verdict(self, verdict: Verdict, node: bool = False) -> dict[str, Any]:
        finding = verdict.finding
        headline = self.missing.headline(verdict.gpu) if finding is None else self.findings.headline(finding)
        several = len(self.checkup.snapshot.gpus) > 1
        of_all = finding is None and self.missing.a_list() is not None
        named = of_all or names_itself(headline, verdict.gpu)
        if node and several and verdict.gpu is not None and not verdict.shared and not named:
            headline = f"GPU {verdict.gpu}: {headline}"
        machine = self.findings.one_of_several() if node else None
        if machine:
            headline = f"{machine}: {headline}"
        return {
            "severity": verdict.severity,
            "rule": verdict.rule,
            "headline": headline,
            "confidence": finding.confidence if finding else None,
            "gpu": verdict.gpu,
        }

    def gpus(self) -> list[dict[str, Any]]:
        readings = {gpu.index: gpu for gpu in self.checkup.snapshot.gpus}
        lost = {f.gpu for f in self.checkup.findings if f.gpu is not None} - readings.keys()
        answers = [self.gpu(reading.index, reading) for reading in self.checkup.snapshot.gpus]
        return answers + [self.gpu(index, None) for index in sorted(lost)]

    def gpu(self, index: int, reading: GpuReading | None) -> dict[str, Any]:
        """One GPU; one that is gone has every key, too."""
        checkup = self.checkup
        ledger = checkup.ledgers.get(index) if reading else None
        return {
            "index": index,
            **identity_json(reading),
            "verdict": self.verdict(verdict_of_gpu(checkup, index, self.rules)),
            **readings_json(reading),
            "processes": processes_json(checkup.snapshot, index),
            "memory": ledger_json(ledger, self.findings.simulated),
            "findings": [self.findings.told(f) for f in checkup.findings if f.gpu == index],
            "unjudged": [self.missing.told(u) for u in checkup.unjudged if u.gpu == index],
        }


def _as_a_note(step: dict[str, Any]) -> str:
    return f"{step['text']} `{step['command']}`" if step["command"] else str(step["text"])
