"""Several hosts and the real API over HTTP: what they recorded is reported in the order it happened."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import msgspec

from gpudiag.model import SEVERITY_ORDER, Snapshot
from gpudiag.plaintext import diagnosis_text
from tests.api.conftest import Api
from tests.scenarios.files import folder
from tests.scenarios.host import Host
from tests.scenarios.machine import START
from tests.scenarios.scenario import ALARMS, Outcome

TICK = 5.0  # the server looks at silent nodes so often
TOGETHER = 30.0  # and so often at all of them together


class Recorded:
    """Keeps the reports of one host, with the moment at which each was sent."""

    def __init__(self, skew: float) -> None:
        self.host: Host | None = None
        self.skew = skew
        self.reports: list[tuple[float, bytes]] = []

    def send(self, snapshots: bytes) -> None:
        assert self.host is not None
        self.reports.append((self.host.clock.monotonic(), snapshots))


class Fleet:
    """Hosts played one after the other, reported side by side."""

    def __init__(self, outcome: Outcome, config: str | None = None) -> None:
        self.outcome = outcome
        self._folder = tempfile.TemporaryDirectory(prefix="scenario-api-", dir=folder())
        place = Path(self._folder.name)
        options: dict[str, Any] = {}
        if config is not None:
            (place / "gpudiag.toml").write_text(config)
            options["config"] = place / "gpudiag.toml"
        self.api = Api(f"sqlite:///{place}/store.sqlite3", options=options)
        self.api.clock.now = START
        self.api.start()
        self._looked_together_at = START
        self._waiting: list[tuple[float, str, float, bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.api.stop()
        self._folder.cleanup()

    @contextmanager
    def plays(self, node: str, *, skew: float = 0.0, **options: Any) -> Iterator[Host]:
        """A host whose story is told in the block; `skew` is how far its clock is ahead."""
        recorded = Recorded(skew)
        host = recorded.host = Host(recorded, node=node, start=START + skew, **options)
        try:
            yield host
        finally:
            host.close()
        self._waiting += [(at, node, skew, report) for at, report in recorded.reports]

    def same_as(self, node: str, *others: str) -> None:
        """Other nodes that saw the same, each under its own name."""
        decode, encode = msgspec.json.Decoder(Snapshot).decode, msgspec.json.encode
        for at, name, skew, report in list(self._waiting):
            if name == node:
                snapshot = decode(report)
                for number, other in enumerate(others):
                    snapshot.node = other
                    if snapshot.agent is not None:
                        snapshot.agent.start_id = f"{other}-{snapshot.agent.started_at}"
                    self._waiting.append((at + 0.01 * (number + 1), other, skew, encode(snapshot)))

    def reports(self, *, late: float = 0.0, per_request: int = 1) -> Self:
        """Sends what was recorded, each at its time; the server looks at silent nodes in between."""
        waiting, self._waiting = sorted(self._waiting, key=lambda one: one[0]), []
        looked = 0.0
        for first in range(0, len(waiting), per_request):
            batch = waiting[first : first + per_request]
            at, _, skew, _ = batch[-1]
            if at - looked >= TICK:
                looked = at
                self.time_passes(max(0.0, START + at + late - self.api.clock.now))
            self.api.clock.now = max(self.api.clock.now, START + at + late)
            body = b"[" + b",".join(report for *_, report in batch) + b"]"
            self.api.ask("POST", "/v1/snapshots", body, {"Gpudiag-Sent-At": str(self.api.clock.now + skew)})
        return self

    def time_passes(self, seconds: float) -> Self:
        """Nobody reports; the server does its own work every few seconds."""
        left = seconds
        while left > 0:
            self.api.time_passes(min(TICK, left))
            left -= TICK
            now = self.api.clock.now
            if now - self._looked_together_at >= TOGETHER:
                self._looked_together_at = now
                self.api.parts.writer.do(lambda now=now: self.api.parts.clockwork.rounds.judge_together(now))
        return self

    def asked_about(self, node: str) -> None:
        """What a user is told of the node, now; it becomes the outcome."""
        said = self.api.client.diagnosis(node)
        outcome, verdict = self.outcome, said["verdict"]
        outcome.rule, outcome.severity = verdict["rule"], verdict["severity"]
        found = [*said["findings"], *(f for gpu in said["gpus"] for f in gpu["findings"])]
        outcome.findings = [f"{f['rule']} {f['severity']}/{f['confidence']}" for f in found]
        for finding in found:
            if finding["severity"] in ALARMS:
                outcome.alarms.setdefault(finding["rule"], finding["severity"])
        outcome.text = diagnosis_text(said, "en")

    def asked_about_all(self) -> None:
        """What a user is told of the whole fleet: the worst of its own findings becomes the outcome."""
        said = self.api.ask("GET", "/v1/nodes")
        found = sorted(said.get("findings", ()), key=lambda f: -SEVERITY_ORDER.index(f["severity"]))
        self.outcome.findings = [f"{f['rule']} {f['severity']}/{f['confidence']}" for f in found]
        if found:
            self.outcome.rule, self.outcome.severity = found[0]["rule"], found[0]["severity"]
        for item in said["items"]:
            verdict = item["verdict"]
            self.outcome.findings.append(f"{verdict['rule']} {verdict['severity']} of {item['node']}")
            if verdict["severity"] in ALARMS:
                self.outcome.alarms.setdefault(verdict["rule"], verdict["severity"])

    def drops(self, node: str, *, after: float) -> None:
        """What the node recorded later than that never arrives."""
        self._waiting = [one for one in self._waiting if one[1] != node or one[0] <= after]

    def twice(self) -> Self:
        """Every report is sent a second time."""
        self._waiting += [(at + 2.0, *rest) for at, *rest in self._waiting]  # type: ignore[misc]
        return self
