"""What Slack's payloads say about who, where and whose workspace, in each of their shapes."""

from __future__ import annotations

from typing import Any

from bot.answers.asking import Place

Json = dict[str, Any]


class Pressed:
    """Where a button, a menu or a shortcut was used."""

    def __init__(self, body: Json):
        container = body.get("container") or {}
        channel = (body.get("channel") or {}).get("id") or container.get("channel_id") or ""
        team = (body.get("team") or {}).get("id") or body["user"].get("team_id") or ""
        said = body.get("message") or {}
        self.place = Place(team, channel, body["user"]["id"])
        self.response_url = str(body.get("response_url") or "")
        self.in_home = container.get("type") == "view"
        self.ts = str(said.get("ts") or container.get("message_ts") or "")
        self.public = not self.in_home and not container.get("is_ephemeral")
        self.thread = str(said.get("thread_ts") or self.ts) if self.public and self.ts else None


def whose(body: Json) -> tuple[str | None, str | None]:
    """The workspace and the organisation a request belongs to, in each of Slack's shapes."""
    team = body.get("team_id") or (body.get("team") or {}).get("id")
    organisation = body.get("enterprise_id") or (body.get("enterprise") or {}).get("id")
    user = body.get("user")
    if not team and isinstance(user, dict):
        team = user.get("team_id")
    return team, organisation
