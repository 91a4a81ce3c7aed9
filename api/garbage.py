"""Python's collector of cycles, tuned for a process that holds a fleet: every answer waits while it walks.

A fleet's windows are a million lists and dictionaries that live on. What is new is looked at in small
portions; what has lived for ten minutes is looked at once, and then never again.
"""

from __future__ import annotations

import gc

YOUNG, MIDDLE, NEVER = 2_000, 5, 1_000_000
SETTLE_SECONDS = 600.0


def tune() -> None:
    """Leave out what was loaded so far, and never look at everything."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, NEVER)


def settle() -> None:
    """Collect what came since the last time, and leave out what is still there."""
    gc.collect()
    gc.freeze()
