"""Who may change what others see. Ids decide, never display names."""

from __future__ import annotations

from bot.answers.asking import Place
from bot.settings import Settings
from bot.state import State


def may_change(verb: str, place: Place, settings: Settings, state: State) -> bool:
    """Whether `verb` (watch, mute, ack, language) is allowed for this person in this channel.

    With lists: the user or the channel is on one. Without: anyone may let a channel watch or choose its
    language; mute and ack belong to the channels that watch.
    """
    if settings.allowed_users or settings.allowed_channels:
        return place.user in settings.allowed_users or place.channel in settings.allowed_channels
    if verb in ("watch", "language"):
        return True
    return bool(state.watches(place.team, place.channel))


def is_ours(team: str | None, enterprise: str | None, known_team: str, known_enterprise: str) -> bool:
    """Whether a request is our workspace's. On Grid the team may be absent; then the enterprise decides."""
    if known_enterprise and enterprise != known_enterprise:
        return False
    if enterprise and not known_enterprise and known_team:
        return team == known_team
    if not team:
        return bool(known_enterprise) and enterprise == known_enterprise
    return not known_team or team == known_team
