"""Pasted output of GPU tools → snapshots: one file per format, told apart by looking.

Reads text only; judges nothing. Face: `read`, `read_machines`, their windows, and `errors.py`. A text's way:
`cleaning.py` undoes what chats and terminals did, `machines.py` tells whose each line is, `readers.py` has
each reader take its lines into sheets (`sheet.py`) and `complaints.py` and its neighbours what programs say,
`series.py` puts the formats together, `assembling.py` makes snapshots, `whole.py` says what is missing.
What cells and fields mean is in `values.py`, `fields.py` and `columns.py`.
To add a format: write a reader that fills `Sheet`s, name the format in `sheet.Format`, and the reader where
`readers.py` asks them in turn.
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
