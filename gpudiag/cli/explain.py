"""`gpudiag explain [FILE|-]`: the diagnosis of pasted tool output, without a server."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gpudiag.cli import sources, terminal
from gpudiag.words.programs import words
from gpudiag.words.refusals import Refusal

SUMMARY = "the diagnosis of pasted nvidia-smi output, its errors or the kernel log"


class CannotRead(Refusal):
    """The file with the pasted text cannot be read."""

    key = "no-such-file"


class NothingCame(Refusal):
    """Standard input ended without any text, as where the command before the pipe was not found."""

    key = "nothing-came"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", metavar="FILE|-", help="a file, or - for standard input (the default)"
    )
    terminal.add_config_option(parser)
    terminal.add_output_options(parser)


def run(options: argparse.Namespace) -> int:
    language = terminal.chosen_language(options.lang)
    diagnosis = diagnosis_of(pasted(options.file, language), options.config, language)
    if options.json:
        terminal.print_json(diagnosis)
        return 0
    from gpudiag.plaintext import diagnosis_text

    sys.stdout.write(diagnosis_text(diagnosis, language, width=terminal.columns(), colour=terminal.colour()))
    return 0


def pasted(name: str, language: str) -> bytes:
    """The bytes of the file, or of standard input; no more than a paste may have."""
    from gpudiag.smi.errors import LONGEST_BYTES

    if name == "-":
        if sys.stdin.isatty():
            print(words(language).DOING["paste"], file=sys.stderr)
        text = sys.stdin.buffer.read(LONGEST_BYTES + 1)
        if not text.strip():
            raise NothingCame
        return text
    try:
        with open(name, "rb") as file:
            return file.read(LONGEST_BYTES + 1)
    except OSError as error:
        raise CannotRead(name=name, reason=error) from None


def diagnosis_of(text: bytes, config: str | None, language: str) -> dict[str, Any]:
    """The diagnosis as its JSON, with the thresholds of the settings."""
    import msgspec

    from gpudiag.examine import Ruleset
    from gpudiag.explain import explain
    from gpudiag.pasted import judge
    from gpudiag.settings import load

    rules = Ruleset(thresholds=load(config).rules)
    checkup = judge(text, rules)
    diagnosis = explain(checkup, language, rules, runbooks=sources.RUNBOOKS)  # type: ignore[arg-type]
    found: dict[str, Any] = msgspec.to_builtins(diagnosis)
    return found
