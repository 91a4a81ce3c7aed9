"""Why NVML does not answer: its return codes each a `gpudiag.model.Reason`."""

from __future__ import annotations

import pynvml

from gpudiag.model import Reason

_REASONS: dict[int, Reason] = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not_supported",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "not_supported",  # said of a sensor that is not there
    pynvml.NVML_ERROR_NO_PERMISSION: "no_permission",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "no_permission",  # blocked by the cgroup's device rules
    pynvml.NVML_ERROR_NOT_FOUND: "not_found",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver_not_loaded",
    pynvml.NVML_ERROR_TIMEOUT: "timeout",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "library_not_found",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "function_not_found",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "function_not_found",
    pynvml.NVML_ERROR_GPU_IS_LOST: "gpu_is_lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "reset_required",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "library_mismatch",
}
DEVICE_FAULTS = frozenset({"gpu_is_lost", "reset_required"})
LIBRARY_FAULTS = frozenset({"driver_not_loaded", "library_mismatch", "library_not_found"})
LASTING = frozenset({"not_supported", "no_permission", "function_not_found"})


class Nonsense(Exception):
    """NVML answered something that cannot be."""


CAUGHT = (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError, Nonsense)
"""What one call may end with; the second is no NVMLError: an unversioned call, an old driver."""


class NvmlFault(Exception):
    """NVML as a whole does not answer; `code` is NVML's own number."""

    def __init__(self, reason: Reason, code: int | None = None, detail: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code
        self.detail = detail

    @classmethod
    def of(cls, error: Exception) -> NvmlFault:
        """The fault that an error of pynvml amounts to."""
        return cls(reason_of(error), code_of(error))


class DeviceFault(Exception):
    """One GPU as a whole does not answer: it is lost, or must be reset."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def code_of(error: Exception) -> int | None:
    """NVML's own number for what pynvml raised."""
    code = getattr(error, "value", None)
    return code if isinstance(code, int) else None


def reason_of(error: Exception) -> Reason:
    """The reason for what pynvml raised."""
    if isinstance(error, pynvml.NVMLLibraryMismatchError):
        return "function_not_found"
    if isinstance(error, Nonsense):
        return "nonsense"
    code = code_of(error)
    return "unknown_error" if code is None else reason_of_code(code)


def reason_of_code(code: int) -> Reason:
    """The reason for a return code."""
    return _REASONS.get(code, "unknown_error")
