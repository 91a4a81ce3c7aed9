"""One at a time, without a thread of its own: who finds the pen free works off what waits, and hands it on.

A report is unpacked, stored and judged by the thread that received it, while its data is still in that
processor's cache. Reports that come meanwhile wait together, and the first of them does the work of all.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import ClassVar

from gpudiag.errors import GpudiagError


class Task:
    """Something to be done in turn. `size` counts against what one turn takes together."""

    together: ClassVar[bool] = False  # whether several are done in one turn
    size = 1

    __slots__ = ("_woken", "abandoned", "done", "error", "leads")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self.done = self.leads = self.abandoned = False
        self._woken = threading.Lock()
        self._woken.acquire()

    def wake(self) -> None:
        self._woken.release()

    def sleep(self, seconds: float | None) -> bool:
        """Wait until it is done or has to lead; False when neither came in time."""
        return self._woken.acquire(timeout=-1 if seconds is None else seconds)


class Turns:
    """The pen, and who waits for it. `work` is given tasks and keeps the error of each."""

    def __init__(self, work: Callable[[list[Task]], None], most_at_once: int) -> None:
        self._work, self._most_at_once = work, most_at_once
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[Task] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def do(self, task: Task, seconds: float | None, late: type[GpudiagError], said: str) -> None:
        """Have `task` done, by this thread or another; raises its error, or `late` when it takes longer."""
        with self._guard:
            if self._taken:
                self._waiting.append(task)
            else:
                self._taken = task.leads = True
        if not task.leads and not task.sleep(seconds):
            with self._guard:
                task.abandoned = not (task.done or task.leads)
            if task.abandoned:
                raise late(said)
        if task.leads:
            self._lead(task)
        if task.error is not None:
            raise task.error

    def _lead(self, first: Task) -> None:
        heir: Task | None = first
        while heir is not None:
            tasks = self._taken_together(heir)
            try:
                self._work(tasks)
            except BaseException as error:  # nobody is told that all is well
                for task in tasks:
                    task.error = task.error or error
            heir = self._hand_on(tasks)

    def _taken_together(self, first: Task) -> list[Task]:
        tasks, size = [first], first.size
        with self._guard:
            while (
                self._waiting and first.together and self._waiting[0].together and size < self._most_at_once
            ):
                tasks.append(self._waiting.popleft())
                size += tasks[-1].size
        return tasks

    def _hand_on(self, tasks: list[Task]) -> Task | None:
        """Wake whose work is done, and the first who waits; returns it where nobody does that any more."""
        with self._guard:
            heir = self._waiting.popleft() if self._waiting else None
            self._taken = heir is not None
            forsaken = heir is not None and heir.abandoned
            if heir is not None and not forsaken:
                heir.leads = True
            for task in tasks:
                task.done = True
        if heir is not None and not forsaken:
            heir.wake()
        for task in tasks:
            if not task.leads:
                task.wake()
        return heir if forsaken else None
