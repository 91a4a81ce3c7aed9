"""One thread works off what is handed in, and nobody is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from api.reports.turns import Task, Turns
from gpudiag.errors import GpudiagError
from tests.waiting import PATIENCE_SECONDS, until


class Late(GpudiagError):
    """It took too long."""


class Note(Task):
    together = True

    def __init__(self, text: str, size: int = 1) -> None:
        super().__init__()
        self.text, self.size = text, size


class Alone(Note):
    together = False


class Letter(Note):
    """One that nobody waits for: it is told when it is written."""

    def __init__(self, text: str, told: Callable[[Letter], None]) -> None:
        super().__init__(text)
        self.told = told

    def tell(self) -> None:
        self.told(self)


class Desk:
    """Writes notes down, and remembers which it wrote in one turn."""

    def __init__(self, most_at_once: int = 100) -> None:
        self.turns = Turns(self.write, most_at_once)
        self.begun: list[list[str]] = []
        self.written: list[list[str]] = []
        self.free = threading.Event()
        self.free.set()
        self.fails: BaseException | None = None
        self._busy = threading.Lock()

    def write(self, tasks: list[Task]) -> None:
        assert self._busy.acquire(blocking=False), "two write at once"
        texts = [task.text for task in tasks if isinstance(task, Note)]
        try:
            self.begun.append(texts)
            self.free.wait(PATIENCE_SECONDS)
            if self.fails is not None:
                raise self.fails
            self.written.append(texts)
        finally:
            self._busy.release()

    def do(self, note: Note, seconds: float | None = PATIENCE_SECONDS) -> None:
        self.turns.do(note, seconds, Late, "too slow")

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the first note is written, and does not get on."""
        self.free.clear()
        self.turns.hand_in(Note("first"))
        until(lambda: self.begun == [["first"]])
        yield
        self.free.set()


@pytest.fixture
def desk(request: pytest.FixtureRequest) -> Iterator[Desk]:
    made = Desk(getattr(request, "param", 100))
    made.turns.start()
    yield made
    made.free.set()
    made.turns.stop()


def all_done(desk: Desk) -> list[list[str]]:
    """What was written, once everything that waits is."""
    desk.do(Alone("end"))
    return desk.written[:-1]


def test_who_hands_in_and_waits_has_it_done(desk: Desk) -> None:
    desk.do(Note("a"))

    assert desk.written == [["a"]]


def test_those_who_wait_are_written_together(desk: Desk) -> None:
    with desk.held():
        for text in "abc":
            desk.turns.hand_in(Note(text))
        assert desk.turns.waiting == 3

    assert all_done(desk) == [["first"], ["a", "b", "c"]]


def test_what_is_to_be_done_alone_is_in_its_place(desk: Desk) -> None:
    with desk.held():
        for note in (Note("a"), Alone("tick"), Alone("tock"), Note("b"), Note("c")):
            desk.turns.hand_in(note)

    assert all_done(desk) == [["first"], ["a"], ["tick"], ["tock"], ["b", "c"]]


@pytest.mark.parametrize("desk", [4], indirect=True)
def test_one_turn_takes_only_so_much(desk: Desk) -> None:
    with desk.held():
        for number, size in enumerate((1, 1, 1, 1, 1, 9, 1)):
            desk.turns.hand_in(Note(str(number), size))

    assert all_done(desk) == [["first"], ["0", "1", "2", "3"], ["4", "5"], ["6"]]


def test_who_waits_too_long_is_told_and_holds_up_nobody(desk: Desk) -> None:
    with desk.held(), pytest.raises(Late, match="too slow"):
        desk.do(Note("impatient"), seconds=0.05)
    desk.do(Note("next"))

    assert [text for together in desk.written for text in together] == ["first", "impatient", "next"]
    assert desk.turns.waiting == 0


def test_what_went_wrong_is_told_to_everybody_of_that_turn_alone(desk: Desk) -> None:
    told: list[str] = []

    def tell(letter: Letter) -> None:
        told.append(f"{letter.text}: {letter.error}")

    with desk.held():
        desk.turns.hand_in(Letter("a", tell))
        desk.turns.hand_in(Letter("b", tell))
        desk.fails = OSError("disk full")
    until(lambda: len(told) == 2)
    desk.fails = None
    desk.do(Note("c"))

    assert told == ["a: disk full", "b: disk full"]
    assert desk.written == [["c"]]


def test_an_error_reaches_who_waits(desk: Desk) -> None:
    desk.fails = OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        desk.do(Note("a"))


def test_even_what_ends_programs_ends_only_its_own_turn(desk: Desk) -> None:
    desk.fails = SystemExit(1)
    with pytest.raises(SystemExit):
        desk.do(Note("a"))
    desk.fails = None

    desk.do(Note("b"))

    assert desk.written == [["b"]]


@pytest.mark.parametrize("error", [ConnectionError("gone"), SystemExit(1)], ids=["error", "exit"])
def test_one_who_cannot_be_told_keeps_nobody_else_waiting(desk: Desk, error: BaseException) -> None:
    told: list[str] = []

    def hang_up(letter: Letter) -> None:
        raise error

    with desk.held():
        desk.turns.hand_in(Letter("a", hang_up))
        desk.turns.hand_in(Letter("b", lambda letter: told.append(letter.text)))

    assert all_done(desk) == [["first"], ["a", "b"]]
    assert told == ["b"]


@pytest.mark.parametrize("first", [Note("a"), Alone("a")], ids=["together", "alone"])
def test_the_end_comes_after_what_waits(first: Note) -> None:
    desk = Desk()
    desk.free.clear()
    desk.turns.start()
    desk.turns.hand_in(Note("first"))
    until(lambda: bool(desk.begun))
    for note in (first, Note("b")):
        desk.turns.hand_in(note)
    desk.free.set()
    desk.turns.stop()

    assert sorted(text for together in desk.written for text in together) == ["a", "b", "first"]


def test_many_at_once_are_all_written_once() -> None:
    desk = Desk(most_at_once=7)
    desk.turns.start()
    names = [f"{who}-{turn}" for who in range(24) for turn in range(20)]

    def write(who: int) -> None:
        for turn in range(20):
            desk.do(Note(f"{who}-{turn}"))

    threads = [threading.Thread(target=write, args=(who,)) for who in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    desk.turns.stop()

    assert sorted(text for together in desk.written for text in together) == sorted(names)
    assert max(map(len, desk.written)) <= 7
