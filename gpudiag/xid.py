"""NVIDIA's Xid catalogue: what a number means and what it asks for.

The facts are `data/xid_catalog.tsv`; the groups below say which rule speaks of which number. A number that
the catalogue does not have is unknown, and nothing is guessed about it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple


class Xid(NamedTuple):
    """One number: NVIDIA's action codes for at once and for later, and its description."""

    number: int
    immediate: str
    later: str
    description: str


BUS: Final = frozenset({79})
MEMORY: Final = frozenset({48, 94, 95, 140, 171, 172})  # uncorrectable errors; 171 and 172 detail a 48
CONTAINED: Final = frozenset({94})
REMAP: Final = frozenset({63, 64})
NVLINK: Final = frozenset({74, *range(144, 151)})
FIRMWARE: Final = frozenset({119, 120})  # GSP
POWER_CABLE: Final = frozenset({54})
ACTION: Final = frozenset({154})
CORRECTED: Final = frozenset({92})
RESETTING: Final = frozenset({46, 62, 109, 110, 136, 143, 155, 156, 158, 167, 168, 169})
WATCHED: Final = frozenset({78, 121, 142, 151, 157, 159, 165})  # hardware or firmware, and no reset asked
HARDWARE: Final = RESETTING | WATCHED
FIRMWARE_HANDLED: Final = frozenset({37, 38, 43, 44, 45, 66, 67})  # the driver cleans up; the program ended

ROOTS: Final = frozenset({48, 62, 63, 64, 74, 79, 94, 95, 119, 120, 140, *range(144, 151)})
FOLLOWERS: Final = frozenset({13, 31, 43, 45})
FOLLOWS_WITHIN_SECONDS: Final = 60.0
"""13, 31, 43 and 45 so soon after a root are its consequences."""

SERIOUS: Final = BUS | MEMORY | REMAP - {63} | NVLINK | FIRMWARE | POWER_CABLE | RESETTING
"""What must not come back after a repair."""


@cache
def catalogue() -> dict[int, Xid]:
    """Every number that has a meaning, by number."""
    known = {}
    text = files("gpudiag").joinpath("data/xid_catalog.tsv").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        code, unused, immediate, later, description = line.split("\t")
        if code.isdigit() and not unused:
            known[int(code)] = Xid(int(code), immediate, later, description)
    return known


@cache
def of_application() -> frozenset[int]:
    """Numbers whose first suspect is the program: it is to be restarted, or the driver cleaned up."""
    named = BUS | MEMORY | REMAP | NVLINK | FIRMWARE | POWER_CABLE | ACTION | CORRECTED | HARDWARE
    restarts = {n for n, xid in catalogue().items() if xid.immediate == "RESTART_APP"}
    return frozenset((restarts | FIRMWARE_HANDLED) - named)


@cache
def has_a_rule() -> frozenset[int]:
    """Numbers that some rule explains."""
    return (
        BUS | MEMORY | REMAP | NVLINK | FIRMWARE | POWER_CABLE | ACTION | CORRECTED | HARDWARE
    ) | of_application()


def description_of(number: int) -> str:
    """NVIDIA's own words, or the number alone."""
    known = catalogue().get(number)
    return known.description if known else f"Xid {number}"
