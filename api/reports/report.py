"""What one request reports, on its way to the store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from api.judging.nodes import NodeState
from api.reports.intake import Arrived, check_time, snapshots_of, told_size, unpacked
from api.reports.turns import Task

BYTES_OF_ONE = 24_000  # about as long as one snapshot is


class Report(Task):
    """Snapshots, one or several: as they came, then read, stored and judged in their turn.

    `may_report` raises where the sender may not report as a node; `told`, where given, is called once it is
    done, by the thread that did it.
    """

    together: ClassVar[bool] = True

    __slots__ = (
        "_encoding", "_may_report", "_raw", "arrived", "body", "duplicates", "fresh", "received_at",
        "sent_at", "size", "stored", "told", "two_agents",
    )  # fmt: skip

    def __init__(
        self,
        raw: bytes,
        encoding: str | None,
        received_at: float,
        sent_at: float | None,
        may_report: Callable[[str], None],
    ) -> None:
        super().__init__()
        self._raw, self._encoding, self._may_report = raw, encoding, may_report
        self.received_at, self.sent_at = received_at, sent_at
        self.size = 1 + told_size(raw, encoding) // BYTES_OF_ONE
        self.arrived: list[Arrived] = []
        self.body: bytes | None = None  # as it came, where it is one snapshot in zstd: stored as it is
        self.fresh: list[tuple[NodeState, Arrived]] = []  # what was not stored before
        self.stored = self.duplicates = 0
        self.two_agents: list[str] = []
        self.told: Callable[[Report], None] | None = None

    def read(self, keep: float) -> None:
        """Unpack, read and check it; raises what the sender is told. `keep`: the oldest that is taken."""
        raw, self._raw = self._raw, b""
        unpacked_body = unpacked(raw, self._encoding)
        arrived = snapshots_of(unpacked_body)
        several = len(arrived) > 1
        for i, (snapshot, _) in enumerate(arrived):
            self._may_report(snapshot.node)
            told = self.sent_at
            if told is None and snapshot.agent is not None:
                told = snapshot.agent.sent_at
            place = f"snapshots[{i}]" if several else "snapshot"
            check_time(snapshot, told, self.received_at, keep, place)
        if self.sent_at is None and arrived and arrived[-1].snapshot.agent is not None:
            self.sent_at = arrived[-1].snapshot.agent.sent_at
        if self._encoding == "zstd" and len(arrived) == 1 and arrived[0].body is unpacked_body:
            self.body = raw
        self.arrived = arrived

    def tell(self) -> None:
        if self.told is not None:
            self.told(self)
        else:
            super().tell()

    def answer(self) -> dict[str, Any]:
        """What the sender is told when all went well."""
        answer: dict[str, Any] = {
            "stored": self.stored, "duplicates": self.duplicates, "time": self.received_at
        }  # fmt: skip
        if self.two_agents:
            answer["two_agents"] = self.two_agents
        return answer
