"""`gpudiag demo`: a simulated fleet with its API and web pages, on a machine without a GPU.

Eight simulated nodes report over HTTP as agents do: first an hour of history, as an agent that was cut off
sends what it spooled, then live in real time through the agent's own reporter. Nothing else may report.
"""

from __future__ import annotations

import argparse
import logging
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from api.words import Sentence
from gpudiag.agent.reporter import Reporter
from gpudiag.agent.spool import Spool
from gpudiag.client import Client
from gpudiag.model import Snapshot
from gpudiag.simulator import Machine, fleet
from gpudiag.simulator.machine import INTERVAL
from gpudiag.words import Language

if TYPE_CHECKING:
    from api.parts import Parts

HISTORY_SECONDS = 3600
TOGETHER = 60  # snapshots in one request of the history
EXAMPLE = "node-3"

SUMMARY = "a simulated fleet, its API and web pages; no GPU needed"


def arguments(parser: argparse.ArgumentParser) -> None:
    from gpudiag.settings import add_options

    add_options(parser, "serve", "store", "keep")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other machines (1)")


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    from api.server import until_told
    from gpudiag.settings import from_options, spoken_by

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(message)s")
    settings = from_options(options, "serve")
    language = spoken_by(settings.serve, options.lang)
    with until_told() as told, tempfile.TemporaryDirectory(prefix="gpudiag-demo-") as folder:
        show = Demo(settings, Path(folder), seed=options.seed)
        try:
            show.start(told)
            if not told.is_set():
                print(welcome(show.url, language), flush=True)
            told.wait()
        finally:
            show.stop()
    return 0


def welcome(url: str, language: Language) -> str:
    """Where everything is, and what to ask first."""
    return Sentence("demo.ready", url=url, node=EXAMPLE, gpudiag=_called()).said(language)


def _called() -> str:
    """`gpudiag`; where the shell does not find that, as in a fresh checkout, the path that was started."""
    started = sys.argv[0]
    return started if Path(started).name == "gpudiag" and shutil.which("gpudiag") is None else "gpudiag"


@dataclass
class Demo:
    """The server and its simulated agents. `start` returns when every node has its first answer."""

    settings: Any
    folder: Path
    seed: int = 1
    server: Any = None
    ended: threading.Event = field(default_factory=threading.Event)
    live: threading.Thread | None = None

    @property
    def url(self) -> str:
        return str(self.server.url)

    def start(self, told: threading.Event | None = None) -> None:
        """Serve, send the history, and go on live. Returns early when `told` is set."""
        from api.app import create_app
        from api.parts import parts_of
        from api.server import Server

        token = secrets.token_urlsafe(32)
        serve = replace(self.settings.serve, store=f"sqlite:///{self.folder / 'store.sqlite3'}")
        app = create_app(
            replace(self.settings, serve=serve), open_to_all=True, reports_token=token, chat=self.chat()
        )
        try:
            self.server = Server(app, serve.host, serve.port).start()
        except BaseException:
            from api.app import close

            close(app)
            raise
        made = parts_of(app)
        now = time.time()
        machines = fleet(now - HISTORY_SECONDS, self.seed)
        with Client(self.url, token) as client:
            for batch in batches(machines, now):
                if told is not None and told.is_set():
                    return
                client.send(batch)
        made.writer.do(lambda: judge_the_silent(made, time.time()))
        self.live = threading.Thread(
            target=self._report, args=(machines, token, now), name="simulated-agents"
        )
        self.live.start()

    def stop(self) -> None:
        """End the agents, then the server."""
        self.ended.set()
        if self.live is not None:
            self.live.join()
        if self.server is not None:
            self.server.stop()

    def chat(self) -> Any:
        """The chat commands, found through their entry point; None where they are not installed."""
        from importlib.metadata import entry_points

        found = next(iter(entry_points(group="gpudiag.commands", name="ask")), None)
        try:
            answer = getattr(found.load(), "html", None) if found else None
        except ImportError:
            answer = None
        if answer is None:
            return None

        def chat(text: str, language: Language) -> str:
            return str(answer(text, self.url, language))

        return chat

    def _report(self, machines: list[Machine], token: str, since: float) -> None:
        """Every simulated agent in turn, each at its own seconds, in real time."""
        with Client(self.url, token) as client:
            agents = [
                Agent(machine, Reporter(client, Spool(self.folder / "spool" / machine.name)), since)
                for machine in machines
            ]
            while not self.ended.wait(0.25):
                for agent in agents:
                    agent.report(time.time())


def judge_the_silent(made: Parts, now: float) -> None:
    """Judge by the clock at once, although reports have just arrived: they were old."""
    for state in made.judge.nodes.values():
        state.judged_by_clock = 0.0
    made.clockwork.rounds.tick(now)


@dataclass
class Agent:
    """One simulated agent: its machine, the agent's real reporter, and how far it has reported."""

    machine: Machine
    reporter: Reporter
    reported: float

    def report(self, now: float) -> None:
        if now - self.reported < INTERVAL:
            self.reporter.push(now)
            return
        for snapshot in self.machine.history(self.reported, now):
            if snapshot.agent is not None:
                snapshot.agent.lost_snapshots = self.reporter.lost
            self.reporter.report(msgspec.json.encode(snapshot), now)
            self.reported = snapshot.taken_at
        self.reported = max(self.reported, now - INTERVAL)


def batches(machines: Iterable[Machine], now: float) -> Iterator[list[Snapshot]]:
    """The hour up to `now`, ten minutes of one node at a time, so that all nodes fill up together."""
    each = [_chunks(machine.history(now - HISTORY_SECONDS, now)) for machine in machines]
    for round_ in zip_longest(*each):
        yield from (batch for batch in round_ if batch)


def _chunks(snapshots: Iterable[Snapshot]) -> Iterator[list[Snapshot]]:
    remaining = iter(snapshots)
    while batch := list(islice(remaining, TOGETHER)):
        yield batch


class _Command:
    """What the command line wants of a command."""

    SUMMARY = SUMMARY
    arguments = staticmethod(arguments)
    run = staticmethod(run)


demo = _Command()

__all__ = ["Demo", "demo"]
