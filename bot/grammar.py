"""What a person typed, understood: `read("why node-3:2 at 15:40")` → Request.

Knows the grammar and nothing else: no API, no clock, no chat system. English and Korean verbs are one table.
A sentence that is not understood still becomes a Request; its `problem` says what to answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.request import Problem, Request
from bot.sentence import (
    duration,
    how_many_tokens,
    looks_like_target,
    nearest,
    take_here,
    take_language,
    take_moment,
    take_target,
)
from bot.text import clean, tokens

PASTED = re.compile(r"\s*(?:<@\w+>\s*)?(?:explain|paste|설명|해설|분석)\s+(\S.*)", re.I | re.S)
OF_IDLE = ("gpu", "gpus", "now", "right", "for", "")
FINDING = re.compile(r"[a-z]{1,3}-[0-9a-f]{6,40}\Z")
CALCULATOR_OPTIONS = {
    "kv": "kv_dtype", "kv_dtype": "kv_dtype", "kv_cache_dtype": "kv_dtype",
    "w": "weights_dtype", "weights": "weights_dtype", "weights_dtype": "weights_dtype",
    "dtype": "weights_dtype", "quant": "weights_dtype", "quantization": "weights_dtype",
    "tp": "tp", "tensor_parallel_size": "tp", "pp": "pp", "dp": "dp", "dcp": "dcp", "attn_dp": "attn_dp",
    "enable_prefix_caching": "enable_prefix_caching", "kv_unified": "kv_unified",
    "mamba_ssm_cache_dtype": "mamba_ssm_cache_dtype", "mamba_ssm_dtype": "mamba_ssm_cache_dtype",
    "gpu": "gpu", "on": "gpu", "gpus": "gpus", "engine": "engine", "engine_version": "engine_version",
    "gmu": "gpu_memory_utilization", "util": "gpu_memory_utilization",
    "gpu_memory_utilization": "gpu_memory_utilization", "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
    "block_size": "block_size", "num_speculative_tokens": "num_speculative_tokens",
    "kv_cache_memory_bytes": "kv_cache_memory_bytes",
}  # fmt: skip


@dataclass(frozen=True)
class Verb:
    """One thing that can be asked. To add one: a row here, an answer in `answers`, words in `words`."""

    name: str
    spellings: tuple[str, ...]
    example: str
    fill: Callable[[Request, list[str]], Request]
    changes: bool = False  # changes what others see, so that it needs permission
    channel: bool = False  # has its place in a chat: a terminal is told what it has instead


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
    """MODEL [TOKENS] [xN] [on GPU] [name=value …]. What is not understood is asked back."""
    model: list[str] = []
    options: dict[str, str] = {}
    left = list(words)
    while left:
        before, word = words[: len(words) - len(left)], left.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if equals and option(name) is None:
            near = nearest(name.lower(), CALCULATOR_OPTIONS) or "kv"
            return misread(request, "unknown-option", name, [*before, f"{near}={value}", *left])
        found = {option(name) or "": value} if equals and value else {}
        if not equals:
            found = card(left) if word.lower() == "on" and left else sizes(word, left, bool(model))
        if not found and not equals and not model:
            model.append(word)
        elif not found or found.keys() & options.keys():
            meant = [f"x{word}"] if "tokens" in found and "requests" not in options else []
            return misread(request, "unknown-word", word, [*before, *meant, *left])
        options |= found
    if not model:
        return missing(request)
    return replace(request, words=tuple(model), options=options)


def option(name: str) -> str | None:
    return CALCULATOR_OPTIONS.get(name.lower().replace("-", "_"))


def misread(request: Request, kind: str, word: str, meant: list[str]) -> Request:
    return replace(request, problem=Problem(kind, word, " ".join([request.verb, *meant])))


def sizes(word: str, left: list[str], model: bool) -> dict[str, str]:
    """`x32`, `32x`, `x 32`, `8192`, `8k`; behind the model also a number that the calculator will refuse."""
    if word.lower() == "x" and left:
        return {"requests": left.pop(0)}
    if count := re.fullmatch(r"x([-+]?\d\S*)|(\d{1,7})x", word, re.I):
        return {"requests": count[1] or count[2]}
    if (size := how_many_tokens(word)) is not None:
        return {"tokens": str(size)}
    return {"tokens": word} if model and re.match(r"[-+]?\d", word) else {}


def card(words: list[str]) -> dict[str, str]:
    """`H100 80GB`, `2x A100`, `2xA100`: the words after `on`, up to the next option."""
    found: dict[str, str] = {}
    if number := re.fullmatch(r"(\d{1,3})[x×](\S*)", words[0], re.I):
        found["gpus"] = number[1]
        words[:1] = [number[2]] if number[2] else []
    name = []
    while words and "=" not in words[0] and not re.fullmatch(r"x\d+|\d[\d.,]*[km]", words[0], re.I):
        name.append(words.pop(0))
    if name:
        found["gpu"] = " ".join(name)
    return found


def top(request: Request, words: list[str]) -> Request:
    order = {"mem": "memory", "memory": "memory", "util": "utilization", "utilization": "utilization",
             "power": "power", "메모리": "memory", "사용률": "utilization", "전력": "power"}  # fmt: skip
    words = [word.removeprefix("by=") for word in words]
    by = next((order[word.lower()] for word in words if word.lower() in order), "memory")
    rest = [word for word in words if word.lower() not in order and word.lower() != "by"]
    target, _ = take_target(rest)
    return replace(request, target=target, options={} if by == "memory" else {"by": by})


def idle(request: Request, words: list[str]) -> Request:
    """[MINUTES or SPAN]; a sentence around it may say more, and a word that stands in its place may not."""
    for word in words:
        if word.isdigit():
            return replace(request, seconds=float(word) * 60, words=(word,))
        if (seconds := duration(word)) is not None:
            return replace(request, seconds=seconds, words=(word,))
    odd = next((word for word in words if word.isascii() and word.lower().strip("?!.,") not in OF_IDLE), None)
    return misread(request, "unknown-word", odd, ["30"]) if odd else replace(request, seconds=600.0)


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


VERBS = (
    Verb("status", ("status", "fleet", "nodes", "상태", "현황"), "status", status),
    Verb("why", ("why", "diagnose", "show", "왜", "진단", "원인"), "why node-3", why),
    Verb("kv", ("kv", "fit", "calc", "계산", "계산기"), "kv llama-3-8b 8192 x32 on H100", kv),
    Verb("explain", ("explain", "paste", "설명", "해설", "분석"), "explain", nothing),
    Verb("top", ("top", "processes", "ps", "상위", "프로세스"), "top node-3 by mem", top),
    Verb("idle", ("idle", "유휴", "노는"), "idle 30", idle),
    Verb("chart", ("chart", "timeline", "graph", "그래프", "추이"), "chart node-3", chart, channel=True),
    Verb("watch", ("watch", "subscribe", "감시", "구독"), "watch node-3", watch, changes=True, channel=True),
    Verb(
        "mute",
        ("mute", "silence", "snooze", "음소거", "조용히"),
        "mute node-3 2h",
        mute,
        changes=True,
        channel=True,
    ),
    Verb(
        "ack",
        ("ack", "acknowledge", "확인", "확인함", "접수"),
        "ack FINDING-ID",
        ack,
        changes=True,
        channel=True,
    ),
    Verb("runbook", ("runbook", "rule", "런북", "규칙"), "runbook kv-pool-reserved-idle", one_word),
    Verb("language", ("language", "lang", "언어"), "language ko", language, changes=True, channel=True),
    Verb("doctor", ("doctor", "debug", "점검", "진찰"), "doctor", nothing),
    Verb("help", ("help", "commands", "?", "도움말", "도움", "명령"), "help", nothing),
)
BY_NAME = {verb.name: verb for verb in VERBS}
SPELLINGS = {spelling: verb for verb in VERBS for spelling in verb.spellings}
