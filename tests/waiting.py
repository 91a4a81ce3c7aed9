"""Waiting for a state, however long a busy machine takes to come to it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

State = TypeVar("State")

PATIENCE_SECONDS = 60.0


def until(come: Callable[[], State | None], seconds: float = PATIENCE_SECONDS) -> State:
    """What `come` returns, as soon as it is true; a state that never comes fails the test."""
    deadline = time.monotonic() + seconds
    while not (state := come()):
        assert time.monotonic() < deadline, f"it did not come in {seconds:.0f} s: {state!r}"
        time.sleep(0.02)
    return state
