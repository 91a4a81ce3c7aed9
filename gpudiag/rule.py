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

from gpudiag.fleet import Fleet
from gpudiag.model import Confidence, Evidence, Kind, Maturity, Severity
from gpudiag.window import W2, W5, GpuWindow, NotMeasured, Window

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

    given          gates (see GATES) that must hold, or be unknown, for the rule to be asked at all; of a
                   rule about the node: on one of its GPUs
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
        unknown = set(given) - set(GATES)
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


# ------------------------------------------------------------------------------------------- gates


def _unless_unknown(question: Callable[[GpuWindow], bool]) -> Callable[[GpuWindow], bool]:
    def gate(gpu: GpuWindow) -> bool:
        try:
            return question(gpu)
        except (NotMeasured, ArithmeticError):
            return True

    return gate


def _faulty(gpu: GpuWindow) -> bool:
    reading = gpu.reading
    return bool(
        not gpu.present
        or reading.error
        or gpu.node.events
        or not gpu.node.log_readable
        or _complains(gpu.node)
        or reading.ecc_uncorrected_volatile
        or reading.ecc_corrected_volatile
        or reading.ecc_sram_uncorrected_aggregate
        or reading.ecc_sram_threshold_exceeded
        or reading.remapped_rows_uncorrectable
        or reading.row_remap_pending
        or reading.row_remap_failed
        or reading.row_remap_banks_none
        or reading.retired_pages_pending
        or reading.retired_pages_double_bit
        or reading.retired_pages_single_bit
        or reading.recovery_action
        or reading.inforom_corrupted
        or (reading.ecc_uncorrected_volatile is None and not gpu.node.pasted)
    )


def _complains(node: Window) -> bool:
    """Whether pasted text holds an error line of a tool."""
    paste = node.latest.paste if node.latest else None
    return bool(paste and paste.errors)


def _warm(gpu: GpuWindow) -> bool:
    """Close to a limit of temperature, or the limits are not known."""
    r = gpu.reading
    margin, memory, limit = (
        r.temperature_margin_celsius,
        r.temperature_memory_celsius,
        r.temperature_memory_max_celsius,
    )
    return margin is None or margin <= 10 or (memory is not None and (limit is None or memory >= limit - 10))


def _linked(gpu: GpuWindow) -> bool:
    """Something about its links is not as it could be, or not known."""
    r = gpu.reading
    return (
        r.pcie_link_generation is None
        or r.pcie_link_generation != r.pcie_link_generation_max
        or r.pcie_link_width is None
        or r.pcie_link_width != r.pcie_link_width_max
        or r.pcie_replay_count is None
        or bool(r.pcie_replay_count or r.pcie_fatal_errors or r.pcie_nonfatal_errors)
        or r.nvlinks is not None
        or r.fabric_state not in (None, "not_supported")
        or bool(gpu.node.events)
        or _has_switches(gpu.node)
    )


def _has_switches(node: Window) -> bool:
    host = node.latest.host if node.latest else None
    return bool(host and host.nvswitches)


def _adjusted(gpu: GpuWindow) -> bool:
    """A setting differs from the usual, or is not known."""
    r = gpu.reading
    return (
        r.power_limit_watts is None
        or r.power_limit_watts != r.power_limit_default_watts
        or r.persistence_mode is not True
        or r.compute_mode != "default"
        or r.mig_mode is not r.mig_mode_pending
        or r.ecc_mode is not True
        or r.ecc_mode_pending is not True
        or r.virtualization not in (None, "none", "passthrough")
        or r.inforom_corrupted is True
    )


def _loaded(gpu: GpuWindow) -> bool:
    """Somebody may be asking this GPU for work: requests, a training job, a label, or nobody can tell."""
    for engine in gpu.engines:
        reading = engine.reading
        if not reading.metrics_ok or reading.requests_running or reading.requests_waiting:
            return True
    if "training" in gpu.kinds or ("engine" in gpu.kinds and not gpu.engines):
        return True
    labels = gpu.node.latest.labels if gpu.node.latest else None
    return bool(labels and "expected_busy" in labels)


NO_JOB = frozenset(("engine", "desktop", "monitor"))
"""Kinds of program that are not somebody's job; see `gpudiag.workloads`."""

GATES: dict[str, Callable[[GpuWindow], bool]] = {
    # A gate is open when its condition holds or is not known: then the rule itself must say so.
    "idle": _unless_unknown(
        lambda gpu: (
            gpu.over("utilization_percent", W2).mean <= 5.0 or (gpu.node.pasted and gpu.used_share < 0.01)
        )
    ),
    "working": _unless_unknown(lambda gpu: gpu.over("utilization_percent", W5).max >= 5.0),
    "spinning": _unless_unknown(lambda gpu: gpu.over("utilization_percent", W5).mean >= 85.0),
    "holding": _unless_unknown(lambda gpu: gpu.used_share > 0.01),
    "process": lambda gpu: bool(gpu.processes or gpu.engines),
    "shared": lambda gpu: len(gpu.processes) > 1,
    "engine": lambda gpu: "engine" in gpu.kinds or bool(gpu.engines),
    "job": lambda gpu: bool(gpu.kinds - NO_JOB),
    "loaded": _loaded,
    "fault": _faulty,
    "throttled": _unless_unknown(lambda gpu: gpu.throttled_within(W5)),
    "slowed": _unless_unknown(lambda gpu: gpu.slowed_within(W5)),
    "warm": _warm,
    "fan": lambda gpu: (
        (gpu.reading.fan_percent is not None or bool(gpu.reading.fan_count))
        and not (gpu.reading.fan_percent and gpu.reading.fan_rpm != 0)
    ),
    "linked": _linked,
    "adjusted": _adjusted,
    "guest": lambda gpu: (
        gpu.reading.virtualization == "vgpu"
        or (gpu.reading.virtualization is None and "-" in (gpu.reading.name or ""))
    ),
    "mig": lambda gpu: bool(gpu.reading.mig_mode or gpu.reading.mig_devices),
    "pasted": lambda gpu: gpu.node.pasted,
}


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
