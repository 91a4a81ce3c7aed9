"""GPUs as a snapshot needs them, from a thread that may hang in the driver without stopping anything else.

A call into the driver cannot be interrupted. So one thread makes the calls (`worker.py`), and who wants a
snapshot waits for it only so long. A call that has not returned after `GIVE_UP_SECONDS` is abandoned with its
thread: a new thread goes on with the other GPUs, and the stuck GPU is left alone until its call comes back.
At most `MOST_ABANDONED` threads are given up like that; then NVML is reported silent until one returns.
"""

from __future__ import annotations

import threading

from gpudiag.agent.clock import Clock
from gpudiag.agent.worker import SILENT_SECONDS, Harvest, Worker
from gpudiag.model import Gap, GpuReading

GIVE_UP_SECONDS = 10.0
GIVE_UP_OPENING_SECONDS = 90.0  # without persistence mode the first client waits seconds for each GPU
OPENING = ("nvmlInit", "nvmlDeviceGetHandleByIndex")
MOST_ABANDONED = 3
STEP_SECONDS = 1.0


class Sampler:
    """One thread that sweeps over the GPUs; `harvest` gives what was gathered since the last time."""

    def __init__(self, clock: Clock, *, period: float = 1.0) -> None:
        self._clock = clock
        self._period = period
        self._stop = threading.Event()
        self._generation = 0
        self._abandoned: list[Worker] = []
        self._identities: dict[int, GpuReading] = {}
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

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Waits so long, or until the event is set; tells whether it is.

        Who takes harvests waits like this in between. A process that is stopped, by a signal or in a frozen
        container, finds the call that it was in unanswered for as long: that silence is its own.
        """
        until = self._clock.monotonic() + seconds
        while True:
            began = self._clock.monotonic()
            step = min(STEP_SECONDS, max(0.0, until - began))
            woken = self._clock.wait(event, step)
            now = self._clock.monotonic()
            if now - began - step > self._clock.still_seconds:
                for worker in (self._worker, *self._abandoned):
                    worker.stood_still(began)
            if woken or now >= until:
                return woken

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
        worker.abandon()
        self._abandoned.append(worker)
        self._worker = self._new_worker(worker)
        self._worker.start()

    def _new_worker(self, before: Worker | None = None) -> Worker:
        self._generation += 1
        return Worker(self, self._clock, self._period, self._stop, self._generation, before)

    def _without_answer(self, worker: Worker) -> Harvest:
        found = Harvest()
        worker.tell_times(found.nvml)
        if (
            not self._identities
        ):  # it is still being opened: that no GPU is told does not mean that there is none
            found.nvml.error = "timeout"
            found.gaps.append(Gap(subject="node", metric="nvml", reason="timeout"))
        for identity in self._identities.values():
            found.gpus.append(_only_identity(identity, "timeout"))
            found.gaps.append(Gap(subject=f"gpu:{identity.index}", metric="*", reason="timeout"))
        return found

    def _complete(self, found: Harvest, worker: Worker) -> None:
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
