"""Asks NVML once a second, in a thread of its own that may hang without stopping anything else.

A call into the driver cannot be interrupted. So one thread makes the calls, and who wants a snapshot waits
for it only so long. A call that has not returned after `GIVE_UP_SECONDS` is abandoned with its thread: a
new thread goes on with the other GPUs, and the stuck GPU is left alone until its call comes back.
At most `MOST_ABANDONED` threads are given up like that; then NVML is reported silent until one returns.
"""

from __future__ import annotations

import statistics
import threading

from gpudiag.agent.clock import Clock
from gpudiag.agent.nvml import Device, Library, NvmlFault
from gpudiag.agent.samples import put_samples
from gpudiag.model import Gap, GpuReading, GpuUse, NvmlReading

GIVE_UP_SECONDS = 10.0
GIVE_UP_OPENING_SECONDS = 90.0  # without persistence mode the first client waits seconds for each GPU
OPENING = ("nvmlInit", "nvmlDeviceGetHandleByIndex")
SILENT_SECONDS = 3.0
PATIENCE_STEP = 0.25
MOST_ABANDONED = 3
ROWS_KEPT = 120
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
        self.driver_version: str | None = None
        self.cuda_version: str | None = None


class Sampler:
    """One thread that sweeps over the GPUs; `harvest` gives what was gathered since the last time."""

    def __init__(self, clock: Clock, *, period: float = 1.0) -> None:
        self._clock = clock
        self._period = period
        self._stop = threading.Event()
        self._lock = threading.Lock()  # guards the hand-over only; never held during a call into NVML
        self._generation = 0
        self._abandoned: list[_Worker] = []
        self._identities: dict[int, GpuReading] = {}
        self._last: Harvest | None = None
        self.first_call_seconds: float | None = None
        self.released_until: float | None = None
        self.listens = False  # also take Xid events from NVML
        self._worker = self._new_worker()

    def start(self) -> None:
        """Begins to sample."""
        self._worker.start()

    def stop(self) -> None:
        """Ends the thread; one that hangs in the driver is left behind."""
        self._stop.set()
        self._worker.wake.set()
        self._worker.join(1.0)

    def release(self, seconds: float) -> None:
        """Lets go of the GPUs for so long, so that they can be reset."""
        self.released_until = self._clock.monotonic() + seconds
        self._worker.wake.set()

    def resume(self) -> None:
        """Takes the GPUs up again before the time is over."""
        self.released_until = None
        self._worker.wake.set()

    @property
    def released(self) -> bool:
        """Whether the GPUs are let go of just now."""
        return self.released_until is not None and self._clock.monotonic() < self.released_until

    @property
    def holds_driver(self) -> bool:
        """Whether NVML is open in this process."""
        return self._worker.library.is_open or any(worker.alive for worker in self._abandoned)

    def harvest(self, patience: float = 8.0) -> Harvest:
        """Everything since the last harvest; what a hanging call withholds is a gap with its reason.

        A driver that is slow is waited for as long as `patience`, one that hangs only `SILENT_SECONDS`.
        """
        self._abandon_if_stuck()
        worker = self._worker
        found = worker.order(patience)
        if found is None:
            found = self._without_answer(worker)
        self._complete(found, worker)
        return found

    # ---- hanging calls

    def _abandon_if_stuck(self) -> None:
        self._abandoned = [worker for worker in self._abandoned if worker.alive]
        worker = self._worker
        limit = GIVE_UP_OPENING_SECONDS if worker.call in OPENING else GIVE_UP_SECONDS
        if worker.silent_seconds() < limit or len(self._abandoned) >= MOST_ABANDONED:
            return
        if worker.busy_with is not None:
            worker.busy_with.hangs = True
        self._abandoned.append(worker)
        worker.abandoned = True
        self._worker = self._new_worker(worker)
        self._worker.start()

    def _new_worker(self, before: _Worker | None = None) -> _Worker:
        self._generation += 1
        return _Worker(self, self._clock, self._period, self._stop, self._generation, before)

    def _without_answer(self, worker: _Worker) -> Harvest:
        found = Harvest()
        for identity in self._identities.values():
            found.gpus.append(_only_identity(identity, "timeout"))
            found.gaps.append(Gap(subject=f"gpu:{identity.index}", metric="*", reason="timeout"))
        return found

    def _complete(self, found: Harvest, worker: _Worker) -> None:
        """Adds what stands above the single GPU: silence, release, names remembered."""
        nvml = found.nvml
        nvml.released = True if self.released else None
        if nvml.released and not found.gpus:
            # They are still there, only not looked at: none is gone, and nothing is known of any.
            for identity in self._identities.values():
                found.gpus.append(_only_identity(identity, None))
                found.gaps.append(Gap(subject=f"gpu:{identity.index}", metric="*", reason="not_enabled"))
        elif nvml.error is None:
            before, self._identities = self._identities, {}
            for reading in found.gpus:
                identity = reading if reading.error is None else before.get(reading.index, reading)
                self._identities[reading.index] = _only_identity(identity, None)
        stuck = [w for w in (worker, *self._abandoned) if w.alive and w.silent_seconds() >= SILENT_SECONDS]
        if stuck:
            longest = max(stuck, key=lambda w: w.silent_seconds())
            nvml.silent_seconds = round(longest.silent_seconds(), 1)
            nvml.silent_call = longest.call
        nvml.first_call_seconds = self.first_call_seconds
        nvml.version = worker.library.nvml_version
        found.driver_version = worker.library.driver_version
        found.cuda_version = worker.library.cuda_version


class _Worker:
    """One life of the sampling thread."""

    def __init__(
        self,
        sampler: Sampler,
        clock: Clock,
        period: float,
        stop: threading.Event,
        generation: int,
        before: _Worker | None,
    ) -> None:
        self._sampler, self._clock, self._period, self._stop = sampler, clock, period, stop
        self.wake = threading.Event()
        self.abandoned = False
        self.call: str | None = None
        self._since: float | None = None
        self.busy_with: Device | None = None
        self.library = Library(self._enters)
        if before is not None:
            self.library.adopt(before.library)
        self._fault: NvmlFault | None = None
        self._attempt = 0
        self._open_at = 0.0
        self._sweeps: list[float] = []
        self._wanted = threading.Event()
        self._ready = threading.Event()
        self._found: Harvest | None = None
        self._thread = threading.Thread(target=self._run, name=f"nvml-{generation}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self, seconds: float) -> None:
        if self._thread.ident is not None:
            self._thread.join(seconds)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def silent_seconds(self) -> float:
        """How long the call that is being made has not come back; 0 between calls."""
        since = self._since
        return self._clock.monotonic() - since if since is not None else 0.0

    def order(self, patience: float) -> Harvest | None:
        """Asks the thread for a harvest and waits; None when it is busy in the driver for longer."""
        if self._found is None:  # else the answer to the last order came too late, and is still good
            self._ready.clear()
            self._wanted.set()
            self.wake.set()
        until = self._clock.monotonic() + patience
        while not self._clock.wait(self._ready, PATIENCE_STEP):
            if self.silent_seconds() >= SILENT_SECONDS or self._clock.monotonic() >= until:
                return None
        found, self._found = self._found, None
        return found

    # ---- in the thread

    def _enters(self, call: str) -> None:
        if self.abandoned:
            raise _Abandoned
        self.call = call
        self._since = self._clock.monotonic()

    def _run(self) -> None:
        try:
            due = self._clock.monotonic()
            while not self._stop.is_set() and not self.abandoned:
                if self._clock.monotonic() >= due - 0.001:
                    due = max(due + self._period, self._clock.monotonic())
                    self._sweep()
                if self._wanted.is_set():
                    self._wanted.clear()
                    self._found = self._gather()
                    self._ready.set()
                self._clock.wait(self.wake, due - self._clock.monotonic())
                self.wake.clear()
            if not self.abandoned:
                self.library.close()
        except _Abandoned:
            pass
        finally:
            self._since = None
            if self.busy_with is not None:
                self.busy_with.hangs = False  # its call came back: it may be asked again

    def _sweep(self) -> None:
        """One row of fast values from every GPU."""
        if not self._have_driver():
            return
        start = self._clock.monotonic()
        try:
            for device in self.library.devices:
                if device.hangs:
                    continue
                self.busy_with = device
                row = self.library.sample(device, self._clock.time())
                if self.abandoned:
                    raise _Abandoned
                if row is not None:
                    device.rows.append((start, row))
                    del device.rows[:-ROWS_KEPT]
        except NvmlFault as fault:
            self._lose(fault)
        except _Abandoned:
            raise
        except Exception as error:  # the watcher must outlive whatever the driver's answers do to it
            self._lose(_surprise(error))
        self.busy_with = None
        self._since = None
        self._sweeps.append(self._clock.monotonic() - start)
        del self._sweeps[:-ROWS_KEPT]

    def _have_driver(self) -> bool:
        now = self._clock.monotonic()
        if self._sampler.released:
            self.library.close()
            self._since = None
            return False
        if self.library.is_open:
            return True
        if now < self._open_at:
            return False
        try:
            self.library.open()
        except NvmlFault as fault:
            self._lose(fault)
            return False
        took = self._clock.monotonic() - now
        if self._sampler.first_call_seconds is None:
            self._sampler.first_call_seconds = took
        self._fault, self._attempt, self._since = None, 0, None
        return True

    def _lose(self, fault: NvmlFault) -> None:
        """Closes NVML and plans the next try, ever more rarely."""
        self._fault = fault
        self.library.close()
        self._open_at = self._clock.monotonic() + REOPEN_SECONDS[min(self._attempt, len(REOPEN_SECONDS) - 1)]
        self._attempt += 1
        self._since = None

    def _gather(self) -> Harvest:
        found = Harvest()
        nvml = found.nvml
        if not self._sweeps:
            self._sweep()  # asked twice within a second: no snapshot goes without a sample
        if self._sweeps:
            nvml.sweep_seconds = round(statistics.median(self._sweeps), 6)
            nvml.sweep_seconds_max = round(max(self._sweeps), 6)
            self._sweeps.clear()
        if self._have_driver():
            try:
                if self.library.count_changed():
                    self.library.find_devices()
                for device in self.library.devices:
                    self.busy_with = None if device.hangs else device
                    self._gather_device(device, found)
                if self._sampler.listens:
                    self.library.watch_events()
                    found.xids = self.library.events()
            except _Abandoned:
                raise
            except Exception as error:
                self._lose(error if isinstance(error, NvmlFault) else _surprise(error))
                found.gpus, found.uses, found.gaps = [], {}, []
        self.busy_with = None
        self._since = None
        if self._fault is not None and not self.library.is_open:
            nvml.error, nvml.error_code = self._fault.reason, self._fault.code
            gap = Gap(subject="node", metric="nvml", reason=self._fault.reason, detail=self._fault.detail)
            found.gaps.append(gap)
        return found

    def _gather_device(self, device: Device, found: Harvest) -> None:
        subject = f"gpu:{device.index}"
        if device.minor is not None:
            found.minors[device.minor] = device.index
        if device.hangs:
            reading = GpuReading(
                index=device.index, uuid=device.uuid, bus_id=device.bus_id, name=device.known.get("name")
            )
            reading.error = "timeout"
            found.gpus.append(reading)
            found.gaps.append(Gap(subject=subject, metric="*", reason="timeout"))
            return
        reading = self.library.read(device, self._clock.monotonic())
        for pid, use in self.library.processes(device, self._clock.time()).items():
            found.uses.setdefault(pid, []).append(use)
        if self.abandoned:
            raise _Abandoned
        reading.error = device.error
        rows, device.rows = device.rows, device.rows[-1:]
        found.gpus.append(reading)
        missing = {**device.refused, **device.failed}
        if reading.error is not None:
            found.gaps.append(Gap(subject=subject, metric="*", reason=reading.error))
        else:
            put_samples(reading, rows, missing, first_is_old=device.harvested)
        device.harvested = bool(device.rows)
        found.gaps += [Gap(subject=subject, metric=field, reason=why) for field, why in missing.items()]


class _Abandoned(Exception):
    """This thread was given up while it hung; what it brings back is too late."""


def _surprise(error: Exception) -> NvmlFault:
    return NvmlFault("unknown_error", detail=f"{type(error).__name__}: {error}"[:200])


def _only_identity(reading: GpuReading, error: str | None) -> GpuReading:
    return GpuReading(
        index=reading.index,
        uuid=reading.uuid,
        bus_id=reading.bus_id,
        name=reading.name,
        architecture=reading.architecture,
        memory_total_bytes=reading.memory_total_bytes,
        error=error,
    )
