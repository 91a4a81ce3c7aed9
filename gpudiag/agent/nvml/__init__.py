"""What NVML tells, as readings: the only part that imports pynvml.

`library.py` opens NVML and finds its GPUs; `device.py` is what is kept of each. `fast.py` is asked every
second, `slow.py` at snapshots, by the tables of `metrics.py`; `extras.py` holds what takes more than one
call, `processes.py` who uses a GPU.
Every call goes through `calls.py`, which announces it first: it may hang in the driver.

To add a metric: a field in `gpudiag/model/gpu.py` with its unit, and a row in `metrics.py`.
"""

from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.faults import NvmlFault
from gpudiag.agent.nvml.library import Library
from gpudiag.agent.nvml.slow import what_is_missing

__all__ = ["Device", "Library", "NvmlFault", "what_is_missing"]
