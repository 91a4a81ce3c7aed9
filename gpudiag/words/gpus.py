"""Which GPUs a sentence is about: told once for all of them, each named once in a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from gpudiag.words import units

SUSPECT = "suspect_gpu"  # evidence of a rule that blames another GPU than the one it is asked about


def names_itself(sentence: str, gpu: int | None) -> bool:
    """Whether a sentence about a GPU names that GPU: `GPU 1` is not in `GPU 10`."""
    return gpu is not None and _itself(gpu).search(sentence) is not None


def called(gpu: dict[str, Any], source: str) -> str:
    """The number of a GPU; its address where a pasted line named that alone, for its number was made up."""
    unseen = source == "pasted" and gpu["name"] is None and all(v is None for v in gpu["readings"].values())
    return str(gpu["bus_id"] if unseen and gpu["bus_id"] else gpu["index"])


def findings_of(diagnosis: dict[str, Any]) -> list[dict[str, Any]]:
    """The node's own findings, then those of its GPUs."""
    return [*diagnosis["findings"], *(f for gpu in diagnosis["gpus"] for f in gpu["findings"])]


def headline_finding(findings: list[dict[str, Any]], verdict: dict[str, Any]) -> dict[str, Any] | None:
    """The finding that the verdict names: its GPU's, else the first of its rule."""
    same = [finding for finding in findings if finding.get("rule") == verdict.get("rule")]
    return next((f for f in same if f["gpu"] == verdict.get("gpu")), same[0] if same else None)


def looked_at(diagnosis: dict[str, Any], head: dict[str, Any] | None) -> int | None:
    """The GPU to look at first: the suspect that the headline's evidence names, else the one it is about."""
    named = (item["value"] for item in (head or {}).get("evidence") or () if item.get("name") == SUSPECT)
    gpu: int | None = next(named, diagnosis["verdict"].get("gpu"))
    return gpu if any(one.get("index") == gpu for one in diagnosis["gpus"]) else None


def told_once(
    items: Iterable[dict[str, Any]], alike: Callable[[dict[str, Any]], Any], several: bool = True
) -> list[dict[str, Any]]:
    """Items with the same sentence about different GPUs as one: the first, with all their `gpus`.

    `alike` is what has to be equal beside the `headline`; a GPU's own name in it makes no difference.
    They are its `members`. Each gets a `where`: "GPU 0-4, 6", or "" where the headline names them itself,
    where it is about the node, and where there are not `several` GPUs to tell apart.
    """
    groups: dict[Any, dict[str, Any]] = {}
    for item in items:
        gpu, headline = item["gpu"], item["headline"]
        key = (alike(item), sentence_of(headline, gpu), gpu is None, names_itself(headline, gpu))
        group = groups.setdefault(key, {**item, "gpus": [], "members": []})
        group["members"].append(item)
        if gpu is not None and gpu not in group["gpus"]:
            group["gpus"].append(gpu)
    return [placed(group, units.runs(group["gpus"]), several) for group in groups.values()]


def placed(group: dict[str, Any], numbers: str, several: bool = True) -> dict[str, Any]:
    """A group of `told_once` whose headline, or else `where`, names the GPUs with these numbers."""
    gpu, headline = group["gpu"], group["headline"]
    if names_itself(headline, gpu):
        return {**group, "headline": of_all(headline, gpu, group["gpus"], numbers), "where": ""}
    return {**group, "where": f"GPU {numbers}" if numbers and several else ""}


def of_all(sentence: str, gpu: int, gpus: list[int], numbers: str) -> str:
    """A sentence that names one GPU, as it is said of all `gpus` with these `numbers`."""
    told = sentence if gpus == [gpu] else of_several(sentence, gpu)
    return _itself(gpu).sub(f"GPU {numbers}", told)


def saying_the_same(head: dict[str, Any], findings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings that say of their GPUs what `head` says of its own: in rule, severity, sentence and evidence.

    Each GPU once and in order; only `head` itself where it is about the node.
    """
    if head["gpu"] is None:
        return [head]
    alike = {f["gpu"]: f for f in findings if f["gpu"] is not None and _says(f) == _says(head)}
    return [finding for _, finding in sorted({**alike, head["gpu"]: head}.items())]


def told_of(headline: str, findings: list[dict[str, Any]], gpu: int | None) -> str:
    """The headline of an answer whose first finding is that of `gpu`, as it is said of all `findings`."""
    gpus = [finding["gpu"] for finding in findings]
    if gpu is None or len(gpus) < 2 or not names_itself(headline, gpu):
        return headline
    return of_all(headline, gpu, gpus, units.runs(gpus))


def commands_differ(findings: Iterable[dict[str, Any]]) -> bool:
    """Whether the commands of the steps name a GPU or a process of one of the findings alone."""
    return len({tuple(step.get("command") for step in f.get("next_steps") or ()) for f in findings}) > 1


def _says(finding: dict[str, Any]) -> tuple[Any, ...]:
    told = tuple(finding.get(name) for name in ("rule", "severity", "confidence"))
    evidence = tuple(item.get("text") for item in finding.get("evidence") or ())
    return *told, sentence_of(finding["headline"], finding["gpu"]), evidence


def sentence_of(headline: str, gpu: int | None) -> str:
    """A headline without the number of its own GPU."""
    return headline if gpu is None else _itself(gpu).sub("GPU", headline)


def of_several(headline: str, gpu: int) -> str:
    """An English headline that begins with a GPU which does something, as it is said of several.

    "GPU 1 looks busy and does nothing" → "GPU 1 look busy and do nothing": the verbs as far as its first
    clause goes, its pronouns to the end. Verbs of Korean do not know how many there are.
    """
    itself = f"GPU {gpu} "
    if not headline.startswith(itself):
        return headline
    clause, end, rest = _CLAUSE.match(headline.removeprefix(itself)).groups()  # type: ignore[union-attr]
    clause = _VERB.sub(lambda verb: _VERBS[verb[0]], clause)
    return itself + _PRONOUN.sub(lambda pronoun: _PRONOUNS[pronoun[0]], clause + end + rest)


_VERBS = {
    "is": "are", "has": "have", "does": "do", "looks": "look", "works": "work", "runs": "run",
    "draws": "draw",
}  # fmt: skip
_PRONOUNS = {
    "it needs": "they need", "it usually rests": "they usually rest", "it may": "they may",
    "its": "their", "it": "them",
}  # fmt: skip
_CLAUSE = re.compile(r"([^,;:(]*)([,;:(]?)(.*)\Z", re.S)
_VERB = re.compile(rf"(?<![\w-])(?:{'|'.join(_VERBS)})(?![\w-])")
_PRONOUN = re.compile(rf"(?<![\w-])(?:{'|'.join(_PRONOUNS)})(?![\w-])")


def _itself(gpu: int) -> re.Pattern[str]:
    return re.compile(rf"\bGPU {gpu}(?!\d)")
