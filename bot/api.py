"""The gpudiag API over HTTP, as the bot asks it. A failure is one of the four errors of `questions`."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import requests
from requests.adapters import HTTPAdapter

from bot.questions import ApiAway, ApiNonsense, ApiRefused, ApiSlow, Json

CONNECT_SECONDS = 2.0
MOST_BYTES = 8 * 2**20


class Api:
    """One client for all threads: requests' connection pool underneath, no proxies, no redirects."""

    def __init__(self, url: str, token: str | None = None, seconds: float = 10.0):
        self.url = url.rstrip("/")
        self.seconds = seconds
        self.session = requests.Session()
        self.session.trust_env = False
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(pool_connections=4, pool_maxsize=64))
        self.session.headers["Accept"] = "application/json"
        if token:
            self.session.headers["Authorization"] = f"Bearer {token}"

    def close(self) -> None:
        self.session.close()

    def diagnosis(self, node: str, gpu: int | None = None, at: str | None = None, lang: str = "en") -> Json:
        return self.get(f"/v1/nodes/{quote(node, safe='')}", gpu=gpu, at=at, lang=lang)

    def nodes(self, severity: str | None = None, limit: int | None = None, cursor: str | None = None) -> Json:
        return self.listed(self.get("/v1/nodes", severity=severity, limit=limit, cursor=cursor))

    def history(self, node: str, gpu: int | None = None) -> Json:
        return self.get(f"/v1/nodes/{quote(node, safe='')}/history", gpu=gpu)

    def findings(self, after: str | None = None, limit: int | None = None) -> Json:
        return self.listed(self.get("/v1/findings", after=after, limit=limit))

    def finding(self, finding: str, lang: str = "en") -> Json:
        return self.get(f"/v1/findings/{quote(finding, safe='')}", lang=lang)

    def kv(self, **options: str) -> Json:
        return self.get("/v1/kv", **options)

    def read_paste(self, text: str, lang: str = "en") -> Json:
        headers = {"Content-Type": "text/plain; charset=utf-8"}
        return self.ask("POST", "/diagnose", params={"lang": lang}, data=text.encode(), headers=headers)

    def rules(self, lang: str = "en") -> Json:
        return self.listed(self.get("/v1/rules", lang=lang))

    def acknowledge(self, finding: str, *, by: str, reason: str = "") -> Json:
        return self.ask(
            "POST", f"/v1/findings/{quote(finding, safe='')}/ack", json={"by": by, "reason": reason}
        )

    def mute(
        self,
        node: str,
        *,
        seconds: float,
        by: str,
        reason: str = "",
        gpu: int | None = None,
        rule: str | None = None,
    ) -> Json:
        body = {"node": node, "gpu": gpu, "rule": rule, "seconds": seconds, "by": by, "reason": reason}
        return self.ask(
            "POST", "/v1/mutes", json={key: value for key, value in body.items() if value is not None}
        )

    def mutes(self) -> Json:
        return self.listed(self.get("/v1/mutes"))

    def unmute(self, mute: str, *, by: str) -> None:
        self.ask("DELETE", f"/v1/mutes/{quote(mute, safe='')}", params={"by": by})

    def ready(self) -> Json:
        return self.get("/readyz")

    def get(self, path: str, **params: Any) -> Json:
        return self.ask(
            "GET", path, params={key: value for key, value in params.items() if value is not None}
        )

    def ask(self, method: str, path: str, **what: Any) -> Json:
        """One request; its JSON object, or the error that says why there is none."""
        try:
            response = self.session.request(
                method,
                self.url + path,
                timeout=(CONNECT_SECONDS, self.seconds),
                allow_redirects=False,
                **what,
            )
        except requests.Timeout as error:
            raise ApiSlow(f"API: {self.url} did not answer within {self.seconds:.0f} s") from error
        except requests.RequestException as error:
            raise ApiAway(f"API: cannot reach {self.url}. Is `gpudiag serve` running there?") from error
        if response.status_code == 204:
            return {}
        if response.status_code >= 400:
            raise refusal(response)
        return self.object(response)

    def object(self, response: requests.Response) -> Json:
        if response.status_code >= 300 or len(response.content) > MOST_BYTES:
            raise ApiNonsense(f"API: {self.url} answered {response.status_code}, not a gpudiag answer")
        try:
            body = response.json()
        except ValueError as error:
            raise ApiNonsense(f"API: {self.url} answered no JSON. Is it a gpudiag server?") from error
        if not isinstance(body, dict):
            raise ApiNonsense(f"API: {self.url} answered {type(body).__name__}, not an object")
        return body

    def listed(self, body: Json) -> Json:
        if not isinstance(body.get("items"), list):
            raise ApiNonsense(f"API: {self.url} answered a list without items")
        return body


def refusal(response: requests.Response) -> ApiRefused | ApiNonsense:
    """The problem (RFC 9457) the API answered; anything else is nonsense."""
    try:
        body = response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        if response.status_code in (401, 403, 429, 503):
            return ApiRefused(response.status_code, response.reason or "refused")
        return ApiNonsense(f"API: answered {response.status_code} without a reason. Is it a gpudiag server?")
    near = body.get("nearest") or body.get("suggestions") or []
    names = tuple(str(name) for name in near) if isinstance(near, list) else ()
    wait = response.headers.get("Retry-After", "0")
    detail = str(body.get("detail") or body.get("title") or response.reason)
    return ApiRefused(response.status_code, detail, names, float(wait) if wait.isdigit() else 0.0)
