"""A node's recent past, kept as running statistics.

`Window.add(snapshot)` folds a snapshot into small float arrays; asking for a mean, a share or a rise over
some span then costs the same whatever the interval or the fleet. Asking for a metric that the samples do
not carry raises `NotMeasured`, which the judge turns into *cannot tell*: rule code needs no `None` checks.

Pure: no I/O, no clock. Times are Unix seconds, spans are seconds.
"""

from gpudiag.window.node import OtherLayout, Window, bus_key
from gpudiag.window.rows import QUIET_PERCENT
from gpudiag.window.subjects import EngineWindow, GpuWindow, HostWindow, ProcessWindow, Subject
from gpudiag.window.tracks import W2, W5, W6H, W7D, W15, W24H, W30, NotMeasured, Stats, Track

__all__ = [
    "QUIET_PERCENT",
    "W2",
    "W5",
    "W6H",
    "W7D",
    "W15",
    "W24H",
    "W30",
    "EngineWindow",
    "GpuWindow",
    "HostWindow",
    "NotMeasured",
    "OtherLayout",
    "ProcessWindow",
    "Stats",
    "Subject",
    "Track",
    "Window",
    "bus_key",
]
