"""The only HTTP client of our API: the agent, the bot and the command line use it.

`connections.py` carries requests, `failures.py` says what a failure means: one class for each way, with the
server's own sentence where it sent one.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from gpudiag import __version__
from gpudiag.client.connections import Connections
from gpudiag.client.failures import (
    Answer,
    ApiError,
    Broken,
    Busy,
    Forbidden,
    NotFound,
    Refused,
    Unauthorized,
    Unreachable,
    failure,
)
from gpudiag.model import Snapshot

__all__ = [
    "SENT_AT",
    "Answer",
    "ApiError",
    "Broken",
    "Busy",
    "Client",
    "Forbidden",
    "NotFound",
    "Refused",
    "Unauthorized",
    "Unreachable",
]

SENT_AT = "Gpudiag-Sent-At"
"""Request header with the sender's clock (Unix seconds): the server measures the clock offset by it."""

PACKINGS = ("zstd", "gzip", "identity")  # the best first
USUAL = {"zstd": 3, "gzip": 6}  # levels: quick, and small enough for all but a narrow way
TIGHTEST = {"zstd": 19, "gzip": 9}
_MAY_MEAN_PACKING = frozenset({400, 403, 406, 415, 501})


class _ShapeOfVerdict(msgspec.Struct):
    severity: str
    rule: str | None
    headline: str


class _ShapeOfGpu(msgspec.Struct):
    index: int
    verdict: _ShapeOfVerdict
    readings: dict[str, Any]
    processes: list[dict[str, Any]]
    findings: list[dict[str, Any]]


class _ShapeOfDiagnosis(msgspec.Struct):
    """What every reader of a diagnosis relies on."""

    node: str
    observed: dict[str, Any]
    verdict: _ShapeOfVerdict
    findings: list[dict[str, Any]]
    gpus: list[_ShapeOfGpu]
    unjudged: list[dict[str, Any]]
    notes: list[str]


class _ShapeOfStored(msgspec.Struct):
    stored: int
    duplicates: int


class _ShapeOfList(msgspec.Struct):
    items: list[dict[str, Any]]


class _ShapeOfNode(msgspec.Struct):
    node: str
    verdict: _ShapeOfVerdict


class _ShapeOfNodes(msgspec.Struct):
    items: list[_ShapeOfNode]


class Client:
    """Our API at `url`. `language` is that of answers and refusals; `timeout` covers one request."""

    def __init__(
        self, url: str, token: str | None = None, *, timeout: float = 10.0, language: str | None = None
    ) -> None:
        self._connections = Connections(url, timeout)
        self.url = self._connections.url
        self.token, self.language = token, language
        self.packing = PACKINGS[0]  # of reports: the best that the way to the API is not known to refuse

    # ---- reporting

    def send(self, snapshots: Snapshot | bytes | Iterable[Snapshot | bytes]) -> dict[str, Any]:
        """Report snapshots (structs, or bytes as `msgspec.json.encode` made them), oldest first.

        The answer is `{"stored", "duplicates", "time"}` and means that they survive a crash.
        Where a proxy does not let a packed body through, it is sent packed otherwise, or as it is; where the
        body is too large for one, packed as tight as can be.
        """
        if isinstance(snapshots, (Snapshot, bytes)):
            body = _encoded(snapshots)
        else:
            body = b"[" + b",".join(_encoded(snapshot) for snapshot in snapshots) + b"]"
        packings = PACKINGS[PACKINGS.index(self.packing) :]
        for packing in packings:
            try:
                answer = self._report(body, packing)
            except ApiError as error:
                if packing == packings[-1] or not _may_mean_packing(error):
                    raise
            else:
                self.packing = packing
                break
        return answer.shaped(_ShapeOfStored)

    def _report(self, body: bytes, packing: str) -> Answer:
        try:
            return self._report_packed(body, packing, USUAL)
        except Broken as error:
            if error.answered != 413 or packing not in TIGHTEST:
                raise
        return self._report_packed(body, packing, TIGHTEST)

    def _report_packed(self, body: bytes, packing: str, levels: Mapping[str, int]) -> Answer:
        headers = {"Content-Type": "application/json", SENT_AT: f"{time.time():.3f}"}
        if packing != "identity":
            headers["Content-Encoding"] = packing
        packed = _packed(body, packing, levels.get(packing, 0))
        return self._ask("POST", "/v1/snapshots", body=packed, headers=headers)

    # ---- asking

    def nodes(
        self, severity: str | None = None, limit: int | None = None, cursor: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """The fleet, worst first: `{"items", "next"}`."""
        return self._get("/v1/nodes", _ShapeOfNodes, severity=severity, limit=limit, cursor=cursor, **more)

    def diagnosis(
        self,
        node: str,
        gpu: int | None = None,
        at: str | float | None = None,
        lang: str | None = None,
        window: str | None = None,
    ) -> dict[str, Any]:
        """One node's diagnosis (contract section 5)."""
        return self._get(
            f"/v1/nodes/{_part(node)}", _ShapeOfDiagnosis, gpu=gpu, at=at, window=window, lang=lang
        )

    def history(self, node: str, **options: Any) -> dict[str, Any]:
        """Series for charts."""
        return self._get(f"/v1/nodes/{_part(node)}/history", **options)

    def findings(self, after: str | None = None, limit: int | None = None, **more: Any) -> dict[str, Any]:
        """What opened, changed, resolved, in order, after a cursor: `{"items", "next"}`."""
        return self._get("/v1/findings", _ShapeOfList, after=after, limit=limit, **more)

    def finding(self, finding_id: str, lang: str | None = None) -> dict[str, Any]:
        return self._get(f"/v1/findings/{_part(finding_id)}", lang=lang)

    def rules(self, lang: str | None = None) -> dict[str, Any]:
        return self._get("/v1/rules", _ShapeOfList, lang=lang)

    def runbook(self, rule: str, lang: str | None = None) -> str:
        """A rule's page as Markdown."""
        path = f"/runbooks/{_part(rule)}{self._query({'lang': lang})}"
        return self._ask("GET", path, headers={"Accept": "text/markdown"}).body.decode("utf-8", "replace")

    def fleet_text(self, lang: str | None = None) -> str:
        return self._text(f"/diagnose{self._query({'lang': lang})}")

    def diagnosis_text(
        self, node: str, gpu: int | None = None, at: str | float | None = None, lang: str | None = None
    ) -> str:
        """One node's diagnosis as people read it in a terminal."""
        return self._text(f"/diagnose/{_part(node)}{self._query({'gpu': gpu, 'at': at, 'lang': lang})}")

    # ---- deciding

    def ack(self, finding_id: str, by: str, why: str = "") -> dict[str, Any]:
        return self._post(f"/v1/findings/{_part(finding_id)}/ack", {"by": by, "why": why})

    def mutes(self) -> dict[str, Any]:
        return self._get("/v1/mutes")

    def mute(
        self, node: str, rule: str | None = None, *, seconds: float, by: str, why: str = ""
    ) -> dict[str, Any]:
        """Keep a node, or one rule on it, quiet for a while; `*` is every node. A mute always expires."""
        body = {"node": node, "rule": rule, "seconds": seconds, "by": by, "why": why}
        return self._post("/v1/mutes", body)

    def unmute(self, mute_id: str | int, by: str = "") -> dict[str, Any]:
        return self._ask("DELETE", f"/v1/mutes/{_part(str(mute_id))}{self._query({'by': by or None})}").json()

    def maintenance(self, node: str, *, seconds: float, by: str, why: str = "") -> dict[str, Any]:
        """Expect disturbances on a node for a while; 0 seconds ends it."""
        body = {"seconds": seconds, "by": by, "why": why}
        return self._post(f"/v1/nodes/{_part(node)}/maintenance", body)

    def forget_node(self, node: str, by: str = "", why: str = "") -> dict[str, Any]:
        """Drop a node that is no more, with all that is stored of it."""
        query = self._query({"by": by or None, "why": why or None})
        return self._ask("DELETE", f"/v1/nodes/{_part(node)}{query}").json()

    # ---- calculating and reading

    def kv(self, config: Mapping[str, Any] | None = None, **options: Any) -> dict[str, Any]:
        """The calculator, with the option names of the contract; `config` is a raw config.json."""
        if config is None:
            return self._get("/v1/kv", **options)
        return self._post("/v1/kv", {**options, "config": config})

    def explain_text(self, text: str | bytes, lang: str | None = None) -> dict[str, Any]:
        """The diagnosis of pasted tool output; nothing of it is stored."""
        body = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        headers = {"Content-Type": "text/plain; charset=utf-8", "Accept": "application/json"}
        path = f"/diagnose{self._query({'lang': lang or self.language})}"
        return self._ask("POST", path, body=body, headers=headers).shaped(_ShapeOfDiagnosis)

    def health(self) -> dict[str, Any]:
        return self._get("/healthz")

    # ---- the wire

    def close(self) -> None:
        self._connections.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str, shape: Any = dict, **query: Any) -> dict[str, Any]:
        if self.language and not query.get("lang"):
            query["lang"] = self.language
        return self._ask("GET", path + self._query(query)).shaped(shape)

    def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        return self._ask("POST", path, body=msgspec.json.encode(body), headers=headers).shaped(dict)

    def _text(self, path: str) -> str:
        return self._ask("GET", path, headers={"Accept": "text/plain"}).body.decode("utf-8", "replace")

    @staticmethod
    def _query(values: Mapping[str, Any]) -> str:
        known = {name: value for name, value in values.items() if value is not None}
        return "?" + urlencode(known) if known else ""

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request; raises the error class that fits when the answer is not a success."""
        sent = {"User-Agent": f"gpudiag/{__version__}", "Accept": "application/json", **(headers or {})}
        if self.language:
            sent.setdefault("Accept-Language", self.language)
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        answer = self._exchange(method, path, body, sent)
        if 200 <= answer.status < 300:
            return answer
        raise failure(answer, self.url)

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        """One request with these headers alone, and the answer as it is."""
        return self._connections.exchange(method, path, body, headers)


def _encoded(snapshot: Snapshot | bytes) -> bytes:
    return snapshot if isinstance(snapshot, bytes) else msgspec.json.encode(snapshot)


def _packed(body: bytes, packing: str, level: int) -> bytes:
    if packing == "zstd":
        import zstandard

        return zstandard.ZstdCompressor(level).compress(body)
    if packing == "gzip":
        packer = zlib.compressobj(level, zlib.DEFLATED, 31)
        return packer.compress(body) + packer.flush()
    return body


def _may_mean_packing(error: ApiError) -> bool:
    """Whether something on the way may have stumbled over how a body was packed, not over what it says.

    415 is the status made for it (RFC 7694); firewalls answer 403 or 406 to a Content-Encoding, and a proxy
    that unpacks the body and leaves the header makes the API answer 400.
    """
    return error.answered in _MAY_MEAN_PACKING and not isinstance(error, Forbidden)


def _part(text: str) -> str:
    return quote(str(text), safe="")
