"""Checkup × language → Diagnosis: one answer in words, as every surface lays it out.

Pure apart from reading the packaged pages. Numbers stay numbers; texts are in the asked language.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from gpudiag.examine import STALE, Ruleset, default_rules
from gpudiag.ledger import DISAGREES
from gpudiag.model import (
    CLOCKS_EVENT,
    SCHEMA,
    Checkup,
    Evidence,
    Finding,
    GpuReading,
    Kind,
    MemoryLedger,
    ProcessReading,
    Unjudged,
)
from gpudiag.owners import by_its_scheduler, freeing
from gpudiag.verdict import NOT_ENOUGH, Verdict, verdict_of_gpu, verdict_of_node
from gpudiag.words import Language, units, words
from gpudiag.words.foreign import plain
from gpudiag.words.gpus import names_itself
from gpudiag.words.pages import Page, Step, fill, flowing, page_of
from gpudiag.workloads import workload_of

READINGS = (
    "memory_used_bytes", "memory_total_bytes", "memory_free_bytes", "memory_reserved_bytes",
    "utilization_percent", "memory_utilization_percent", "temperature_celsius", "power_watts",
    "power_limit_watts", "pstate", "sm_clock_megahertz", "sm_clock_max_megahertz", "clocks_event_reasons",
    "fan_percent", "encoder_percent", "decoder_percent", "sm_active_ratio", "dram_active_ratio",
    "pcie_link_generation", "pcie_link_generation_max", "pcie_link_width", "pcie_link_width_max",
    "ecc_corrected_volatile", "ecc_uncorrected_volatile", "ecc_uncorrected_aggregate", "row_remap_pending",
    "row_remap_failed", "persistence_mode", "compute_mode", "mig_mode", "recovery_action",
)  # fmt: skip
"""Keys of `readings`: always there, null where not known."""

PASTED_NODE = {"en": "this machine", "ko": "이"}  # Korean pages say {node} 노드

DECISIVE = (
    "utilization_percent", "memory_used_bytes", "memory_total_bytes", "processes", "engine", "power_watts",
    "power_limit_watts", "samples",
)  # fmt: skip
"""What is named first when too little was visible: most questions turn on it."""


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
    return _Speaker(checkup, language, rules, runbooks).finding(finding)


class _Speaker:
    """One checkup in one language."""

    def __init__(
        self, checkup: Checkup, language: Language, rules: Ruleset, runbooks: str, past: bool = False
    ) -> None:
        self.checkup, self.language, self.rules, self.past = checkup, language, rules, past
        self.words = words(language)
        self.runbooks = runbooks if runbooks.endswith(" ") else runbooks.rstrip("/") + "/"
        self.simulated = checkup.snapshot.source == "simulated"

    def diagnosis(self, now: float) -> Diagnosis:
        checkup, snapshot = self.checkup, self.checkup.snapshot
        observed = checkup.observed
        return Diagnosis(
            node=plain(checkup.node),
            source=snapshot.source,
            driver_version=_plain(snapshot.driver_version),
            observed={
                "from": iso(observed.start),
                "to": iso(observed.end),
                "samples": observed.samples,
                "coverage_ratio": observed.coverage_ratio,
                "age_seconds": None if observed.end is None else round(max(0.0, now - observed.end), 1),
            },
            verdict=self.verdict(verdict_of_node(checkup, self.rules), node=True),
            findings=[self.finding(f) for f in checkup.findings if f.gpu is None],
            gpus=self.gpus(),
            unjudged=[self.unjudged(u) for u in checkup.unjudged if u.gpu is None],
            notes=self.notes(),
            language=self.language,
        )

    def notes(self) -> list[str]:
        notes = [self.words.LABEL["simulated"]] if self.simulated else []
        notes += [plain(note) for note in self.checkup.snapshot.notes] + self.disagreements()
        line = self.telling_line()
        return notes if line is None else [*notes, self.words.LINE_NEXT[line]]

    def telling_line(self) -> str | None:
        """The kind of line that is all a pasted text has, where it is known what that tells, and what not."""
        snapshot, paste = self.checkup.snapshot, self.checkup.snapshot.paste
        if paste is None or snapshot.gpus or self.checkup.findings:
            return None
        kinds = [*(paste.errors or ()), *(event.kind for event in snapshot.events)]
        return next((kind for kind in kinds if kind in self.words.LINE), None)

    def a_list(self) -> Finding | None:
        """What is said of a text that only lists GPUs, where that is all there is."""
        return next((f for f in self.checkup.findings if f.variant == "no-state"), None)

    def disagreements(self) -> list[str]:
        """Where the memory that was calculated is not the one that is there, and what that usually means."""
        gpus_by_share: dict[str, list[int]] = {}
        for index, ledger in sorted(self.checkup.ledgers.items()):
            ratio = ledger.disagreement_ratio
            if ratio is not None and ratio > DISAGREES:
                gpus_by_share.setdefault(units.percent(100 * ratio), []).append(index)
        return [
            self.words.DISAGREEMENT.format(gpus=f"GPU {units.runs(indexes)}", share=share)
            for share, indexes in gpus_by_share.items()
        ]

    # ---- verdict

    def verdict(self, verdict: Verdict, node: bool = False) -> dict[str, Any]:
        headline = self.headline(verdict.finding) if verdict.finding else self.not_enough(verdict.gpu)
        several = len(self.checkup.snapshot.gpus) > 1
        named = names_itself(headline, verdict.gpu) or (verdict.finding is None and self.a_list() is not None)
        if node and several and verdict.gpu is not None and not verdict.shared and not named:
            headline = f"GPU {verdict.gpu}: {headline}"
        if node and self.one_of_several():
            headline = f"{self.one_of_several()}: {headline}"
        finding = verdict.finding
        return {
            "severity": verdict.severity,
            "rule": verdict.rule,
            "headline": headline,
            "confidence": finding.confidence if finding else None,
            "gpu": verdict.gpu,
        }

    def not_enough(self, gpu: int | None) -> str:
        absent = [
            name
            for entry in self.checkup.unjudged
            if entry.gpu == gpu and entry.reason != "not_supported"
            for name in entry.missing
        ]
        absent.sort(key=lambda name: DECISIVE.index(name) if name in DECISIVE else len(DECISIVE))
        distinct = list(dict.fromkeys(self.missing(name) for name in absent))[:3]
        line = self.telling_line()
        if line is not None:
            return self.words.LINE[line]
        a_list = self.a_list()
        if a_list is not None:
            return self.headline(a_list)
        unheard = next((entry.reason for entry in self.checkup.unjudged if entry.rule == STALE), None)
        if unheard in self.words.UNHEARD:
            return self.words.UNHEARD[unheard].format(node=self.node(command=False))
        if not distinct:
            return self.words.NOT_ENOUGH_BARE
        listed = self.words.MISSING_LIST.format(names=", ".join(distinct))
        return self.words.NOT_ENOUGH.format(missing=listed)

    # ---- findings

    def page(self, rule: str) -> Page | None:
        known = self.rules.by_id.get(rule)
        return page_of(known.module, rule, self.language) if known else None

    def headline(self, finding: Finding) -> str:
        page = self.page(finding.rule)
        return self.say(page.headline(finding.variant), finding) if page else finding.rule

    def say(self, template: str, finding: Finding, command: bool = False) -> str:
        """A template of the rule's page with the finding's values in it."""
        evidence = {item.name: item for item in finding.evidence}

        def value(name: str, part: str | None) -> str | None:
            item = evidence.get(name)
            if item is not None:
                return self.value_of(item, part)
            if name == "node":
                return self.node(command)
            card = self.card(finding)
            if name == "gpu":
                return "GPU" if finding.gpu is None else f"GPU {card}"
            if name == "index":
                return "0" if finding.gpu is None else card
            known = finding.words.get(name)
            if known in (str(finding.gpu), f"GPU {finding.gpu}") and name in ("card", "device"):
                return card if name == "card" else f"GPU {card}"
            return None if known is None else units.show(name, known, self.language)

        def typed(name: str, part: str | None) -> str:
            return value(name, part) or name.upper()  # to be put in by who types it, as PID is

        return fill(template, typed if command else value)

    def card(self, finding: Finding) -> str:
        """A GPU as commands name it: by its address where the number is only its place in a pasted text."""
        paste = self.checkup.snapshot.paste
        if paste is not None and paste.by_place:
            for gpu in self.checkup.snapshot.gpus:
                if gpu.index == finding.gpu and gpu.bus_id:
                    return plain(gpu.bus_id)
        return str(finding.gpu)

    def node(self, command: bool) -> str:
        """The node's name; pasted text has none, so commands show where one belongs."""
        if self.checkup.snapshot.source != "pasted":
            return plain(self.checkup.node)
        machine = self.one_of_several()
        if machine is not None and not machine.startswith(("#", "rank ")):
            return machine
        return "NODE" if command else PASTED_NODE[self.language]

    def one_of_several(self) -> str | None:
        """Whose output is told of, where a pasted text shows several machines."""
        paste = self.checkup.snapshot.paste
        return plain(paste.machine) if paste is not None and paste.machine else None

    def value_of(self, item: Evidence, part: str | None) -> str | None:
        if part == "window":
            if item.window_seconds is None:
                return self.words.ONE_SAMPLE
            return units.duration(item.window_seconds, self.language)
        value = item.of if part == "of" else item.value
        if (item.name == "reason" or item.source == "pasted text") and value in self.words.REASON:
            return str(self.words.REASON[value])
        return None if value is None else units.show(item.name, value, self.language)

    def finding(self, finding: Finding) -> dict[str, Any]:
        page = self.page(finding.rule)
        said: dict[str, Any] = {
            "headline": finding.rule,
            "seen": "",
            "means": "",
            "does_not_mean": "",
            "steps": [],
        }
        if page:
            variant = finding.variant
            said = {
                "headline": self.headline(finding),
                **{
                    name: self.say(flowing(page.section(name, variant)), finding)
                    for name in ("seen", "means", "does_not_mean")
                },
                "steps": [self.step(step, finding) for step in page.steps(variant)],
            }
            said["steps"] = self.with_freeing(finding, said["steps"])
        return {
            "id": finding.id,
            "state": finding.state,
            "rule": finding.rule,
            "severity": finding.severity,
            "confidence": finding.confidence,
            "maturity": finding.maturity,
            "gpu": finding.gpu,
            "headline": said["headline"],
            "seen": said["seen"],
            "means": said["means"],
            "does_not_mean": said["does_not_mean"],
            "evidence": [self.evidence(item, page) for item in finding.evidence],
            "next_steps": said["steps"],
            "runbook_url": f"{self.runbooks}{finding.rule}",
            "explains": finding.explains,
            "since": iso(finding.since),
        }

    def step(self, step: Step, finding: Finding) -> dict[str, Any]:
        command = self.say(step.command, finding, command=True) if step.command else None
        return {
            "text": self.say(flowing(step.text), finding),
            "command": command and by_its_scheduler(command, self.checkup.snapshot),
        }

    def with_freeing(self, finding: Finding, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """How the owner frees what is held, unless a step of the page has the same command.

        It stands before a `kill` of the page: a pod, a job or a unit starts anew what is only killed.
        """
        step = freeing(finding.words, self.language)
        if step is None:
            return steps
        commands = [known["command"] or "" for known in steps]
        if step["command"] is not None and any(step["command"] in command for command in commands):
            return steps
        kills = (place for place, command in enumerate(commands) if command.startswith("kill "))
        place = next(kills, len(steps))
        return [*steps[:place], step, *steps[place:]]

    def evidence(self, item: Evidence, page: Page | None) -> dict[str, Any]:
        return {
            "text": self.evidence_line(item, page),
            "name": item.name,
            "value": _plain(item.value),
            "of": _plain(item.of),
            "unit": units.unit_of(item.name),
            "kind": _kind(item.kind, self.simulated),
            "source": item.source,
            "window_seconds": item.window_seconds,
        }

    def evidence_line(self, item: Evidence, page: Page | None) -> str:
        """`memory used: 1.0 GiB / 15.0 GiB (over 5 min)`; of one sample no share of time is told."""
        in_sample = self.words.IN_ONE_SAMPLE.get(item.name)
        if item.window_seconds is None and in_sample is not None and item.value in (0, 1):
            return f"{in_sample}: {units.show('', bool(item.value), self.language)}"
        label = (page.labels.get(item.name) if page else None) or self.words.LABELS.get(item.name)
        text = f"{label or item.name.replace('_', ' ')}: {self.value_of(item, None)}"
        if item.of is not None:
            text += f" / {self.value_of(item, 'of')}"
        if item.window_seconds is not None:
            text += f" ({self.words.OVER.format(window=units.duration(item.window_seconds, self.language))})"
        return text

    # ---- what could not be told

    def missing(self, name: str) -> str:
        known = self.words.MISSING
        if name in known:
            return known[name]
        if name in CLOCKS_EVENT:
            return known["clocks_event_reasons"]
        if name.startswith("engine"):
            return known["engine"]
        return self.words.LABELS.get(name) or name.replace("_", " ").replace("host.", "")

    def unjudged(self, entry: Unjudged) -> dict[str, Any]:
        return {
            "rule": entry.rule,
            "missing": [self.missing(name) for name in entry.missing],
            "reason": entry.reason,
            "enable": self.enable(entry),
        }

    def enable(self, entry: Unjudged) -> str:
        reason, pasted = entry.reason or "", self.checkup.snapshot.source == "pasted"
        nvml = self.checkup.snapshot.nvml
        if reason == "not_enabled" and nvml is not None and nvml.released:
            reason = "released"
        if reason == "too_short" and (pasted or self.past):  # neither grows while one waits
            reason = "too_short_pasted" if pasted else "too_short_past"
        by_reason = self.words.ENABLE_BY_REASON.get(reason)
        if by_reason:
            return by_reason.format(wait=units.duration(entry.wait_seconds or 60, self.language))
        for name in entry.missing:
            for known in (name, name.split(".")[0]):
                if known in self.words.ENABLE:
                    return self.words.ENABLE[known]
        return self.words.ENABLE_ELSE if pasted else self.words.ENABLE_ELSE_BESIDE_AN_AGENT

    # ---- GPUs

    def gpus(self) -> list[dict[str, Any]]:
        readings = {gpu.index: gpu for gpu in self.checkup.snapshot.gpus}
        lost = {f.gpu for f in self.checkup.findings if f.gpu is not None} - readings.keys()
        answers = [self.gpu(reading.index, reading) for reading in self.checkup.snapshot.gpus]
        return answers + [self.gpu(index, None) for index in sorted(lost)]

    def gpu(self, index: int, reading: GpuReading | None) -> dict[str, Any]:
        ledger = self.checkup.ledgers.get(index) if reading else None
        return {
            "index": index,
            "uuid": _plain(reading.uuid) if reading else None,
            "bus_id": _plain(reading.bus_id) if reading else None,
            "name": _plain(reading.name) if reading else None,
            "verdict": self.verdict(verdict_of_gpu(self.checkup, index, self.rules)),
            "readings": {name: _plain(getattr(reading, name, None)) for name in READINGS},
            "mig_devices": [
                {name: _plain(value) for name, value in msgspec.to_builtins(mig).items()}
                for mig in (reading and reading.mig_devices) or ()
            ],
            "processes": self.processes(index),
            "memory": ledger_json(ledger, self.simulated),
            "findings": [self.finding(f) for f in self.checkup.findings if f.gpu == index],
            "unjudged": [self.unjudged(u) for u in self.checkup.unjudged if u.gpu == index],
        }

    def processes(self, gpu: int) -> list[dict[str, Any]]:
        found = []
        for process in self.checkup.snapshot.processes:
            uses = [use for use in process.gpus or () if use.gpu == gpu]
            if not uses and gpu not in (process.open_devices or ()):
                continue
            known = [use.memory_used_bytes for use in uses if use.memory_used_bytes is not None]
            found.append(process_json(process, sum(known) if known else None, uses[0].type if uses else None))
        return sorted(found, key=lambda process: -(process["memory_used_bytes"] or 0))


def process_json(process: ProcessReading, memory: int | None, type_: str | None) -> dict[str, Any]:
    """One process as the diagnosis lists it."""
    workload = workload_of(process)
    return {
        "pid": process.pid,
        "name": _plain(process.name),
        "command": _plain(process.command),
        "user": _plain(process.user),
        "memory_used_bytes": memory,
        "type": _plain(type_),
        "kind": workload.kind,
        "engine": workload.engine,
        "owner": process_owner(process),
        "state": _plain(process.state),
        "parent_pid": process.parent_pid,
        "parent_name": _plain(process.parent_name),
        "started_at": iso(process.started_at),
        "container": _plain(process.container),
        "pod": _plain(process.pod),
        "namespace": _plain(process.namespace),
        "slurm_job": _plain(process.slurm_job),
        "unit": _plain(process.unit),
    }


def process_owner(process: ProcessReading) -> str | None:
    """Pod, Slurm job, unit or user, whichever says most."""
    if process.pod:
        return plain(f"{process.namespace}/{process.pod}" if process.namespace else process.pod)
    for prefix, value in (("Slurm job ", process.slurm_job), ("", process.unit), ("", process.user)):
        if value:
            return plain(f"{prefix}{value}")
    return None


def ledger_json(ledger: MemoryLedger | None, simulated: bool = False) -> dict[str, Any] | None:
    """The ledger with every key there, null where not known."""
    if ledger is None:
        return None
    return {
        "total_bytes": ledger.total_bytes,
        "used_bytes": ledger.used_bytes,
        "free_bytes": ledger.free_bytes,
        "driver_reserved_bytes": ledger.driver_reserved_bytes,
        "parts": [
            {
                "part": part.part,
                "bytes": part.bytes,
                "filled_bytes": part.filled_bytes,
                "expected_bytes": part.expected_bytes,
                "kind": _kind(part.kind, simulated),
                "owner": _plain(part.owner),
            }
            for part in ledger.parts
        ],
        "over_capacity_bytes": ledger.over_capacity_bytes,
        "disagreement_ratio": ledger.disagreement_ratio,
    }


def _kind(kind: Kind, simulated: bool) -> Kind:
    """What the simulator made is not measured; what is calculated of that is calculated still."""
    return "simulated" if simulated and kind == "measured" else kind


def _plain(value: Any) -> Any:
    """A value as surfaces may show it: an empty text says nothing."""
    return (plain(value) if value else None) if isinstance(value, str) else value


@lru_cache(maxsize=4096)  # a fleet's list writes the same moments each time
def iso(at: float | None) -> str | None:
    """A moment in UTC, as every answer writes it."""
    if at is None or not 0 <= at < 1e11:
        return None  # no year that a calendar has
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


__all__ = ["NOT_ENOUGH", "READINGS", "Diagnosis", "explain"]
