"""`gpudiag completion bash|zsh|tcsh`: a completion script for the shell."""

from __future__ import annotations

import argparse
import importlib

SUMMARY = 'print a completion script: eval "$(gpudiag completion bash)"'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "tcsh"], help="the shell that is to run it")


def run(options: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(whole_parser(), shell=options.shell))
    return 0


def whole_parser() -> argparse.ArgumentParser:
    """All commands under one parser, as completion needs them."""
    from gpudiag.cli import COMMANDS
    from gpudiag.cli.plugins import find, plugin_names

    parser = argparse.ArgumentParser(prog="gpudiag")
    commands = parser.add_subparsers()
    for name in [*COMMANDS, *plugin_names()]:
        command = importlib.import_module(COMMANDS[name]) if name in COMMANDS else find(name)
        command.arguments(commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY))
    return parser
