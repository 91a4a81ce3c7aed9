"""Commands that need the server: they join `gpudiag` through entry points.

Each is an object with `SUMMARY`, `arguments(parser)` and `run(options)`, as the core's command files are.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

from api.words import Sentence, Worded
from gpudiag.words import language_at


class WrongOption(Worded):
    """A command was called in a way that says nothing."""


class Voice:
    """Says sentences of `api.words` on the terminal, in one language: that of the person by default."""

    def __init__(self, language: str | None = None) -> None:
        self.language = language or language_at(os.environ)

    def __call__(self, key: str, /, to: TextIO | None = None, **values: object) -> None:
        print(Sentence(key, **values).said(self.language), file=to, flush=True)


@dataclass(frozen=True, slots=True)
class Command:
    """What the command line wants of a command."""

    SUMMARY: str
    arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


# ------------------------------------------------------------------------------------------- serve


def _serve_arguments(parser: argparse.ArgumentParser) -> None:
    from gpudiag.settings import add_options

    add_options(parser, "serve")


def _serve(options: argparse.Namespace) -> int:
    from api.server import until_told
    from gpudiag.settings import from_options, spoken_by

    settings = from_options(options, "serve")
    say = Voice(spoken_by(settings.serve, options.lang))
    with until_told() as told, _started(settings, say) as server:
        say("serve.ready", url=server.url)
        told.wait()
    return 0


@contextlib.contextmanager
def _started(settings: Any, say: Voice) -> Iterator[Any]:
    """The server of `settings`, listening; refuses an open address without tokens."""
    from api.access import check_binding
    from api.app import close, create_app
    from api.parts import parts_of
    from api.server import Server

    _log()
    app = create_app(settings)
    made = parts_of(app)
    try:
        check_binding(settings.serve.host, made.store)
        if made.store.damaged is not None:
            say("serve.damaged", to=sys.stderr, file=made.store.damaged)
        server = Server(app, settings.serve.host, settings.serve.port).start()
    except BaseException:
        close(app)
        raise
    try:
        yield server
    finally:
        server.stop()


def _log() -> None:
    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO, stream=sys.stderr
    )
    for chatty in ("alembic", "_granian"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


serve = Command("the API and web pages", _serve_arguments, _serve)


# ---------------------------------------------------------------------------------------------- up


def _up_arguments(parser: argparse.ArgumentParser) -> None:
    from gpudiag.settings import add_options

    add_options(parser, "serve")
    parser.add_argument("--node", metavar="NAME", help="name of this node (the host name); GPUDIAG_NODE")
    parser.add_argument(
        "--interval", metavar="SPAN", help="time between two snapshots (10s); GPUDIAG_INTERVAL"
    )


def _up(options: argparse.Namespace) -> int:
    from api.server import until_told
    from gpudiag.settings import from_options, spoken_by

    settings = from_options(options, "serve", "agent")
    node = settings.agent.node or socket.gethostname().partition(".")[0]
    say = Voice(spoken_by(settings.serve, options.lang))
    with until_told() as told, _started(settings, say) as server, _agent_beside(server, node, options):
        seconds = f"{settings.agent.interval:g}"
        say("up.looks", to=sys.stderr, url=server.url, node=node, seconds=seconds)
        if _first_answer(server, node, told):
            say("up.ready", url=server.url, node=node)
        elif not told.is_set():
            say("up.nothing", url=server.url, node=node)
        told.wait()
    return 0


@contextlib.contextmanager
def _agent_beside(server: Any, node: str, options: argparse.Namespace) -> Iterator[None]:
    """The agent of this machine as a process of its own: a driver that hangs does not hang the server."""
    from api.parts import parts_of

    gate = parts_of(server.app).gate
    with tempfile.TemporaryDirectory(prefix="gpudiag-up-") as folder:
        token_file = Path(folder) / "token"
        token_file.touch(0o600)
        token_file.write_text(gate.admit_agent(node))
        words = ["agent", "--api", server.url, "--node", node, "--token-file", str(token_file)]
        # Its own spool: what another agent left on this host may carry another node's name.
        words += ["--spool", str(Path(folder) / "spool")]
        for name in ("config", "interval", "lang"):
            if getattr(options, name, None) is not None:
                words += [f"--{name}", getattr(options, name)]
        # -P: a folder named gpudiag where the person stands is not this program.
        start = "import sys; from gpudiag.cli import main; sys.exit(main())"
        agent = subprocess.Popen([sys.executable, "-P", "-c", start, *words])
        try:
            yield
        finally:
            agent.terminate()
            try:
                agent.wait(10)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()


def _first_answer(server: Any, node: str, told: threading.Event) -> bool:
    """Wait until the node has a diagnosis; False when there is none after half a minute."""
    from api.parts import parts_of

    nodes = parts_of(server.app).judge.nodes
    until = time.monotonic() + 30
    while time.monotonic() < until and not told.wait(0.1):
        state = nodes.get(node)
        if state is not None and state.checkup is not None:
            return True
    return False


up = Command("one real host: agent, API and web pages", _up_arguments, _up)


# -------------------------------------------------------------------------------------------- demo


def _demo_arguments(parser: argparse.ArgumentParser) -> None:
    from api.demo import demo as found

    found.arguments(parser)


def _demo(options: argparse.Namespace) -> int:
    from api.demo import demo as found

    return int(found.run(options))


demo = Command("a simulated fleet, its API and web pages; no GPU needed", _demo_arguments, _demo)


# ------------------------------------------------------------------------------------------- token


def _token_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="settings file in TOML; GPUDIAG_CONFIG")
    parser.add_argument("--store", metavar="URL", help="the server's store; GPUDIAG_STORE")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke")
    create = actions.add_parser("create", help="make a token; it is shown this once")
    create.add_argument("role", choices=("agent", "reader", "admin"))
    create.add_argument(
        "node", nargs="?", help="the only node an agent's token may report as; or a pattern: 'gpu-*'"
    )
    create.add_argument("--node", dest="node_option", metavar="NAME", help=argparse.SUPPRESS)
    files = create.add_mutually_exclusive_group()
    files.add_argument(
        "--from", dest="from_file", metavar="FILE", help="take the token that a file holds; once is enough"
    )
    files.add_argument(
        "--out", metavar="FILE", help="write it to a new file that its owner alone can read (mode 600)"
    )
    create.add_argument("--note", default="", help="whose it is")
    actions.add_parser("list", help="every token, without the tokens")
    revoke = actions.add_parser("revoke", help="a token opens nothing from now on")
    revoke.add_argument("id")
    for action in actions.choices.values():
        action.add_argument(
            "--json", action="store_true", default=argparse.SUPPRESS, help="one JSON document"
        )
        action.add_argument("--store", metavar="URL", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def _token(options: argparse.Namespace) -> int:
    return _ACTIONS[options.action](options)


@contextlib.contextmanager
def _store_of(options: argparse.Namespace, *, may_make: bool = False) -> Iterator[Any]:
    """The server's store. A file that is not there is made only where that is asked for."""
    from api.app import default_store
    from api.store import Store
    from api.store.engine import file_of
    from gpudiag.settings import from_options

    settings = from_options(SimpleNamespace(config=options.config, store=options.store), "serve")  # type: ignore[arg-type]
    url = settings.serve.store or default_store()
    file = file_of(url)
    new = file is not None and not file.exists()
    if new and not may_make:
        raise WrongOption("token.no.store", file=file)
    store = Store(url)
    try:
        yield store
    finally:
        store.close()
    if new:
        Voice()("token.new.store", to=sys.stderr, file=file)


def _create(options: argparse.Namespace) -> int:
    from api.store.tokens import is_pattern

    node, given, now, say = _node_of(options), _given(options.from_file), time.time(), Voice()
    with _private(options.out) as write, _store_of(options, may_make=True) as store:
        token = None
        if given is not None:
            entry = store.tokens.adopt(given, options.role, node, options.note, now)
        else:
            token, entry = store.tokens.create(options.role, node, options.note, now)
        shown = Sentence("token.shown" if token is not None else "token.in.file")
        if write is not None and token is not None:
            write(f"{token}\n")
            token, shown = None, Sentence("token.out", file=options.out)
        if options.json:
            print(json.dumps({"token": token, **entry._asdict()}))
        elif token is not None:
            print(token)
        bound = Sentence("token.bound", node=node) if node else ""
        say("token.created", to=sys.stderr, id=entry.id, role=entry.role, bound=bound, shown=shown)
        if node and is_pattern(node):
            say("token.reach", to=sys.stderr, **_reach(store, entry))
    return 0


@contextlib.contextmanager
def _private(file: str | None) -> Iterator[Callable[[str], object] | None]:
    """What writes to a new file of mode 600; it is made first, since a token is shown but once.

    One that is there already may be open to others, or hold a token that is in use.
    """
    if file is None:
        yield None
        return
    if file == "-":
        raise WrongOption("token.out.dash")
    try:
        made = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise WrongOption("token.out.there", file=file) from None
    except OSError as error:
        raise WrongOption("token.out.unwritable", file=file, reason=error) from None
    try:
        with open(made, "w", encoding="utf-8") as opened:
            yield opened.write
    except BaseException:
        Path(file).unlink(missing_ok=True)
        raise


def _given(file: str | None) -> str | None:
    """The token that a file holds."""
    if file is None:
        return None
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, OSError) else Sentence("token.not.text")
        raise WrongOption("token.unreadable", file=file, reason=reason) from None


def _node_of(options: argparse.Namespace) -> str | None:
    """The node, or the pattern of names, that a token is bound to; raises WrongOption."""
    from api.reports.intake import NODE_NAME
    from api.store.tokens import is_pattern, narrow_enough

    node: str | None = options.node or options.node_option
    if options.role != "agent":
        if node:
            raise WrongOption("token.of.no.node", role=options.role, node=node)
        return None
    if not node:
        raise WrongOption("token.of.which.node")
    if is_pattern(node):
        if not narrow_enough(node):
            raise WrongOption("token.wide", node=node)
    elif not NODE_NAME.fullmatch(node):
        raise WrongOption("token.no.name", node=node)
    return node


def _reach(store: Any, entry: Any) -> dict[str, Sentence]:
    """How far a token for a pattern reaches: whoever has it can report in the name of any of these."""
    from api.store.tokens import EVERY_NODE

    known = [row.name for row in store.snapshots.nodes()]
    every = entry.node == EVERY_NODE
    which = Sentence("token.every") if every else Sentence("token.matching", pattern=entry.node)
    count = sum(map(entry.covers, known))
    now = Sentence("token.known", count=count, all=len(known)) if known else Sentence("token.none.known")
    return {"which": which, "now": now}


def _list(options: argparse.Namespace) -> int:
    from gpudiag.explain import iso

    say = Voice()
    with _store_of(options) as store:
        entries = store.tokens.all()
    if options.json:
        print(json.dumps([entry._asdict() for entry in entries]))
        return 0
    if not entries:
        say("token.none")
    for entry in entries:
        ended = entry.revoked_at
        state = Sentence("token.revoked.at", at=iso(ended)) if ended else Sentence("token.valid")
        whose = f"{entry.role:<7} {entry.node or '-':<20}"
        said = state.said(say.language)
        print(f"{entry.id}  {whose} {iso(entry.created_at)}  {said}  {entry.note}".rstrip())
    return 0


def _revoke(options: argparse.Namespace) -> int:
    with _store_of(options) as store:
        revoked = store.tokens.revoke(options.id, time.time())
    if not revoked:
        raise WrongOption("token.not.valid", id=options.id)
    if options.json:
        print(json.dumps({"revoked": options.id}))
    else:
        Voice()("token.revoked", id=options.id)
    return 0


_ACTIONS = {"create": _create, "list": _list, "revoke": _revoke}

token = Command("who may report, read and decide: create, list, revoke", _token_arguments, _token)
