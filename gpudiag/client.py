"""The only HTTP client of our API: the agent, the bot and the command line use it.

Built on `http.client`, so that an agent pays little memory for it. Connections are kept alive and may be
shared by threads. Every failure is one of the classes below, and its message is the server's own sentence.
"""

from __future__ import annotations

import http.client
import socket
import time
import zlib
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from gpudiag import __version__
from gpudiag.errors import GpudiagError
from gpudiag.model import Snapshot
from gpudiag.words.foreign import plain

SENT_AT = "Gpudiag-Sent-At"
"""Request header with the sender's clock (Unix seconds): the server measures the clock offset by it."""

LARGEST_ANSWER = 64 << 20
IDLE_KEPT = 8
LONGEST_RETRY = 300.0  # seconds, whatever a server asks for


class ApiError(GpudiagError):
    """The API gave no usable answer. `problem` holds its problem+json, where it sent one."""

    exit_code = 3
    status = 502

    def __init__(self, message: str, problem: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.problem = dict(problem or {})


class Unreachable(ApiError):
    """Nobody answers at the address, or not in time: try again later."""


class Busy(ApiError):
    """The server asks to come back after `retry_after` seconds."""

    status = 503
    retry_after = 5.0


class Unauthorized(ApiError):
    """The token is missing or not known."""

    status = 401


class Forbidden(ApiError):
    """The token may not do this."""

    status = 403


class NotFound(ApiError):
    """There is no such node, finding or rule; `nearest` are names like the one asked for."""

    status = 404

    @property
    def nearest(self) -> list[str]:
        told = self.problem.get("nearest")
        return [plain(name, 253) for name in told] if isinstance(told, list) else []


class Refused(ApiError):
    """What was sent is wrong and will be refused again (400, 409, 413, 415, 422)."""

    status = 422
    exit_code = 2


class Broken(ApiError):
    """The server failed, or what answers there is not our API."""


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    429: Busy,
    503: Busy,
}


class Answer:
    """One answer: status, headers (names in lower case) and body."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        """The body as JSON; raises Broken when it is something else."""
        try:
            return msgspec.json.decode(self.body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise Broken("the API answered something that is not JSON; is the address right?") from None

    def shaped(self, shape: Any) -> dict[str, Any]:
        """The body as JSON of a known shape; raises Broken when it is another one."""
        found: dict[str, Any] = self.json()
        try:
            msgspec.convert(found, shape)
        except msgspec.ValidationError as error:
            raise Broken(
                f"the API answered in another form than this version reads ({plain(error, 120)}); "
                "is the address right, and are both of one version?"
            ) from None
        return found


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
    """Our API at `url`. `language` is asked for in every diagnosis; `timeout` covers one request."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        language: str | None = None,
        compression: str = "zstd",
    ) -> None:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is no address of an API; it looks like http://127.0.0.1:8000")
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        self.token, self.timeout, self.language = token, timeout, language
        self.compression = compression
        self._secure = parts.scheme == "https"
        try:
            self._host, self._port = parts.hostname, parts.port
        except ValueError:
            raise Refused(f"{url!r} has no valid port") from None
        self._prefix = parts.path.rstrip("/")
        self._idle: deque[http.client.HTTPConnection] = deque()

    # ---- reporting

    def send(self, snapshots: Snapshot | bytes | Iterable[Snapshot | bytes]) -> dict[str, Any]:
        """Report snapshots (structs, or bytes as `msgspec.json.encode` made them), oldest first.

        The answer is `{"stored", "duplicates", "time"}` and means that they survive a crash.
        """
        if isinstance(snapshots, (Snapshot, bytes)):
            body = _encoded(snapshots)
        else:
            body = b"[" + b",".join(_encoded(snapshot) for snapshot in snapshots) + b"]"
        headers = {"Content-Type": "application/json", SENT_AT: f"{time.time():.3f}"}
        if self.compression == "gzip":
            packer = zlib.compressobj(6, zlib.DEFLATED, 31)
            body = packer.compress(body) + packer.flush()
            headers["Content-Encoding"] = "gzip"
        elif self.compression == "zstd":
            import zstandard

            body = zstandard.ZstdCompressor(3).compress(body)
            headers["Content-Encoding"] = "zstd"
        return self._ask("POST", "/v1/snapshots", body=body, headers=headers).shaped(_ShapeOfStored)

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
        while self._idle:
            self._idle.pop().close()

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
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        answer = self._exchange(method, self._prefix + path, body, sent)
        if 200 <= answer.status < 300:
            return answer
        raise self._failure(answer)

    def _exchange(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = self._idle.pop() if self._idle else None
        if connection is not None:
            try:
                return self._once(connection, method, path, body, headers)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                connection.close()  # the server closed it while idle: once more on a new one
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                raise self._unreachable(error) from None
        connection = self._connection()
        try:
            return self._once(connection, method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._unreachable(error) from None
        except BaseException:
            connection.close()
            raise

    def _connection(self) -> http.client.HTTPConnection:
        make = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return make(self._host, self._port, timeout=self.timeout)

    def _once(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> Answer:
        if connection.sock is None:
            connection.connect()
            connected: Any = connection.sock
            # Headers and body are two writes: without this the second waits for the first one's ack.
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        until = time.monotonic() + self.timeout
        connection.request(method, path, body=body, headers=dict(headers))
        response = connection.getresponse()
        content = self._content(response, until)
        if len(content) > LARGEST_ANSWER:
            connection.close()
            raise Broken(f"the API at {self.url} answered more than {LARGEST_ANSWER >> 20} MiB")
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, content)
        if response.will_close or len(self._idle) >= IDLE_KEPT:
            connection.close()
        else:
            self._idle.append(connection)
        return answer

    @staticmethod
    def _content(response: http.client.HTTPResponse, until: float) -> bytes:
        """The body, in time and not without end: a byte a second is no answer."""
        parts, size = [], 0
        while size <= LARGEST_ANSWER and (part := response.read1(1 << 18)):
            parts.append(part)
            size += len(part)
            if time.monotonic() > until:
                raise TimeoutError
        if response.length and size <= LARGEST_ANSWER:
            raise http.client.IncompleteRead(b"".join(parts), response.length)
        response.close()  # the answer, not the connection
        return b"".join(parts)

    def _unreachable(self, error: Exception) -> ApiError:
        if isinstance(error, TimeoutError):
            return Unreachable(f"the API at {self.url} did not answer within {self.timeout:g} s")
        if isinstance(error, http.client.HTTPException):
            return Broken(f"what answers at {self.url} does not speak HTTP ({type(error).__name__})")
        if isinstance(error, socket.gaierror):
            return Unreachable(f"there is no host {self._host!r} (address {self.url})")
        if isinstance(error, ConnectionRefusedError):
            return Unreachable(f"nothing listens at {self.url}; start it with: gpudiag serve")
        return Unreachable(f"the API at {self.url} cannot be reached ({error})")

    def _failure(self, answer: Answer) -> ApiError:
        problem: dict[str, Any] = {}
        if answer.headers.get("content-type", "").startswith(
            ("application/problem+json", "application/json")
        ):
            try:
                decoded = msgspec.json.decode(answer.body)
                problem = decoded if isinstance(decoded, dict) else {}
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass
        kind = _BY_STATUS.get(answer.status) or (Refused if 400 <= answer.status < 500 else Broken)
        said = problem.get("detail") or problem.get("title")
        message = (
            plain(said, 1_000) if said else f"the API at {self.url} answered {answer.status} without a reason"
        )
        error = kind(message, problem)
        if isinstance(error, Busy):
            error.retry_after = _seconds(answer.headers.get("retry-after"), Busy.retry_after)
        return error


def _encoded(snapshot: Snapshot | bytes) -> bytes:
    return snapshot if isinstance(snapshot, bytes) else msgspec.json.encode(snapshot)


def _part(text: str) -> str:
    return quote(str(text), safe="")


def _seconds(text: str | None, default: float) -> float:
    try:
        return min(max(0.0, float(text)), LONGEST_RETRY) if text is not None else default
    except ValueError:
        return default
