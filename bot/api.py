"""The bot's questions, asked through the one client of our API; every failure is one of four errors.

The client's own classes say what went wrong on the wire; a person needs less: away, slow, nonsense, or no.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bot.questions import ApiAway, ApiNonsense, ApiRefused, ApiSlow, Json
from bot.words import LANGUAGES
from gpudiag import client


class Api:
    """Answers of the API at `url`, shared by all threads. `lang` is that of the answer, and of a refusal."""

    def __init__(self, url: str, token: str | None = None, seconds: float = 10.0):
        self.url = url
        self.clients = {
            lang: client.Client(url, token or None, timeout=seconds, language=lang) for lang in LANGUAGES
        }

    def close(self) -> None:
        for one in self.clients.values():
            one.close()

    def speaking(self, lang: str) -> client.Client:
        return self.clients.get(lang, self.clients["en"])

    def diagnosis(self, node: str, gpu: int | None = None, at: str | None = None, lang: str = "en") -> Json:
        return answered(self.speaking(lang).diagnosis, node, gpu=gpu, at=at)

    def nodes(self, limit: int | None = None, cursor: str | None = None, lang: str = "en") -> Json:
        return listed(self.speaking(lang).nodes, limit=limit, cursor=cursor)

    def history(self, node: str, lang: str = "en") -> Json:
        return answered(self.speaking(lang).history, node)

    def findings(self, after: str | None = None, limit: int | None = None) -> Json:
        return listed(self.speaking("en").findings, after=after, limit=limit)

    def finding(self, finding: str, lang: str = "en") -> Json:
        return answered(self.speaking(lang).finding, finding)

    def kv(self, lang: str = "en", **options: str) -> Json:
        return answered(self.speaking(lang).kv, **options)

    def read_paste(self, text: str, lang: str = "en") -> Json:
        return answered(self.speaking(lang).explain_text, text)

    def rules(self, lang: str = "en") -> Json:
        return listed(self.speaking(lang).rules)

    def acknowledge(self, finding: str, *, by: str, reason: str = "", lang: str = "en") -> Json:
        return answered(self.speaking(lang).ack, finding, by=by, why=reason)

    def mute(
        self, node: str, *, seconds: float, by: str, reason: str = "", rule: str | None = None,
        lang: str = "en",
    ) -> Json:  # fmt: skip
        return answered(self.speaking(lang).mute, node, rule, seconds=seconds, by=by, why=reason)

    def mutes(self, lang: str = "en") -> Json:
        return listed(self.speaking(lang).mutes)

    def unmute(self, mute: str, *, by: str, lang: str = "en") -> None:
        answered(self.speaking(lang).unmute, mute, by=by)


def answered(ask: Callable[..., Any], *what: Any, **options: Any) -> Json:
    """The JSON object a call of the client answers, or one of the bot's errors."""
    try:
        found = ask(*what, **options)
    except client.Unreachable as error:
        # The client raises this while it handles the socket's own error, which tells silence from absence.
        raise (ApiSlow if isinstance(error.__context__, TimeoutError) else ApiAway)(error) from error
    except client.Broken as error:
        if error.problem:  # it is our API, and it failed: its own sentence says more than ours
            raise ApiRefused(error.status, error) from error
        raise ApiNonsense(error) from error
    except client.ApiError as error:
        near = error.problem.get("nearest")
        names = tuple(str(name) for name in near) if isinstance(near, list) else ()
        told = error.problem.get("status")  # the client has one class for several statuses
        raise ApiRefused(told if isinstance(told, int) else error.status, error, names) from error
    if not isinstance(found, dict):
        raise ApiNonsense(f"API: answered {type(found).__name__}, not an object")
    return found


def listed(ask: Callable[..., Any], *what: Any, **options: Any) -> Json:
    found = answered(ask, *what, **options)
    if not isinstance(found.get("items"), list):
        raise ApiNonsense("API: answered a list without items")
    return found
