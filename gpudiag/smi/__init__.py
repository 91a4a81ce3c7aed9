"""Pasted output of GPU tools → snapshots: one file per format, told apart by looking.

Reads text only; judges nothing. Face: `read`, `read_machines`, their windows, and `errors.py`. Readers fill
sheets, `series.py` puts the formats of a text together, `assembling.py` makes snapshots of them.
To add a format: write a reader that fills `Sheet`s, name the format in `sheet.FORMATS`, and have `reading.py`
give it the lines that are left.
"""

from __future__ import annotations

from gpudiag.smi.errors import NothingOfAGpu, NothingPasted, NotText, RefusedXml, TooLarge
from gpudiag.smi.reading import Reading, read, read_machines, window_of, window_of_reading

__all__ = [
    "NotText",
    "NothingOfAGpu",
    "NothingPasted",
    "Reading",
    "RefusedXml",
    "TooLarge",
    "read",
    "read_machines",
    "window_of",
    "window_of_reading",
]
