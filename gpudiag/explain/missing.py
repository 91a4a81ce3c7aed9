"""What could not be told: what was not there, why, and what would tell it."""

from __future__ import annotations

from typing import Any

from gpudiag.examine import STALE
from gpudiag.explain.findings import Findings
from gpudiag.model import CLOCKS_EVENT, Finding, Unjudged
from gpudiag.words import units
from gpudiag.words.lines import CONSEQUENCES, LAST, NO_NEWS, Line, lines

DECISIVE = (
    "utilization_percent", "memory_used_bytes", "memory_total_bytes", "processes", "engine", "power_watts",
    "power_limit_watts",
)  # fmt: skip
"""What is named first when too little was visible: most questions turn on it."""

TELLING = {
    "ecc_uncorrected_volatile": "ecc-uncorrectable-new",
    "row_remap_pending": "row-remap-pending",
    "retired_pages_double_bit": "retired-pages-limit",
    "clocks_event_reasons": "power-brake",
    "fabric_state": "fabric-not-ready",
}
"""What a part of `nvidia-smi -q` shows, and the rule that judges it by that alone."""

SAMPLES = "samples"
TOPOLOGY = "gpu-topology"
LISTS = ("no-state", "programs", "no-programs", "accounted", "version")
"""Wordings of paste-incomplete for texts that are whole and do not tell how the GPUs are."""

MOST_LINES = 3  # of which a note is made


class Missing:
    """What one checkup could not tell. `past`: it is of a moment that is over, for which nobody can wait."""

    def __init__(self, findings: Findings, past: bool) -> None:
        self.findings, self.past = findings, past
        self.checkup, self.language, self.words = findings.checkup, findings.language, findings.words

    def headline(self, gpu: int | None) -> str:
        """The verdict's headline where nothing decides."""
        line, a_list = self.telling_line(), self.a_list()
        if line is not None:
            return line.headline
        if a_list is not None:
            return self.findings.headline(a_list)
        unheard = self.unheard()
        if unheard in self.words.UNHEARD:
            return self.words.UNHEARD[unheard].format(node=self.findings.node(command=False))
        absent = self.decisive(gpu)
        if not absent:
            return self.words.NOT_ENOUGH_BARE
        if absent == [self.called(SAMPLES)]:
            return self.words.NOT_ENOUGH.format(missing=self.words.TOO_FEW_SAMPLES)
        listed = self.words.MISSING_LIST.format(names=", ".join(absent))
        shown = self.well_in_a_part()
        if shown:
            return self.words.NOTHING_IN.format(shown=", ".join(shown), missing=listed)
        return self.words.NOT_ENOUGH.format(missing=listed)

    def well_in_a_part(self) -> list[str]:
        """What a pasted part without load and memory shows and in which nothing was found (`-q -d ECC`)."""
        snapshot = self.checkup.snapshot
        gpus = snapshot.gpus
        decided = any(
            gpu.utilization_percent is not None or gpu.memory_used_bytes is not None for gpu in gpus
        )
        if snapshot.paste is None or not gpus or decided or self.checkup.findings:
            return []
        unjudged = {entry.rule for entry in self.checkup.unjudged}
        return [
            self.called(name)
            for name, rule in TELLING.items()
            if rule not in unjudged and all(getattr(gpu, name) is not None for gpu in gpus)
        ]

    def unheard(self) -> str | None:
        """Why nothing newer is known of the node, where that is what decides."""
        if any(finding.rule == STALE for finding in self.checkup.findings):
            return "silent"
        return next((entry.reason for entry in self.checkup.unjudged if entry.rule == STALE), None)

    def decisive(self, gpu: int | None) -> list[str]:
        """The three things whose absence decided most, as people call them."""
        entries = [e for e in self.checkup.unjudged if e.gpu == gpu and e.reason != "not_supported"]
        absent = [name for entry in entries for name in entry.missing]
        absent = [name for name in absent if name != SAMPLES] or absent  # those come by themselves
        absent.sort(key=lambda name: DECISIVE.index(name) if name in DECISIVE else len(DECISIVE))
        return list(dict.fromkeys(self.called(name) for name in absent))[:3]

    def telling_line(self) -> Line | None:
        """What is said of the line that is all a pasted text has, where it is known how little that tells."""
        if self.checkup.snapshot.gpus or self.checkup.findings:
            return None
        events = dict.fromkeys(event.kind for event in self.checkup.snapshot.events)
        return next(iter([*self._telling(self._errors()), *self._telling(list(events))]), None)

    def told_by_lines(self) -> list[str]:
        """What is noted of lines of programs: the next step; beside another answer what was read, too."""
        first = self.telling_line()
        if first is not None:
            others = [line.beside for line in self._telling(self._errors()) if line is not first]
            return [first.next_step, *others[: MOST_LINES - 1]]
        if any(finding.severity == "critical" for finding in self.checkup.findings):
            return []
        kinds = [kind for kind in self._errors() if kind not in NO_NEWS]
        return [line.beside for line in self._telling(kinds)][:MOST_LINES]

    def _errors(self) -> list[str]:
        """Kinds of the error lines of a pasted text, without what comes of others."""
        paste = self.checkup.snapshot.paste
        kinds = sorted((paste.errors or []) if paste is not None else [], key=LAST.__contains__)
        consequences = [kind for kind in CONSEQUENCES if kind in kinds]
        return [kind for kind in kinds if kind not in consequences] or consequences[:1]

    def _telling(self, kinds: list[str]) -> list[Line]:
        known = lines(self.language)
        return [known[kind] for kind in kinds if kind in known]

    def a_list(self) -> Finding | None:
        """What is said of a text that only lists GPUs, where that is all there is."""
        listed = next((f for f in self.checkup.findings if f.variant in LISTS), None)
        return listed and (self.topology() or listed)

    def topology(self) -> Finding | None:
        """How the GPUs are joined, where a text shows that."""
        return next((f for f in self.checkup.findings if f.rule == TOPOLOGY), None)

    def called(self, name: str) -> str:
        """A metric or a source as people call it."""
        known = self.words.MISSING
        if name in known:
            return known[name]
        if name in CLOCKS_EVENT:
            return known["clocks_event_reasons"]
        if name.startswith("engine"):
            return known["engine"]
        return self.words.LABELS.get(name) or name.replace("_", " ").replace("host.", "")

    def told(self, entry: Unjudged) -> dict[str, Any]:
        """One rule that could not say, as the diagnosis has it."""
        return {
            "rule": entry.rule,
            "missing": [self.called(name) for name in entry.missing],
            "reason": entry.reason,
            "enable": self.remedy(entry),
        }

    def remedy(self, entry: Unjudged) -> str:
        """What would let the rule say."""
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
