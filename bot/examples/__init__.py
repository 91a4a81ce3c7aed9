"""One example of every kind of message: for the doctor, the tests and the pictures.

What rules say in them stands in one file per language.
"""
# ruff: noqa: E501  (answers as they stand on the wire)

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any

from bot.answer import Answer
from bot.answers import Asking, answer_text
from bot.answers.alert import of_card
from bot.answers.asking import Place
from bot.blocks import message
from bot.cards import Card, Member
from bot.examples import en, ko
from bot.questions import ApiRefused, Json

NOW = datetime(2026, 11, 29, 16, 0, tzinfo=UTC)
GIB = 2**30
POOL = "kv-pool-reserved-idle"
PROCESS = "python3 -m vllm.entrypoints"
KINDS = ("measured", "measured", "measured", "calculated", "inferred")
COMMANDS = ("", "curl -s localhost:8000/metrics | grep running", "--gpu-memory-utilization 0.5")
WORDS = {"en": en, "ko": ko}


def answers(lang: str = "en") -> dict[str, Answer]:
    """The main answers by name, as they would be given to example questions."""
    asking = Asking(
        api=ExampleApi(lang),
        lang=lang,
        now=NOW,
        public_url="https://gpudiag.example.com",
        place=Place("T0001", "C0001", "U0001"),
    )
    asked = {
        "why": "why node-3",
        "why-gpu": "why node-3:1",
        "stale": "why node-8",
        "fleet": "status",
        "kv": "kv llama-3-8b 8192 x32 on H100",
        "kv-over": "kv llama-3-70b 32768 x64 on H100",
        "top": "top node-3",
        "idle": "idle 10",
        "typo": "wyh node-3",
        "unknown-node": "why nod-3x1",
        "missing": "why",
        "help": "help",
    }
    found = {name: answer_text(text, asking) for name, text in asked.items()}
    cards = {"firing": card("open"), "acknowledged": card("acknowledged"), "resolved": card("resolved")}
    cards |= {"no-data": card("open", silent=True), "many": many()}
    for name, one in cards.items():
        one.lang = lang
        found[f"alert-{name}"] = of_card(one, asking, NOW.timestamp())
    return found


def messages(lang: str = "en") -> dict[str, Json]:
    return {name: message(answer) for name, answer in answers(lang).items()}


def card(state: str, silent: bool = False) -> Card:
    since = NOW.timestamp() - 900
    member = Member(
        node="node-7",
        rule="ecc-uncorrectable-new",
        said={lang: [said.ECC_HEADLINE, said.ECC_STEP] for lang, said in WORDS.items()},
        severity="critical",
        since=since,
        findings={"f-0123456789ab": state},
        gpus={"f-0123456789ab": 5},
        confidence="proven",
        runbook_url="/runbooks/ecc-uncorrectable-new",
        opened_times=[since],
        acknowledged_by="slack:T0001:U0001" if state != "open" else "",
        ended_at=NOW.timestamp() - 60 if state == "resolved" else None,
        ended_as="resolved" if state == "resolved" else "",
        silent_since=NOW.timestamp() - 240 if silent else None,
    )
    return Card("T0001", "C0001", "example", "en", since, [member])


def many() -> Card:
    since = NOW.timestamp() - 300
    members = [
        Member(
            node=f"node-{number}", rule="agent-stale", said={lang: [said.SILENT, ""] for lang, said in WORDS.items()}, severity="warning", since=since,
            findings={f"f-00000000000{number}": "resolved" if number == 2 else "open"}, ended_as="resolved",
            runbook_url="/runbooks/agent-stale",
        )
        for number in range(1, 8)
    ]  # fmt: skip
    return Card("T0001", "C0001", "example-many", "en", since, members, kind="many")


class ExampleApi:
    """Answers of the contract's shape, written down by hand."""

    def __init__(self, lang: str = "en"):
        self.words = WORDS[lang]

    def diagnosis(self, node: str, gpu: int | None = None, at: str | None = None, lang: str = "en") -> Json:
        asked = None
        if node == "pid:4121":
            node, gpu = "node-3", 0
            asked = {"who": "pid 4121", "where": "node-3:0", "text": self.words.ASKED}
        others = {row[0] for row in self.rows()} - {"node-3", "node-8"}
        if node not in ("node-3", "node-8", *others):
            raise ApiRefused(404, f"there is no node {node}", ("node-3", "node-8", "node-1"))
        age = 6.0 if node == "node-3" else 372.0
        verdict = {"severity": "ok", "rule": POOL, "headline": self.words.POOL_HEADLINE}
        return {
            "schema": 1,
            "node": node,
            "source": "agent",
            "driver_version": "580.65",
            "observed": {
                "from": "2026-11-29T15:55:00Z",
                "to": "2026-11-29T16:00:00Z",
                "samples": 300,
                "age_seconds": age,
            },
            "verdict": verdict,
            "findings": [],
            "gpus": []
            if node in others
            else [example_gpu(index, verdict, self.words) for index in range(4) if gpu in (None, index)],
            "asked": asked,
            "unjudged": [{"rule": "nvlink-errors", "missing": ["nvlink_state"], "enable": "DCGM"}],
            "notes": [],
        }

    def nodes(self, limit: int | None = None, cursor: str | None = None, lang: str = "en") -> Json:
        items = [
            {"node": node, "verdict": {"severity": severity_, "rule": rule, "headline": headline}, "gpus": gpus,
             "memory_used_bytes": held and gpus * held * GIB, "memory_total_bytes": held and gpus * 80 * GIB,
             "utilization_percent": busy, "age_seconds": age, "changed_at": "2026-11-29T15:00:00Z"}
            for node, severity_, rule, headline, gpus, held, busy, age in self.rows()
        ]  # fmt: skip
        return {"items": items, "next": None}

    def rows(self) -> tuple[tuple[str, str, str, str, int, int | None, float | None, float], ...]:
        """Node, severity, rule, headline, GPUs, GiB held of each, utilization, age."""
        words = self.words
        return (
            ("node-7", "critical", "ecc-uncorrectable-new", words.ECC_ON_5, 8, 71, 92.0, 4.0),
            ("node-2", "warning", "low-util-under-load", words.LOW_UTIL, 4, 74, 23.0, 5.0),
            ("node-8", "warning", "agent-stale", words.NO_REPORT, 4, None, None, 372.0),
            ("node-3", "ok", POOL, words.POOL_HEADLINE, 4, 75, 0.0, 6.0),
            ("node-1", "ok", "healthy-busy", words.WORKING, 8, 73, 88.0, 3.0),
        )

    def kv(self, lang: str = "en", **options: str) -> Json:
        large = "70b" in options["model"]
        tokens, requests = int(options.get("tokens", 0)), int(options.get("requests", 0))
        per_token = 327680 if large else 131072
        weights, cache = (131 if large else 15) * GIB, per_token * tokens * requests
        total = 80 * GIB
        return {
            "model": options["model"],
            "bytes_per_token": per_token,
            "bytes_per_request": per_token * tokens,
            "requests": requests,
            "tokens": tokens,
            "total_bytes": cache,
            "weights_bytes": weights,
            "bytes_per_token_if_mha": per_token * (8 if large else 4),
            "budget": {"total_bytes": total, "weights_bytes": weights, "activation_bytes": 2 * GIB,
                       "non_torch_bytes": GIB, "cuda_graph_bytes": None},
            "fits": weights + cache + 3 * GIB <= total,
            "over_capacity_bytes": weights + cache + 3 * GIB - total,
            "largest_batch": 0 if large else 61,
            "longest_context": 0 if large else 15780,
            "formula": f"2 × {80 if large else 32} layers × 8 KV heads × 128 × 2 B = {per_token} B",
            "assumptions": self.words.ASSUMPTIONS,
            "kinds": {"bytes_per_token": "calculated"},
        }  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the examples do not ask for {name}")


def example_gpu(index: int, verdict: Json, words: ModuleType) -> Json:
    since = (NOW - timedelta(minutes=42)).strftime("%Y-%m-%dT%H:%M:%SZ")
    finding = {
        "id": f"f-00000000000{index}",
        "state": "open",
        "rule": POOL,
        "severity": "ok",
        "confidence": "likely",
        "maturity": "stable",
        "headline": words.POOL_HEADLINE,
        "means": words.MEANS,
        "does_not_mean": words.DOES_NOT_MEAN,
        "evidence": [
            {"text": text, "kind": kind, **({"value": PROCESS} if PROCESS in text else {})}
            for text, kind in zip(words.EVIDENCE, KINDS, strict=True)
        ],
        "next_steps": [
            {"text": text, "command": command} for text, command in zip(words.STEPS, COMMANDS, strict=True)
        ],
        "runbook_url": f"/runbooks/{POOL}",
        "explains": [],
        "since": since,
    }  # fmt: skip
    return {
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "NVIDIA H100 80GB HBM3",
        "verdict": verdict,
        "readings": {"memory_used_bytes": 75 * GIB, "memory_total_bytes": 80 * GIB, "utilization_percent": 0.0,
                     "power_watts": 68.0},
        "processes": [{"pid": 4121 + index, "name": PROCESS, "user": "ml",
                       "memory_used_bytes": 75 * GIB, "kind": "compute", "owner": "pod default/vllm-0"}],
        "memory": {
            "total_bytes": 80 * GIB, "used_bytes": 75 * GIB, "free_bytes": 4 * GIB, "driver_reserved_bytes": GIB,
            "parts": [{"part": "weights", "bytes": 15 * GIB, "kind": "calculated"},
                      {"part": "kv_pool", "bytes": 58 * GIB, "filled_bytes": 0, "kind": "measured"},
                      {"part": "runtime", "bytes": 2 * GIB, "kind": "inferred"}],
            "over_capacity_bytes": 0,
        },
        "findings": [finding],
        "unjudged": [],
    }  # fmt: skip
