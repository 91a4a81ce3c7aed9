"""What a person typed, understood: `read("why node-3:2 at 15:40")` → Request.

Knows the grammar and nothing else: no API, no clock, no chat system. English and Korean verbs are one table.
A sentence that is not understood still becomes a Request; its `problem` says what to answer.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from bot.text import clean, tokens

HERE = frozenset({"here", "!", "여기", "여기에", "채널에"})
LANGUAGES = frozenset({"en", "ko"})
FILLERS = frozenset({
    "is", "are", "was", "were", "the", "a", "an", "so", "does", "do", "did", "my", "please", "with", "on",
    "of", "about", "what", "what's", "whats", "wrong", "slow", "full", "idle", "stuck", "busy", "down", "hot",
    "좀", "지금", "장비", "노드", "느려", "느려요", "왜이래", "이래", "그래", "나요",
})  # fmt: skip
TARGET = re.compile(r"(?P<name>[^\s:/=]+)(?::(?:gpu)?(?P<gpu>\d{1,3}))?\Z", re.I)
PARTICLE = re.compile(
    r"([\x21-\x7e]*[A-Za-z0-9])(?:은|는|이|가|을|를|의|도|에서|에|번이|번|로|으로|이랑|하고)\Z"
)
PASTED = re.compile(r"\s*(?:<@\w+>\s*)?(?:explain|paste|해설|분석)\s+(\S.*)", re.I | re.S)
FINDING = re.compile(r"[a-z]{1,3}-[0-9a-f]{6,40}\Z")
DURATION = re.compile(
    r"(\d{1,5}(?:\.\d)?)\s*(m|min|mins|minutes?|분|h|hr|hrs|hours?|시간|d|days?|일)\Z", re.I
)
SECONDS = {"m": 60, "분": 60, "h": 3600, "시": 3600, "d": 86400, "일": 86400}
OWNERS = {
    "pod": "pod", "파드": "pod", "job": "job", "slurm": "job", "잡": "job", "작업": "job", "pid": "pid",
}  # fmt: skip

CALCULATOR_OPTIONS = {
    "kv": "kv_dtype", "kv_dtype": "kv_dtype", "kv_cache_dtype": "kv_dtype",
    "w": "weights_dtype", "weights": "weights_dtype", "weights_dtype": "weights_dtype",
    "dtype": "weights_dtype", "quant": "weights_dtype", "quantization": "weights_dtype",
    "tp": "tp", "tensor_parallel_size": "tp", "pp": "pp", "dp": "dp",
    "gpu": "gpu", "on": "gpu", "gpus": "gpus", "engine": "engine", "engine_version": "engine_version",
    "gmu": "gpu_memory_utilization", "util": "gpu_memory_utilization",
    "gpu_memory_utilization": "gpu_memory_utilization", "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
    "block_size": "block_size", "num_speculative_tokens": "num_speculative_tokens",
    "kv_cache_memory_bytes": "kv_cache_memory_bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """What a question is about: a node, one of its GPUs, or the owner of a process (pod, job, pid).

    Where an owner runs is the API's to say; it takes `place` instead of a node's name.
    """

    name: str
    gpu: int | None = None
    kind: str = "node"

    @property
    def place(self) -> str:
        return self.name if self.kind == "node" else f"{self.kind}:{self.name}"

    def __str__(self) -> str:
        if self.kind != "node":
            return f"{self.kind}/{self.name}"
        return self.name if self.gpu is None else f"{self.name}:{self.gpu}"


@dataclass(frozen=True)
class Problem:
    """Why a sentence could not be followed as it stands, and the nearest one that could."""

    kind: str  # unknown-verb | missing | unknown-option | bad-value | bad-duration | bad-time
    word: str = ""
    suggestion: str = ""


@dataclass(frozen=True)
class Request:
    """One understood sentence. `words` are what the verb's own fields do not hold."""

    verb: str
    target: Target | None = None
    words: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    at: str | None = None
    seconds: float | None = None
    here: bool = False
    lang: str | None = None
    problem: Problem | None = None

    @property
    def text(self) -> str:
        """The sentence again, in its plainest English form: what a button carries and `read` understands."""
        options = dict(self.options)
        reason, rule, gpu = (options.pop(name, "") for name in ("reason", "rule", "gpu"))
        parts = [self.verb, str(self.target) if self.target else "", rule, *self.words]
        parts.append(options.pop("tokens", ""))
        parts.append(f"x{options.pop('requests')}" if "requests" in options else "")
        parts += [f"{key}={value}" for key, value in options.items()]
        parts += [f"on {gpu}" if gpu else "", reason, f"at {self.at}" if self.at else ""]
        return " ".join(part for part in parts if part)


@dataclass(frozen=True)
class Verb:
    """One thing that can be asked. To add one: a row here, an answer in `answers`, words in `words`."""

    name: str
    spellings: tuple[str, ...]
    example: str
    fill: Callable[[Request, list[str]], Request]
    changes: bool = False  # changes what others see, so that it needs permission


def read(text: str) -> Request:
    """Understand one typed sentence; never raises."""
    if pasted := PASTED.match(text):
        return Request("explain", words=(pasted[1],))
    words = tokens(clean(text))
    words, here = take_here(words)
    words, lang = take_language(words)
    base = Request("status", here=here, lang=lang)
    if not words:
        return base
    verb, rest, korean = find_verb(words)
    if korean and lang is None:
        base = replace(base, lang="ko")
    if verb is None:
        return unknown(base, words)
    return verb.fill(replace(base, verb=verb.name), rest)


def find_verb(words: list[str]) -> tuple[Verb | None, list[str], bool]:
    """The verb stands first; in Korean it may stand anywhere, and after a node's name it may come last."""
    positions = [0, *(at for at in range(len(words) - 1, 0, -1) if not words[at].isascii())]
    if looks_like_target(words[0]):
        positions.append(len(words) - 1)
    for position in positions:
        word = words[position].strip("?!.,").lower() or words[position]
        if word in SPELLINGS:
            return SPELLINGS[word], words[:position] + words[position + 1 :], not word.isascii()
    return None, words, False


def unknown(base: Request, words: list[str]) -> Request:
    """The first word is no verb: it names a target (`/gpu node-3`), or is a slip of a verb."""
    first = words[0].strip("?!,").lower()
    near = nearest(first, SPELLINGS)
    before, at = take_moment(words)
    target, rest = take_target(before)
    if target and (looks_like_target(first) or (near is None and not rest)):
        return replace(base, verb="why", target=target, at=at)
    if near is None:
        return replace(base, verb="help", problem=Problem("unknown-verb", words[0]))
    verb = SPELLINGS[near]
    lang = base.lang or (None if near.isascii() else "ko")
    meant = verb.fill(replace(base, verb=verb.name, lang=lang), words[1:])
    suggestion = " ".join([verb.name if near.isascii() else near, *words[1:]])
    return replace(meant, problem=Problem("unknown-verb", words[0], suggestion))


def looks_like_target(word: str) -> bool:
    word = PARTICLE.sub(r"\1", word)
    return bool(re.search(r"\d|[.:/]", word)) and bool(TARGET.match(word) or "/" in word)


def nearest(word: str, choices: object) -> str | None:
    """The closest spelling, letters swapped or missing; Korean is compared by its jamo."""
    known = {unicodedata.normalize("NFD", choice): choice for choice in choices}  # type: ignore[attr-defined]
    found = difflib.get_close_matches(unicodedata.normalize("NFD", word), known, n=1, cutoff=0.62)
    return known[found[0]] if found else None


# What each verb does with the words after it.


def nothing(request: Request, words: list[str]) -> Request:
    return replace(request, words=tuple(words))


def status(request: Request, words: list[str]) -> Request:
    target, _ = take_target(words)
    return replace(request, verb="why" if target else "status", target=target)


def why(request: Request, words: list[str]) -> Request:
    words, at = take_moment(words)
    target, _ = take_target(words)
    return replace(request, target=target, at=at) if target else missing(request)


def chart(request: Request, words: list[str]) -> Request:
    target, _ = take_target(words)
    return replace(request, target=target) if target else missing(request)


def kv(request: Request, words: list[str]) -> Request:
    """MODEL [TOKENS] [xN] [on GPU] [name=value …]."""
    plain: list[str] = []
    options: dict[str, str] = {}
    typed, words = words, list(words)
    while words:
        word = words.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if equals:
            known = CALCULATOR_OPTIONS.get(name.lower().replace("-", "_"))
            if known is None:
                near = nearest(name.lower(), CALCULATOR_OPTIONS) or "kv"
                meant = [f"{near}={value}" if other == word else other for other in typed]
                return replace(request, problem=Problem("unknown-option", name, " ".join(["kv", *meant])))
            options[known] = value
        elif word.lower() == "on" and words:
            options.update(card(words))
        elif count := re.fullmatch(r"(?:x(\d{1,7})|(\d{1,7})x)", word, re.I):
            options["requests"] = count[1] or count[2]
        elif plain and (size := how_many_tokens(word)):
            options["tokens"] = str(size)
        else:
            plain.append(word)
    if not plain:
        return missing(request)
    return replace(request, words=tuple(plain[:1]), options=options)


def card(words: list[str]) -> dict[str, str]:
    """`H100 80GB`, `2x A100`: the words after `on`, up to the next option."""
    found: dict[str, str] = {}
    if number := re.fullmatch(r"(\d{1,3})x", words[0], re.I):
        found["gpus"] = number[1]
        words.pop(0)
    name = []
    while words and "=" not in words[0] and not re.fullmatch(r"x\d+", words[0], re.I):
        name.append(words.pop(0))
    if name:
        found["gpu"] = " ".join(name)
    return found


def how_many_tokens(word: str) -> int | None:
    """8192, 8,192, 8k (= 8 × 1024, as models name their context) or 1m."""
    match = re.fullmatch(r"(\d[\d,]{0,12})(k|m)?(?:tok(?:ens?)?|토큰)?", word, re.I)
    if not match:
        return None
    return int(match[1].replace(",", "")) * {"k": 1024, "m": 1024 * 1024}.get((match[2] or "").lower(), 1)


def top(request: Request, words: list[str]) -> Request:
    order = {"mem": "memory", "memory": "memory", "util": "utilization", "utilization": "utilization",
             "power": "power", "메모리": "memory", "사용률": "utilization", "전력": "power"}  # fmt: skip
    by = next((order[word.lower()] for word in words if word.lower() in order), "memory")
    rest = [word for word in words if word.lower() not in order and word.lower() != "by"]
    target, _ = take_target(rest)
    return replace(request, target=target, options={} if by == "memory" else {"by": by})


def idle(request: Request, words: list[str]) -> Request:
    for word in words:
        if word.isdigit():
            return replace(request, seconds=float(word) * 60, words=(word,))
        if (seconds := duration(word)) is not None:
            return replace(request, seconds=seconds, words=(word,))
    return replace(request, seconds=600.0)


def watch(request: Request, words: list[str]) -> Request:
    known = {
        "all": "all", "전체": "all", "모두": "all", "list": "list", "목록": "list",
        "off": "off", "끄기": "off", "중지": "off", "해제": "off",
    }  # fmt: skip
    lowered = [known.get(word.lower(), word) for word in words]
    command = next((word for word in lowered if word in ("list", "off", "all")), None)
    rest = [word for word in lowered if word != command]
    target, _ = take_target(rest)
    if command is None and target is None:
        return missing(request)
    return replace(request, target=target, words=(command,) if command else ())


def mute(request: Request, words: list[str]) -> Request:
    """NODE[:GPU] [RULE] DURATION [reason]; `list`; `off NODE`."""
    known = {"list": "list", "목록": "list", "off": "off", "끄기": "off", "해제": "off"}
    if words and (command := known.get(words[0].lower())):
        target, rest = take_target(words[1:])
        return replace(request, target=target, words=(command, *rest))
    target, rest = take_target(words)
    if target is None:
        return missing(request)
    rule = ""
    if rest and duration(rest[0]) is None and re.fullmatch(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)+", rest[0]):
        rule = rest.pop(0)
    if not rest or (seconds := duration(rest[0])) is None:
        return replace(request, target=target, problem=Problem("bad-duration", rest[0] if rest else ""))
    reason = " ".join(rest[1:])
    options = {key: value for key, value in (("rule", rule), ("reason", reason)) if value}
    return replace(request, target=target, words=(rest[0],), seconds=seconds, options=options)


def ack(request: Request, words: list[str]) -> Request:
    """ID [ID …] [reason]."""
    if not words:
        return missing(request)
    count = 1
    while count < len(words) and FINDING.match(words[count]):
        count += 1
    reason = " ".join(words[count:])
    return replace(request, words=tuple(words[:count]), options={"reason": reason} if reason else {})


def one_word(request: Request, words: list[str]) -> Request:
    return replace(request, words=(words[0].strip("`").lower(),)) if words else missing(request)


def language(request: Request, words: list[str]) -> Request:
    names = {"en": "en", "english": "en", "영어": "en", "ko": "ko", "korean": "ko", "한국어": "ko"}
    chosen = next((names[word.lower()] for word in words if word.lower() in names), request.lang)
    scope = "workspace" if any(word.lower() in ("workspace", "워크스페이스") for word in words) else "channel"
    return replace(request, words=(chosen, scope), lang=chosen) if chosen else missing(request)


def missing(request: Request) -> Request:
    return replace(request, problem=Problem("missing"))


# Parts of a sentence.


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
    kind, separator, name = re.sub(r"[:/]", "/", first, count=1).partition("/")
    if kind.lower() in OWNERS and separator and name:
        return Target(name, kind=OWNERS[kind.lower()]), rest[1:]
    if first.lower() in OWNERS and len(rest) > 1:
        return Target(PARTICLE.sub(r"\1", rest[1]), kind=OWNERS[first.lower()]), rest[2:]
    match = TARGET.match(first)
    if not match:
        return (Target(first), rest[1:]) if "/" in first or ":" in first else (None, rest)
    gpu = int(match["gpu"]) if match["gpu"] else None
    after = rest[1:]
    if (
        gpu is None
        and after
        and (number := re.fullmatch(r"gpu[-:#]?(\d{1,3})(?:번)?", " ".join(after[:1]), re.I))
    ):
        return Target(match["name"], int(number[1])), after[1:]
    if gpu is None and len(after) > 1 and after[0].lower() == "gpu" and after[1].rstrip("번").isdigit():
        return Target(match["name"], int(after[1].rstrip("번"))), after[2:]
    return Target(match["name"], gpu), after


def duration(word: str) -> float | None:
    """Seconds of `2h`, `30m`, `1d`, `2시간`; None when the word is none."""
    match = DURATION.match(word)
    return float(match[1]) * SECONDS[match[2][0].lower()] if match else None


VERBS = (
    Verb("status", ("status", "fleet", "nodes", "상태", "현황"), "status", status),
    Verb("why", ("why", "diagnose", "show", "왜", "진단", "원인"), "why node-3", why),
    Verb("kv", ("kv", "fit", "calc", "계산", "계산기"), "kv llama-3-8b 8192 x32 on H100", kv),
    Verb("explain", ("explain", "paste", "해설", "분석"), "explain", nothing),
    Verb("top", ("top", "processes", "ps", "상위", "프로세스"), "top node-3 by mem", top),
    Verb("idle", ("idle", "유휴", "노는"), "idle 30", idle),
    Verb("chart", ("chart", "timeline", "graph", "그래프", "추이"), "chart node-3", chart),
    Verb("watch", ("watch", "subscribe", "감시", "구독"), "watch node-3", watch, changes=True),
    Verb("mute", ("mute", "silence", "snooze", "음소거", "조용히"), "mute node-3 2h", mute, changes=True),
    Verb("ack", ("ack", "acknowledge", "확인", "접수"), "ack FINDING-ID", ack, changes=True),
    Verb("runbook", ("runbook", "rule", "런북", "규칙"), "runbook kv-pool-reserved-idle", one_word),
    Verb("language", ("language", "lang", "언어"), "language ko", language, changes=True),
    Verb("doctor", ("doctor", "debug", "점검", "진찰"), "doctor", nothing),
    Verb("help", ("help", "commands", "?", "도움말", "도움", "명령"), "help", nothing),
)
BY_NAME = {verb.name: verb for verb in VERBS}
SPELLINGS = {spelling: verb for verb in VERBS for spelling in verb.spellings}
