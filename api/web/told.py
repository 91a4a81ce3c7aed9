"""What a page tells once of several GPUs, without hiding one that differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudiag.model import SEVERITY_ORDER
from gpudiag.words import units
from gpudiag.words.gpus import commands_differ, sentence_of, told_once


def together(findings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings with the same sentence about several GPUs told once, with the evidence of all; worst first."""
    told = [_of_all(group) for group in told_once(findings, lambda f: (f["rule"], f["severity"]))]
    return sorted(told, key=lambda finding: SEVERITY_ORDER.index(finding["severity"]), reverse=True)


def _of_all(group: dict[str, Any]) -> dict[str, Any]:
    """A group of findings as the page shows it; where its GPUs differ, each row says which it is about."""
    members = group["members"]
    alike = len({sentence_of(finding["seen"], finding["gpu"]) for finding in members}) == 1
    others = [gpu for gpu in group["gpus"] if gpu != group["gpu"]]
    return {
        **group,
        "seen": group["seen"] if alike else "",
        "same_of": f"GPU {units.runs(others)}" if alike and others else "",
        "evidence": _evidence_of(members),
        "commands_of": group["gpu"] if commands_differ(members) else None,
    }


def _evidence_of(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for finding in findings:
        for item in finding["evidence"]:
            rows.setdefault(item["text"], {**item, "gpus": set()})["gpus"].add(finding["gpu"])
    everyone = {finding["gpu"] for finding in findings}
    names = list(dict.fromkeys(row["name"] for row in rows.values()))
    told = [
        row if row["gpus"] == everyone else {**row, "text": f"GPU {units.runs(row['gpus'])}: {row['text']}"}
        for row in rows.values()
    ]
    return sorted(told, key=lambda row: names.index(row["name"]))


def verdicts_of(gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The verdicts on the GPUs, each once, with the GPUs that have it as `shown`."""
    verdicts = [{**gpu["verdict"], "gpu": gpu["index"], "of": gpu} for gpu in gpus]
    groups = told_once(verdicts, lambda verdict: (verdict["rule"], verdict["severity"]))
    return [{**group, "shown": [verdict["of"] for verdict in group["members"]]} for group in groups]


def changes_of(diagnosis: dict[str, Any]) -> list[dict[str, Any]]:
    """What came and went since the node was last ok, the same on several GPUs at one moment told once."""
    items = (diagnosis.get("changed") or {}).get("items") or []
    return told_once(items, lambda item: (item["at"], item["what"]), len(diagnosis["gpus"]) > 1)


def unjudged_of(diagnosis: dict[str, Any]) -> list[dict[str, Any]]:
    """What was missing, with what would let it be seen and the rules that wait for it, each with its GPUs."""
    remedies: dict[tuple[str, str], dict[str, Any]] = {}
    entries = [(None, entry) for entry in diagnosis["unjudged"]]
    entries += [(gpu["index"], entry) for gpu in diagnosis["gpus"] for entry in gpu["unjudged"]]
    for index, entry in entries:
        missing, enable = ", ".join(entry["missing"]), entry["enable"]
        remedy = remedies.setdefault((missing, enable), {"missing": missing, "enable": enable, "rules": {}})
        gpus = remedy["rules"].setdefault(entry["rule"], [])
        if index is not None:
            gpus.append(index)
    return list(remedies.values())
