"""What the API answers, as JSON-ready values: every surface (JSON, text, pages) lays these out."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
from flask import request

from api.access import Gate
from api.judging.facts import facts_of
from api.judging.judge import Judge
from api.judging.nodes import NodeState, Place
from api.judging.past import judged_then, known_then
from api.judging.since import Since, since_ok
from api.judging.together import FLEET
from api.moments import judged_again, moment, span_of
from api.places import nodes_like, place_of
from api.problems import BadRequest, NoSuch, Unprocessable
from api.reports.writer import Writer
from api.store import Store, StoreError
from api.store.decisions import Deed, Mute
from api.store.episodes import Change
from api.words import Sentence
from gpudiag.errors import GpudiagError
from gpudiag.examine import STALE, Ruleset, examine, observed
from gpudiag.explain import explain, finding_in_words, iso
from gpudiag.model import TROUBLE, Checkup, Finding, Observed, Snapshot
from gpudiag.settings import Settings
from gpudiag.verdict import NOT_ENOUGH
from gpudiag.window import Window
from gpudiag.words import Language
from gpudiag.words.foreign import plain

log = logging.getLogger("gpudiag.answers")

HISTORY_METRICS = (
    "utilization_percent",
    "memory_used_bytes",
    "power_watts",
    "temperature_celsius",
    "sm_clock_megahertz",
)
CHANGED_SECONDS = 5.0  # what changed since a node was ok is looked up again after so long
MOST_REMEMBERED = 20_000
LONGEST_HISTORY = 7 * 86_400.0


class Answers:
    """The application's answers. Errors are GpudiagError with a `status`."""

    def __init__(
        self, settings: Settings, store: Store, judge: Judge, writer: Writer, gate: Gate, rules: Ruleset
    ) -> None:
        self.settings, self.store, self.judge = settings, store, judge
        self.writer, self.gate, self.rules = writer, gate, rules
        self.public_url = (settings.serve.public_url or "").rstrip("/")
        self.runbooks = f"{self.public_url}/runbooks"
        self._since: dict[tuple[Any, ...], tuple[float, dict[str, Any] | None]] = {}

    def now(self) -> float:
        return self.judge.clock()

    # ---- nodes

    def node(self, name: str) -> NodeState:
        """The state of a node that has reported; raises NoSuch with the nearest names."""
        state = self.judge.state(name)
        if state is None:
            nearest, hint = nodes_like(self.judge, name)
            raise NoSuch("node", nearest, name=plain(name, 80), hint=hint)
        return state

    def fleet(
        self,
        language: Language,
        severity: str | None = None,
        after: Place | None = None,
        most: int | None = None,
        skip: int = 0,
    ) -> list[dict[str, Any]]:
        """Nodes as `GET /v1/nodes` lists them, worst first: those of one severity, and `most` of them."""
        now = self.now()
        self.judge.see_others()
        states = self.judge.worst_first(severity, after)[skip:]
        return [self.listed(state, language, now) for state in states[:most]]

    def counts(self) -> dict[str, int]:
        """How many nodes have each severity that one has."""
        return self.judge.counts()

    def fleet_findings(self, language: Language) -> list[dict[str, Any]]:
        """What is open about several nodes together."""
        return [self.worded(FLEET, f, "agent", language) for f in self.judge.together.findings]

    def listed(self, state: NodeState, language: Language, now: float) -> dict[str, Any]:
        window, load = state.window, state.load_at(now)
        return {
            "node": plain(state.name),
            "verdict": self.judge.wording.verdict_at(now, state, language),
            "gpus": load.gpus,
            "memory_used_bytes": load.memory_used_bytes,
            "memory_total_bytes": load.memory_total_bytes,
            "utilization_percent": load.utilization_percent,
            "age_seconds": round(window.age(now), 1),
            "changed_at": iso(state.changed_at),
            "source": window.latest.source if window.latest else None,
        }

    def diagnosis(
        self,
        node: str,
        language: Language,
        at: str | None = None,
        gpu: int | None = None,
        window: str | None = None,
    ) -> dict[str, Any]:
        """One node's diagnosis; of one GPU when `gpu` is given; of the past when `at` is."""
        place = place_of(self.judge, node)
        state, gpu = place.state, place.gpu if gpu is None else gpu
        span = span_of(window) if window is not None else None
        if at is not None or span is not None:
            said = self._past(state, language, at, span)
        else:
            with state.lock:
                known = self.judge.said(state, language, self.runbooks)
                if known is None:
                    raise NoSuch("never.reported", node=node)
                age = round(state.window.age(self.now()), 1)
            said = {
                **known,
                "observed": {**known["observed"], "age_seconds": age},
                "notes": known["notes"] + self._notes(state, language),
            }
        said["changed"] = self._changed(state, language, said["verdict"], at)
        if place.who is not None:
            note = Sentence("note.asked", who=plain(place.who), where=place.where).said(language)
            said["asked"] = {"who": plain(place.who), "where": place.where, "text": note}
            said["notes"] = [note, *said["notes"]]
        return said if gpu is None else only_gpu(said, gpu)

    def _changed(
        self, state: NodeState, language: Language, verdict: dict[str, Any], at: str | None
    ) -> dict[str, Any] | None:
        """What came and went since the node was last ok; None while it is."""
        if verdict["severity"] not in TROUBLE:
            return None
        key = (state.id, language, verdict["severity"], verdict["rule"], verdict["gpu"])
        now = self.now()
        known = self._since.get(key) if at is None else None
        if known is not None and 0 <= now - known[0] < CHANGED_SECONDS:
            return known[1]
        row = self.store.snapshots.node(state.name)
        found = row and since_ok(self.store, state.id, row.first_seen, now if at is None else moment(at, now))
        said = self._changed_json(state, found, language) if found else None
        if at is None:
            if len(self._since) > MOST_REMEMBERED:
                self._since.clear()
            self._since[key] = (now, said)
        return said

    def _changed_json(self, state: NodeState, since: Since, language: Language) -> dict[str, Any]:
        items = []
        for event in since.happened:
            worded = self.worded(state.name, event.finding, "agent", language)
            kept = {name: worded[name] for name in ("rule", "severity", "gpu", "headline")}
            items.append({"at": iso(event.at), "what": event.what, "id": event.finding.id, **kept})
        return {"last_ok": iso(since.last_ok), "items": items}

    def _past(
        self, state: NodeState, language: Language, at: str | None, span: float | None
    ) -> dict[str, Any]:
        now = self.now()
        wanted = now if at is None else moment(at, now)
        then = min(wanted, now)
        window = self.judge.windows.of_the_past(state, then, span)
        if window is None:
            oldest = self.store.snapshots.oldest(state.id)
            since = Sentence("oldest", at=iso(oldest)) if oldest else ""
            raise NoSuch("not.kept", node=state.name, at=iso(wanted), since=since)
        try:
            checkup = judged_then(self.judge, state, window, then)
            if span is not None:
                checkup.observed = observed(window, span)
            found = explain(
                checkup, language, self.rules, now=wanted, runbooks=self.runbooks, past=at is not None
            )
            said: dict[str, Any] = msgspec.to_builtins(found)
        except StoreError:
            raise
        except Exception as error:
            log.exception("%s cannot be judged as it was at %s", state.name, iso(wanted))
            known = known_then(self.judge, state, then)
            said = facts_of(window, known, wanted, error, language, self.rules, self.runbooks)
        finally:
            window.end()
        if at is None:
            said["notes"] += self._notes(state, language)
        return said

    def _notes(self, state: NodeState, language: str) -> list[str]:
        """What the server adds to an answer about a node."""
        notes = []
        now = self.now()
        if state.two_agents:
            notes.append(Sentence("note.two.agents", node=plain(state.name)))
        said_so = state.rank is None or state.rank[1] in (NOT_ENOUGH, STALE)  # by the verdict itself
        if state.window.catches_up and state.reports_at(now) and not said_so:
            notes.append(Sentence("note.catches.up", node=plain(state.name)))
        kept = self.judge.feed.maintained.get(state.id)
        if kept is not None and kept.until > now:
            notes.append(Sentence("note.maintenance", until=iso(kept.until), by=plain(kept.by, 80)))
        if self.writer.trouble is not None:
            notes.append(Sentence("note.store", trouble=plain(self.writer.trouble)))
        return [note.said(language) for note in notes]

    def history(
        self, node: str, seconds: float, at: str | None = None, metrics: tuple[str, ...] = HISTORY_METRICS
    ) -> dict[str, Any]:
        """`{"node", "from", "to", "gpus": [{"index", "series": {metric: [[unix seconds, value], …]}}]}`.

        Of one GPU where that is what `node` names, or where the pod, job or pid runs on one alone.
        """
        place = place_of(self.judge, node)
        found = self._series(place.state, min(seconds, LONGEST_HISTORY), at, metrics)
        if place.gpu is None:
            return found
        return {**found, "gpus": [of_gpu(found["gpus"], place.gpu, place.state.name)]}

    def _series(
        self, state: NodeState, span: float, at: str | None, metrics: tuple[str, ...]
    ) -> dict[str, Any]:
        if at is not None:
            judged_again(span, "span", f"{span:.0f}s")
            window = self.judge.windows.of_the_past(state, min(moment(at, self.now()), self.now()), span)
            if window is None:
                raise NoSuch("not.kept", node=state.name, at=plain(at, 40), since="")
            found = series_of(window, span, metrics)
            window.end()
            return found
        with state.lock:
            return series_of(state.window, span, metrics)

    # ---- findings

    def feed(
        self, after: str | None, limit: int, language: Language, node: str | None = None
    ) -> dict[str, Any]:
        """What opened, changed, resolved, after a cursor."""
        entries = self.store.episodes.feed(cursor_of(after), limit, node)
        items = [self.change(entry, language) for entry in entries]
        return {"items": items, "next": str(entries[-1].id) if entries else None}

    def change(self, entry: Change, language: Language) -> dict[str, Any]:
        return {
            "cursor": str(entry.id),
            "at": iso(entry.at),
            "what": entry.what,
            "node": plain(entry.node),
            "quiet": entry.quiet,
            "finding": self.worded(entry.node, entry.finding, entry.source, language),
        }

    def worded(self, node: str, finding: Finding, source: Any, language: Language) -> dict[str, Any]:
        """A finding by itself, in words."""
        checkup = Checkup(
            node=node,
            judged_at=finding.since or 0.0,
            observed=Observed(start=None, end=None),
            snapshot=Snapshot(node=node, taken_at=0.0, source=source),
            findings=[finding],
        )
        return finding_in_words(checkup, finding, language, self.rules, runbooks=self.runbooks)

    def finding(self, finding_id: str, language: Language) -> dict[str, Any]:
        """One finding, with its history and who acknowledged it."""
        episode = self.store.episodes.get(finding_id)
        if episode is None:
            raise NoSuch("finding", finding=plain(finding_id, 40))
        entries = self.store.episodes.feed(0, 1_000, finding_id=finding_id)
        source = entries[-1].source if entries else "agent"
        state = self.judge.nodes.get(episode.node)
        finding = episode.episode.finding
        if state is not None and episode.ended_at is None:
            finding = next((k.finding for k in state.open.values() if k.finding.id == finding_id), finding)
        return {
            **self.worded(episode.node, finding, source, language),
            "node": plain(episode.node),
            "opened_at": iso(episode.opened_at),
            "ended_at": iso(episode.ended_at),
            "history": [{"at": iso(e.at), "what": e.what, "severity": e.finding.severity} for e in entries],
            "decisions": [deed_json(deed) for deed in self.store.decisions.deeds(finding_id)],
        }

    # ---- pasted text and snapshots

    def pasted(self, text: bytes, language: Language) -> dict[str, Any]:
        """The diagnosis of pasted tool output; nothing of it is stored."""
        from gpudiag.pasted import RulesFail, judge

        try:
            checkup = judge(text, self.rules)
        except GpudiagError:
            raise
        except RulesFail as failure:
            return self._facts(failure.snapshot, failure.__cause__, language)
        except Exception as error:
            raise _unreadable(error) from error
        return self._of_checkup(checkup, language)

    def of_snapshot(self, snapshot: Snapshot, language: Language) -> dict[str, Any]:
        """The diagnosis of one snapshot; nothing of it is stored."""
        window = Window(snapshot.node)
        try:
            window.add(snapshot)
            checkup = examine(window, self.rules)
        except Exception as error:
            return self._facts(snapshot, error, language)
        finally:
            window.end()
        return self._of_checkup(checkup, language)

    def _of_checkup(self, checkup: Checkup, language: Language) -> dict[str, Any]:
        try:
            said: dict[str, Any] = msgspec.to_builtins(
                explain(checkup, language, self.rules, runbooks=self.runbooks)
            )
        except Exception as error:
            return self._facts(checkup.snapshot, error, language)
        return said

    def _facts(self, snapshot: Snapshot, error: Any, language: Language) -> dict[str, Any]:
        """What was read, where our rules or words fail over it."""
        log.error("what was pasted cannot be judged", exc_info=error)
        window = Window(snapshot.node)
        try:
            window.add(snapshot)
            return facts_of(window, (), window.time, error, language, self.rules, self.runbooks, pasted=True)
        except Exception:
            raise _unreadable(error) from error
        finally:
            window.end()

    # ---- pages

    def must_log_in(self) -> bool:
        """Whether the request at hand may not read the pages before it shows a token."""
        return not self.gate.may_read(request.environ)

    def accepts(self, token: str) -> bool:
        return self.gate.accepts(token)

    def from_our_page(self) -> bool:
        """By what the browser says of it; an older one names only where the page is from."""
        site = request.headers.get("Sec-Fetch-Site")
        return self.gate.same_origin(request.environ) if site is None else site in ("same-origin", "none")

    def encrypted(self) -> bool:
        return request.is_secure or self.public_url.startswith("https://")


def only_gpu(diagnosis: dict[str, Any], gpu: int) -> dict[str, Any]:
    """The diagnosis narrowed to one GPU, whose verdict becomes the answer's."""
    own = diagnosis["verdict"] if diagnosis["findings"] and diagnosis["verdict"].get("gpu") is None else None
    if own and own["severity"] in TROUBLE and not diagnosis["gpus"]:
        return diagnosis  # the node shows none, and says why
    found = of_gpu(diagnosis["gpus"], gpu, diagnosis["node"])
    silent = own is not None and own["rule"] == "agent-stale"
    return {**diagnosis, "gpus": [found], "verdict": own if silent and own else found["verdict"]}


def of_gpu(gpus: list[dict[str, Any]], gpu: int, node: str) -> dict[str, Any]:
    """The entry of one GPU; raises NoSuch with the GPUs that there are."""
    found = next((entry for entry in gpus if entry["index"] == gpu), None)
    if found is None:
        has = ", ".join(str(entry["index"]) for entry in gpus)
        raise NoSuch("gpu" if has else "gpu.none", node=plain(node), gpu=gpu, known=has)
    return found


def series_of(window: Window, span: float, metrics: tuple[str, ...]) -> dict[str, Any]:
    gpus = []
    for gpu in window.gpus_in_order():
        series = {
            name: [[round(at, 1), round(value, 3)] for at, value in gpu.track.series(name, span)]
            for name in metrics
        }
        gpus.append({"index": gpu.index, "name": plain(gpu.reading.name) if gpu.reading.name else None,
                     "memory_total_bytes": gpu.reading.memory_total_bytes, "series": series})  # fmt: skip
    return {"node": plain(window.node), "from": iso(window.time - span), "to": iso(window.time), "gpus": gpus}


def _unreadable(error: Exception) -> Unprocessable:
    """What is said where our readers fail over a text."""
    log.error("what was pasted cannot be read", exc_info=error)
    return Unprocessable("paste.unreadable", name=type(error).__name__)


def cursor_of(text: str | None) -> int:
    """A cursor of the feed; `now` or nothing else than a number is refused."""
    if text is None or text == "":
        return 0
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise BadRequest("cursor", name="after", text=plain(text, 40))
    return int(text)


def deed_json(deed: Deed) -> dict[str, Any]:
    return {"at": iso(deed.at), "who": plain(deed.who), "what": deed.what, "why": plain(deed.why)}


def mute_json(mute: Mute) -> dict[str, Any]:
    return {
        "id": mute.id,
        "node": plain(mute.node),
        "rule": mute.rule,
        "since": iso(mute.created_at),
        "until": iso(mute.until),
        "by": plain(mute.by),
        "why": plain(mute.why),
    }
