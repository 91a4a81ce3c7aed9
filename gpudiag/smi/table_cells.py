"""Cells of the table of `nvidia-smi` and of nvitop's process part → values."""

from __future__ import annotations

import re

from gpudiag.smi import values as v
from gpudiag.smi.sheet import Draft, Row
from gpudiag.smi.values import Absent, reason_of

STATE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S+) {0,12}/ {0,12}(\S+)")
MEMORY = re.compile(r"(\d+(?:\.\d{1,2})?[MG]i?B) {0,20}/ {0,20}(\d+(?:\.\d{1,2})?[MG]i?B)")
UTIL = re.compile(r"(\d{1,6}%|N/A|ERR!)(?:\s+(\S.*))?")
_FAN_GLUED = re.compile(r"(ERR!)(?=\d)")

_STATE_NAMES = ("fan_percent", "temperature_celsius", "pstate", "power_watts", "power_limit_watts")
_STATE_READS = (v.fan, v.celsius, v.pstate, v.watts, v.watts)


def read_state(gpu: Draft, text: str) -> tuple[str, ...] | None:
    """`N/A   40C    P0    26W /  70W`: the cells that were read, or None where they are no such line."""
    match = STATE.fullmatch(_FAN_GLUED.sub(r"\1 ", text))
    if match is None:
        return None
    for name, convert, cell in zip(_STATE_NAMES, _STATE_READS, match.groups(), strict=True):
        gpu.read(name, convert, cell)
    return match.groups()


def read_ecc(gpu: Draft, text: str) -> None:
    """The ECC column: a count, or the mode."""
    if text in ("Off", "On"):
        gpu.give("ecc_mode", text == "On")
        gpu.lacks("ecc_uncorrected_volatile", "not_supported")
        return
    gpu.read("ecc_uncorrected_volatile", v.count, text)
    if "ecc_uncorrected_volatile" in gpu.values:
        gpu.give("ecc_mode", True)


def read_mig_mode(gpu: Draft, text: str) -> None:
    """The third line's cell; a star says that another mode is pending."""
    gpu.read("mig_mode", v.enabled, text.rstrip("*"))
    if "mig_mode" in gpu.values:
        gpu.give("mig_mode_pending", gpu.values["mig_mode"] != text.endswith("*"))


def read_memory(gpu: Draft, text: str) -> None:
    """`1032MiB / 15360MiB`, or a word in place of one or both."""
    match = MEMORY.fullmatch(text)
    if match is not None:
        gpu.read("memory_used_bytes", v.size, match[1])
        gpu.read("memory_total_bytes", v.size, match[2])
        return
    halves = [half.strip() for half in text.split("/")] if " / " in f" {text} " and text != "N/A" else [text]
    whole = ["N/A", "N/A"] if text.replace(" ", "") == "N/A/N/A" else halves
    for name, half in zip(("memory_used_bytes", "memory_total_bytes"), whole * 2, strict=False):
        try:
            gpu.give(name, v.mib(half, True))
        except Absent as absent:
            gpu.lacks(name, absent.reason)


def read_load(gpu: Draft, text: str) -> None:
    """`0%      Default`: utilization and compute mode."""
    match = UTIL.fullmatch(text)
    if match is None:
        gpu.lacks("utilization_percent", reason_of(text) or "cut")
        return
    gpu.read("utilization_percent", v.percent, match[1])
    if match[2]:
        gpu.read("compute_mode", v.compute_mode, match[2])


def decisive_cell_is_cut(gpu: Draft) -> bool:
    return any(
        gpu.gaps.get(name) == "cut"
        for name in ("memory_used_bytes", "memory_total_bytes", "utilization_percent")
    )


def name_and_memory(rest: str) -> tuple[str | None, int | None, str | None]:
    """`./gpu_burn   28234MiB` → its parts; a cut or missing memory comes back as the reason."""
    head, _, last = rest.rstrip().rpartition(" ")
    if not head:
        return rest, None, "cut"
    try:
        return head.strip(), v.mib(last, True), None
    except Absent as absent:
        if absent.reason == "nonsense":
            return head.strip(), None, absent.reason
        known = reason_of(last)
        if known or re.fullmatch(r"\d*\.\.\.", last):
            return head.strip(), None, known or "cut"
        if rest.endswith("Not Supported"):
            return rest.removesuffix("Not Supported").strip(), None, "not_supported"
        return rest.strip(), None, absent.reason


def read_nvitop(row: Row, rest: str, columns: list[str]) -> None:
    """`panda 5478MiB  36  0.5  1.4  2:11:32  python3 …`, by the names of its columns."""
    user, *cells = rest.split(None, len(columns))
    row.user = user
    for column, cell in zip(columns, cells, strict=False):
        if column == "GPU-MEM":
            try:
                row.memory = v.size(cell, True)
            except Absent as absent:
                row.memory_gap = absent.reason
        elif column == "%SM" and cell.isdigit():
            row.sm = v.or_none(v.percent, cell, False)
        elif column == "COMMAND":
            row.name = cell
