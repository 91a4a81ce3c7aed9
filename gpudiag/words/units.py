"""How a value reads: the unit stands at the end of its name.

memory_used_bytes 80747692032 → "75.2 GiB"      utilization_percent 0.0 → "0 %"
quiet_ratio 0.97 → "97 %"                       window 300 → "5 min"
persistence_mode False → "off"                  reads_kernel_log False → "no"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from gpudiag.words.foreign import plain

_UNITS = (  # suffix of the name → unit in JSON
    ("_bytes_per_second", "bytes_per_second"),
    ("_tokens_per_second", "tokens_per_second"),
    ("_per_second", "per_second"),
    ("_per_day", "per_day"),
    ("_bytes", "bytes"),
    ("_seconds", "seconds"),
    ("_nanoseconds", "nanoseconds"),
    ("_watts", "watts"),
    ("_celsius", "celsius"),
    ("_megahertz", "megahertz"),
    ("_gigabits_per_second", "gigabits_per_second"),
    ("_ratio", "ratio"),
    ("_share", "ratio"),
    ("_percent", "percent"),
    ("_at", "time"),
)

UNKNOWN = "–"
NOBODY = "-"
"""The owner of a process where none is shown, as in a pasted table."""
WORDS = {
    "en": {
        "s": "s",
        "min": "min",
        "h": "h",
        "d": "d",
        "yes": "yes",
        "no": "no",
        "on": "on",
        "off": "off",
        "nobody": "unknown owner",
    },
    "ko": {
        "s": "초",
        "min": "분",
        "h": "시간",
        "d": "일",
        "yes": "예",
        "no": "아니요",
        "on": "켜짐",
        "off": "꺼짐",
        "nobody": "미확인",
    },
}


TAILS = {
    "watts": " W",
    "celsius": " °C",
    "megahertz": " MHz",
    "tokens_per_second": " tokens/s",
    "per_second": "/s",
    "per_day": "/d",
    "gigabits_per_second": " Gbit/s",
}
SPANS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
SPACE = {"en": " ", "ko": ""}  # between a number and a unit of time
BINARY = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
DECIMAL = {"GB": 10**9, "MB": 10**6, "kB": 10**3, "B": 1}


@lru_cache(maxsize=1024)
def unit_of(name: str) -> str | None:
    """The unit that a name carries, or None for counts, states and text."""
    return next((unit for suffix, unit in _UNITS if name.endswith(suffix)), None)


def show(name: str, value: Any, language: str = "en") -> str:
    """One value as people read it."""
    if isinstance(value, bool):
        yes, no = ("on", "off") if _is_mode(name) else ("yes", "no")
        return WORDS[language][yes if value else no]
    if name == "owner" and value == NOBODY:
        return WORDS[language]["nobody"]
    if isinstance(value, str):
        return plain(value)
    unit = unit_of(name)
    if unit == "bytes":
        return size(value)
    if unit == "bytes_per_second":
        return f"{size(value)}/s"
    if unit == "ratio":
        return percent(100 * value)
    if unit == "percent":
        return percent(value)
    if unit == "seconds":
        return duration(value, language)
    if unit == "nanoseconds":
        return duration(value / 1e9, language)
    if unit == "time":
        return moment(value)
    return f"{number(value)}{TAILS.get(unit or '', '')}"


def exactly(name: str, value: Any, language: str = "en") -> str:
    """A threshold as people read it, without rounding: the largest unit of its kind that it fills.

    min_used_bytes 314572800 → "300 MiB"       min_counted_ratio 0.017 → "1.7 %"
    max_age_seconds 5400.0 → "90 min"          min_read_rate 50000000.0 → "50 MB/s"
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return show(name, value, language)
    unit = "bytes_per_second" if name.endswith("_rate") else unit_of(name)
    if unit in ("bytes", "bytes_per_second"):
        scale = BINARY if unit == "bytes" or value % 1024 == 0 else DECIMAL
        return _largest(value, scale, " ") + ("/s" if unit == "bytes_per_second" else "")
    if unit == "seconds":
        names = WORDS[language]
        return _largest(value, {names[name]: length for name, length in SPANS}, SPACE[language])
    if unit in ("ratio", "percent"):
        return f"{_plain_number(100 * value if unit == 'ratio' else value)} %"
    return f"{_plain_number(value)}{TAILS.get(unit or '', '')}"


def _largest(value: float, scale: Mapping[str, int], space: str) -> str:
    """The value in the first unit that divides it; in the last one where none does."""
    *_, smallest = scale
    unit = next((name for name, size in scale.items() if value and value % size == 0), smallest)
    return f"{_plain_number(value / scale[unit])}{space}{unit}"


def _plain_number(value: float) -> str:
    """`3`, `0.5`, `1,000`: without an exponent, and without what binary fractions leave behind."""
    return f"{round(value, 9):,.9f}".rstrip("0").rstrip(".")


def _is_mode(name: str) -> bool:
    """Whether a yes or no is about something that is switched: `ecc_mode`, `mig_mode_pending`."""
    return name.removesuffix("_pending").endswith("_mode")


def size(value: float) -> str:
    """Bytes in GiB, MiB or KiB (2^30, 2^20, 2^10): `1,440.0 GiB`, `300 MiB`, `68.6 KiB`.

    Never in TiB: what is large is compared with cards, which are told in GiB.
    """
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if abs(value) >= factor:
            amount = value / factor
            rough = unit != "GiB" and (abs(amount) >= 100 or float(f"{amount:.1f}").is_integer())
            return f"{amount:,.0f} {unit}" if rough else f"{amount:,.1f} {unit}"
    return f"{value:,.0f} B"


def held(used: float | None, total: float | None, unknown: str = UNKNOWN) -> str:
    """Memory held of the whole: `74.0 / 79.6 GiB`."""
    if used is None and total is None:
        return unknown
    part, whole = (unknown if value is None else size(value) for value in (used, total))
    return f"{part.removesuffix(' GiB') if whole.endswith(' GiB') else part} / {whole}"


def percent(value: float) -> str:
    """Whole percent; below one, a decimal, so that little is not shown as nothing."""
    if 0 < abs(value) < 0.05:
        return "< 0.1 %"
    if 0 < abs(value) < 1:
        return f"{value:.1f} %"
    return f"{value:.0f} %"


def number(value: float) -> str:
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:.3g}"


def duration(seconds: float, language: str = "en") -> str:
    """`40 s`, `5 min`, `1 h 20 min`, `3 d 4 h`: the two largest units that are not zero."""
    words = WORDS[language]
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    left = round(seconds)
    parts = []
    for unit, length in SPANS:
        amount, left = divmod(left, length)
        if amount:
            parts.append(f"{amount}{SPACE[language]}{words[unit]}")
        if len(parts) == 2 or (parts and unit == "min" and len(parts) == 1 and seconds >= 600):
            break
    return " ".join(parts) or f"0{SPACE[language]}{words['s']}"


def age(seconds: float, language: str = "en") -> str:
    """How old something is, in whole seconds: a report of just now is `0 s` old, whatever the clocks say."""
    return _whole_span(max(0, round(seconds)), language)


@lru_cache(maxsize=4096)  # a fleet's list tells the same few for every node
def _whole_span(seconds: int, language: str) -> str:
    return duration(seconds, language)


def runs(numbers: Iterable[int]) -> str:
    """`0-3, 5`: runs of numbers written short."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in found)


def moment(at: float) -> str:
    """A Unix time in UTC, to the second; "?" where no calendar has it."""
    if not 0 <= at < 1e11:
        return "?"
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
