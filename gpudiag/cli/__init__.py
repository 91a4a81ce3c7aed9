"""The command line: one file per command, loaded only when it is asked for.

A command file has `SUMMARY` (one line for the help), `arguments(parser)` and `run(options) -> exit code`;
where a wrong option is not to exit with 2, also `USAGE_EXIT_CODE`.
To add one: write the file and name it in `COMMANDS`. Commands of `api` and `bot` come in through the
entry points `gpudiag.commands`, which are scanned only when a word is not in `COMMANDS`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING

from gpudiag.errors import GpudiagError

if TYPE_CHECKING:
    from argparse import Namespace
    from types import ModuleType

COMMANDS = {
    "why": "gpudiag.cli.why",
    "explain": "gpudiag.cli.explain",
    "kv": "gpudiag.cli.kv",
    "check": "gpudiag.cli.check",
    "rules": "gpudiag.cli.rules",
    "agent": "gpudiag.cli.agent",
    "record": "gpudiag.cli.record",
    "replay": "gpudiag.cli.replay",
    "completion": "gpudiag.cli.completion",
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code. A failure prints one line and no traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = dispatch(words)
        sys.stdout.flush()  # a reader that has gone is met here and not when Python ends
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _write_no_more()
        return 141
    except Exception as error:
        return refuse(error, None)


def dispatch(words: list[str]) -> int:
    import importlib

    if len(words) > 1 and words[0] == "help":
        words = [words[1], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        from gpudiag.cli.help import overview

        print(overview(COMMANDS))
        return 0
    if words[0] in ("-V", "--version", "version"):
        from gpudiag import __version__

        print(f"gpudiag {__version__}")
        return 0
    name, rest = words[0], words[1:]
    if name in COMMANDS:
        command = importlib.import_module(COMMANDS[name])
    else:
        from gpudiag.cli.plugins import find

        command = find(name, COMMANDS)
    import argparse

    parser = argparse.ArgumentParser(prog=f"gpudiag {name}", description=command.SUMMARY)
    command.arguments(parser)
    intermixed = getattr(command, "INTERMIXED", False)
    try:
        options = (parser.parse_intermixed_args if intermixed else parser.parse_args)(rest)
    except SystemExit as ended:
        return getattr(command, "USAGE_EXIT_CODE", 2) if ended.code else 0
    return run(command, options)


def run(command: ModuleType, options: Namespace) -> int:
    """The command's exit code, also of what it refuses."""
    try:
        return command.run(options)
    except BrokenPipeError:
        raise
    except Exception as error:
        return refuse(error, getattr(options, "lang", None))


def refuse(error: Exception, language: str | None) -> int:
    """Say the error's sentence in the language that was asked for; its exit code."""
    from gpudiag.cli.terminal import spoken

    if not isinstance(error, GpudiagError):
        from gpudiag.cli.failed import named

        _write_no_more()
        error = named(error)
    print(f"gpudiag: {error.said(spoken(language))}", file=sys.stderr)
    return error.exit_code


def _write_no_more() -> None:
    """Drop what is still to be written: nobody takes it, and Python would complain once more at its end."""
    with contextlib.suppress(OSError, AttributeError):  # there is none, or it is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
