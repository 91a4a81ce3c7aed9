"""Situations of post-mortem-sample and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window


def _after_oom() -> Window:
    return sample(shown(), hints=["out_of_memory", "aborted"])


def _after_a_hang() -> Window:
    return sample(shown(), shown(1), hints=["hung"])


def _still_full() -> Window:
    return sample(shown(memory_used_bytes=20 * GIB), hints=["out_of_memory"])


def _unread() -> Window:
    return sample(shown(memory_used_bytes=None), hints=["out_of_memory"])


CASES = [
    Case("out of memory, and an empty table", _after_oom, "fires", gpu=None, variant="out-of-memory"),
    Case("a collective timed out, and the table is at rest", _after_a_hang, "fires", gpu=None),
    Case("the memory is still held: the table shows it", _still_full, "clear", gpu=None),
    Case("the memory is not shown", _unread, "clear", gpu=None),
    Case("no failure in the text", lambda: sample(shown()), "clear", gpu=None),
]  # fmt: skip
