"""`nvidia-smi mig -lgi`, `-lci`, `-lgip` and `-lcip`: which MIG instances there are, or could be.

    |   0  MIG 3g.40gb          9        2          4:4     |                              -lgi
    |   0      2       MIG 3g.40gb          2         0          0:3     |                 -lci
    |   0  MIG 3g.40gb          9     1/2        39.25      No     42     2     0   |      -lgip

Nothing of it tells how a GPU or an instance is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import MigDevice
from gpudiag.smi.sheet import Draft, Sheet

_TITLE = re.compile(r"\s*\|\s*(?:GPU|Compute) instances?(?: profiles)?:\s*\|\s*")
_INSTANCE = re.compile(r"\s*\|\s+(\d{1,3})\s+MIG (\S{1,30})\s+\d{1,4}\s+(\d{1,4})\s+\d{1,3}:\d{1,3}\s+\|\s*")
_COMPUTE = re.compile(
    r"\s*\|\s+(\d{1,3})\s+(\d{1,4})\s+MIG (\S{1,30})\s+\d{1,4}\s+(\d{1,4})\s+\d{1,3}:\d{1,3}\s+\|\s*"
)
_PROFILE = re.compile(
    r"\s*\|\s+(\d{1,3})\s+(?:\d{1,4}\s+)?MIG \S{1,30}\s+\d{1,4}\*?\s+\d{1,3}/\d{1,3}\s.{0,80}\|\s*"
)


def read_mig(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """The GPUs whose instances or profiles are listed, with their instances."""
    sheet, used, inside = Sheet("mig"), [], False
    for number, line in enumerate(lines):
        if "|" not in line or len(line) > 200:
            inside = inside and (not line or set(line.strip()) <= set("+-"))
            continue
        if _TITLE.fullmatch(line):
            inside = True
        if inside:
            _take(sheet, line)
            used.append(number)
    return ([sheet] if sheet.gpus else []), used


def _take(sheet: Sheet, line: str) -> None:
    """What one row tells; the rows below a heading and the second line of a profile tell nothing."""
    instance, compute, profile = (pattern.fullmatch(line) for pattern in (_INSTANCE, _COMPUTE, _PROFILE))
    row = instance or compute or profile
    if row is None:
        return
    gpu = sheet.gpu_at(int(row[1]))
    gpu.give("mig_mode", True)  # nothing is listed of a GPU without it
    if instance is not None:
        _device(gpu, int(instance[3]), instance[2])
    elif compute is not None:
        _device(gpu, int(compute[2]), compute[3], int(compute[4]))


def _device(gpu: Draft, instance: int, profile: str, compute: int | None = None) -> None:
    """Put in the compute instance, where its GPU instance may already stand without one."""
    for known in gpu.mig:
        if known.gpu_instance == instance and known.compute_instance in (None, compute):
            known.compute_instance = compute
            known.profile = profile
            return
    gpu.mig.append(
        MigDevice(index=len(gpu.mig), gpu_instance=instance, compute_instance=compute, profile=profile)
    )
