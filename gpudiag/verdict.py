"""One headline out of many findings.

Severity is the worst of the parts (critical > warning > unknown > info > ok); the headline is the finding
that explains the most among the worst. A hint never headlines over a state, and where nothing decides the
verdict is `not-enough-evidence`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudiag.examine import STALE, Ruleset, gpus_of, precedence
from gpudiag.model import CONFIDENCE_ORDER, SEVERITY_ORDER, TROUBLE, Checkup, Finding, Severity
from gpudiag.rule import HINT

NOT_ENOUGH = "not-enough-evidence"
FREE = "gpu-free"  # says the least: a GPU on which something happens speaks for the node first


@dataclass(frozen=True, slots=True)
class Verdict:
    """`finding` is None when nothing decides; `gpu` is whose finding headlines, None for the node."""

    severity: Severity
    rule: str
    finding: Finding | None = None
    gpu: int | None = None
    shared: bool = False  # every GPU has this verdict


def verdict_of_gpu(checkup: Checkup, gpu: int, rules: Ruleset) -> Verdict:
    """The verdict on one GPU from its own findings, and from trouble of the node that names it."""
    own = [f for f in checkup.findings if f.gpu == gpu]
    named = [f for f in checkup.findings if f.gpu is None and gpu in gpus_of(f)]
    return _of_gpu(gpu, own + [f for f in named if f.severity in TROUBLE], rules)


def _of_gpu(gpu: int, findings: list[Finding], rules: Ruleset) -> Verdict:
    found = _verdict(findings, rules)
    return found if found.gpu is not None else replace(found, gpu=gpu)


def verdict_of_node(checkup: Checkup, rules: Ruleset) -> Verdict:
    """The worst of the node's own findings and of its GPUs' verdicts."""
    found: dict[int, list[Finding]] = {gpu.index: [] for gpu in checkup.snapshot.gpus}
    own: list[Finding] = []
    for finding in checkup.findings:
        (own if finding.gpu is None else found.setdefault(finding.gpu, [])).append(finding)
    parts = [_of_gpu(gpu, findings, rules) for gpu, findings in sorted(found.items())]
    decides = [f for f in own if _decides(f, rules)]
    if decides or not parts:
        parts.append(_verdict(own, rules))
    if own and any(f.rule == STALE for f in own):
        parts = [part for part in parts if part.finding is not None]
    if all(part.finding is None for part in parts) and any(u.rule == STALE for u in checkup.unjudged):
        return Verdict("unknown", NOT_ENOUGH)  # not heard of yet, which is no matter of one GPU
    best = max(parts, key=lambda v: _weight(v, rules))
    shared = best.gpu is not None and all(part.rule == best.rule for part in parts)
    return Verdict(best.severity, best.rule, best.finding, best.gpu, shared)


def _decides(finding: Finding, rules: Ruleset) -> bool:
    rule = rules.by_id.get(finding.rule)
    return not (rule and rule.rank == HINT and finding.severity in ("ok", "info"))


def _verdict(findings: list[Finding], rules: Ruleset) -> Verdict:
    deciding = [f for f in findings if _decides(f, rules)]
    if not deciding:
        gpu = findings[0].gpu if findings else None
        return Verdict("unknown", NOT_ENOUGH, None, gpu)
    best = max(deciding, key=lambda f: _finding_weight(f, rules)) if len(deciding) > 1 else deciding[0]
    return Verdict(best.severity, best.rule, best, best.gpu)


def _finding_weight(finding: Finding, rules: Ruleset) -> tuple[int, int, int, int]:
    rank, umbrella, _, _ = precedence(finding, rules)
    return (
        SEVERITY_ORDER.index(finding.severity),
        -rank,
        -umbrella,
        CONFIDENCE_ORDER.index(finding.confidence),
    )


def _weight(verdict: Verdict, rules: Ruleset) -> tuple[int, ...]:
    if verdict.finding is None:
        return (SEVERITY_ORDER.index(verdict.severity), 0, -99, 0, 0, 0)
    severity, *rest = _finding_weight(verdict.finding, rules)
    first = -(verdict.gpu if verdict.gpu is not None else -1)
    return (severity, int(verdict.rule != FREE), *rest, first)
