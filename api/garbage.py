"""Python's collector of cycles, tuned for a process that holds a fleet: every answer waits while it walks.

A fleet's windows are a million lists and dictionaries that live on, and judging makes no cycles: what it
drops is free at once. So the collector only looks when something piles up, as windows do while they are
built, and once in ten minutes; what it found alive is never looked at again. To look sooner costs as much
each time: whatever reports have replaced since is new to it.
"""

from __future__ import annotations

import gc

PILED_UP, NEVER = 100_000, 1_000_000
SETTLE_SECONDS = 600.0


def tune() -> None:
    """Leave out what was loaded so far, and never look at everything."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(PILED_UP, NEVER, NEVER)


def leave_out() -> None:
    """Where the collector looked since this was asked last: what it found alive will live on."""
    if gc.get_count()[1] > 0:
        gc.freeze()


def settle() -> None:
    """Collect what came since the last time, and leave out what is still there."""
    gc.collect()
    gc.freeze()
