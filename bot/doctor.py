"""`gpudiag bot --check` and `/gpu doctor`: what the set-up lacks, in sentences with the cure."""

from __future__ import annotations

import json
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.answer import Answer
from bot.answers.checks import Check, check_api, of_checks
from bot.api import Api
from bot.delivery import Delivery, SlackAway, SlackRefused
from bot.examples import messages
from bot.questions import Questions
from bot.settings import Settings
from bot.state import State, StateUnusable
from bot.words import say

NEEDED = ("commands", "chat:write", "app_mentions:read")
OPTIONAL = {
    "im:history": "d.use.im",
    "users:read": "d.use.users",
    "files:write": "d.use.pictures",
    "files:read": "d.use.files",
}
CLOCK_SECONDS = 120.0  # Slack refuses signatures that are five minutes off


def examine(
    settings: Settings,
    lang: str,
    api: Questions | None = None,
    delivery: Delivery | None = None,
    state: State | None = None,
) -> Answer:
    """Look at everything the bot needs, from the outside in."""
    own_api = None if api else Api(settings.api_url, settings.api_token, 5.0)
    asked = api or own_api
    assert asked is not None
    try:
        checks = [check_api(asked, lang)]
    finally:
        if own_api:
            own_api.close()
    checks += [*check_file(settings, lang), *check_links(settings, lang), *check_secrets(settings, lang)]
    if settings.bot_token:
        checks += check_slack(delivery or Delivery(settings), lang)
    if settings.app_token:
        checks += check_socket(settings, lang)
    if state:
        checks += check_channels(state, lang)
    if delivery:
        checks += check_losses(delivery, lang)
    return of_checks(list(dict.fromkeys(checks)), lang)  # two may find that Slack is away


def check_secrets(settings: Settings, lang: str) -> list[Check]:
    """Everything that is not set, not only the first."""
    token = [] if settings.bot_token else [Check(say(lang, "d.token.no"), False, say(lang, "d.token.cure"))]
    ways = (("HTTP", settings.signing_secret), ("Socket Mode", settings.app_token))
    named = " + ".join(name for name, secret in ways if secret)
    if not named:
        return [*token, Check(say(lang, "d.way.no"), False, say(lang, "d.way.cure"))]
    return [*token, Check(say(lang, "d.way", ways=named), True)]


def check_file(settings: Settings, lang: str) -> list[Check]:
    try:
        State(settings.state_path).close()
    except StateUnusable as error:
        return [Check(say(lang, "d.file.no", path=f"`{settings.state_path}`"), False, error.said(lang))]
    return []


def check_links(settings: Settings, lang: str) -> list[Check]:
    """Runbook links are opened on phones: an address of this machine alone is no use there."""
    if urlsplit(settings.link_url).hostname not in ("127.0.0.1", "localhost", "::1"):
        return []
    return [Check(say(lang, "d.links.no", url=settings.link_url), None, say(lang, "d.links.cure"))]


def check_slack(delivery: Delivery, lang: str) -> list[Check]:
    """The token, its kind and scopes, the clock, and whether Slack takes our messages."""
    try:
        found = delivery.call("auth.test")
    except SlackRefused as refused:
        return [Check(say(lang, "d.auth.no", code=refused.code), False, say(lang, "d.token.cure"))]
    except SlackAway:
        return [Check(say(lang, "d.slack.no"), False, say(lang, "d.slack.cure"))]
    workspace = f"{found.get('team') or ''} {found.get('team_id') or ''}".strip()
    checks = [Check(say(lang, "d.auth", team=workspace), True)]
    if not found.get("bot_id"):
        checks.append(Check(say(lang, "d.kind.no"), False, say(lang, "d.token.cure")))
    checks += check_scopes(str(found["headers"].get("x-oauth-scopes") or ""), lang)
    checks += check_clock(str(found["headers"].get("date") or ""), lang)
    return checks + check_messages(delivery, lang)


def check_scopes(header: str, lang: str) -> list[Check]:
    if not header:
        return [Check(say(lang, "d.scopes.unknown"), None)]
    given = {scope.strip() for scope in header.split(",")}
    lacking = [scope for scope in NEEDED if scope not in given]
    checks = [
        Check(
            say(lang, "d.scope.no", scope=f"`{scope}`"), False, say(lang, "d.scope.cure", scope=f"`{scope}`")
        )
        for scope in lacking
    ]
    if not lacking:
        checks.append(Check(say(lang, "d.scopes", scopes=", ".join(f"`{scope}`" for scope in NEEDED)), True))
    for scope, use in OPTIONAL.items():
        good = True if scope in given else None
        checks.append(Check(f"`{scope}`: {say(lang, use)}", good))
    return checks


def check_clock(date: str, lang: str) -> list[Check]:
    try:
        off = time.time() - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return []
    seconds = f"{abs(off):.0f}"
    if abs(off) > CLOCK_SECONDS:
        return [Check(say(lang, "d.clock.no", seconds=seconds), False, say(lang, "d.clock.cure"))]
    return [Check(say(lang, "d.clock"), True)]


def check_socket(settings: Settings, lang: str) -> list[Check]:
    client = WebClient(base_url=settings.slack_api_url, timeout=5, proxy=settings.proxy)
    client.proxy = settings.proxy
    try:
        client.apps_connections_open(app_token=settings.app_token)
    except SlackApiError as error:
        code = str(error.response.get("error"))
        return [Check(say(lang, "d.socket.no", code=code), False, say(lang, "d.socket.cure"))]
    except (OSError, ValueError):
        return [Check(say(lang, "d.slack.no"), False, say(lang, "d.slack.cure"))]
    return [Check(say(lang, "d.socket"), True)]


def check_messages(delivery: Delivery, lang: str) -> list[Check]:
    """Our example messages, judged by Slack's own blocks.validate, where it is offered."""
    checks = []
    judged = 0
    for name, said in messages(lang).items():
        try:
            delivery.call("blocks.validate", blocks=json.dumps(said["blocks"]))
        except SlackRefused as refused:
            if refused.code in (
                "unknown_method",
                "method_not_supported",
                "missing_scope",
                "not_allowed_token_type",
            ):
                return [Check(say(lang, "d.validate.off", code=refused.code), None)]
            checks.append(Check(say(lang, "d.validate.no", name=name), False, str(refused)))
        except SlackAway:
            return [Check(say(lang, "d.validate.off", code="away"), None)]
        judged += 1
    return checks or [Check(say(lang, "d.validate", count=judged), True)]


def check_channels(state: State, lang: str) -> list[Check]:
    """Channels that watch, but that Slack does not let the bot write to."""
    checks = []
    for channel in dict.fromkeys(watch.channel for watch in state.watches()):
        if code := state.note(f"unwritable:{channel}"):
            text = say(lang, "d.channel.no", channel=channel, code=code)
            checks.append(Check(text, False, say(lang, "d.channel.cure", channel=channel)))
    return checks


def check_losses(delivery: Delivery, lang: str) -> list[Check]:
    lost = delivery.counts["lost"]
    return [Check(say(lang, "d.lost", count=lost), None)] if lost else []
