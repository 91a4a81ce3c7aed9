"""What is due by the clock, whether reports come or not.

One thread has the nodes looked at once a second, in turn with the reports, and windows packed now and then;
another one keeps the store small and looks whether it is sound. Whatever goes wrong, the clock goes on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from api import garbage
from api.judging.judge import Judge
from api.judging.rounds import Rounds
from api.judging.together import EVERY_SECONDS
from api.reports.writer import Writer
from api.store import Store, StoreCorrupt, StoreError
from api.words import Sentence
from gpudiag.words.units import duration

log = logging.getLogger("gpudiag.clockwork")

TICK_SECONDS = 1.0
TURN_LASTS = 0.003  # a look at the nodes has reports wait so long at most
TICK_TURNS = 16  # a second
LOAD_LASTS = 0.3
PACK_SECONDS = 900.0
PACKED_TOGETHER = 50  # nodes
CHECKPOINT_SECONDS = 2.0  # else the report whose commit fills the log would wait for it
LOOK_SECONDS = 60.0
KEEP_SECONDS = 300.0
DEAF_SECONDS = 10.0  # between two looks: an answer of the store may take half of it


class Clockwork:
    """Two threads; `start` and `stop` frame their life, within the writer's."""

    def __init__(self, writer: Writer, judge: Judge, keep: float, clock: Callable[[], float]) -> None:
        self._writer, self._judge, self._keep, self._clock = writer, judge, keep, clock
        self._store: Store = writer.store
        self.rounds = Rounds(judge)
        self.all_loaded = not self._store.embedded
        self._ticker = threading.Thread(target=self._tick, name="gpudiag-ticker", daemon=True)
        self._keeper = threading.Thread(target=self._tend, name="gpudiag-keeper", daemon=True)
        self._stopping = threading.Event()
        self._watch = Watch()

    def start(self) -> None:
        self._ticker.start()
        self._keeper.start()

    def stop(self) -> None:
        """End both threads, and pack the windows."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._ticker.join()
        self._keeper.join()
        self._safely(lambda: self._in_turn(lambda: self._pack(all_of_them=True)))

    def _in_turn(self, act: Callable[[], object]) -> object:
        """Do something between reports, however long that takes to begin."""
        return self._writer.do(act, None)

    def _safely(self, act: Callable[[], object]) -> None:
        engine = self._store.engine
        try:
            try:
                act()
            except StoreCorrupt as error:
                self._in_turn(partial(self._writer.replace, engine, error))
        except StoreError as error:
            self._writer.note(error)
        except Exception:
            log.exception("what is due by the clock was not done")

    # ---- the nodes

    def _tick(self) -> None:
        packed_at = settled_at = time.monotonic()
        while not self._stopping.wait(TICK_SECONDS):
            self._safely(self._forgive)
            if not self.all_loaded:
                self._safely(self._load_some)
            if self._leads():
                self._safely(self._look_at_nodes)
                self._safely(self._judge_fleet)
            else:
                self._safely(lambda: self._in_turn(lambda: self.rounds.follow(self._clock())))
            garbage.leave_out()
            if time.monotonic() - settled_at > garbage.SETTLE_SECONDS:
                settled_at = time.monotonic()
                garbage.settle()
            if time.monotonic() - packed_at > PACK_SECONDS:
                packed_at = time.monotonic()
                self._safely(lambda: self._pack(all_of_them=False))

    def _leads(self) -> bool:
        """Whether this process is the one that judges silent nodes and deletes what is old."""
        return self._store.embedded or self._store.try_to_lead()

    def _forgive(self) -> None:
        """Hold nobody's silence against them while nobody could be heard."""
        missed = self._watch.missed()
        if missed is not None:
            log.warning("%s", missed.said("en"))
            self._in_turn(lambda: self.rounds.listen_anew(self._clock()))

    def _load_some(self) -> None:
        self.all_loaded = not self.rounds.load_some(LOAD_LASTS, time.monotonic)

    def _look_at_nodes(self) -> None:
        self._in_turn(self._see_others)
        for _ in range(TICK_TURNS):
            if self._in_turn(self._look_at_some):
                return

    def _see_others(self) -> None:
        if not self._store.embedded:
            self._judge.hear_decisions()
        self._judge.see_others()

    def _look_at_some(self) -> bool:
        """Go on with the round; whether it is through."""
        ends = time.monotonic() + TURN_LASTS
        return self.rounds.go_on(self._clock(), lambda: time.monotonic() > ends)

    def _judge_fleet(self) -> None:
        """A turn for each rule; catching up with every node on a shared store takes long, and needs none."""
        now = self._clock()
        if 0.0 <= now - self._judge.together.judged_at < EVERY_SECONDS:
            return
        if self.all_loaded:
            self.rounds.catch_up()
            steps = self.rounds.judging_together(now)
            while self._in_turn(lambda: next(steps, True)) is None:
                pass

    def _pack(self, all_of_them: bool) -> None:
        """Keep the windows' older past: a few at a time, so that reports are not held up."""
        states = list(self._judge.nodes.values())
        for first in range(0, len(states), PACKED_TOGETHER):
            some = states[first : first + PACKED_TOGETHER]
            # Before the pen is taken: who acknowledges has a node first, and then the pen.
            entries = list(self._judge.windows.packed(some))
            with self._store.writing() as connection:
                self._store.lock_nodes(connection, [state.id for state in some])
                for entry in entries:
                    self._store.snapshots.save_packed(connection, *entry)
                seen = [(s.id, s.window.received_at) for s in some if s.loaded]
                self._store.snapshots.save_seen(connection, seen)
            if not all_of_them and self._stopping.wait(0.05):
                return

    # ---- the store

    def _tend(self) -> None:
        kept_at = looked_at = time.monotonic()
        while not self._stopping.wait(CHECKPOINT_SECONDS):
            self._safely(self._empty_log)
            if time.monotonic() - looked_at > LOOK_SECONDS:
                looked_at = time.monotonic()
                self.look_now()
            if time.monotonic() - kept_at > KEEP_SECONDS:
                kept_at = time.monotonic()
                self._safely(self.keep_now)

    def _empty_log(self) -> None:
        news = self._store.checkpoint()
        if news is not None:
            log.warning("%s", news.said("en"))

    def look_now(self) -> None:
        """See whether another program spoilt the store: what is read and written often would not meet it."""
        self._safely(self._store.look)

    def keep_now(self) -> int:
        """Delete what is older than what is kept."""
        if not self._leads():
            return 0
        oldest = self._store.snapshots.kept_from(self._clock(), self._keep)
        return self._store.keep_since(oldest, empty_log=self._empty_log)


class Watch:
    """Tells a time that is missing between two looks: the clock jumped, or this process stood still."""

    def __init__(
        self, wall: Callable[[], float] = time.time, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._wall, self._steady = wall, steady
        self._looked_at = wall(), steady()

    def missed(self) -> Sentence | None:
        """What there is to say of it."""
        (wall, steady), self._looked_at = self._looked_at, (self._wall(), self._steady())
        by_clock, lived = self._looked_at[0] - wall, self._looked_at[1] - steady
        if by_clock <= DEAF_SECONDS:
            return None
        jumped = by_clock - lived > DEAF_SECONDS
        return Sentence("clock.jumped" if jumped else "clock.stood.still", span=duration(by_clock, "en"))
