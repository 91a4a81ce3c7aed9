"""What the rules make of a node: what they found, what they could not judge, and who holds the memory."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gpudiag.model.snapshot import Snapshot
from gpudiag.model.terms import Confidence, FindingState, Kind, Maturity, Severity, Struct


class Evidence(Struct):
    """A named quantity. The unit stands at the end of the name (see `gpudiag.words.units`).

    `of` is what the value is compared with: a total, a limit, a usual value, in the same unit.
    """

    name: str
    value: float | int | str | bool
    kind: Kind = "measured"
    source: str | None = None  # NVML, /proc, vLLM metrics, kernel log, pasted text, …
    window_seconds: float | None = None
    of: float | int | str | None = None


class Finding(Struct):
    """A rule fired. Numbers only: the words stand beside the rule.

    `gpu` is an index, or None for the node. `key` tells apart findings of one rule on one subject (a pid
    with its start, an Xid). `variant` chooses among the wordings of the rule's page.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    gpu: int | None = None
    gpu_uuid: str | None = None
    key: str = ""
    variant: str | None = None
    maturity: Maturity = "stable"
    evidence: list[Evidence] = msgspec.field(default_factory=list)
    words: dict[str, Any] = msgspec.field(default_factory=dict)  # pid, process, … for the page's sentences
    explains: list[str] = msgspec.field(default_factory=list)
    since: float | None = None
    id: str | None = None
    state: FindingState = "open"


class Unjudged(Struct):
    """A rule could not say, and what was missing."""

    rule: str
    missing: list[str]  # names of metrics or sources
    gpu: int | None = None
    reason: str | None = None  # a Reason, "too_short" or "catching_up"
    wait_seconds: float | None = None  # too_short: how long until it can be judged


class LedgerPart(Struct):
    """One share of a GPU's memory. The KV pool is one part; `filled_bytes` lies inside it, never beside."""

    part: Literal["weights", "kv_pool", "runtime", "other_process", "unaccounted"]
    bytes: int
    kind: Kind
    owner: str | None = None
    filled_bytes: int | None = None
    expected_bytes: int | None = None  # calculated, beside a measured value


class MemoryLedger(Struct):
    """Who holds the memory of one GPU. Parts may exceed the total and are then not cut."""

    total_bytes: int | None = None
    used_bytes: int | None = None
    free_bytes: int | None = None
    driver_reserved_bytes: int | None = None
    parts: list[LedgerPart] = msgspec.field(default_factory=list)
    over_capacity_bytes: int = 0
    disagreement_ratio: float | None = None  # calculated against measured, where both are known


class Observed(Struct):
    """The span of data that was judged, in Unix seconds."""

    start: float | None
    end: float | None
    samples: int = 0
    coverage_ratio: float | None = None


class Checkup(Struct):
    """What the rules saw on one node, in numbers. Neither found nor unjudged means judged clear."""

    node: str
    judged_at: float
    observed: Observed
    snapshot: Snapshot
    findings: list[Finding] = msgspec.field(default_factory=list)
    unjudged: list[Unjudged] = msgspec.field(default_factory=list)
    ledgers: dict[int, MemoryLedger] = msgspec.field(default_factory=dict)
