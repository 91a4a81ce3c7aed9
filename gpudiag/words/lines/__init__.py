"""Lines that tell little: what is said where one of them is all that was pasted.

en.md and ko.md have a section for each kind (of `gpudiag.smi.complaints`, or of a kernel event):

    # command_not_found: cannot tell: the shell does not find nvidia-smi        the verdict's headline
    Next: where the driver is installed, …                                      what to do, and why
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from gpudiag.words import Language

CONSEQUENCES = ("collective_timeout", "collective_failed", "engine_dead", "slurm_drained")
"""Kinds that come of another one: they are told only where the text has no other."""
LAST = ("pod_crash_loop", "pod_pending", "pod_probe", "slurm_waiting")
"""Kinds of which another line may have the reason."""
NO_NEWS = ("command_not_found", "tests_passed", "health_not_watched")
"""Kinds that say nothing more where the text shows GPUs as well."""


class Line(NamedTuple):
    """What is said of one kind of line."""

    headline: str
    next_step: str

    @property
    def beside(self) -> str:
        """The same as a note beside another answer: what was read, without what cannot be told of it."""
        _, _, told = self.headline.partition(": ")
        return f"{told[:1].upper()}{told[1:]}. {self.next_step}"


@cache
def lines(language: Language) -> dict[str, Line]:
    """What is said of each kind that is known to tell little."""
    page = files(__name__).joinpath(f"{language}.md").read_text("utf-8")
    found = {}
    for section in page.removeprefix("# ").split("\n# "):
        title, _, next_step = section.partition("\n\n")
        kind, _, headline = title.partition(": ")
        found[kind] = Line(headline, next_step.strip())
    return found
