"""`gpudiag agent`: the per-host agent, and words to the one that runs here (release, resume, status)."""

from __future__ import annotations

import os
import signal
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import FrameType

SUMMARY = "report this host's GPUs; `agent release` lets go of them for a while"

RELEASE_SPAN = "10m"


def arguments(parser: ArgumentParser) -> None:
    from gpudiag.settings import add_options

    parser.add_argument(
        "action",
        nargs="?",
        choices=("run", "release", "resume", "status"),
        default="run",
        help="run (default); or to the agent on this host: release the GPUs, resume, status",
    )
    parser.add_argument(
        "--for", dest="span", metavar="SPAN", default=RELEASE_SPAN, help="how long to release (10m)"
    )
    add_options(parser, "agent")


def run(options: Namespace) -> int:
    if options.action == "run":
        return run_agent(options)
    return tell_agent(options)


# ------------------------------------------------------------------------------------------ running


def run_agent(options: Namespace) -> int:
    """Works until a signal ends it; starts itself again when the driver was replaced."""
    from gpudiag.agent import Agent, DeclaredServer, Observer
    from gpudiag.agent.local import runtime_folder, state_folder
    from gpudiag.cli.terminal import token_in
    from gpudiag.client import Client
    from gpudiag.settings import from_options, spoken_by
    from gpudiag.words.refusals import agent_says

    settings = from_options(options, "agent")
    mine, language = settings.agent, spoken_by(settings.agent, options.lang)
    state = state_folder()
    agent = Agent(
        Observer(
            node=mine.node,
            interval=mine.interval,
            state=state,
            servers=tuple(DeclaredServer(e.engine, e.address, e.name) for e in settings.engines),
        ),
        Client(mine.api, token_in(mine.token_file), language=language),
        state=state,
        runtime=runtime_folder(),
        spool=Path(mine.spool) if mine.spool else None,
        spool_bytes=mine.spool_bytes,
        say=say,
        language=language,
    )

    def end(number: int, frame: FrameType | None) -> None:
        agent.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    seconds = f"{mine.interval:g}"
    say(agent_says("reports", language, node=agent.observer.node, api=mine.api, seconds=seconds))
    if agent.run() == "restart":
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    return 0


def say(line: str) -> None:
    print(f"gpudiag agent: {line}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------- to the agent on this host


def tell_agent(options: Namespace) -> int:
    import msgspec

    from gpudiag.agent import release
    from gpudiag.agent.local import ask
    from gpudiag.cli.terminal import span, spoken
    from gpudiag.words.programs import words

    language = spoken(options.lang)
    done = words(language).DONE
    if options.action == "status":
        status = msgspec.json.decode(ask({"ask": "status", "lang": language}))
        held = "released" if status["released"] else "watched" if status["holds_driver"] else "unreachable"
        print(done["agent-status"].format(held=done["agent-holds"][held], **status))
        if status.get("trouble"):  # an agent that is older than this command tells none
            print(done["agent-trouble"].format(trouble=status["trouble"]))
        return 0
    if options.action == "resume":
        ask({"ask": "resume"})
        print(done["agent-resumed"])
        return 0
    answer = release(span("--for", options.span))
    if not answer["released"]:
        print(done["agent-hangs"], file=sys.stderr)
        return 1
    print(done["agent-released"].format(seconds=f"{answer['seconds']:g}"))
    return 0
