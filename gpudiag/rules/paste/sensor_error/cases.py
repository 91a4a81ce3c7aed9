"""Situations of sensor-error and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.paste.sample import sample, shown
from gpudiag.window import Window


def _fan() -> Window:
    return sample(shown(fan_percent=None), gaps={"gpu:0": {"fan_percent": "unknown_error"}})


def _power() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": "unknown_error"}})


def _power_not_supported() -> Window:
    return sample(shown(power_watts=None), gaps={"gpu:0": {"power_watts": "not_supported"}})


def _all_cells() -> Window:
    reading = shown(
        utilization_percent=None, temperature_celsius=None, power_watts=None, pstate=None, fan_percent=None
    )
    failed = dict.fromkeys(
        ("utilization_percent", "temperature_celsius", "power_watts", "pstate"), "unknown_error"
    )
    return sample(reading, gaps={"gpu:0": failed})


CASES = [
    Case("the fan reads ERR!", _fan, "fires", severity="info", variant="fan"),
    Case("the power reads ERR!", _power, "fires", confidence="proven"),
    Case("the power is N/A: not an error", _power_not_supported, "clear"),
    Case("every cell reads ERR!: a lost GPU", _all_cells, "clear"),
    Case("all cells are valid", lambda: sample(shown()), "clear"),
]
