"""What a command says that failed without a sentence of its own: the system refused something, or a bug."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

from gpudiag.errors import GpudiagError
from gpudiag.words.refusals import Refusal


class Failed(Refusal):
    """Nothing was found out: a scheduler or monitor reads the exit code as unknown."""

    exit_code = 3


def named(error: Exception) -> GpudiagError:
    """The error with its sentence; a developer's Python (`PYTHONDEVMODE=1`) shows the traceback, too."""
    if isinstance(error, GpudiagError):
        return error
    if sys.flags.dev_mode:
        traceback.print_exception(error)
    if isinstance(error, OSError):
        return Failed("system-refused", where=error.filename or "stdout", reason=error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(where.filename).name}, line {where.lineno}"
    return Failed("bug", error=" ".join(f"{type(error).__name__}: {error}".split()), place=place)
