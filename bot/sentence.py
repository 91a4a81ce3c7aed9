"""The parts of a typed sentence: who is meant, which moment, how long, how many; English and Korean alike."""

from __future__ import annotations

import difflib
import re
import unicodedata

from bot.request import Target
from gpudiag.words import LANGUAGES

HERE = frozenset({"here", "!", "여기", "여기에", "채널에"})
FILLERS = frozenset({
    "is", "are", "was", "were", "the", "a", "an", "so", "does", "do", "did", "my", "please", "with", "on",
    "of", "about", "what", "what's", "whats", "wrong", "slow", "full", "idle", "stuck", "busy", "down", "hot",
    "좀", "지금", "장비", "노드", "느려", "느려요", "왜이래", "이래", "그래", "나요",
})  # fmt: skip
NAMED = "node/"
"""What comes after it is the name of a node, whatever else the word may mean: `node/slow`."""
TARGET = re.compile(r"(?P<name>[^\s:/=]+)(?::(?:gpu)?(?P<gpu>\d{1,3}))?\Z", re.I)
PARTICLE = re.compile(
    r"([\x21-\x7e]*[A-Za-z0-9])(?:은|는|이|가|을|를|의|도|에서|에|번이|번|로|으로|이랑|하고)\Z"
)
DURATION = re.compile(
    r"(\d{1,5}(?:\.\d)?)\s*(m|min|mins|minutes?|분|h|hr|hrs|hours?|시간|d|days?|일)\Z", re.I
)
SECONDS = {"m": 60, "분": 60, "h": 3600, "시": 3600, "d": 86400, "일": 86400}
OWNERS = {
    "pod": "pod", "파드": "pod", "job": "job", "slurm": "job", "잡": "job", "작업": "job", "pid": "pid",
}  # fmt: skip


def take_here(words: list[str]) -> tuple[list[str], bool]:
    if words and words[-1].lower() in HERE:
        return words[:-1], True
    if len(words) > 1 and words[-1].endswith("!"):
        return [*words[:-1], words[-1][:-1]], True
    return words, False


def take_language(words: list[str]) -> tuple[list[str], str | None]:
    for word in words:
        name, _, value = word.lstrip("-").partition("=")
        if name.lower() in ("lang", "언어") and value.lower() in LANGUAGES:
            return [other for other in words if other is not word], value.lower()
    return words, None


def take_moment(words: list[str]) -> tuple[list[str], str | None]:
    """Split `at TIME`, `10m ago` or `10분 전` off the end of a sentence."""
    for position, word in enumerate(words):
        if word.lower() in ("at", "--at", "@") and position + 1 < len(words):
            return words[:position], " ".join(words[position + 1 :])
        if word.lower().startswith("at=") or word.lower().startswith("--at="):
            return words[:position], " ".join([word.partition("=")[2], *words[position + 1 :]])
        if position and word.lower() in ("ago", "전", "전에", "전에는"):
            start = position - 1
            if start > 0 and words[start - 1].isdigit() and not words[start][0].isdigit():
                start -= 1
            return words[:start], " ".join([*words[start:position], "ago"])
        if joined := re.fullmatch(r"(\d+(?:분|시간|일))전(?:에|에는)?", word):
            return words[:position], f"{joined[1]} ago"
        if re.fullmatch(r"(어제|오늘)", word) or re.fullmatch(r"\d{1,2}시(?:에)?", word):
            return words[:position], " ".join(words[position:])
    return words, None


def take_target(words: list[str]) -> tuple[Target | None, list[str]]:
    """The first word that can name something, and the words after it."""
    rest = [word.strip("?,;") for word in words]
    while rest and (not rest[0] or rest[0].lower() in FILLERS):
        rest = rest[1:]
    if not rest:
        return None, []
    first = PARTICLE.sub(r"\1", rest[0])
    if first.startswith(NAMED) and len(first) > len(NAMED):
        gpu, after = take_gpu(rest[1:])
        return Target(first.removeprefix(NAMED), gpu), after
    kind, separator, name = re.sub(r"[:/]", "/", first, count=1).partition("/")
    if kind.lower() in OWNERS and separator and name:
        return Target(name, kind=OWNERS[kind.lower()]), rest[1:]
    if first.lower() in OWNERS and len(rest) > 1:
        return Target(PARTICLE.sub(r"\1", rest[1]), kind=OWNERS[first.lower()]), rest[2:]
    match = TARGET.match(first)
    if not match:
        return (Target(first), rest[1:]) if "/" in first or ":" in first else (None, rest)
    if match["gpu"]:
        return Target(match["name"], int(match["gpu"])), rest[1:]
    gpu, after = take_gpu(rest[1:])
    return Target(match["name"], gpu), after


def take_gpu(words: list[str]) -> tuple[int | None, list[str]]:
    """`gpu 2`, `gpu:2` or `gpu2번` where a sentence goes on with it, and the words after it."""
    if words and (number := re.fullmatch(r"gpu[-:#]?(\d{1,3})(?:번)?", words[0], re.I)):
        return int(number[1]), words[1:]
    if len(words) > 1 and words[0].lower() == "gpu" and words[1].rstrip("번").isdigit():
        return int(words[1].rstrip("번")), words[2:]
    return None, words


def duration(word: str) -> float | None:
    """Seconds of `2h`, `30m`, `1d`, `2시간`; None when the word is none."""
    match = DURATION.match(word)
    return float(match[1]) * SECONDS[match[2][0].lower()] if match else None


def looks_like_target(word: str) -> bool:
    word = PARTICLE.sub(r"\1", word)
    return bool(re.search(r"\d|[.:/]", word)) and bool(TARGET.match(word) or "/" in word)


def nearest(word: str, choices: object) -> str | None:
    """The closest spelling, letters swapped or missing; Korean is compared by its jamo."""
    known = {unicodedata.normalize("NFD", choice): choice for choice in choices}  # type: ignore[attr-defined]
    found = difflib.get_close_matches(unicodedata.normalize("NFD", word), known, n=1, cutoff=0.62)
    return known[found[0]] if found else None


def how_many_tokens(word: str) -> int | None:
    """8192, 8,192, 8k (= 8 × 1024, as models name their context) or 1m."""
    match = re.fullmatch(r"(\d{1,3}(?:,\d{3})+|\d{1,13})(k|m)?(?:tok(?:ens?)?|토큰)?", word, re.I)
    if not match:
        return None
    return int(match[1].replace(",", "")) * {"k": 1024, "m": 1024 * 1024}.get((match[2] or "").lower(), 1)
