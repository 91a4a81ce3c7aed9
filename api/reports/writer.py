"""What is written: one commit for all the reports that wait, as soon as the one before is done.

A report is answered after its commit, so the answer means that it survives a crash. Too many that wait are
refused at once (`Full`). One thread does it all, from reading a report to answering it: many threads that
want the interpreter at a time cost more than the work. Judging happens between the commit and the answer, so
that whoever has the answer also sees the diagnosis.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, cast

import msgspec
from sqlalchemy import Connection, Engine

from api.judging.judge import Judge
from api.judging.nodes import NodeState
from api.reports.intake import Arrived
from api.reports.report import Report
from api.reports.turns import Task, Turns
from api.store import Store, StoreCorrupt, StoreError
from api.store.snapshots import NewSnapshot, pack, start_key
from api.words import Worded
from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.writer")

MOST_WAITING = 256  # reports, which are written within some tenths of a second
MOST_IN_A_BATCH = 64  # snapshots, about
ANSWER_SECONDS = 20.0


class Full(Worded):
    """More reports are waiting than we hold; come back in a few seconds."""

    status = 503
    retry_after = 2


class NotWritten(Worded):
    """The store did not take it; it may do so later."""

    status = 503
    retry_after = 10


class Job(Task):
    """Something that has to be done between reports: it may read and write what the judge holds."""

    __slots__ = ("act", "result")

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__()
        self.act, self.result = act, None

    def run(self) -> None:
        try:
            self.result = self.act()
        except BaseException as error:
            self.error = error


class Writer:
    """Takes reports and jobs; `start` and `stop` frame its life."""

    def __init__(self, store: Store, judge: Judge, keep: float, clock: Callable[[], float]) -> None:
        self.store, self.judge, self.keep, self.clock = store, judge, keep, clock
        self._turns = Turns(self._work, MOST_IN_A_BATCH)
        self._stopping = threading.Event()
        self.trouble: StoreError | None = None
        self.stored = self.refused = self.duplicates = self.commits = 0

    # ---- its life

    def start(self) -> None:
        self._turns.start()

    def stop(self) -> None:
        """Write what is waiting, and take no more."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._turns.stop()

    @property
    def waiting(self) -> int:
        return self._turns.waiting

    # ---- the door

    def hand_in(self, report: Report) -> None:
        """Have a report stored; it is told when it is safe, or why it is not."""
        self._let_in()
        self._turns.hand_in(report)

    def submit(self, report: Report) -> Report:
        """Have a report stored; returns when it is safe."""
        self._let_in()
        self._turns.do(report, ANSWER_SECONDS, NotWritten, "slow")
        return report

    def _let_in(self) -> None:
        if self._stopping.is_set():
            raise Full("stopping")
        if self._turns.waiting >= MOST_WAITING:
            self.refused += 1
            raise Full("waiting", most=MOST_WAITING, seconds=Full.retry_after)

    def do(self, act: Callable[[], Any], seconds: float | None = ANSWER_SECONDS) -> Any:
        """Do something between reports, and return its result. Raises NotWritten when it takes longer."""
        if self._stopping.is_set():
            raise Full("stopping.act")
        job = Job(act)
        self._turns.do(job, seconds, NotWritten, "slow.act")
        return job.result

    # ---- a turn

    def _work(self, tasks: list[Task]) -> None:
        if isinstance(tasks[0], Job):
            tasks[0].run()
        else:
            self._take_safely(cast(list[Report], tasks))
        self._write_pending()

    def _take_safely(self, batch: list[Report]) -> None:
        """Whatever happens, everybody who waits is answered."""
        readable = [report for report in batch if self._read(report)]
        try:
            if readable:
                self._take(readable)
        except Exception as error:
            log.exception("a batch of reports was not stored")
            self._fail(readable, NotWritten("not.stored", name=type(error).__name__))

    def _read(self, report: Report) -> bool:
        """Whether a report is one; else its sender is told what is wrong with it."""
        try:
            report.read(self.keep)
        except GpudiagError as error:
            report.error = error
            error.__traceback__ = error.__context__ = None  # they hold the body until the turn is over
        except Exception as error:
            report.error = error
        return report.error is None

    def _take(self, batch: list[Report]) -> None:
        """Store, judge, answer."""
        try:
            if self.store.embedded:
                self._store(batch)
            else:
                self._store_shared(batch)
        except StoreCorrupt as error:
            self._set_aside(error)
            self._fail(batch, NotWritten("set.aside"))
            return
        except StoreError as error:
            self.note(error)
            self._fail(batch, error)
            return
        self.trouble = None
        if self.store.embedded:
            for report in batch:
                self._judge(report)

    def _fail(self, batch: list[Report], error: BaseException) -> None:
        for report in batch:
            report.error = error

    def _judge(self, report: Report) -> None:
        for state, arrived in report.fresh:
            self.judge.arrive(state, arrived.snapshot, report.received_at)

    def _store_shared(self, batch: list[Report]) -> None:
        """On a store that others write, too: caught up, stored and judged in one transaction, node by node.

        A lock per node, held until the commit, makes its snapshots' numbers grow in the order of commits.
        """
        names = sorted({arrived.snapshot.node for report in batch for arrived in report.arrived})
        with self.store.writing() as connection:
            ids = {name: self.store.snapshots.add_node(connection, name, self.clock()) for name in names}
        try:
            with self.store.writing() as connection:
                self.store.lock_nodes(connection, ids.values())
                self._store(batch, connection)
                for report in batch:
                    self._judge(report)
                self.judge.feed.take().write(self.store, connection)
                seen = {s.id: (s, report.received_at) for report in batch for s, _ in report.fresh}
                loads = [
                    (key, at, msgspec.json.encode((at, s.load_seen(at)))) for key, (s, at) in seen.items()
                ]
                self.store.snapshots.save_loads(connection, loads)
                last = self.store.snapshots.last_ids(connection, seen)
            for key, (state, _) in seen.items():
                state.last_id = last.get(key, state.last_id)
        except BaseException:
            self.judge.feed.take()
            self.judge.unload(s for name in names if (s := self.judge.nodes.get(name)) is not None)
            raise

    def _store(self, batch: list[Report], within: Connection | None = None) -> None:
        """One transaction for all (the one given, or its own); notes what was not there before."""
        rows: list[NewSnapshot] = []
        made: list[NodeState] = []
        entries: list[tuple[Report, Arrived, NodeState, int, int]] = []
        names = {arrived.snapshot.node for report in batch for arrived in report.arrived}
        states = {name: state for name in names if (state := self.judge.state(name)) is not None}
        try:
            with self.store.writing() if within is None else contextlib.nullcontext(within) as connection:
                for name in sorted(names - states.keys()):
                    node_id = self.store.snapshots.add_node(connection, name, self.clock())
                    states[name] = self.judge.add_node(node_id, name)
                    made.append(states[name])
                for report in batch:
                    for arrived in report.arrived:
                        agent = arrived.snapshot.agent
                        assert agent is not None
                        name = arrived.snapshot.node
                        key = start_key(name, agent.start_id)
                        entries.append((report, arrived, states[name], key, agent.sequence))
                known = self._known(connection, entries)
                for report, arrived, state, key, sequence in entries:
                    if (key, sequence) in known:
                        report.duplicates += 1
                        continue
                    known.add((key, sequence))
                    snapshot = arrived.snapshot
                    snapshot.taken_at += state.offset_at(report.sent_at, report.received_at)
                    state.note_start(key, sequence, snapshot.taken_at)
                    report.stored += 1
                    body = report.body if report.body is not None else pack(arrived.body)
                    rows.append(
                        NewSnapshot(state.id, snapshot.taken_at, report.received_at, key, sequence, body)
                    )
                    report.fresh.append((state, arrived))
                if rows:
                    self.store.snapshots.add(connection, rows)
        except BaseException:
            for state in made:
                self.judge.forget(state.name)
            for _, _, state, key, _ in entries:
                state.starts.pop(key, None)  # what is stored of it is asked again
            raise
        self.commits += 1
        self.stored += len(rows)
        for report in batch:
            self.duplicates += report.duplicates
            report.two_agents = sorted(
                {
                    a.snapshot.node
                    for a in report.arrived
                    if (s := self.judge.nodes.get(a.snapshot.node)) and s.two_agents
                }
            )

    def _known(
        self, connection: Connection, entries: list[tuple[Report, Arrived, NodeState, int, int]]
    ) -> set[tuple[int, int]]:
        """Which reports are stored already: only what is not plainly newer is looked up."""
        doubtful = [
            (key, sequence)
            for _, _, state, key, sequence in entries
            if (start := state.starts.get(key)) is None
            or sequence <= start.sequence
            or not self.store.embedded
        ]
        return self.store.snapshots.known(connection, doubtful) if doubtful else set()

    def _write_pending(self) -> None:
        pending = self.judge.feed.take()
        if not pending:
            return
        try:
            with self.store.writing() as connection:
                pending.write(self.store, connection)
        except StoreCorrupt as error:
            self._set_aside(error)
        except StoreError as error:
            self.judge.feed.put_back(pending)
            self.note(error)
        except Exception:
            log.exception("what was judged could not be written, and is not in the feed")

    def _set_aside(self, error: StoreCorrupt) -> None:
        aside = self.store.start_afresh()
        there = aside is not None and aside.exists()  # else it was taken away
        log.error(
            "%s; %s empty store goes on", error, f"it was set aside as {aside}, and an" if there else "an"
        )
        self.trouble = error
        with self.store.writing() as connection:
            now = self.clock()
            for state in list(self.judge.nodes.values()):
                state.id = self.store.snapshots.add_node(connection, state.name, now)
                state.starts.clear()
                state.told = None
        self.judge.feed.take()

    def replace(self, engine: Engine, error: StoreCorrupt) -> None:
        """Set the store aside, unless a report found the damage, too, and did it meanwhile."""
        if self.store.engine is engine:
            self._set_aside(error)

    def note(self, error: StoreError) -> None:
        if str(error) != str(self.trouble):
            log.error("%s", error)
        self.trouble = error
