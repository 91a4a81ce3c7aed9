"""Who may do what: bearer tokens with roles, and the open door for really local requests.

Loopback needs no token. A browser page that reaches us under a foreign name (DNS rebinding) or from a foreign
origin, and a proxy in front of us, are not local: they need one. A proxy on this machine may look just like a
person on it. An `https://` public address tells that there is one, since we speak no TLS ourselves: then
nobody is taken for local.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from flask import g, request
from werkzeug.http import parse_cookie

from api.problems import Refused
from api.store import Store
from api.store.tokens import PREFIX, Token, digest

Needs = Literal["public", "agent", "reader", "admin"]
Environ = dict[str, Any]  # of WSGI: a request as its server names it
View = TypeVar("View", bound=Callable[..., Any])

COOKIE = "gpudiag_token"
FRESH_SECONDS = 5.0  # a revoked token opens nothing after this
FORWARDED = frozenset(
    "HTTP_" + name.upper().replace("-", "_")
    for name in (
        "forwarded", "via", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip",
        "cf-connecting-ip", "fastly-client-ip", "x-original-host", "x-original-url", "x-amzn-trace-id",
        "x-forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-port",
        "x-forwarded-server", "x-forwarded-by", "x-forwarded-prefix", "x-forwarded-ssl",
        "x-forwarded-scheme", "x-forwarded-uri", "x-forwarded-user", "x-forwarded-email",
        "x-forwarded-client-cert", "x-scheme", "x-envoy-external-address", "x-request-start",
    )
)  # fmt: skip
"""What proxies add, as the server names headers."""

_MAY: dict[str, frozenset[str]] = {
    "agent": frozenset({"agent", "admin"}),
    "reader": frozenset({"reader", "admin"}),
    "admin": frozenset({"admin"}),
}


class Unauthorized(Refused):
    """No token, or one that is not known."""

    status = 401


class Forbidden(Refused):
    """A known token that may not do this."""

    status = 403


class TooOpen(Refused):
    """A server that others can reach is asked to start without tokens."""


def needs(role: Needs) -> Callable[[View], View]:
    """Mark a view with the role it takes; a view without a mark takes a reader."""

    def mark(view: View) -> View:
        view.needs = role  # type: ignore[attr-defined]
        return view

    return mark


class Gate:
    """Decides for every request. `reports_token` is the one that the demo's own agents carry."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], float],
        *,
        open_to_all: bool = False,
        reports_token: str | None = None,
        behind_proxy: bool = False,
    ) -> None:
        self._store, self._clock = store, clock
        self.open_to_all, self.reports_token = open_to_all, reports_token
        self.behind_proxy = behind_proxy
        self._tokens: dict[bytes, Token] = {}
        self._own: dict[bytes, Token] = {}
        self._read_at = -FRESH_SECONDS
        self._lock = threading.Lock()

    # ---- a request

    def enter(self, role: Needs) -> None:
        """Let Flask's request at hand in, as `admit` does. Sets `g.who` and `g.token`."""
        g.token, g.who = None, "local"
        g.token, g.who = self.admit(request.environ, role)

    def admit(self, environ: Environ, role: Needs) -> tuple[Token | None, str]:
        """The token that a request carries, and who that is; raises Unauthorized or Forbidden."""
        if role == "public":
            return None, "local"
        if role == "agent" and self.reports_token is not None:
            self._only_our_agents(environ)
            return None, "local"
        given = self._given(environ)
        if given is not None:
            token = self.token_of(given)
            if token is None:
                raise Unauthorized("token.unknown")
            self._may(token, role)
            return token, token.note or f"token {token.id}"
        if self.open_to_all or self.is_local(environ):
            return None, "local"
        local = self.behind_proxy and is_loopback(environ.get("REMOTE_ADDR") or "")
        raise Unauthorized("token.missing.behind" if local else "token.missing")

    def _only_our_agents(self, environ: Environ) -> None:
        given = self._given(environ)
        if given is None or not hmac.compare_digest(given.encode(), (self.reports_token or "").encode()):
            raise Forbidden("simulated.only")

    def _may(self, token: Token, role: Needs) -> None:
        if token.role not in _MAY[role]:
            raise Forbidden("token.role", role=token.role, needed=role)

    @staticmethod
    def may_report(token: Token | None, node: str) -> None:
        """Whether who carries `token` may report as `node`; raises Forbidden."""
        if token is not None and token.role == "agent" and not token.covers(node):
            raise Forbidden("token.node", bound=token.node, node=node)

    def may_read(self, environ: Environ) -> bool:
        """Whether a page may be read by the request, as it stands."""
        given = self._given(environ)
        if given is not None:
            return self.accepts(given)
        return self.open_to_all or self.is_local(environ)

    def accepts(self, text: str) -> bool:
        """Whether a token may read."""
        token = self.token_of(text)
        return token is not None and token.role in _MAY["reader"]

    def _given(self, environ: Environ) -> str | None:
        header = environ.get("HTTP_AUTHORIZATION")
        if header is not None:
            scheme, _, value = header.partition(" ")
            if scheme.lower() != "bearer" or not value.strip():
                raise Unauthorized("token.form")
            return value.strip()
        cookie = parse_cookie(environ).get(COOKIE) if "HTTP_COOKIE" in environ else None
        if not cookie or (environ["REQUEST_METHOD"] not in ("GET", "HEAD") and not self.same_origin(environ)):
            return None
        # Browsers send a cookie to every port of a host: an unknown one may be another server's.
        return cookie if self.token_of(cookie) is not None else None

    # ---- tokens

    def admit_agent(self, node: str) -> str:
        """A token for an agent that this process started; it ends with the process."""
        token = PREFIX + secrets.token_urlsafe(32)
        self._own[digest(token)] = Token("own", "agent", node, "gpudiag up", self._clock(), None)
        return token

    def token_of(self, text: str) -> Token | None:
        """The entry of a token, or None. It is found by its digest, of which timing tells nothing useful."""
        return self._known().get(digest(text))

    def _known(self) -> dict[bytes, Token]:
        with self._lock:
            if time.monotonic() - self._read_at >= FRESH_SECONDS:
                self._tokens = {**self._store.tokens.valid(), **self._own}
                self._read_at = time.monotonic()
            return self._tokens

    # ---- really local

    def is_local(self, environ: Environ) -> bool:
        """Whether the request comes from this machine and was meant for it."""
        if self.behind_proxy or not is_loopback(environ.get("REMOTE_ADDR") or ""):
            return False
        if environ.get("SERVER_PROTOCOL") in ("HTTP/1.0", "HTTP/1"):
            return False  # what a proxy speaks that adds no header; people's tools speak 1.1
        if not environ.keys().isdisjoint(FORWARDED):
            return False
        return is_loopback_host(environ.get("HTTP_HOST", "")) and self.same_origin(environ)

    @staticmethod
    def same_origin(environ: Environ) -> bool:
        """Whether no page of another site made the browser send it."""
        origin = environ.get("HTTP_ORIGIN")
        return origin is None or urlsplit(origin).netloc.lower() == environ.get("HTTP_HOST", "").lower()


@lru_cache(maxsize=1_024)
def is_loopback(address: str) -> bool:
    """Whether an IP address is of this machine itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)
    return (mapped or parsed).is_loopback


@lru_cache(maxsize=1_024)
def is_loopback_host(host: str) -> bool:
    """Whether a Host header (or a bind address) names this machine itself."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)


def check_binding(host: str, store: Store) -> None:
    """Raise TooOpen where a server would be reachable by others without tokens."""
    if is_loopback_host(f"[{host}]" if ":" in host else host) or store.tokens.valid():
        return
    raise TooOpen("too.open", host=host)
