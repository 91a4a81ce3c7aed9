"""A table that lost its bars, as text out of a picture or a word processor does: they are put back.

Only rows that have every cell of their kind are; what else stands in the text is left as it is.
"""

from __future__ import annotations

import re

_MODE = r"(On|Off|N/A|TCC|WDDM|MCDM)"
_WHO = re.compile(
    rf"\s*(\d{{1,3}})\s+(\S.{{2,40}}?)\s+{_MODE}\s+((?:[0-9A-Fa-f]{{4,8}}:)?[0-9A-Fa-f]{{2}}:[0-9A-Fa-f]{{2}}\.[0-7])"
    r"\s+(On|Off|N/A)\s+(\d{1,9}|N/A|Off|On|ERR!)\s*"
)
_WATTS = r"(?:\d{1,4}W|N/A|ERR!|Off)"
_STATE = re.compile(
    rf"\s*(\d{{1,3}}%|N/A|ERR!)\s+(\d{{1,3}}C|N/A|ERR!)\s+(P\d{{1,2}}|N/A|ERR!)\s+({_WATTS}\s*/\s*{_WATTS})\s+"
    r"(\d{1,7}MiB\s*/\s*\d{1,7}MiB|Not Supported)\s+(\d{1,3}\s?%|N/A|ERR!)\s+"
    r"(Default|E\. \w{1,8}|Prohibited)\s*"
)
_PROCESS = re.compile(
    r"\s*(\d{1,3}(?:\s+(?:N/A|\d{1,3})\s+(?:N/A|\d{1,3}))?\s+\d{1,10}\s+(?:C\+G|C|G)\s+\S.{0,120}?\s+(?:\d{1,7}MiB|N/A))\s*"
)
_TITLE = re.compile(r"\s*(NVIDIA-SMI \d\S{2,20}\s+(?:Driver|KMD) Version: .{3,60}?)\s*")
_NOTE = re.compile(
    r"\s*(Processes:(?:\s+GPU Memory)?|GPU\s+(?:GI\s+CI\s+)?PID\s+Type\s+Process name.{0,40}|"
    r"No running processes found)\s*"
)
MIB = "MiB"


def with_bars(lines: list[str]) -> list[str]:
    """The lines with bars where a table had them, if the text has none of its own."""
    if not any(MIB in line for line in lines) or any("|" in line and MIB in line for line in lines):
        return lines
    if not any(_STATE.fullmatch(line) for line in lines if MIB in line):
        return lines
    return [_barred(line) for line in lines]


def _barred(line: str) -> str:
    if len(line) > 200:
        return line
    who, state = _WHO.fullmatch(line), _STATE.fullmatch(line)
    if who is not None:
        return _row(f"{who[1]}  {who[2]}  {who[3]}", f"{who[4]} {who[5]}", who[6])
    if state is not None:
        return _row(f"{state[1]}  {state[2]}  {state[3]}  {state[4]}", state[5], f"{state[6]}  {state[7]}")
    whole = _PROCESS.fullmatch(line) or _TITLE.fullmatch(line) or _NOTE.fullmatch(line)
    return line if whole is None else _row(whole[1])


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
