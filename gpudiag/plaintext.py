"""A diagnosis as plain text of at most 80 columns: the terminal's and curl's layout of the one answer.

Takes the JSON of a diagnosis (contract of `GET /v1/nodes/{node}`), so that a server's answer and a local one
look alike. Colour is added only when asked for, and never carries meaning alone.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from gpudiag.words import language_of, units, words
from gpudiag.words.columns import WIDTH, cells, cut, pad, wrap
from gpudiag.words.foreign import plain
from gpudiag.words.gpus import (
    called,
    commands_differ,
    findings_of,
    headline_finding,
    looked_at,
    saying_the_same,
    told_of,
    told_once,
)
from gpudiag.words.hosts import host_of, with_hosts

BAR = 24
_GLYPHS = {"weights": "█", "kv_pool": "▓░", "runtime": "▒", "other_process": "▚", "unaccounted": "?"}
"""Parts of memory in the bar and before their line below it; of the pool the filled and the empty part."""
_COLOURS = {"ok": "32", "info": "36", "warning": "33", "critical": "31", "unknown": "35"}


def diagnosis_text(
    diagnosis: dict[str, Any],
    language: str | None = None,
    *,
    width: int = WIDTH,
    colour: bool = False,
    site: str = "",
    here: bool = False,
    past: bool = False,
) -> str:
    """One node's answer: the sentence, the state of each GPU, evidence, meaning, next steps.

    `site` is where the API is reached: it names only the path of a runbook unless a public URL is set.
    `here`: it is read on the node itself, so that its commands need no host.
    `past`: it tells of a moment that is over, and says of which.
    """
    layout = _Layout(language or diagnosis.get("language"), width, colour, site, past)
    return layout.diagnosis(diagnosis, None if here else host_of(diagnosis))


def fleet_text(
    items: list[dict[str, Any]],
    language: str | None = None,
    *,
    now: float,
    together: Collection[dict[str, Any]] = (),
    width: int = WIDTH,
    colour: bool = False,
    site: str = "",
) -> str:
    """The fleet, worst first as it comes; before it what is found of many nodes `together`.

    A node has a line with its verdict, as `grep critical` finds it, and one with what its GPUs hold and do.
    `site` is where the API is reached, to be asked about the worst node next.
    """
    return _Layout(language, width, colour, site).fleet(items, together, now)


class _Layout:
    def __init__(
        self, language: str | None, width: int, colour: bool, site: str = "", past: bool = False
    ) -> None:
        self.language = language_of(language)
        self.words = words(self.language)
        self.width, self.colour = width, colour
        self.site, self.past = site.rstrip("/"), past

    # ---- one node

    def diagnosis(self, diagnosis: dict[str, Any], host: str | None) -> str:
        verdict = diagnosis["verdict"]
        findings = findings_of(diagnosis)
        head = headline_finding(findings, verdict)
        same = saying_the_same(head, findings) if head else []
        lines = wrap(told_of(verdict["headline"], same, verdict.get("gpu")), self.width)
        lines += wrap(self.state_line(diagnosis, head), self.width)
        asked = (diagnosis.get("asked") or {}).get("text")
        lines += wrap(asked, self.width) if asked else []
        lines += self.gpu_table(diagnosis)
        if head:
            lines += self.finding(head, host, same)
        gpu = looked_at(diagnosis, head)
        lines += self.memory(diagnosis, gpu)
        lines += self.processes(diagnosis, gpu)
        lines += self.also(diagnosis, head, same)
        lines += self.changed(diagnosis)
        notes = [n for n in diagnosis["notes"] if n not in (self.words.LABEL["simulated"], asked)]
        if notes:
            lines += ["", *(line for note in notes for line in wrap(f"* {note}", self.width, "  "))]
        lines += self.unjudged(diagnosis)
        return "\n".join(lines) + "\n"

    def state_line(self, diagnosis: dict[str, Any], head: dict[str, Any] | None) -> str:
        verdict, label = diagnosis["verdict"], self.words.LABEL
        parts = [diagnosis["node"], self.severity(verdict["severity"]), f"{label['rule']} {verdict['rule']}"]
        if head:
            parts.append(self.words.CONFIDENCE[head["confidence"]])
            if head["maturity"] == "experimental":
                parts.append(label["experimental"])
        age = diagnosis["observed"].get("age_seconds")
        if age is not None and diagnosis["source"] in ("agent", "simulated"):
            if self.past:
                parts.append(label["as_of"].format(time=_clock(_later(diagnosis["observed"]["to"], age))))
            parts.append(label["data_age"].format(age=units.age(age, self.language)))
        parts.append(self.words.SOURCE[diagnosis["source"]])
        return " · ".join(parts)

    def severity(self, severity: str) -> str:
        word = str(self.words.SEVERITY[severity])
        return f"\x1b[{_COLOURS[severity]};1m{word}\x1b[0m" if self.colour else word

    def gpu_table(self, diagnosis: dict[str, Any]) -> list[str]:
        gpus = diagnosis["gpus"]
        if not gpus:
            return []
        lines = [""]
        for gpu in gpus:
            r = gpu["readings"]
            cells = [
                pad(f"GPU {called(gpu, diagnosis['source'])}", 7),
                pad(str(self.words.SEVERITY[gpu["verdict"]["severity"]]), 11),
                pad(f"util {_or_na(r['utilization_percent'], units.percent)}", 11),
                pad(f"mem {_held(r, 'N/A')}", 20),
                pad(_power(r), 13),
                _or_na(r["temperature_celsius"], lambda v: f"{v:.0f} °C"),
            ]
            row = " ".join(cells).rstrip()
            if self.colour:
                word = str(self.words.SEVERITY[gpu["verdict"]["severity"]])
                row = row.replace(word, self.severity(gpu["verdict"]["severity"]), 1)
            lines.append(row)
        names = list(dict.fromkeys(gpu["name"] for gpu in gpus if gpu["name"]))
        driver = diagnosis.get("driver_version")
        about = [f"{len(gpus)} × {names[0]}" if len(names) == 1 else ", ".join(names)] if names else []
        about += [f"driver {driver}"] if driver else []
        return lines + (wrap(" · ".join(about), self.width) if about else [])

    def finding(self, finding: dict[str, Any], host: str | None, same: list[dict[str, Any]]) -> list[str]:
        label = self.words.LABEL
        lines = ["", label["evidence"]]
        kinds = max((cells(str(self.words.KIND[e["kind"]])) for e in finding["evidence"]), default=0)
        for item in finding["evidence"]:
            kind = pad(str(self.words.KIND[item["kind"]]), kinds)
            lines += wrap(f"{kind}  {item['text']}", self.width - 2, " " * (kinds + 2), "  ")
        for name in ("means", "does_not_mean"):
            if finding.get(name):
                lines += ["", label[name]]
                for paragraph in finding[name].split("\n"):
                    lines += wrap(paragraph, self.width - 2, "", "  ")
        lines += self.steps(with_hosts(finding["next_steps"], host, self.language))
        if commands_differ(same):
            lines += wrap(label["commands_of"].format(gpu=finding["gpu"]), self.width - 2, "", "  ")
        runbook = finding["runbook_url"]
        lines += ["", f"{label['runbook']}: {self.site if runbook.startswith('/') else ''}{runbook}"]
        return lines

    def steps(self, steps: list[dict[str, Any]]) -> list[str]:
        lines = ["", self.words.LABEL["next"]] if steps else []
        for number, step in enumerate(steps, 1):
            lines += wrap(f"{number}. {step['text']}", self.width - 2, "   ", "  ")
            if step.get("on"):
                lines += wrap(step["on"], self.width - 5, "", "     ")
            if step.get("command"):
                lines.append(f"     $ {step['command']}")
        return lines

    def memory(self, diagnosis: dict[str, Any], index: int | None) -> list[str]:
        gpu = next((g for g in diagnosis["gpus"] if g["index"] == (index or 0)), None)
        ledger = gpu["memory"] if gpu else None
        if not gpu or not ledger or not ledger["parts"] or not ledger["total_bytes"]:
            return []
        label = self.words.LABEL
        lines = ["", f"{label['memory']} (GPU {gpu['index']}): {memory_bar(ledger, self.width - 24)}"]
        for part in ledger["parts"]:
            kind, named = self.words.KIND[part["kind"]], self.words.PARTS[part["part"]]
            text = f"{_GLYPHS[part['part']]:<2} {named}: {units.size(part['bytes'])} ({kind})"
            if part["expected_bytes"]:
                text += f", {label['expected'].format(size=units.size(part['expected_bytes']))}"
            if part["filled_bytes"] is not None:
                text += f", {label['filled']} {units.size(part['filled_bytes'])}"
            if part["owner"] and part["part"] != "runtime":
                text += f" — {part['owner']}"
            lines += wrap(text, self.width - 2, "   ", "  ")
        if ledger["driver_reserved_bytes"]:
            lines.append(f"     {label['driver_reserved']}: {units.size(ledger['driver_reserved_bytes'])}")
        if ledger["over_capacity_bytes"]:
            lines.append(
                "     " + label["over_capacity"].format(size=units.size(ledger["over_capacity_bytes"]))
            )
        return lines

    def processes(self, diagnosis: dict[str, Any], index: int | None) -> list[str]:
        chosen = [g for g in diagnosis["gpus"] if g["processes"] and index in (None, g["index"])]
        if not chosen:
            return []
        lines = ["", self.words.LABEL["processes"]]
        seen = set()
        for gpu in chosen:
            for process in gpu["processes"]:
                if process["pid"] in seen:
                    continue
                seen.add(process["pid"])
                memory = _or_na(process["memory_used_bytes"], units.size)
                name = process["command"] or process["name"] or "?"
                owner = f" ({process['owner']})" if process["owner"] else ""
                line = f"pid {process['pid']}  {memory}  {plain(name, 90)}{owner}"
                lines += wrap(line, self.width - 2, "    ", "  ")
        return lines[:14]

    def also(
        self, diagnosis: dict[str, Any], head: dict[str, Any] | None, same: list[dict[str, Any]]
    ) -> list[str]:
        rest = [finding for finding in findings_of(diagnosis) if not any(finding is one for one in same)]
        lines = []
        for finding in told_once(rest, lambda f: f["severity"], len(diagnosis["gpus"]) > 1):
            said = f"- {_placed(finding)} ({self.words.SEVERITY[finding['severity']]})"
            lines += wrap(said, self.width - 2, "  ", "  ")
        told = {finding["rule"] for finding in rest}
        accounted = [rule for rule in (head or {}).get("explains", []) if rule not in told]
        if accounted:
            said = self.words.LABEL["accounted"].format(rules=", ".join(accounted))
            lines += wrap(f"- {said}", self.width - 2, "  ", "  ")
        return ["", self.words.LABEL["also"], *lines] if lines else []

    def changed(self, diagnosis: dict[str, Any]) -> list[str]:
        """What came and went since the node was last ok, as a server remembers it."""
        since = diagnosis.get("changed")
        if not since or not since["items"]:
            return []
        said, last_ok = self.words.CHANGED, since["last_ok"]
        lines = ["", said["last_ok"].format(time=_clock(last_ok)) if last_ok else said["never"]]
        several = len(diagnosis["gpus"]) > 1
        for item in told_once(since["items"], lambda i: (_clock(i["at"]), i["what"]), several):
            text = f"{_clock(item['at'])}  {said[item['what']]}: {_placed(item)}"
            lines += wrap(text, self.width - 2, " " * 22, "  ")
        return lines

    def unjudged(self, diagnosis: dict[str, Any]) -> list[str]:
        """What could not be judged, a paragraph for each remedy: what it settles, and what is missing."""
        remedies: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # → rules, what they miss
        for entry in [*diagnosis["unjudged"], *(u for g in diagnosis["gpus"] for u in g["unjudged"])]:
            if entry.get("reason") == "not_supported":
                continue
            rules, missing = remedies.setdefault(entry["enable"], ({}, {}))
            rules[entry["rule"]] = None
            missing.update(dict.fromkeys(entry["missing"]))
        if not remedies:
            return []
        lines = ["", self.words.LABEL["unjudged"]]
        for remedy, (rules, missing) in remedies.items():
            settles = self.words.LABEL["settles"].format(rules=_first(rules, 4), missing=_first(missing, 6))
            lines += wrap(f"- {remedy}. {settles}", self.width - 2, "  ", "  ")
        return lines

    # ---- the fleet

    def fleet(self, items: list[dict[str, Any]], together: Collection[dict[str, Any]], now: float) -> str:
        if not items:
            return "\n".join(wrap(self.words.LABEL["no_nodes"], self.width)) + "\n"
        name = min(24, max(cells(item["node"]) for item in items))
        word = max(cells(str(w)) for w in self.words.SEVERITY.values())
        lines = []
        for finding in together:
            lines += wrap(f"{self.severity(finding['severity'])}  {finding['headline']}", self.width, "  ")
        lines += [""] if together else []
        for item, load in zip(items, self.loads(items, now), strict=True):
            verdict = item["verdict"]
            plain_word = str(self.words.SEVERITY[verdict["severity"]])
            shown = self.severity(verdict["severity"]) + " " * (word - cells(plain_word))
            start = f"{pad(cut(item['node'], name), name)}  {shown}  "
            lines += [start + cut(verdict["headline"], self.width - name - word - 4), load]
        if self.site and items[0]["verdict"]["severity"] != "ok":
            ask = f"curl '{self.site}/diagnose?node={items[0]['node']}'"
            lines += ["", self.words.LABEL["why_node"].format(command=ask)]
        if any(item.get("source") == "simulated" for item in items):
            lines += ["", self.words.LABEL["simulated"]]
        return "\n".join(lines) + "\n"

    def loads(self, items: list[dict[str, Any]], now: float) -> list[str]:
        """A line for each node, in columns: GPUs, memory held, utilization, since when, how old."""
        columns = [_aligned(column) for column in zip(*[self.load(item, now) for item in items], strict=True)]
        lines = ["    " + "  ".join(row).rstrip() for row in zip(*columns, strict=True)]
        fits = 4 + sum(cells(column[0]) + 2 for column in columns) - 2 <= self.width
        return lines if fits else [cut(line, self.width) for line in lines]

    def load(self, item: dict[str, Any], now: float) -> tuple[str, ...]:
        label, gpus, busy, since = (
            self.words.LABEL, item["gpus"], item["utilization_percent"], item["changed_at"],
        )  # fmt: skip
        lasts = None if since is None else now - datetime.fromisoformat(since).timestamp()
        return (
            f"{units.UNKNOWN if gpus is None else gpus} × GPU",
            f"mem {_held(item, units.UNKNOWN)}",
            f"util {units.UNKNOWN if busy is None else units.percent(busy)}",
            "" if lasts is None else label["lasts"].format(span=units.age(lasts, self.language)),
            label["data_age"].format(age=units.age(item["age_seconds"], self.language)),
        )


def _aligned(column: tuple[str, ...]) -> list[str]:
    """Texts below one another, all as wide as the widest; a fleet's say the same again and again."""
    width = max(map(cells, set(column)))
    padded = {text: pad(text, width) for text in set(column)}
    return [padded[text] for text in column]


def memory_bar(ledger: dict[str, Any], width: int = BAR) -> str:
    """Parts as glyphs: the pool's filled share inside it; what exceeds the card goes beyond its edge."""
    total, longest = ledger["total_bytes"], 2 * width
    bar = ""
    for part in ledger["parts"]:  # a driver's nonsense may say terabytes of a card that has one byte
        length = round(min(longest, width * part["bytes"] / total))
        if part["part"] == "kv_pool":
            filled = round(min(longest, width * (part["filled_bytes"] or 0) / total))
            pool = _GLYPHS["kv_pool"]
            bar += pool[0] * filled + pool[1] * max(0, length - filled)
        else:
            bar += _GLYPHS[part["part"]] * length
    if len(bar) <= width:
        return f"[{bar.ljust(width, '.')}]"
    return f"[{bar[:width]}]{bar[width : width * 2]}"


def _placed(item: dict[str, Any]) -> str:
    """A sentence and the GPUs that it is about."""
    return f"{item['where']}: {item['headline']}" if item["where"] else str(item["headline"])


def _first(names: Collection[str], most: int) -> str:
    """The first names, and how many more there are."""
    more = f" +{len(names) - most}" if len(names) > most else ""
    return ", ".join(list(names)[:most]) + more


def _clock(moment: str) -> str:
    """An ISO time as people read it."""
    return moment[:16].replace("T", " ") + " UTC"


def _later(moment: str, seconds: float) -> str:
    return (datetime.fromisoformat(moment) + timedelta(seconds=seconds)).isoformat()


def _or_na(value: Any, show: Any) -> str:
    return "N/A" if value is None else str(show(value))


def _held(of: dict[str, Any], unknown: str) -> str:
    return units.held(of["memory_used_bytes"], of["memory_total_bytes"], unknown)


def _power(readings: dict[str, Any]) -> str:
    power, limit = readings["power_watts"], readings["power_limit_watts"]
    if power is None:
        return "N/A W"
    return f"{power:.0f} / {limit:.0f} W" if limit else f"{power:.0f} W"
