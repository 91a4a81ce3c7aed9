"""Cells: what a printed value says, exactly, or why it says nothing.

A converter returns the value or raises `Absent` with one of the model's reasons. A number without the unit
that its format prints was cut and is no value: `13020...` or `81` where `8159MiB` stood. Nor is a number
that no card can have, such as 103 %: its reason is `nonsense`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from math import inf
from typing import Any

from gpudiag.model import Reason

MIB = 1 << 20

Convert = Callable[[str, bool], Any]
"""(text, whether the unit has to be there) → value."""


class Absent(Exception):
    """The cell holds no value, and why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


REASONS: dict[str, Reason] = {
    "": "not_shown",
    "-": "not_supported",
    "n/a": "not_supported",
    "not supported": "not_supported",
    "not available in wddm driver model": "not_supported",
    "requested functionality has been deprecated": "not_supported",
    "function not found": "function_not_found",
    "insufficient permissions": "no_permission",
    "err!": "unknown_error",
    "unknown error": "unknown_error",
    "unknown": "unknown_error",
    "gpu is lost": "gpu_is_lost",
    "gpu requires reset": "reset_required",
    "reset required": "reset_required",
    "not found": "not_found",
    "no data": "not_shown",
}
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_BUS = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")


def reason_of(text: str) -> Reason | None:
    """Why a cell is empty, or None when it is not one of the known ways to say so."""
    return REASONS.get(text.strip().strip("[]").lower())


def _number(text: str, units: tuple[str, ...], strict: bool) -> str:
    """The digits of `text`, checked for one of `units`."""
    body = text.strip()
    for unit in units:
        if body.endswith(unit):
            body = body[: -len(unit)].rstrip()
            break
    else:
        if strict:
            raise Absent(reason_of(body) or "cut")
    if not _NUMBER.fullmatch(body):
        raise Absent(reason_of(text) or "cut")
    return body


def _float_in(*units: str, factor: float = 1.0, least: float = 0.0, most: float = inf) -> Convert:
    def convert(text: str, strict: bool = True) -> float:
        value = float(_number(text, units, strict))
        if not least <= value <= most:
            raise Absent("nonsense")
        return value * factor

    return convert


def _int_in(*units: str, factor: int = 1, most: float = inf) -> Convert:
    def convert(text: str, strict: bool = True) -> int:
        digits = _number(text, units, strict)
        if "." in digits:
            raise Absent("cut")
        if not 0 <= int(digits) <= most:
            raise Absent("nonsense")
        return int(digits) * factor

    return convert


# What a card can show at most, with room for cards to come: our judgement. 4294967295, in milliwatts or as it
# is, and 17592186044415 MiB are what some tools print where NVML has no value.
mib = _int_in("MiB", "MB", factor=MIB, most=4 << 20)  # drivers before 340 write MB for 2^20 bytes
percent = _float_in("%", most=100)
fan = _float_in("%", most=255)  # "may exceed 100 % in certain cases" (manual of nvidia-smi, Fan Speed)
celsius = _float_in("C", least=-100, most=200)  # a margin to a limit is below 0 beyond it
watts = _float_in("W", most=5_000)
megahertz = _float_in("MHz", most=20_000)
nanoseconds = _int_in("us", factor=1000)
kib_per_second = _float_in("KB/s", factor=1000.0)
banks = _int_in("bank(s)")


_ROUNDED = re.compile(r"(\d{1,6}\.\d{1,2})([MG])iB")


def size(text: str, strict: bool = True) -> int:
    """`1032MiB`, or `74.21GiB` as nvitop rounds what is larger than 20 GiB."""
    rounded = _ROUNDED.fullmatch(text.strip())
    if rounded is None:
        return int(mib(text, strict))
    return round(float(rounded[1]) * (MIB if rounded[2] == "M" else MIB << 10))


def or_none(convert: Convert, text: str, strict: bool = True) -> Any:
    """The value of a cell, or None where it holds none and nobody asks why."""
    try:
        return convert(text, strict)
    except Absent:
        return None


def count(text: str, strict: bool = True) -> int:
    """A number without a unit."""
    digits = _number(text, (), False)
    if "." in digits:
        raise Absent("cut")
    if int(digits) == 0xFFFFFFFF:
        raise Absent("nonsense")
    return int(digits)


def width(text: str, strict: bool = True) -> int:
    """`16x`, or 16 where the format prints no x."""
    return count(text.strip().removesuffix("x"))


def pstate(text: str, strict: bool = True) -> str:
    body = text.strip()
    if re.fullmatch(r"P(?:\d|1[0-5])", body):
        return body
    raise Absent(reason_of(body) or "cut")


def plain_text(text: str, strict: bool = True) -> str:
    body = text.strip()
    known = reason_of(body)
    if known:
        raise Absent(known)
    return body


def lower_text(text: str, strict: bool = True) -> str:
    return plain_text(text).lower()


def version(text: str, strict: bool = True) -> str:
    """`610.62 [Deprecated; …]` → `610.62`."""
    body = text.split("[")[0].strip()
    if re.fullmatch(r"\d+(?:\.\d+){1,3}", body):
        return body
    raise Absent(reason_of(body) or "cut")


def uuid(text: str, strict: bool = True) -> str:
    if _UUID.fullmatch(text.strip()):
        return text.strip()
    raise Absent("not_shown")


def bus_id(text: str, strict: bool = True) -> str:
    if _BUS.fullmatch(text.strip()):
        return text.strip()
    raise Absent(reason_of(text) or "cut")


def _words(table: dict[str, Any]) -> Convert:
    def convert(text: str, strict: bool = True) -> Any:
        body = text.strip().strip("[]").lower()
        if body in table:
            return table[body]
        raise Absent(reason_of(body) or "cut")

    return convert


yes = _words({"yes": True, "no": False, "1": True, "0": False})
enabled = _words({"enabled": True, "disabled": False, "on": True, "off": False})
compute_mode = _words(
    {
        "default": "default",
        "exclusive_process": "exclusive_process",
        "exclusive process": "exclusive_process",
        "e. process": "exclusive_process",
        "exclusive_thread": "exclusive_process",
        "exclusive thread": "exclusive_process",
        "e. thread": "exclusive_process",
        "prohibited": "prohibited",
    }
)
driver_model = _words({"wddm": "wddm", "tcc": "tcc", "mcdm": "mcdm"})
virtualization = _words(
    {
        "none": "none",
        "pass-through": "passthrough",
        "vgpu": "vgpu",
        "host vgpu": "host_vgpu",
        "host vsga": "host_vsga",
    }
)
recovery_action = _words(
    {
        "none": 0,
        "reset": 1,
        "gpu reset": 1,
        "gpu reset required": 1,
        "reboot": 2,
        "node reboot": 2,
        "drain p2p": 3,
        "drain and reset": 4,
    }
)
fabric_state = _words(
    {
        "not supported": "not_supported",
        "not started": "not_started",
        "in progress": "in_progress",
        "completed": "completed",
    }
)


def reset_required(text: str, strict: bool = True) -> int | None:
    """`Reset Required: Yes` is the recovery action 1; No is left to other lines."""
    if yes(text, strict):
        return 1
    raise Absent("not_shown")


def drain_recommended(text: str, strict: bool = True) -> int | None:
    """`Drain and Reset Recommended: Yes` is the recovery action 4."""
    if yes(text, strict):
        return 4
    raise Absent("not_shown")


def licensed(text: str, strict: bool = True) -> bool:
    """`Licensed (Expiry: …)`, `Unlicensed`, `Unlicensed (Unrestricted)`."""
    body = text.strip().lower()
    if body.startswith("unlicensed"):
        return False
    if body.startswith("licensed"):
        return True
    raise Absent(reason_of(body) or "cut")


def active(text: str, strict: bool = True) -> bool:
    """`Active`, `Not Active`, also with a remark behind."""
    body = text.strip().lower()
    if body.startswith("not active"):
        return False
    if body.startswith("active"):
        return True
    raise Absent(reason_of(body) or "cut")


def mask(text: str, strict: bool = True) -> int:
    body = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{16}", body):
        return int(body, 16)
    raise Absent(reason_of(body) or "cut")


_MONTHS = {
    m: i
    for i, m in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), 1
    )
}
_CTIME = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}"
    r"(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})(?!\d)"
)
_STAMP = re.compile(r"(\d{4})[/-](\d\d)[/-](\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")


def moment(text: str) -> float | None:
    """Unix seconds of `Wed Jun 24 10:17:56 2026` or `2026/06/24 10:17:56.038`, taken as UTC."""
    found = _CTIME.search(text)
    if found:
        month, day, hour, minute, second, year = found.groups()
        return _unix(int(year), _MONTHS[month], int(day), int(hour), int(minute), int(second))
    found = _STAMP.search(text)
    if found:
        parts = [int(part) for part in found.groups()[:6]]
        whole = _unix(*parts)
        return None if whole is None else whole + float(f"0.{found[7] or 0}")
    return None


def _unix(year: int, month: int, day: int, hour: int, minute: int, second: int) -> float | None:
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp()
    except ValueError:
        return None
