"""What `dcgmi health -c` reports: faults that its watches have counted, by GPU and by part of it.

| Overall Health            | Failure                                                  |
| -> 0                      | Failure                                                  |
|       -> Memory system    | Failure                                                  |
|                           | what was seen, over several rows                         |

Older versions write `| GPU ID: 0 | Warning |` and `| | PCIe system: Warning - what was seen |`.
"""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import FailedTest

TOOL = "dcgmi health"
LONGEST_REASON = 400
LONGEST_LINE = 400
MOST_FAULTS = 64

_STATE = r"(Healthy|Warning|Failure|Fail|Warn)"
_OVERALL = re.compile(rf"\|\s{{0,20}}Overall Health[:\s|]{{1,60}}{_STATE}\b")
_GPU = re.compile(r"\|\s{0,20}(?:->|GPU ID:?|GPU) {1,4}(\d{1,3})\s{0,60}\|")
_SYSTEM = re.compile(
    rf"\|[\s|>-]{{1,60}}([A-Za-z][A-Za-z0-9 /-]{{1,40}}?)(?:\s{{0,40}}\||:)\s{{0,4}}{_STATE}\b(?: - (.{{1,200}}?))?\s{{0,200}}\|?\s*"
)
_MORE = re.compile(r"\|\s{10,60}\|\s(\S.{0,200}?)\s{0,200}\|\s*")
_NO_SYSTEM = ("Overall Health", "Errors", "GPU", "GPU ID")


def read_health(lines: Sequence[str]) -> tuple[list[FailedTest], bool, list[int]]:
    """The faults, whether there was a report at all, and the numbers of the lines."""
    start = next((number for number, line in enumerate(lines) if "Overall Health" in line), None)
    if start is None:
        return [], False, []
    overall = _OVERALL.search(lines[start][:LONGEST_LINE])
    if overall is None:
        return [], False, []
    faults: list[FailedTest] = []
    used = [start]
    gpu: int | None = None
    for number, line in enumerate(lines[start + 1 :], start + 1):
        if line[:1] not in ("|", "+") or len(line) > LONGEST_LINE:
            break
        used.append(number)
        named = _GPU.match(line)
        system = _SYSTEM.fullmatch(line)
        if named is not None:
            gpu = int(named[1])
        elif system is not None and system[1].strip() not in _NO_SYSTEM:
            if system[2] != "Healthy" and len(faults) < MOST_FAULTS:
                faults.append(_fault(system[1].strip(), gpu, system[3]))
        elif faults and (more := _MORE.fullmatch(line)) is not None:
            told = " ".join(filter(None, (faults[-1].reason, more[1])))
            faults[-1].reason = told[:LONGEST_REASON]
    if not faults and overall[1] != "Healthy":
        faults.append(_fault("health", gpu, None))
    return faults, True, used


def _fault(system: str, gpu: int | None, reason: str | None) -> FailedTest:
    return FailedTest(tool=TOOL, test=system, gpus=None if gpu is None else [gpu], reason=reason)
