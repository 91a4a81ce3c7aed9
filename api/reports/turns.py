"""One at a time: a thread that works off what is handed in, and tells whoever waits for it.

Tasks that may be done together and wait together are one turn.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import ClassVar

from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.turns")


class Task:
    """Something to be done in turn. `size` counts against what one turn takes together."""

    together: ClassVar[bool] = False  # whether several are done in one turn
    size = 1

    __slots__ = ("_done", "error")

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._done = threading.Lock()
        self._done.acquire()

    def tell(self) -> None:
        """Wake the thread that waits for it: it is done, or went wrong."""
        self._done.release()

    def wait(self, seconds: float | None) -> bool:
        """Until it is done; False when that was not in time."""
        return self._done.acquire(timeout=-1 if seconds is None else seconds)


class Turns:
    """Whose turn it is. `work` is given tasks, and keeps the error of each; `start` and `stop` frame it."""

    def __init__(self, work: Callable[[list[Task]], None], most_at_once: int) -> None:
        self._work, self._most_at_once = work, most_at_once
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()  # None: no more
        self._thread = threading.Thread(target=self._run, name="gpudiag-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Work off what waits, and end."""
        self._tasks.put(None)
        self._thread.join()

    @property
    def waiting(self) -> int:
        return self._tasks.qsize()

    def hand_in(self, task: Task) -> None:
        """Have it done; who wants to know when is told by its `tell`."""
        self._tasks.put(task)

    def do(self, task: Task, seconds: float | None, late: type[GpudiagError], said: str) -> None:
        """Have it done, and wait for that; raises its error, or `late` when it takes longer."""
        self.hand_in(task)
        if not task.wait(seconds):
            raise late(said)
        if task.error is not None:
            raise task.error

    def _run(self) -> None:
        first = self._tasks.get()
        while first is not None:
            tasks, following = self._waiting_together(first)
            self._take_turn(tasks)
            first = following or self._tasks.get()

    def _waiting_together(self, first: Task) -> tuple[list[Task], Task | None]:
        """What is done in one turn with `first`, and what was found behind it, if it is another turn's."""
        tasks, size = [first], first.size
        while first.together and size < self._most_at_once:
            try:
                task = self._tasks.get_nowait()
            except Empty:
                break
            if task is None:
                self._tasks.put(None)
                break
            if not task.together:
                return tasks, task
            tasks.append(task)
            size += task.size
        return tasks, None

    def _take_turn(self, tasks: list[Task]) -> None:
        try:
            self._work(tasks)
        except BaseException as error:  # nobody is told that all is well
            for task in tasks:
                task.error = task.error or error
        for task in tasks:
            try:
                task.tell()
            except BaseException:  # this thread is the only one
                log.exception("whoever waits for a task could not be told that it is done")
