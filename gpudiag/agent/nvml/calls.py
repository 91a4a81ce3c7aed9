"""Calls into NVML, by name: each is announced before it is made, for it may never come back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pynvml

from gpudiag.agent.nvml.faults import CAUGHT, Nonsense

ROOM = 64  # entries offered to a list at the first try
MOST_ENTRIES = 16_384  # of one list: a driver that tells of more talks nonsense


class Calls:
    """NVML as it is called. `announce` hears the name of each call; it may raise, to give up."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce

    def make(self, call: str, *arguments: Any) -> Any:
        """The answer; raises one of CAUGHT, or AttributeError where these bindings are too old."""
        self._announce(call)
        try:
            return getattr(pynvml, call)(*arguments)
        except UnicodeDecodeError:
            raise Nonsense(f"{call}: a text that is none") from None

    def ask(self, call: str, *arguments: Any) -> Any:
        """The answer, or None where there is none for whatever reason."""
        try:
            return self.make(call, *arguments)
        except (*CAUGHT, AttributeError):
            return None

    def fill(self, call: str, *arguments: Any) -> None:
        """Makes the call as C does, for what pynvml wraps otherwise; raises NVMLError for its return code."""
        self._announce(call)
        code = pynvml._nvmlGetFunctionPointer(call)(*arguments)
        if code != pynvml.NVML_SUCCESS:
            raise pynvml.NVMLError(code)

    def entries(self, entry: type[Any], fill: Callable[[Any, Any], None], room: int = ROOM) -> list[Any]:
        """A list whose length the driver tells. `fill` gets the count by reference and room for so many.

        With `room` 0 the driver is asked for the length first. pynvml makes room for as many as the driver
        says; here a length beyond reason is Nonsense and costs no memory.
        """
        while room <= MOST_ENTRIES:
            count, place = ctypes.c_uint(room), (entry * room)() if room else None
            try:
                fill(ctypes.byref(count), place)
            except pynvml.NVMLError_InsufficientSize:
                room = max(2 * room, count.value + 8)  # and some that come in between
                continue
            if place is not None or not count.value:
                return place[: min(count.value, room)] if place is not None else []
            room = count.value
        raise Nonsense(f"a list of {room} entries")
