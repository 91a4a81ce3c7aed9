"""The bot's settings: the common ones of `gpudiag.settings`, and Slack's secrets by Slack's names."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from bot.watching import EDIT_SECONDS, SETTLE_SECONDS
from bot.words import Mistake
from gpudiag.settings import BotSettings

SLACK_API = "https://slack.com/api/"


class SettingsWrong(Mistake):
    """The bot cannot start with these settings; the sentence lists every mistake."""


@dataclass(frozen=True)
class Settings:
    """Everything `gpudiag bot` can be told. Secrets never appear in its repr or in logs."""

    bot_token: str = ""
    signing_secret: str = ""
    app_token: str = ""
    api_url: str = "http://127.0.0.1:8000"
    api_token: str = ""
    public_url: str = ""
    slack_api_url: str = SLACK_API
    host: str = "127.0.0.1"
    port: int = 3000
    lang: str = "en"
    state_path: str = ""
    team: str = ""
    enterprise: str = ""
    allowed_users: frozenset[str] = frozenset()
    allowed_channels: frozenset[str] = frozenset()
    answer_seconds: float = 0.008  # how long an acknowledgement waits for the answer, to carry it
    api_seconds: float = 10.0
    reconnect_seconds: float = 3.0  # how often it is looked whether Socket Mode's connection still stands
    look_seconds: float = 2.0  # how often our API is asked what opened and ended
    settle_seconds: float = SETTLE_SECONDS
    edit_seconds: float = EDIT_SECONDS

    def __repr__(self) -> str:
        return f"Settings(api_url={self.api_url!r}, host={self.host!r}, port={self.port})"

    @property
    def link_url(self) -> str:
        """Where links lead: the public address if there is one, else the API's."""
        return self.public_url or self.api_url

    @property
    def proxy(self) -> str | None:
        """The proxy for Slack's address, NO_PROXY honoured (slack_sdk alone would not)."""
        import requests.utils

        found = requests.utils.get_environ_proxies(self.slack_api_url)
        proxy = found.get(urlsplit(self.slack_api_url).scheme) or found.get("all")
        return str(proxy) if proxy else None


NAMES = {
    "bot_token": "SLACK_BOT_TOKEN",
    "signing_secret": "SLACK_SIGNING_SECRET",
    "app_token": "SLACK_APP_TOKEN",
    "api_token": "GPUDIAG_API_TOKEN",
    "slack_api_url": "GPUDIAG_SLACK_API_URL",
    "team": "GPUDIAG_SLACK_TEAM",
    "enterprise": "GPUDIAG_SLACK_ENTERPRISE",
    "allowed_users": "GPUDIAG_SLACK_USERS",
    "allowed_channels": "GPUDIAG_SLACK_CHANNELS",
}
SHAPES = {
    "bot_token": r"xoxb-\S+",
    "app_token": r"xapp-\S+",
    "slack_api_url": r"https?://\S+",
    "team": r"T[A-Z0-9]+",
    "enterprise": r"E[A-Z0-9]+",
}


def settings_of(common: BotSettings, environ: Mapping[str, str] | None = None) -> Settings:
    """The common settings with the secrets and lists of the environment. SettingsWrong lists all mistakes."""
    variables = os.environ if environ is None else environ
    found = {name: variables[key].strip() for name, key in NAMES.items() if variables.get(key, "").strip()}
    mistakes = [
        Mistake(f"start.{name}", variable=NAMES[name])
        for name, pattern in SHAPES.items()
        if name in found and not re.fullmatch(pattern, found[name])
    ]
    if mistakes:
        raise SettingsWrong("start.settings", mistakes=[*mistakes, *lacking(found)])
    return Settings(
        bot_token=found.get("bot_token", ""),
        signing_secret=found.get("signing_secret", ""),
        app_token=found.get("app_token", ""),
        api_url=common.api_url,
        api_token=found.get("api_token") or token_in(common.token_file),
        public_url=common.public_url or "",
        slack_api_url=found.get("slack_api_url", SLACK_API).rstrip("/") + "/",
        host=common.host,
        port=common.port,
        lang=common.lang,
        state_path=common.state or str(default_state()),
        team=found.get("team", ""),
        enterprise=found.get("enterprise", ""),
        allowed_users=ids(found.get("allowed_users", "")),
        allowed_channels=ids(found.get("allowed_channels", "")),
    )


def lacking(found: Mapping[str, str]) -> list[Mistake]:
    """The secrets of `NAMES` without which Slack cannot be served, all of them."""
    token = [] if found.get("bot_token") else [Mistake("start.no.token")]
    if found.get("signing_secret") or found.get("app_token"):
        return token
    return [*token, Mistake("start.no.way")]


def ids(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Z0-9]+", text))


def token_in(path: str | None) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text().strip()
    except OSError as error:
        raise SettingsWrong("start.token.file", file=path, reason=error) from None
    except UnicodeDecodeError:
        raise SettingsWrong("start.token.text", file=path) from None


def default_state() -> Path:
    return Path(platformdirs.user_data_dir("gpudiag", appauthor=False)) / "bot.sqlite3"
