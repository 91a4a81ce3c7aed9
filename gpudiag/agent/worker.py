"""The thread that makes the calls into NVML: a sweep over all GPUs every second, a closer look at snapshots.

On a driver that is slow a look takes longer than a snapshot waits. It is made in steps, then, with the sweeps
in between, and a snapshot that is in a hurry gets what is known by then; what is not is a gap, "timeout".
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from typing import Protocol

from gpudiag.agent.clock import Clock
from gpudiag.agent.nvml import Device, Library, NvmlFault, what_is_missing
from gpudiag.agent.samples import put_held, put_samples
from gpudiag.model import Gap, GpuReading, GpuUse, NvmlReading

SILENT_SECONDS = 3.0
PATIENCE_STEP = 0.25
HURRY_SHARE = 0.25  # of the patience, after which a look that goes on is not waited for
ROWS_KEPT = 120
LOOKS_KEPT = 5  # one that was long, alone, is not told
REOPEN_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)


class Harvest:
    """What one snapshot knows of the GPUs."""

    def __init__(self) -> None:
        self.gpus: list[GpuReading] = []
        self.uses: dict[int, list[GpuUse]] = {}  # pid → what it does on each GPU
        self.minors: dict[int, int] = {}  # N of /dev/nvidiaN → GPU index
        self.xids: list[tuple[int | None, int]] = []  # GPU index and Xid, where `listens` is on
        self.gaps: list[Gap] = []
        self.nvml = NvmlReading()
        self.gathered_at = 0.0  # by the clock that never jumps
        self.driver_version: str | None = None
        self.cuda_version: str | None = None


class Wishes(Protocol):
    """What whoever runs the thread wants of it, and waits with; `first_call_seconds` is told back."""

    listens: bool
    first_call_seconds: float | None

    @property
    def released(self) -> bool: ...

    def wait(self, event: threading.Event, seconds: float) -> bool: ...


class Worker:
    """One life of the sampling thread."""

    def __init__(
        self,
        wishes: Wishes,
        clock: Clock,
        period: float,
        stop: threading.Event,
        generation: int,
        before: Worker | None,
    ) -> None:
        self._wishes, self._clock, self._period, self._stop = wishes, clock, period, stop
        self.wake = threading.Event()
        self.abandoned = False
        self._given_up: Device | None = None  # the one whose call made it so
        self._ended = False
        self._ending = threading.Lock()
        self.call: str | None = None
        self._since: float | None = None
        self._still_until = 0.0  # when this process went on that had stood still
        self.busy_with: Device | None = None
        self.library = Library(self._enters)
        self._fault: NvmlFault | None = None
        self._opening = False
        self._attempt = 0
        self._open_at = 0.0
        self._due = 0.0
        self._sweep_began: float | None = None
        self._sweeps: list[float] = []  # how long they took, those since the last harvest
        self._last_sweep: float | None = None
        self._looks: deque[float] = deque(maxlen=LOOKS_KEPT)  # how long the calls of the last ones took
        if before is not None:
            self.library.adopt(before.library)
            self._last_sweep, self._looks = before._last_sweep, before._looks.copy()
        self._xids: list[tuple[int | None, int]] = []
        self._wanted = threading.Event()
        self._hurry_at = 0.0
        self._ready = threading.Event()
        self._found: Harvest | None = None
        self._thread = threading.Thread(target=self._run, name=f"nvml-{generation}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(seconds)

    def abandon(self) -> None:
        """Gives the thread up with its call; the GPU is left alone until the call comes back."""
        with self._ending:
            self.abandoned = True
            if self.busy_with is not None and not self._ended:
                self._given_up = self.busy_with
                self._given_up.hangs = True

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def silent_seconds(self) -> float:
        """How long the call that is being made has not come back; 0 between calls."""
        since = self._since
        return self._clock.monotonic() - max(since, self._still_until) if since is not None else 0.0

    def stood_still(self, began: float) -> None:
        """The whole process did, from then until now: what was asked meanwhile is not the driver's time."""
        self._still_until = self._clock.monotonic()
        stood = self._still_until - began
        self._sweeps = [took for took in self._sweeps if took < stood]
        kept = [took for took in self._looks if took < stood]
        self._looks = deque(kept, maxlen=LOOKS_KEPT)
        if self._last_sweep is not None and self._last_sweep >= stood:
            self._last_sweep = None

    def order(self, patience: float) -> Harvest | None:
        """Asks the thread for a harvest and waits; None when no call comes back for so long."""
        if self._found is None:  # else the answer to the last order came too late, and is still good
            self._ready.clear()
            self._hurry_at = self._clock.monotonic() + HURRY_SHARE * patience
            self._wanted.set()
            self.wake.set()
        until = self._clock.monotonic() + patience
        while not self._wishes.wait(self._ready, PATIENCE_STEP):
            if self.silent_seconds() >= SILENT_SECONDS or self._clock.monotonic() >= until:
                return None
        found, self._found = self._found, None
        if found is not None and found.gathered_at < self._still_until:  # before that was noticed
            found.nvml.sweep_seconds = found.nvml.sweep_seconds_max = found.nvml.look_seconds = None
            self.tell_times(found.nvml)
        return found

    def tell_times(self, nvml: NvmlReading) -> None:
        """Puts in how long the driver takes. Makes no call: what is known of one that hangs is told too."""
        spans, began = self._sweeps.copy(), self._sweep_began
        if not spans:  # none has ended since: the last one, or the one that goes on, if that is longer
            running = self._clock.monotonic() - max(began, self._still_until) if began is not None else 0.0
            longest = max(running, self._last_sweep or 0.0)
            spans = [longest] if longest else []
        if spans:
            nvml.sweep_seconds = round(statistics.median(spans), 6)
            nvml.sweep_seconds_max = round(max(spans), 6)
        if looks := self._looks.copy():
            nvml.look_seconds = round(statistics.median(looks), 6)

    # ---- in the thread

    def _enters(self, call: str) -> None:
        if self.abandoned:
            raise _Abandoned
        now = self._clock.monotonic()
        if self._wanted.is_set() and now >= self._hurry_at and self.library.is_open and not self._opening:
            self._hand_over()
        self.call = call
        self._since = now

    def _run(self) -> None:
        try:
            self._due = self._clock.monotonic()
            while not self._stop.is_set() and not self.abandoned:
                self._sweep_when_due()
                if self._wanted.is_set():
                    self._look()
                if self._wanted.is_set():
                    self._hand_over()
                self._clock.wait(self.wake, self._due - self._clock.monotonic())
                self.wake.clear()
            if not self.abandoned:
                self.library.close()
        except _Abandoned:
            pass
        finally:
            self._since = None
            with self._ending:
                self._ended = True
                if self._given_up is not None:
                    self._given_up.hangs = False  # its call came back: it may be asked again

    # ---- sweeps

    def _sweep_when_due(self) -> None:
        start = self._clock.monotonic()
        if start >= self._due - 0.001:
            self._sweep()
            end = self._clock.monotonic()
            self._due = max(self._due + self._period, end + (end - start))  # half of the time is for the rest

    def _sweep(self) -> None:
        """One row of fast values from every GPU."""
        if not self._have_driver():
            return
        start = self._sweep_began = self._clock.monotonic()
        try:
            for device in self.library.devices:
                if not device.hangs:
                    self._sample(device)
        except NvmlFault as fault:
            self._lose(fault)
        except _Abandoned:
            raise
        except Exception as error:  # the watcher must outlive whatever the driver's answers do to it
            self._lose(_surprise(error))
        self._sweep_began = None
        self._rests()
        if self._still_until > start:
            return  # how long it took is not known
        self._last_sweep = self._clock.monotonic() - start
        self._sweeps.append(self._last_sweep)
        del self._sweeps[:-ROWS_KEPT]

    def _sample(self, device: Device) -> None:
        self.busy_with = device
        start = self._clock.monotonic()
        row = self.library.sample(device, self._clock.time())
        if self.abandoned:
            raise _Abandoned
        device.sample_seconds = self._clock.monotonic() - start
        if row is not None:
            device.rows.append((start, row))
            del device.rows[:-ROWS_KEPT]

    # ---- opening and losing NVML

    def _have_driver(self) -> bool:
        now = self._clock.monotonic()
        if self._wishes.released:
            self.library.close()
            self._rests()
            return False
        if self.library.is_open:
            return True
        if now < self._open_at:
            return False
        self._opening = True
        try:
            self.library.open()
        except NvmlFault as fault:
            self._lose(fault)
            return False
        finally:
            self._opening = False
        took = self._clock.monotonic() - now
        if self._wishes.first_call_seconds is None:
            self._wishes.first_call_seconds = took
        self._fault, self._attempt = None, 0
        self._rests()
        return True

    def _lose(self, fault: NvmlFault) -> None:
        """Closes NVML and plans the next try, ever more rarely."""
        self._fault = fault
        self.library.close()
        self._open_at = self._clock.monotonic() + REOPEN_SECONDS[min(self._attempt, len(REOPEN_SECONDS) - 1)]
        self._attempt += 1
        self._rests()

    def _rests(self) -> None:
        """No call is being made."""
        self.busy_with = None
        self._since = None

    # ---- looks

    def _look(self) -> None:
        """Everything but the fast values, of all GPUs; what must not wait is done between two calls."""
        if not self._have_driver():
            return
        try:
            if self.library.count_changed():
                self.library.find_devices()
                self._sweeps.clear()
            if not self._sweeps:
                self._sweep()  # asked twice within a second, or GPUs are new: none goes without a sample
            self._ask_all()
            if not self.library.is_open:
                return
            if self._wishes.listens:
                self._xids += self.library.events()
        except _Abandoned:
            raise
        except Exception as error:
            self._lose(error if isinstance(error, NvmlFault) else _surprise(error))
        self._rests()

    def _ask_all(self) -> None:
        """Every call of a look, until NVML is lost; the sweeps in between do not count as its time."""
        took, begun = 0.0, self._clock.monotonic()
        since = begun
        for device in self.library.look(self._clock):
            took += self._clock.monotonic() - since
            self._sweep_when_due()
            if not self.library.is_open:
                return
            self.busy_with, since = device, self._clock.monotonic()
        if self._still_until > begun:
            return  # how long it took is not known
        if not any(device.hangs for device in self.library.devices):  # else it was only a part of a look
            self._looks.append(took + self._clock.monotonic() - since)

    # ---- handing over

    def _hand_over(self) -> None:
        self._wanted.clear()
        self._found = self._gather()
        self._ready.set()

    def _gather(self) -> Harvest:
        """What is known at this moment. Makes no call."""
        found = Harvest()
        found.gathered_at = self._clock.monotonic()
        self.tell_times(found.nvml)
        self._sweeps = []
        for device in self.library.devices:
            _tell(device, found, self._clock.monotonic())
        found.xids, self._xids = self._xids, []
        if self._fault is not None and not self.library.is_open:
            found.nvml.error, found.nvml.error_code = self._fault.reason, self._fault.code
            gap = Gap(subject="node", metric="nvml", reason=self._fault.reason, detail=self._fault.detail)
            found.gaps.append(gap)
        return found


def _tell(device: Device, found: Harvest, now: float) -> None:
    """Puts one GPU into the harvest."""
    subject = f"gpu:{device.index}"
    if device.minor is not None:
        found.minors[device.minor] = device.index
    reading = device.reading()
    found.gpus.append(reading)
    missing: dict[str, str] = {**what_is_missing(device, now)}
    rows, device.rows = device.rows, device.rows[-1:]
    if reading.error is not None:
        missing["*"] = reading.error
    else:
        if len(rows) > device.harvested:
            put_samples(reading, rows, missing, first_is_old=device.harvested)
        else:
            put_held(reading, rows, missing, now)
        for pid, use in (device.uses or {}).items():
            found.uses.setdefault(pid, []).append(use)
    device.harvested = bool(device.rows)
    found.gaps += [Gap(subject=subject, metric=field, reason=why) for field, why in missing.items()]


class _Abandoned(Exception):
    """This thread was given up while it hung; what it brings back is too late."""


def _surprise(error: Exception) -> NvmlFault:
    return NvmlFault("unknown_error", detail=f"{type(error).__name__}: {error}"[:200])
