"""What a rule found, in the words of its page."""

from __future__ import annotations

from typing import Any

from gpudiag.examine import Ruleset
from gpudiag.explain.facts import iso, kind_of, shown
from gpudiag.model import Checkup, Evidence, Finding
from gpudiag.owners import by_its_scheduler, freeing
from gpudiag.words import Language, units, words
from gpudiag.words.foreign import plain
from gpudiag.words.pages import Page, Step, fill, flowing, page_of
from gpudiag.workloads import AT_REST, workload_of


class Findings:
    """The findings of one checkup in one language. `runbooks` is where the rules' pages stand."""

    def __init__(self, checkup: Checkup, language: Language, rules: Ruleset, runbooks: str) -> None:
        self.checkup, self.language, self.rules = checkup, language, rules
        self.words = words(language)
        self.runbooks = runbooks if runbooks.endswith(" ") else runbooks.rstrip("/") + "/"
        self.simulated = checkup.snapshot.source == "simulated"

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
            if name == "dcgm_id":  # DCGM takes a number; it knows no address
                named = finding.words.get("card", str(finding.gpu))
                number = card if named == str(finding.gpu) else str(named)
                return number if number.isdigit() else None
            known = finding.words.get(name)
            if known in (str(finding.gpu), f"GPU {finding.gpu}") and name in ("card", "device"):
                return card if name == "card" else f"GPU {card}"
            if known is None and name == "pid":
                return self.largest_on(finding.gpu)
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

    def largest_on(self, gpu: int | None) -> str | None:
        """The pid of the process that holds most of a GPU, where a rule names none itself."""
        held = {
            process.pid: sum(use.memory_used_bytes or 0 for use in process.gpus or () if use.gpu == gpu)
            for process in self.checkup.snapshot.processes
            if any(use.gpu == gpu for use in process.gpus or ()) and workload_of(process).kind not in AT_REST
        }
        return str(max(held, key=lambda pid: held[pid])) if held else None

    def node(self, command: bool) -> str:
        """The node's name; pasted text has none, so commands show where one belongs."""
        if self.checkup.snapshot.source != "pasted":
            return plain(self.checkup.node)
        machine = self.one_of_several()
        if machine is not None and not machine.startswith(("#", "rank ")):
            return machine
        return "NODE" if command else str(self.words.THIS_MACHINE)

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

    def told(self, finding: Finding) -> dict[str, Any]:
        """One finding as the diagnosis has it."""
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
            "value": shown(item.value),
            "of": shown(item.of),
            "unit": units.unit_of(item.name),
            "kind": kind_of(item.kind, self.simulated),
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
