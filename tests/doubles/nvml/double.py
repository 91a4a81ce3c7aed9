"""The face of the double: a machine with GPUs, in domain words, whose state lies in a mapped file."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from . import build, layout
from .codes import DRIVER_NOT_LOADED, LIBRARY_MISMATCH, SUCCESS, XID_CRITICAL_ERROR, number_of
from .gpu import Gpu
from .models import MODELS, Model

_FUTEX_WAKE = 1
_SYS_FUTEX = {"x86_64": 202, "aarch64": 98}


class Nvml:
    """A machine with NVIDIA GPUs, as the driver's library shows it.

    `hidden`: functions that this driver's library does not have (an old driver).
    """

    def __init__(
        self,
        gpus: int = 1,
        model: str | Model = "H100",
        *,
        driver_version: str = "575.57.08",
        hidden: Iterable[str] = (),
    ) -> None:
        board = MODELS[model] if isinstance(model, str) else model
        self._hidden = frozenset(hidden)
        self._folder = tempfile.TemporaryDirectory(prefix="nvml-double-")
        self.state_file = Path(self._folder.name) / "state"
        size = ctypes.sizeof(layout.State)
        self.state_file.write_bytes(bytes(size))
        with self.state_file.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), size)
        self.state = layout.State.from_buffer(self._memory)
        self.state.size = size
        self.state.driver_version = driver_version.encode()
        self.state.nvml_version = f"12.{driver_version}".encode()
        self.state.cuda_version = 12090
        self.state.gpu_count = gpus
        for index in range(gpus):
            Gpu(self, index)._comes_up(board)
        self.state.magic = layout.MAGIC

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets every waiting call go. Libraries that have the state mapped keep their mapping."""
        self.state.closed = 1
        self._wake()
        self._folder.cleanup()

    @property
    def library(self) -> Path:
        """The built libnvidia-ml.so.1."""
        return build.library(self._hidden)

    def environment(self, base: Mapping[str, str] | None = None) -> dict[str, str]:
        """Environment in which a new process finds this machine."""
        environment = dict(os.environ if base is None else base)
        before = environment.get("LD_LIBRARY_PATH")
        folder = str(self.library.parent)
        environment["LD_LIBRARY_PATH"] = f"{folder}:{before}" if before else folder
        environment["NVML_DOUBLE_STATE"] = str(self.state_file)
        return environment

    def load(self) -> Self:
        """Makes this the machine of the present process: what is loaded by its soname next finds it.

        A process holds one library for good, so `hidden` needs a new process.
        """
        if self._hidden:
            raise ValueError("a library with hidden functions needs a new process: use environment()")
        library = ctypes.CDLL(str(self.library), mode=ctypes.RTLD_GLOBAL)
        if library.nvml_double_open(str(self.state_file).encode()) != 0:
            raise OSError(f"the double could not map {self.state_file}")
        return self

    def gpu(self, index: int) -> Gpu:
        """The GPU with this number."""
        return Gpu(self, index)

    @property
    def gpus(self) -> list[Gpu]:
        """All GPUs, those that fell away included."""
        return [Gpu(self, index) for index in range(self.state.gpu_count)]

    def call(self, function: str = "*", *, gpu: int = layout.ANY) -> Call:
        """The calls of one function (or all), on one GPU (or all), to be made slow or to fail."""
        return Call(self, function, gpu)

    def calls(self, function: str = "*") -> int:
        """How often a function (or any) was called so far, by all processes."""
        if function == "*":
            return sum(self.state.calls)
        return int(self.state.calls[number_of(function)])

    def is_well_again(self) -> None:
        """Ends every failure and every delay; waiting calls go on."""
        for rule in self.state.rules:
            rule.active = 0
        self.state.rule_count = 0
        self.state.system_failure = SUCCESS
        self.state.told_gpus = 0
        for gpu in self.gpus:
            gpu.state.failure = SUCCESS
        self._wake()

    def driver_is_unloaded(self) -> None:
        """Every call answers that the driver is not loaded."""
        self.state.system_failure = DRIVER_NOT_LOADED
        self._wake()

    def driver_was_updated(self) -> None:
        """The library on disk is newer than the running kernel module."""
        self.state.system_failure = LIBRARY_MISMATCH
        self._wake()

    def fails_with(self, code: int) -> None:
        """Every call answers with this code."""
        self.state.system_failure = code
        self._wake()

    def claims_gpus(self, count: int) -> None:
        """Counts so many GPUs, which it has not; 0 ends it."""
        self.state.told_gpus = count

    def clock_is(self, seconds: float) -> None:
        """Sets the clock of the driver's time stamps; 0 gives it back to the real one."""
        self.state.now_us = round(seconds * 1e6)

    def reports_xid(self, gpu: int, xid: int) -> None:
        """An Xid critical error event for all who wait for one."""
        event = self.state.events[self.state.event_count % layout.EVENTS]
        event.gpu, event.type, event.data = gpu, XID_CRITICAL_ERROR, xid
        event.gpu_instance = event.compute_instance = layout.NO_INSTANCE
        self.state.event_count += 1
        self._wake()

    def _wake(self) -> None:
        self.state.wake = (self.state.wake + 1) % 2**32
        word = ctypes.addressof(self.state) + layout.State.wake.offset
        libc = ctypes.CDLL(None, use_errno=True)
        libc.syscall(
            _SYS_FUTEX[os.uname().machine], ctypes.c_void_p(word), _FUTEX_WAKE, 2**31 - 1, None, None, 0
        )


class Call:
    """Calls that tests make slow or let fail: `nvml.call("nvmlDeviceGetPowerUsage", gpu=2).hangs()`."""

    def __init__(self, nvml: Nvml, function: str, gpu: int) -> None:
        self._nvml = nvml
        self._function = layout.ANY if function == "*" else number_of(function)
        self._gpu = gpu
        self._after = 0

    def after(self, calls: int) -> Self:
        """Lets so many calls through first."""
        self._after = calls
        return self

    def hangs(self) -> Self:
        """Never comes back, until `answers_again` or the end of the block."""
        return self.takes(math.inf)

    def takes(self, seconds: float) -> Self:
        """Answers only after so long."""
        return self._rule(delay_seconds=seconds)

    def fails(self, code: int) -> Self:
        """Answers with a return code."""
        return self._rule(code=code)

    def answers_again(self) -> Self:
        """Ends what was set for these calls; those that wait go on."""
        for rule in self._nvml.state.rules[: self._nvml.state.rule_count]:
            if (rule.function, rule.gpu) == (self._function, self._gpu):
                rule.active = 0
        self._nvml._wake()
        return self

    def _rule(self, *, delay_seconds: float = 0.0, code: int = layout.NO_CODE) -> Self:
        state = self._nvml.state
        rule = next((rule for rule in state.rules if not rule.active), None)
        if rule is None:
            raise ValueError(f"the double holds {layout.RULES} rules at most")
        rule.function, rule.gpu, rule.code = self._function, self._gpu, code
        rule.after_calls, rule.matched, rule.delay_seconds = self._after, 0, delay_seconds
        rule.active = 1
        place = (ctypes.addressof(rule) - ctypes.addressof(state.rules)) // ctypes.sizeof(layout.Rule)
        state.rule_count = max(state.rule_count, place + 1)
        self._nvml._wake()
        return self
