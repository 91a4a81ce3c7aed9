"""What a rule is: a function of a GPU, a node or a fleet that fires, is clear, or raises NotMeasured.

    @rule(severity="ok", rank=STATE, given=("idle", "holding"), explains=("oom-risk",))
    def kv_pool_reserved_idle(gpu: GpuWindow, *, min_used_share: float = 0.70) -> Fires | None: ...

The folder's name is the rule's id, the first parameter's name its subject, and keyword-only parameters are
thresholds that settings may change. Plain arithmetic: what is not measured raises by itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import msgspec

from gpudiag import gates
from gpudiag.fleet import Fleet
from gpudiag.model import Confidence, Evidence, Kind, Maturity, Severity
from gpudiag.window import W5, Window

# Precedence: a lower rank explains the rest; hints never headline.
BLIND, DEVICE, MEMORY_ERROR, THERMAL, STUCK, MEMORY, CAPACITY, INEFFICIENT, STATE, HINT = range(1, 11)
TEXT = 11  # what a pasted text lacks: it decides, but after everything that was seen

Subject = Literal["gpu", "node", "fleet"]


class Fires(msgspec.Struct, frozen=True):
    """A rule's outcome, in numbers. `words` are values for the page's sentences that are no evidence."""

    evidence: tuple[Evidence, ...]
    severity: Severity | None = None  # the rule's own when None
    confidence: Confidence | None = None
    variant: str | None = None
    key: str = ""
    words: dict[str, Any] = msgspec.field(default_factory=dict)
    gpu: int | None = None  # for a rule about the node that blames one GPU
    since: float | None = None
    also_explains: tuple[str, ...] = ()


Outcome = Fires | Iterable[Fires] | None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its metadata; `thresholds` are the values in force."""

    id: str
    family: str
    subject: Subject
    judge: Callable[..., Outcome]
    severity: Severity
    confidence: Confidence
    rank: int
    maturity: Maturity
    given: tuple[str, ...]
    explains: tuple[str, ...]
    latched: bool
    clear_seconds: float
    also: str | None
    thresholds: dict[str, Any]
    summary: str
    module: str

    def judged(self, subject: Any) -> list[Fires]:
        """Every outcome for `subject`; empty when clear. Raises NotMeasured when it cannot tell."""
        return outcomes(self.judge(subject, **self.thresholds))

    @property
    def ask(self) -> Callable[[Any], Outcome]:
        """The function with the thresholds in force; the plain one where they are its own."""
        own = self.thresholds == _thresholds_of(self.judge)
        return self.judge if own else partial(self.judge, **self.thresholds)


def _thresholds_of(function: Callable[..., Outcome]) -> dict[str, Any]:
    """The thresholds that a rule's function declares, with its own values."""
    parameters = inspect.signature(function).parameters.items()
    return {name: p.default for name, p in parameters if p.kind is p.KEYWORD_ONLY}


def outcomes(outcome: Outcome) -> list[Fires]:
    """What a rule's function returned, as a list."""
    if outcome is None:
        return []
    return [outcome] if isinstance(outcome, Fires) else list(outcome)


def rule(
    *,
    severity: Severity,
    rank: int,
    confidence: Confidence = "likely",
    maturity: Maturity = "stable",
    given: tuple[str, ...] = (),
    explains: tuple[str, ...] = (),
    latched: bool = False,
    clear_seconds: float | None = None,
    also: str | None = None,
) -> Callable[[Callable[..., Outcome]], Rule]:
    """Declare a rule.

    given          gates (see gpudiag/gates.py) that must hold, or be unknown, for the rule to be asked at
                   all; of a rule about the node: on one of its GPUs
    explains       ids of rules that this one accounts for: they become "also seen"
    latched        an event: stays open until a reset, a reboot or a person closes it
    clear_seconds  how long it must be judged clear before an open finding is resolved: five minutes, and
                   none for normal states and hints, which follow what is seen
    also           the id of the umbrella rule that stays beside this sub-cause
    """

    def declare(function: Callable[..., Outcome]) -> Rule:
        parts = function.__module__.split(".")
        parameters = inspect.signature(function).parameters
        subject = next(iter(parameters))
        if subject not in ("gpu", "node", "fleet"):
            raise TypeError(f"{function.__module__}: a rule's first parameter is gpu, node or fleet")
        unknown = set(given) - set(gates.NAMES)
        if unknown:
            raise TypeError(f"{function.__module__}: no gate {', '.join(sorted(unknown))}")
        thresholds = _thresholds_of(function)
        return Rule(
            id=parts[-1].replace("_", "-"),
            family=parts[-2] if len(parts) > 1 else "",
            subject=subject,  # type: ignore[arg-type]
            judge=function,
            severity=severity,
            confidence=confidence,
            rank=rank,
            maturity=maturity,
            given=given,
            explains=explains,
            latched=latched,
            clear_seconds=(0.0 if rank >= STATE else W5) if clear_seconds is None else clear_seconds,
            also=also,
            thresholds=thresholds,
            summary=(inspect.getdoc(function) or "").split("\n", 1)[0],
            module=function.__module__,
        )

    return declare


# ---------------------------------------------------------------------------------------- evidence


def measured(
    name: str, value: Any, *, of: Any = None, window: float | None = None, source: str = "NVML"
) -> Evidence:
    """A number read from a machine."""
    return Evidence(name=name, value=value, of=of, window_seconds=window, source=source)


def calculated(
    name: str, value: Any, *, of: Any = None, window: float | None = None, source: str | None = None
) -> Evidence:
    """A number computed from known inputs."""
    return _evidence("calculated", name, value, of, window, source)


def inferred(
    name: str, value: Any, *, of: Any = None, window: float | None = None, source: str | None = None
) -> Evidence:
    """What a pattern suggests."""
    return _evidence("inferred", name, value, of, window, source)


def declared(
    name: str, value: Any, *, of: Any = None, window: float | None = None, source: str | None = None
) -> Evidence:
    """What a person or a flag told."""
    return _evidence("declared", name, value, of, window, source)


def _evidence(
    kind: Kind, name: str, value: Any, of: Any, window: float | None, source: str | None
) -> Evidence:
    return Evidence(name=name, value=value, of=of, kind=kind, window_seconds=window, source=source)


# ------------------------------------------------------------------------------------------- cases


@dataclass(frozen=True, slots=True)
class Case:
    """One situation in which a rule's answer is known.

    `window` builds the past of a node or a fleet (see `gpudiag.rules.situations`); `expect` is `fires`,
    `clear` or `unjudged`. `gpu` is the index that is looked at. A look-alike is a `clear` case that names
    what it really is.
    """

    title: str
    window: Callable[[], Window | Fleet]
    expect: Literal["fires", "clear", "unjudged"]
    gpu: int | None = 0
    severity: Severity | None = None
    confidence: Confidence | None = None
    variant: str | None = None
    now: float | None = None  # defaults to the window's own time
