"""Sends snapshots to the API, in order, each once: what cannot be sent waits in the spool.

A fleet that starts at one moment must not report at one moment: the first report has a random phase, and
after a failure each agent comes back at another time.

Only our API's own word drops a snapshot. What something else refuses waits, and may be refused for its size:
after three times another one is tried, and where that goes through and the first still does not, it is set
aside and counted as lost, so that it does not hold up the others.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from gpudiag.agent.spool import Spool
from gpudiag.client import ApiError, Busy, Forbidden, NotFound, Refused, Unauthorized
from gpudiag.words.refusals import agent_says

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
BETWEEN_WAITING = 0.02  # seconds between two of those that waited
TRIES = 3  # of a snapshot that something before our API refuses, until the next one is tried
MAY_MEAN_THE_BODY = frozenset({400, 403, 406, 413, 415, 422})
"""Statuses by which a proxy or firewall may refuse one body and not the next: its size, or what it says."""


SENDING, KEEPING = "sending", "keeping"  # kinds of trouble
MAKES_A_TOKEN = "gpudiag token create"
"""The command that our API's own words name, where they say which token is wanted."""


Trouble = Callable[[str], str]
"""What is wrong, in a language. What the API says itself is in the one that the agent asks in."""


class Api(Protocol):
    """What the reporter needs of `gpudiag.client.Client`."""

    def send(self, snapshots: bytes) -> object: ...


class Reporter:
    """`report` takes a snapshot, `push` sends what waits; both tell when to call `push` again."""

    def __init__(
        self,
        api: Api,
        spool: Spool,
        *,
        say: Callable[[str], None] = lambda line: None,
        language: str = "en",
        chance: random.Random | None = None,
    ) -> None:
        self._api = api
        self._spool = spool
        self._say, self._language = say, language
        self._chance = chance or random.Random()
        self._failures = 0
        self._not_before = 0.0
        self._trouble: Trouble | None = None
        self._said: dict[str, str] = {}  # what was said of sending, and of keeping
        if spool.problem:
            self._tell(spool.problem.said, KEEPING)
        self._unlucky: ApiError | None = None  # how something before our API refused the last one
        self._tries = 0  # of the oldest, which it refused
        self.refused = 0
        self.sent = 0

    @property
    def lost(self) -> int:
        """Snapshots that will never arrive: dropped from a full spool, set aside, or refused."""
        return self._spool.lost + self.refused

    @property
    def waiting(self) -> int:
        return len(self._spool)

    def trouble(self, language: str) -> str | None:
        """Why snapshots wait, by the last try; None where none waits."""
        waits = self._spool or self._spool.problem
        return self._trouble(language) if waits and self._trouble else None

    def phase(self, interval: float) -> float:
        """A random share of the interval, to wait before the first report."""
        return self._chance.uniform(0, interval)

    def report(self, snapshot: bytes, now: float) -> float:
        """Sends one snapshot, behind those that wait already; seconds until the next push, 0 for none."""
        if self._spool or now < self._not_before:
            self._keep(snapshot)
            return self.push(now)
        if not self._send(snapshot, now):
            self._keep(snapshot)
        return max(0.0, self._not_before - now) if self._spool else 0.0

    def push(self, now: float) -> float:
        """Sends the oldest of what waits; seconds until it is worth to call again, 0 when nothing waits."""
        if not self._spool:
            return 0.0
        if now < self._not_before:
            return self._not_before - now
        snapshot = self._spool.oldest()
        if snapshot is None:
            self._cannot_read(now)
        elif self._send(snapshot, now):
            self._tries = 0
            self._spool.done()
        elif self._unlucky is not None:
            self._tries += 1
            if self._tries >= TRIES:
                self._try_another(snapshot, now)
        if not self._spool:
            return 0.0
        return max(BETWEEN_WAITING, self._not_before - now)

    def keep(self, snapshot: bytes) -> None:
        """Puts a snapshot away to be sent after a restart."""
        self._keep(snapshot)

    def _keep(self, snapshot: bytes) -> None:
        self._spool.add(snapshot)
        if self._spool.problem is None:
            self._said.pop(KEEPING, None)
        else:
            self._tell(self._spool.problem.said, KEEPING)

    def _cannot_read(self, now: float) -> None:
        if self._spool.problem:
            self._back_off(now)
            self._tell(self._spool.problem.said, KEEPING)

    def _try_another(self, oldest: bytes, now: float) -> None:
        """Whether all are refused, which is waited for, or the oldest alone, which is set aside."""
        other = self._spool.another()
        if other is None or not self._send(other[1], now):
            return
        self._spool.done(other[0])
        if self._send(oldest, now):
            self._spool.done()
        elif self._unlucky is not None:
            self._set_aside(self._unlucky, now)
        else:
            return
        self._tries = 0

    def _set_aside(self, error: ApiError, now: float) -> None:
        file = self._spool.set_aside()
        if file is None:
            self._cannot_read(now)
            return
        self._tell_of("set-aside", error=error, file=file)
        self._failures, self._not_before = 0, 0.0

    def _send(self, snapshot: bytes, now: float) -> bool:
        """Whether it need not be sent again: it arrived, or our API says that it is wrong in itself."""
        self._unlucky = None
        try:
            self._api.send(snapshot)
        except Refused as error:
            self.refused += 1
            self._tell_of("refused", error=error)
            return True
        except Exception as error:  # reporting must outlive whatever an answer does to it
            self._did_not_arrive(error, now)
            return False
        self._arrived()
        return True

    def _arrived(self) -> None:
        if self._said.pop(SENDING, None) is not None:
            self._say(agent_says("again", self._language, count=len(self._spool)))
        self._trouble = None
        self._failures, self._not_before = 0, 0.0
        self.sent += 1

    def _did_not_arrive(self, error: Exception, now: float) -> None:
        """Says why, and puts off the next try."""
        match error:
            case Busy():
                # Everybody was told the same: come back a little later than that, each at another moment.
                self._not_before = now + max(FIRST_WAIT, error.retry_after) * self._chance.uniform(1.0, 1.5)
                self._trouble = error.said
                if not error.ours:  # a proxy, or whoever is at that address: our API says it is busy itself
                    self._tell(error.said)
            case Unauthorized() | Forbidden():
                self._back_off(now, least=10.0)
                told = error.ours and isinstance(error, Forbidden)
                if told or MAKES_A_TOKEN in error.said(self._language):
                    self._tell(error.said)
                else:
                    self._tell_of("wrong-token", error=error)
            case NotFound():
                self._back_off(now, least=10.0)
                self._tell_of("wrong-address", error=error)
            case ApiError():
                self._back_off(now)
                self._tell(error.said)
                if error.answered in MAY_MEAN_THE_BODY:
                    self._unlucky = error
            case _:
                self._back_off(now)
                self._tell_of("failed", error=f"{type(error).__name__}: {error}")

    def _back_off(self, now: float, least: float = FIRST_WAIT) -> None:
        longest = min(LONGEST_WAIT, max(least, FIRST_WAIT * 2**self._failures))
        self._failures = min(self._failures + 1, 10)
        self._not_before = now + longest * self._chance.uniform(0.5, 1.5)

    def _tell_of(self, key: str, **values: object) -> None:
        self._tell(lambda language: agent_says(key, language, **values))

    def _tell(self, trouble: Trouble, of: str = SENDING) -> None:
        """Says a trouble once, until it is over or another one of its kind comes."""
        self._trouble, line = trouble, trouble(self._language)
        if line != self._said.get(of):
            self._said[of] = line
            self._say(line)
