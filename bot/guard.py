"""What stands before any of our code: only whole, signed, fresh, first-time requests of Slack get through.

Bolt calls error handlers with an unverified body when a header cannot be parsed; therefore nothing reaches
Bolt that this guard has not passed.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from slack_sdk.signature import SignatureVerifier

from bot.state import State

log = logging.getLogger("gpudiag.bot.slack")

LARGEST_BYTES = 512 * 1024
TIMESTAMP = re.compile(r"[0-9]{1,12}\Z", re.ASCII)
SIGNATURE = re.compile(r"v0=[0-9a-f]{64}\Z", re.ASCII)
FRESH_SECONDS = 300
QUIET_SECONDS = 60.0  # so often one reason is logged
HINTS = {
    "too old": "is the clock of this machine right?",
    "wrongly signed": "is SLACK_SIGNING_SECRET the one of this app?",
}


@dataclass(frozen=True)
class Refused:
    """Why a request went no further: an HTTP status and a sentence that tells an attacker nothing."""

    status: int
    reason: str


class Guard:
    """Checks one HTTP request; `None` means that it may pass."""

    def __init__(self, signing_secret: str, state: State, clock: Callable[[], float] = time.time):
        self.verifier = SignatureVerifier(signing_secret)
        self.state = state
        self.clock = clock
        self.logged: dict[str, float] = {}

    def log(self, refused: Refused) -> None:
        """Say why in the log, where a wrong secret or clock is looked for; nothing of the request itself."""
        now = self.clock()
        if now - self.logged.get(refused.reason, -QUIET_SECONDS) < QUIET_SECONDS:
            return
        self.logged[refused.reason] = now
        log.warning(
            "slack: refused a request: %s; %s", refused.reason, HINTS.get(refused.reason, "not Slack's?")
        )

    def refuses_headers(self, timestamp: str, signature: str, length: int | None) -> Refused | None:
        """What can be said before a byte of the body is read."""
        if length is None:
            return Refused(411, "length required")
        if length > LARGEST_BYTES:
            return Refused(413, "too large")
        if not TIMESTAMP.match(timestamp) or not SIGNATURE.match(signature):
            return Refused(401, "not signed")
        if abs(self.clock() - int(timestamp)) > FRESH_SECONDS:
            return Refused(401, "too old")
        return None

    def refuses_body(self, timestamp: str, signature: str, body: bytes) -> Refused | None:
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError:
            return Refused(400, "not UTF-8")
        expected = self.verifier.generate_signature(timestamp=timestamp, body=text)
        if not expected or not equal(expected, signature):
            return Refused(401, "wrongly signed")
        key = "signature:" + hashlib.sha256(signature.encode()).hexdigest()
        if not self.state.first_time(key, self.clock(), 2 * FRESH_SECONDS):
            return Refused(401, "seen before")
        return None


def equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


def is_slacks(url: str, slack_api_url: str, part: str = "hooks") -> bool:
    """Whether a response_url (or a file, part "files") leads to Slack, or to the configured stand-in."""
    try:
        where, ours = urlsplit(url), urlsplit(slack_api_url)
        port, our_port = where.port, ours.port
    except ValueError:
        return False
    if where.username or where.password or not where.hostname:
        return False
    if (where.scheme, where.hostname, port) == (ours.scheme, ours.hostname, our_port):
        return True
    return where.scheme == "https" and port in (None, 443) and where.hostname == f"{part}.{ours.hostname}"
