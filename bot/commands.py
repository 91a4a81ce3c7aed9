"""`gpudiag bot` and `gpudiag ask`: the entry points that join the command line."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import asdict
from types import SimpleNamespace
from typing import TYPE_CHECKING

from bot.words import Mistake

if TYPE_CHECKING:
    from bot.answer import Answer
    from bot.settings import Settings


class NothingToServe(Mistake):
    """No Slack secrets are set, so there is nothing to listen to."""


def bot_arguments(parser: argparse.ArgumentParser) -> None:
    from gpudiag.settings import add_options

    add_options(parser, "bot")
    parser.add_argument("--check", action="store_true", help="say what the set-up lacks, and exit")


def bot_run(options: argparse.Namespace) -> int:
    """Serve Slack over HTTP (SLACK_SIGNING_SECRET), Socket Mode (SLACK_APP_TOKEN), or both."""
    from bot.settings import lacking, settings_of
    from gpudiag.settings import from_options, spoken_by

    common = from_options(options, "bot").bot
    settings, lang = settings_of(common), spoken_by(common, options.lang)
    log_to_stderr()
    if options.check:
        return check(settings, lang)
    if lack := lacking(asdict(settings)):
        raise NothingToServe("start.nothing", lacking=lack)
    from bot.program import serve

    return serve(settings, lang)


def log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s", stream=sys.stderr)
    for name in ("gpudiag.bot.bolt", "gpudiag.bot.slack_sdk", "slack_sdk", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR)


def check(settings: Settings, lang: str) -> int:
    """Print the doctor's answer; 1 when something must be fixed."""
    from bot.doctor import examine
    from bot.markdown import terminal
    from gpudiag.cli.terminal import colour

    logging.disable()  # what the libraries log of a failure, the answer says in words
    answer = examine(settings, lang)
    sys.stdout.write(terminal(answer, colour=colour()))
    return 0 if answer.state == "ok" else 1


def ask_arguments(parser: argparse.ArgumentParser) -> None:
    from gpudiag.cli.terminal import add_api_options, add_output_options

    parser.add_argument("question", nargs="*", help='a chat command, such as "why node-3"; none: the fleet')
    add_api_options(parser)
    add_output_options(parser)
    parser.add_argument(
        "--format",
        choices=("text", "markdown", "html", "blocks"),
        default="text",
        help="how it is laid out (text)",
    )


def ask_run(options: argparse.Namespace) -> int:
    """Answer one chat command on the terminal, without a chat system."""
    from bot.answers import Asking, answer_text
    from bot.api import Api
    from bot.settings import token_in
    from gpudiag.cli.terminal import api_address, chosen_language

    address = api_address(options.api)
    api = Api(address, token_in(options.token_file))
    lang = chosen_language(options.lang)
    try:
        answer = answer_text(
            sentence_of(options.question),
            Asking(api=api, lang=lang, prefix="gpudiag ask", public_url=address),
        )
    finally:
        api.close()
    sys.stdout.write(laid_out(answer, "json" if options.json else options.format))
    return answer.exit_code


def questions() -> list[str]:
    """What `ask` begins with: the verbs of the chat."""
    from bot.grammar import BY_NAME

    return sorted(BY_NAME)


def ask_html(text: str, api_url: str, lang: str) -> str:
    """The answer to one line of chat as an HTML fragment that is safe to show: the demo's chat page."""
    from bot.answers import Asking, answer_text
    from bot.api import Api
    from bot.markdown import page

    api = Api(api_url)
    try:
        return page(
            answer_text(text, Asking(api=api, lang=lang, prefix="", public_url=api_url)), site=api_url
        )
    finally:
        api.close()


def sentence_of(words: list[str]) -> str:
    """The words as one sentence; a `-` at the end reads pasted text from standard input."""
    if words and words[-1] == "-":
        return " ".join([*words[:-1], sys.stdin.read()])
    return " ".join(words)


def laid_out(answer: Answer, how: str) -> str:
    import json

    from bot import blocks, markdown
    from gpudiag.cli.terminal import colour, columns

    if how == "json":
        return json.dumps(asdict(answer), ensure_ascii=False, default=sorted) + "\n"
    if how == "blocks":
        return json.dumps(blocks.message(answer), ensure_ascii=False, indent=1) + "\n"
    if how == "markdown":
        return markdown.markdown(answer)
    if how == "html":
        return markdown.page(answer) + "\n"
    return markdown.terminal(answer, min(100, columns()), colour=colour())


bot = SimpleNamespace(
    SUMMARY="the Slack bot: HTTP or Socket Mode, by which secrets are set",
    arguments=bot_arguments,
    run=bot_run,
)
ask = SimpleNamespace(
    SUMMARY='the chat commands without a chat system: gpudiag ask "why node-3"',
    arguments=ask_arguments,
    run=ask_run,
    html=ask_html,
    questions=questions,
)
