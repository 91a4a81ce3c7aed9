"""Tests of GPUs that say themselves how they ended: `dcgmi diag` and gpu-burn.

| GPU Memory                | Pass - GPU: 1                                  |      DCGM 3 and before
|                           | Fail - GPU: 0                                  |
| Warning                   | GPU 0 Error using CUDA API cuCtxCreate …       |
| memory                    | Fail                                           |      DCGM 4
|                           | GPU0: Fail                                     |
        GPU 1: FAULTY                                                               gpu-burn
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import FailedTest

MOST_TESTS = 64
LONGEST_REASON = 400
CELLS = 4  # of a row: nothing, the test, its result, nothing

_DIAG = re.compile(r"\s*\|\s?Diagnostic\s{5,40}\|\s?Result\s{5,80}\|\s*")
_FAILED = re.compile(r"Fail\b(?: - (?:All|GPUs?: ([\d, ]{1,200})))?")
_FAILED_GPU = re.compile(r"GPU(\d{1,3}): Fail\b.{0,80}")
_BURN = re.compile(r"\s*GPU (\d{1,3}): (OK|FAULTY)\s*")
_BURNT = re.compile(r"Tested \d{1,3} GPUs?:")
_BURNING = re.compile(r"proc'd: .{1,2000}?\berrors: (-?\d.{0,1000}?)\s{2,8}temps: ")
_TOLD = ("Warning", "Error")


def read_checks(lines: Sequence[str]) -> tuple[list[FailedTest], bool, list[int]]:
    """The tests that failed, whether any test was read at all, and the numbers of the lines."""
    failed, used = _diag(lines)
    burnt, more = _burn(lines)
    return [*failed, *burnt][:MOST_TESTS], bool(used or more), [*used, *more]


def _diag(lines: Sequence[str]) -> tuple[list[FailedTest], list[int]]:
    found: list[FailedTest] = []
    used: list[int] = []
    inside, test, told = False, "", False
    for number, line in enumerate(lines):
        if "Diagnostic" in line and _DIAG.fullmatch(line):
            inside = True
        row = line.split("|") if inside else []
        if len(row) != CELLS:
            inside = inside and line.lstrip()[:1] in ("+", "|")
            if inside:
                used.append(number)
            continue
        used.append(number)
        name, result = row[1].strip(), row[2].strip()[:LONGEST_REASON]
        if name and name.partition(":")[0] != "Info" and not name.startswith(("-", *_TOLD)):
            test = name
        told = name.startswith(_TOLD) or (told and not name)
        _take(found, test, result, told)
    return found, used


def _take(found: list[FailedTest], test: str, result: str, told: bool) -> None:
    """One row: that a test failed, on which GPU, or why."""
    mine = found[-1] if found and found[-1].test == test else None
    if told and mine is not None and not _FAILED.match(result):
        joined = f"{mine.reason or ''}{result}"  # the table breaks lines in the middle of words
        mine.reason = joined[:LONGEST_REASON]
        return
    failed, of_one = _FAILED.match(result), _FAILED_GPU.fullmatch(result)
    if failed is None and of_one is None:
        return
    if mine is None:
        mine = FailedTest(tool="dcgmi diag", test=test)
        found.append(mine)
    numbers = of_one[1] if of_one else (failed[1] if failed else None) or ""
    mine.gpus = sorted({*(mine.gpus or ()), *map(int, re.findall(r"\d+", numbers))}) or None


def _burn(lines: Sequence[str]) -> tuple[list[FailedTest], list[int]]:
    """gpu-burn's last word on each GPU."""
    start = next((number for number, line in enumerate(lines) if _BURNT.search(line[:200])), None)
    if start is None:
        return _burning(lines)
    told = {
        number: match
        for number, line in enumerate(lines[start + 1 : start + 130], start + 1)
        if (match := _BURN.fullmatch(line[:200]))
    }
    faulty = [int(match[1]) for match in told.values() if match[2] == "FAULTY"]
    died = any("DIED!" in line for line in lines[max(0, start - 200) : start])
    failed = FailedTest(tool="gpu-burn", test="gpu-burn", gpus=faulty, reason="DIED!" if died else None)
    return [failed] if faulty else [], [start, *told]


def _burning(lines: Sequence[str]) -> tuple[list[FailedTest], list[int]]:
    """What gpu-burn has counted so far, where its last word is not in the text: a number of errors a GPU."""
    counted = [
        (number, match)
        for number, line in enumerate(lines)
        if "proc'd:" in line and (match := _BURNING.search(line[:4000]))
    ]
    if not counted:
        return [], []
    number, last = counted[-1]
    counts = re.findall(r"(?:^|\s-\s{1,8})(-?\d{1,12})", last[1])
    faulty = [gpu for gpu, count in enumerate(counts) if int(count) != 0]
    if not faulty:
        return [], []
    told = ", ".join(f"GPU {gpu}: {counts[gpu]}" for gpu in faulty)
    failed = FailedTest(
        tool="gpu-burn", test="gpu-burn", gpus=faulty, reason=f"errors so far: {told}"[:LONGEST_REASON]
    )
    return [failed], [number]
