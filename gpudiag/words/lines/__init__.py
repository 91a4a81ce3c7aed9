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


class Line(NamedTuple):
    """What is said of one kind of line."""

    headline: str
    next_step: str


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
