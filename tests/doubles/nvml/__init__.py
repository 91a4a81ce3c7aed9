"""A stand-in for the NVIDIA driver's libnvidia-ml.so.1, under the real and unmodified nvidia-ml-py.

    with Nvml(gpus=8, model="H100") as nvml:
        nvml.gpu(3).is_lost()
        nvml.call("nvmlDeviceGetPowerUsage").hangs()
        subprocess.run([...], env=nvml.environment())

Changes are seen at once by every process that has it loaded; leaving the block lets hanging calls go.
To add a function: write it in nvml.c; nvml.h tells its prototype, and build.py drops its stand-in.
"""

from .double import Call, Nvml
from .gpu import Gpu, MigSlice
from .models import GIB, MIB, MODELS, Model

__all__ = ["GIB", "MIB", "MODELS", "Call", "Gpu", "MigSlice", "Model", "Nvml"]
