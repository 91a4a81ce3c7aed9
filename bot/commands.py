"""`gpudiag bot` and `gpudiag ask`: the entry points that join the command line."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path
from types import SimpleNamespace

from gpudiag.errors import GpudiagError


class NothingToServe(GpudiagError):
    """No Slack secrets are set, so there is nothing to listen to."""


def bot_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--api", metavar="URL", help="our API (default $GPUDIAG_API_URL, http://127.0.0.1:8000)"
    )
    parser.add_argument("--host", help="address to listen at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen at (default 3000)")
    parser.add_argument("--public-url", metavar="URL", help="where the links in messages lead")
    parser.add_argument("--state", metavar="FILE", help="the bot's own small file")
    parser.add_argument("--check", action="store_true", help="say what the set-up lacks, and exit")
    parser.add_argument("--lang", choices=("en", "ko"), default="en", help="language of --check")


def bot_run(options: argparse.Namespace) -> int:
    """Serve Slack over HTTP (SLACK_SIGNING_SECRET), Socket Mode (SLACK_APP_TOKEN), or both."""
    from bot.settings import from_environment

    settings = from_environment(
        api_url=options.api,
        host=options.host,
        port=options.port,
        public_url=options.public_url,
        state_path=options.state,
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    logging.getLogger("gpudiag.bot.bolt").setLevel(logging.ERROR)
    if options.check:
        return check(settings, options.lang)
    if not settings.bot_token or not (settings.signing_secret or settings.app_token):
        raise NothingToServe(
            "bot: no Slack secrets. Set SLACK_BOT_TOKEN and SLACK_SIGNING_SECRET (HTTP) or SLACK_APP_TOKEN"
            ' (Socket Mode); docs/slack.md says where they are. Without Slack: gpudiag ask "why node-3"'
        )
    from bot.program import serve

    return serve(settings)


def check(settings: object, lang: str) -> int:
    """Print the doctor's answer; 1 when something must be fixed."""
    from bot.doctor import examine
    from bot.markdown import terminal
    from bot.settings import Settings

    assert isinstance(settings, Settings)
    answer = examine(settings, lang)
    sys.stdout.write(terminal(answer, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ))
    return 0 if answer.state == "ok" else 1


def ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help='a chat command, such as "why node-3"; none: the fleet')
    parser.add_argument(
        "--api", metavar="URL", help="our API (default $GPUDIAG_API_URL, http://127.0.0.1:8000)"
    )
    parser.add_argument("--lang", choices=("en", "ko"), help="language of the answer")
    parser.add_argument(
        "--format", choices=("text", "markdown", "html", "blocks"), default="text", help="how it is laid out"
    )
    parser.add_argument("--json", action="store_true", help="the answer as JSON")


def ask_run(options: argparse.Namespace) -> int:
    """Answer one chat command on the terminal, without a chat system."""
    from bot.answers import Asking, answer_text
    from bot.api import Api
    from bot.settings import from_environment

    settings = from_environment(api_url=options.api)
    api = Api(settings.api_url, settings.api_token, settings.api_seconds)
    prefix, lang = "gpudiag ask", options.lang or language_of_shell()
    asking = Asking(api=api, lang=lang, prefix=prefix, public_url=settings.link_url)
    try:
        answer = answer_text(question_of(options.question), asking)
    finally:
        api.close()
    sys.stdout.write(laid_out(answer, "json" if options.json else options.format))
    return 0


def question_of(words: list[str]) -> str:
    """The words as one sentence; `-` reads pasted text from standard input."""
    if words and words[-1] == "-":
        return " ".join(words[:-1]) + "\n" + sys.stdin.read()
    return " ".join(words)


def language_of_shell() -> str:
    tongue = os.environ.get("GPUDIAG_LANG") or os.environ.get("LC_ALL") or os.environ.get("LANG", "")
    return "ko" if tongue.lower().startswith("ko") else "en"


def laid_out(answer: object, how: str) -> str:
    import dataclasses
    import json
    import shutil

    from bot import blocks, markdown
    from bot.answer import Answer

    assert isinstance(answer, Answer)
    if how == "json":
        return json.dumps(dataclasses.asdict(answer), ensure_ascii=False, default=sorted) + "\n"
    if how == "blocks":
        return json.dumps(blocks.message(answer), ensure_ascii=False, indent=1) + "\n"
    if how == "markdown":
        return markdown.markdown(answer)
    if how == "html":
        return markdown.page(answer) + "\n"
    terminal = sys.stdout.isatty()
    width = min(100, shutil.get_terminal_size().columns) if terminal else 80
    return markdown.terminal(answer, width, colour=terminal and "NO_COLOR" not in os.environ)


bot = SimpleNamespace(
    SUMMARY="the Slack bot: HTTP or Socket Mode, by which secrets are set",
    arguments=bot_arguments,
    run=bot_run,
)
ask = SimpleNamespace(
    SUMMARY='the chat commands without a chat system: gpudiag ask "why node-3"',
    arguments=ask_arguments,
    run=ask_run,
)

__all__ = ["Path", "ask", "bot"]
