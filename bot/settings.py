"""The bot's settings: Slack's own names for Slack's secrets, `GPUDIAG_…` for ours."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs

from gpudiag.errors import GpudiagError

SLACK_API = "https://slack.com/api/"


class SettingsWrong(GpudiagError):
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
    state_path: str = ""
    team: str = ""
    enterprise: str = ""
    allowed_users: frozenset[str] = frozenset()
    allowed_channels: frozenset[str] = frozenset()
    answer_seconds: float = 0.012  # how long an acknowledgement waits for the answer, to carry it
    api_seconds: float = 10.0

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
    "api_url": "GPUDIAG_API_URL",
    "api_token": "GPUDIAG_API_TOKEN",
    "public_url": "GPUDIAG_PUBLIC_URL",
    "slack_api_url": "GPUDIAG_SLACK_API_URL",
    "host": "GPUDIAG_HOST",
    "port": "GPUDIAG_PORT",
    "state_path": "GPUDIAG_BOT_STATE",
    "team": "GPUDIAG_SLACK_TEAM",
    "enterprise": "GPUDIAG_SLACK_ENTERPRISE",
    "allowed_users": "GPUDIAG_SLACK_USERS",
    "allowed_channels": "GPUDIAG_SLACK_CHANNELS",
}


def from_environment(environment: Mapping[str, str] | None = None, **given: object) -> Settings:
    """Settings of the environment; `given` (the command line) wins. SettingsWrong lists all mistakes."""
    variables = os.environ if environment is None else environment
    found = {name: variables[key].strip() for name, key in NAMES.items() if variables.get(key, "").strip()}
    found.update({name: str(value) for name, value in given.items() if value is not None})
    mistakes = [
        *shape(found, "bot_token", r"xoxb-\S+", "a bot token that begins with xoxb-"),
        *shape(found, "app_token", r"xapp-\S+", "an app-level token that begins with xapp-"),
        *shape(found, "port", r"\d{1,5}", "a port number"),
        *shape(found, "api_url", r"https?://\S+", "an address such as http://127.0.0.1:8000"),
        *shape(found, "slack_api_url", r"https?://\S+", "an address such as https://slack.com/api/"),
        *shape(found, "public_url", r"https?://\S+", "an address such as https://gpudiag.example.com"),
    ]
    if mistakes:
        raise SettingsWrong("bot settings: " + "; ".join(mistakes))
    values: dict[str, object] = dict(found)
    values["port"] = int(found.get("port", "3000"))
    for name in ("allowed_users", "allowed_channels"):
        values[name] = frozenset(re.findall(r"[A-Z0-9]+", found.get(name, "")))
    values["slack_api_url"] = found.get("slack_api_url", SLACK_API).rstrip("/") + "/"
    values["state_path"] = found.get("state_path") or str(default_state())
    return Settings(**values)  # type: ignore[arg-type]


def shape(found: dict[str, str], name: str, pattern: str, wanted: str) -> list[str]:
    if name in found and not re.fullmatch(pattern, found[name]):
        return [f"{NAMES[name]} is not {wanted}"]
    return []


def default_state() -> Path:
    return Path(platformdirs.user_data_dir("gpudiag", appauthor=False)) / "bot.sqlite3"
