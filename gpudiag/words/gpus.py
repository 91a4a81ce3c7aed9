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
    Each gets a `where`: "GPU 0-4, 6", or "" where the headline names them itself, where it is about the node,
    and where there are not `several` GPUs to tell apart.
    """
    groups: dict[Any, dict[str, Any]] = {}
    for item in items:
        gpu, headline = item["gpu"], item["headline"]
        sentence = headline if gpu is None else _itself(gpu).sub("GPU", headline)
        key = (alike(item), sentence, gpu is None, names_itself(headline, gpu))
        group = groups.setdefault(key, {**item, "gpus": []})
        if gpu is not None and gpu not in group["gpus"]:
            group["gpus"].append(gpu)
    return [placed(group, units.runs(group["gpus"]), several) for group in groups.values()]


def placed(group: dict[str, Any], numbers: str, several: bool = True) -> dict[str, Any]:
    """A group of `told_once` whose headline, or else `where`, names the GPUs with these numbers."""
    gpu, headline = group["gpu"], group["headline"]
    if names_itself(headline, gpu):
        told = headline if group["gpus"] == [gpu] else of_several(headline, gpu)
        return {**group, "headline": _itself(gpu).sub(f"GPU {numbers}", told), "where": ""}
    return {**group, "where": f"GPU {numbers}" if numbers and several else ""}


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
