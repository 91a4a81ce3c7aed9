"""What every command needs of the terminal: colour, width, JSON, progress."""

from __future__ import annotations

import os
import shutil
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from gpudiag.words import LANGUAGES, Language, language_at, language_of
from gpudiag.words.refusals import Refusal

API_URL = "http://127.0.0.1:8000"


class NoSuchLanguage(Refusal):
    """Answers were asked for in a language that has no words."""

    key = "no-such-language"


class NoSuchSpan(Refusal):
    """An option wants a span of time and got something else."""

    key = "no-such-span"


class NoToken(Refusal):
    """The token file cannot be used."""


def add_config_option(parser: ArgumentParser) -> None:
    """`--config`."""
    parser.add_argument("--config", metavar="FILE", help="settings file in TOML; GPUDIAG_CONFIG")


def add_output_options(parser: ArgumentParser) -> None:
    """`--lang` and `--json`."""
    parser.add_argument(
        "--lang", metavar="LANG", help="language of the answer: en or ko (the locale's); GPUDIAG_LANG"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def add_api_options(parser: ArgumentParser) -> None:
    """`--api` and `--token-file`."""
    parser.add_argument(
        "--api",
        metavar="URL",
        help=f"address of the API ({API_URL}); GPUDIAG_API_URL, or GPUDIAG_API as the agent has it",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        default=os.environ.get("GPUDIAG_TOKEN_FILE"),
        help="file that holds the bearer token; GPUDIAG_TOKEN_FILE",
    )


def api_address(option: str | None) -> str:
    """`--api`, else GPUDIAG_API_URL, else GPUDIAG_API, else this machine's port 8000."""
    return option or os.environ.get("GPUDIAG_API_URL") or os.environ.get("GPUDIAG_API") or API_URL


def chosen_language(option: str | None) -> Language:
    """`--lang`, else GPUDIAG_LANG, else the locale."""
    for place, asked in (("--lang", option), ("GPUDIAG_LANG", os.environ.get("GPUDIAG_LANG"))):
        if asked:
            if asked.replace("_", "-").split("-")[0].lower() not in LANGUAGES:
                raise NoSuchLanguage(place=place, asked=asked)
            return language_of(asked)
    return spoken(option)


def spoken(option: str | None) -> Language:
    """The same without a complaint about a language that has no words: for an error's sentence."""
    return language_at(os.environ, option)


def token_in(file: str | None) -> str | None:
    """The token that the file holds."""
    if file is None:
        return None
    try:
        token = Path(file).read_text(encoding="utf-8").strip()
    except OSError as error:
        raise NoToken("token-unreadable", file=file, reason=error) from None
    except UnicodeDecodeError:
        raise NoToken("token-not-text", file=file) from None
    if not token:
        raise NoToken("token-empty", file=file)
    return token


def span(option: str, text: str) -> float:
    """Seconds of an option such as `--for 60s`."""
    from gpudiag.settings import seconds

    try:
        return seconds(text)
    except ValueError:
        raise NoSuchSpan(option=option, text=text) from None


def colour() -> bool:
    """Colour only on a terminal, and not when NO_COLOR is set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def columns() -> int:
    """At most 80, and what a narrower terminal has."""
    return max(40, min(80, shutil.get_terminal_size((80, 24)).columns))


def print_json(document: Any) -> None:
    """Exactly one JSON document."""
    import msgspec

    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    sys.stdout.flush()


class Progress:
    """A line on standard error that counts down while something takes longer than a second."""

    def __init__(self, what: str, seconds: float) -> None:
        self.what, self.until = what, time.monotonic() + seconds
        self.shown = sys.stderr.isatty()

    def tick(self) -> None:
        if self.shown:
            left = max(0, round(self.until - time.monotonic()))
            print(f"\r{self.what} ({left} s) ", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
