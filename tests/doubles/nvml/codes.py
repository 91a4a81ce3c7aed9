"""NVML's numbers that the double names: return codes, event kinds, functions."""

from __future__ import annotations

from . import build

SUCCESS, NOT_SUPPORTED, NO_PERMISSION, DRIVER_NOT_LOADED = 0, 3, 4, 9
GPU_IS_LOST, RESET_REQUIRED, LIBRARY_MISMATCH = 15, 16, 18
XID_CRITICAL_ERROR = 0x8


def number_of(function: str) -> int:
    """The double's number of an NVML function; raises ValueError with names like it."""
    try:
        return build.functions().index(function)
    except ValueError:
        near = [name for name in build.functions() if name.startswith(function)]
        raise ValueError(f"nvml.h declares no {function}; near: {', '.join(near) or 'nothing'}") from None
