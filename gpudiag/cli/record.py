"""`gpudiag record`: this host's snapshots as JSON lines, to look at later or to go with a bug report."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from typing import BinaryIO

from gpudiag.cli import terminal
from gpudiag.model import Snapshot
from gpudiag.words.programs import words
from gpudiag.words.refusals import Refusal

SUMMARY = "write this host's snapshots to a file, one JSON document a line"


class CannotWrite(Refusal):
    """The file cannot be written."""

    key = "recording-unwritable"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="where to write; - is standard output")
    parser.add_argument("--for", dest="span", metavar="SPAN", default="60s", help="how long to watch (60s)")
    parser.add_argument("--interval", metavar="SPAN", default="10s", help="time between snapshots (10s)")
    parser.add_argument("--node", metavar="NAME", help="name of this node (the host name)")
    parser.add_argument(
        "--past", action="store_true", help="take the last SPAN from the agent that runs on this host"
    )


def run(options: Namespace) -> int:
    span = terminal.span("--for", options.span)
    interval = terminal.span("--interval", options.interval)
    snapshots = _past(span) if options.past else _from_now(span, interval, options.node)
    if options.file == "-":
        write(snapshots, sys.stdout.buffer)
        return 0
    try:
        with open(options.file, "wb") as file:
            count = write(snapshots, file)
    except OSError as error:
        raise CannotWrite(file=options.file, reason=error) from None
    done = words(terminal.spoken(None)).DONE["recorded-one" if count == 1 else "recorded"]
    print(done.format(file=options.file, count=count))
    return 0


def write(snapshots: Iterable[Snapshot], file: BinaryIO) -> int:
    """One line per snapshot, as it comes; how many there were."""
    import msgspec

    count = 0
    for snapshot in snapshots:
        file.write(msgspec.json.encode(snapshot) + b"\n")
        file.flush()
        count += 1
    return count


def _past(span: float) -> list[Snapshot]:
    from gpudiag.agent import history

    return history(span)


def _from_now(span: float, interval: float, node: str | None) -> Iterable[Snapshot]:
    from gpudiag.agent import Observer, observe

    progress = terminal.Progress(words(terminal.spoken(None)).DOING["watching"], span)
    try:
        observer = Observer(node=node, source="local", interval=min(interval, span))
        yield from observe(observer, span, lambda share: progress.tick())
    finally:
        progress.done()
