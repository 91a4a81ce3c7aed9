"""Who finds the pen free works for all who wait, and nobody is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from api.turns import Task, Turns
from gpudiag.errors import GpudiagError
from tests.waiting import PATIENCE_SECONDS, until


class Late(GpudiagError):
    """It took too long."""


class Note(Task):
    together = True

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Alone(Note):
    together = False


class Desk:
    """Writes notes down, and remembers which it wrote in one turn and by whose hand."""

    def __init__(self, most_at_once: int = 100) -> None:
        self.turns = Turns(self.write, most_at_once)
        self.written: list[list[str]] = []
        self.hands: list[str] = []
        self.free = threading.Event()
        self.free.set()
        self.fails: Exception | None = None
        self._busy = threading.Lock()

    def write(self, tasks: list[Task]) -> None:
        assert self._busy.acquire(blocking=False), "two write at once"
        try:
            self.hands.append(threading.current_thread().name)
            self.free.wait(PATIENCE_SECONDS)
            if self.fails is not None:
                raise self.fails
            self.written.append([task.text for task in tasks if isinstance(task, Note)])
        finally:
            self._busy.release()

    def do(self, note: Note, seconds: float | None = PATIENCE_SECONDS) -> None:
        self.turns.do(note, seconds, Late, "too slow")

    @contextmanager
    def held(self, by: str = "first") -> Iterator[None]:
        """While the first one writes, and does not get on."""
        self.free.clear()
        leader = in_thread(lambda: self.do(Note(by)), by)
        until(lambda: bool(self.hands))
        yield
        self.free.set()
        leader.join(PATIENCE_SECONDS)


def in_thread(work: Callable[[], object], name: str) -> threading.Thread:
    thread = threading.Thread(target=work, name=name)
    thread.start()
    return thread


def waiting(desk: Desk, notes: list[Note]) -> list[threading.Thread]:
    """Threads with a note each, queued one after the other."""
    threads = []
    for number, note in enumerate(notes, start=1):
        threads.append(in_thread(lambda note=note: desk.do(note), note.text))  # type: ignore[misc]
        until(lambda number=number: desk.turns.waiting == number)  # type: ignore[misc]
    return threads


def test_who_finds_the_pen_free_writes_with_his_own_hand() -> None:
    desk = Desk()

    desk.do(Note("a"))

    assert desk.hands == [threading.current_thread().name]


def test_those_who_wait_are_written_together_by_the_first_of_them() -> None:
    desk = Desk()
    with desk.held():
        threads = waiting(desk, [Note("a"), Note("b"), Note("c")])
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert desk.written == [["first"], ["a", "b", "c"]]
    assert desk.hands == ["first", "a"]


def test_what_is_to_be_done_alone_is_and_by_its_own_hand() -> None:
    desk = Desk()
    with desk.held():
        threads = waiting(desk, [Note("a"), Alone("tick"), Note("b"), Note("c")])
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert desk.written == [["first"], ["a"], ["tick"], ["b", "c"]]
    assert desk.hands == ["first", "a", "tick", "b"]


def test_one_turn_takes_only_so_many() -> None:
    desk = Desk(most_at_once=2)
    with desk.held():
        threads = waiting(desk, [Note(str(i)) for i in range(5)])
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert [len(together) for together in desk.written] == [1, 2, 2, 1]


def test_who_waits_too_long_is_told_and_holds_up_nobody() -> None:
    desk = Desk()
    with desk.held():
        with pytest.raises(Late):
            desk.do(Note("impatient"), seconds=0.05)
        threads = waiting(desk, [])
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    desk.do(Note("next"))

    assert desk.written == [["first"], ["impatient"], ["next"]]
    assert desk.turns.waiting == 0


def test_what_went_wrong_is_told_to_everybody_of_that_turn_alone() -> None:
    desk = Desk()
    told: list[str] = []

    def write(note: Note) -> None:
        try:
            desk.do(note)
        except OSError as error:
            told.append(f"{note.text}: {error}")

    desk.free.clear()
    desk.fails = OSError("disk full")
    threads = [in_thread(lambda: write(Note("a")), "a")]
    until(lambda: bool(desk.hands))
    threads.append(in_thread(lambda: write(Note("b")), "b"))
    until(lambda: desk.turns.waiting == 1)
    desk.free.set()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    desk.fails = None
    desk.do(Note("c"))

    assert sorted(told) == ["a: disk full", "b: disk full"]
    assert desk.written == [["c"]]


def test_many_at_once_are_all_written_once_and_one_at_a_time() -> None:
    desk = Desk(most_at_once=7)
    names = [f"{who}-{turn}" for who in range(24) for turn in range(20)]

    def write(who: int) -> None:
        for turn in range(20):
            desk.do(Note(f"{who}-{turn}"))

    threads = [in_thread(lambda who=who: write(who), str(who)) for who in range(24)]  # type: ignore[misc]
    for thread in threads:
        thread.join(PATIENCE_SECONDS)

    assert sorted(text for together in desk.written for text in together) == sorted(names)
