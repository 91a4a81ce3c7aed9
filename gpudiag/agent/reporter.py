"""Sends snapshots to the API, in order, each once: what cannot be sent waits in the spool.

A fleet that starts at one moment must not report at one moment: the first report has a random phase, and
after a failure each agent comes back at another time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Protocol

from gpudiag.agent.spool import Spool
from gpudiag.client import ApiError, Busy, Forbidden, NotFound, Refused, Unauthorized

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
BETWEEN_WAITING = 0.02  # seconds between two of those that waited


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
        chance: random.Random | None = None,
    ) -> None:
        self._api = api
        self._spool = spool
        self._say = say
        self._chance = chance or random.Random()
        self._failures = 0
        self._not_before = 0.0
        self._said: str | None = None
        self.refused = 0
        self.sent = 0

    @property
    def lost(self) -> int:
        """Snapshots that will never arrive: dropped from a full spool, or refused."""
        return self._spool.lost + self.refused

    @property
    def waiting(self) -> int:
        return len(self._spool)

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
            self._spool.done()
        if not self._spool:
            return 0.0
        return max(BETWEEN_WAITING, self._not_before - now)

    def keep(self, snapshot: bytes) -> None:
        """Puts a snapshot away to be sent after a restart."""
        self._keep(snapshot)

    def _keep(self, snapshot: bytes) -> None:
        if not self._spool.add(snapshot) and self._spool.problem:
            self._tell(self._spool.problem)

    def _cannot_read(self, now: float) -> None:
        if self._spool.problem:
            self._back_off(now)
            self._tell(self._spool.problem)

    def _send(self, snapshot: bytes, now: float) -> bool:
        """Whether it need not be sent again: it arrived, or our API says that it is wrong in itself."""
        try:
            self._api.send(snapshot)
        except Refused as error:
            self.refused += 1
            self._tell(f"the API refused a snapshot, which is dropped: {error}")
            return True
        except Busy as error:
            # Everybody was told the same: come back a little later than that, each at another moment.
            self._not_before = now + max(FIRST_WAIT, error.retry_after) * self._chance.uniform(1.0, 1.5)
            if not error.problem:  # a proxy, or whoever is at that address: our API says it is busy itself
                self._tell(str(error))
            return False
        except (Unauthorized, Forbidden) as error:
            self._back_off(now, least=10.0)
            self._tell(f"{error}. Is the token right for this node? gpudiag token create agent NODE")
            return False
        except NotFound as error:
            self._back_off(now, least=10.0)
            self._tell(f"{error} Is the address of the API right? It looks like http://SERVER:8000")
            return False
        except ApiError as error:
            self._back_off(now)
            self._tell(str(error))
            return False
        except Exception as error:  # reporting must outlive whatever an answer does to it
            self._back_off(now)
            self._tell(f"sending failed: {type(error).__name__}: {error}")
            return False
        if self._said is not None:
            self._say(f"reporting again, {len(self._spool)} snapshots wait")
            self._said = None
        self._failures = 0
        self._not_before = 0.0
        self.sent += 1
        return True

    def _back_off(self, now: float, least: float = FIRST_WAIT) -> None:
        longest = min(LONGEST_WAIT, max(least, FIRST_WAIT * 2**self._failures))
        self._failures = min(self._failures + 1, 10)
        self._not_before = now + longest * self._chance.uniform(0.5, 1.5)

    def _tell(self, line: str) -> None:
        """Says a trouble once, until it is over or another one comes."""
        if line != self._said:
            self._said = line
            self._say(line)
