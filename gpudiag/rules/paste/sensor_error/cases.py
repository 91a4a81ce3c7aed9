"""Situations of sensor-error and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.pastes import sample, shown
from gpudiag.window import Window


def _fan() -> Window:
    return sample(shown(fan_percent=None), gaps={"gpu:0": {"fan_percent": "unknown_error"}})


def _power() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": "unknown_error"}})


def _power_not_supported() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": "not_supported"}})


def _all_cells() -> Window:
    reading = shown(
        error="unknown_error",
        memory_used_bytes=None,
        utilization_percent=None,
        temperature_celsius=None,
        power_watts=None,
        pstate=None,
        fan_percent=None,
    )
    failed = dict.fromkeys(
        ("utilization_percent", "temperature_celsius", "power_watts", "pstate"), "unknown_error"
    )
    return sample(reading, gaps={"gpu:0": failed})


def _several(*failed: str, **valid: Any) -> Window:
    reading = shown(**{**dict.fromkeys(failed), **valid})
    return sample(reading, gaps={"gpu:0": dict.fromkeys(failed, "unknown_error")})


def _older_driver() -> Window:
    unknown = ("encoder_sessions", "row_remap_pending", "fabric_state", "gsp_firmware")
    return sample(shown(), gaps={"gpu:0": dict.fromkeys(unknown, "unknown_error")})


CASES = [
    Case("the fan reads ERR!", _fan, "fires", severity="info", variant="fan"),
    Case("the power reads ERR!", _power, "fires", confidence="proven"),
    Case(
        "fan, temperature and power read ERR! beside a valid load",
        lambda: _several("fan_percent", "temperature_celsius", "power_watts", utilization_percent=97.0),
        "fires",
        severity="warning",
        variant="several",
    ),
    Case(
        "only the memory is still read",
        lambda: _several("utilization_percent", "power_watts", "temperature_celsius", pstate=None),
        "fires",
        variant="several",
    ),
    Case("the power is N/A: not an error", _power_not_supported, "clear"),
    Case("every cell reads ERR!: a lost GPU", _all_cells, "clear"),
    Case("values that an older driver does not know", _older_driver, "clear"),
    Case("all cells are valid", lambda: sample(shown()), "clear"),
]
