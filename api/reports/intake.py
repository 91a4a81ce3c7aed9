"""What comes in: bodies are unpacked with a bound, read strictly, and refused with the exact place."""

from __future__ import annotations

import contextlib
import math
import re
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import zstandard

from api.judging.windows import FUTURE_SECONDS
from api.problems import Refused
from api.reports.tidying import LARGEST_USUAL, Beyond, is_plain, tidy
from api.store.snapshots import DECODER, LARGEST_BODY
from gpudiag.errors import GpudiagError
from gpudiag.model import Snapshot
from gpudiag.words.foreign import plain

LARGEST_REQUEST = 4 << 20  # as it comes over the wire
MOST_SNAPSHOTS = 500  # in one request
LARGEST_SNAPSHOT = 4 << 20  # unpacked; a large machine's is a tenth of that
MOST_OBJECTS = 50_000  # of one snapshot: fifty are usual
MOST_VALUES = 300_000  # of one snapshot: a thousand are usual
TOGETHER = 10  # times as many objects and values in one request
MOST_OF = {"gpus": 256, "processes": 4_096, "engines": 256, "events": 4_096, "gaps": 8_192}  # of one snapshot
MOST_USES = 8_192  # of GPUs by processes
LONGEST_START_ID = 128
LARGEST_NUMBER = 1 << 62

NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@+-]{0,252}")


_idle: list[zstandard.ZstdDecompressor] = []


class BadBody(Refused):
    """The body is not what it says it is."""

    status = 400


class TooLarge(Refused):
    """The body, or what it unpacks to, is larger than anything we take."""

    status = 413


class WrongEncoding(Refused):
    """The body is packed in a way that we do not read."""

    status = 415


class BadSnapshot(GpudiagError):
    """A snapshot does not keep to the schema; the message says where, in English: agents alone read it."""

    status = 422


class Arrived(NamedTuple):
    """A snapshot as it came: read, and its JSON."""

    snapshot: Snapshot
    body: bytes


def unpacked(body: bytes, encoding: str | None) -> bytes:
    """The body without its Content-Encoding, never more than `LARGEST_BODY`."""
    encoding = (encoding or "identity").strip().lower()
    if encoding == "identity":
        return body
    if encoding in ("gzip", "x-gzip"):
        return _gunzipped(body)
    if encoding == "zstd":
        return _unzstd(body)
    raise WrongEncoding("body.encoding", encoding=plain(encoding, 40))


def told_size(body: bytes, encoding: str | None) -> int:
    """Bytes that a body says it unpacks to; as many as we take where it does not say."""
    if encoding in (None, "identity"):
        return len(body)
    if encoding != "zstd":  # gzip ends with its size
        return max(int.from_bytes(body[-4:], "little"), len(body))
    try:
        told: int = zstandard.frame_content_size(body)
    except zstandard.ZstdError:
        return len(body)
    return max(told, len(body)) if told >= 0 else LARGEST_BODY


def _gunzipped(body: bytes) -> bytes:
    reader = zlib.decompressobj(31)
    try:
        content = reader.decompress(body, LARGEST_BODY + 1)
    except zlib.error as error:
        raise BadBody("body.gzip", error=error) from None
    if len(content) > LARGEST_BODY:
        raise _bomb()
    if not reader.eof:
        raise BadBody("body.gzip.end")
    if reader.unused_data:
        raise BadBody("body.gzip.more")
    return content


def _unzstd(body: bytes) -> bytes:
    try:
        size = zstandard.frame_content_size(body)
        if size > LARGEST_BODY:
            raise _bomb()
        if size >= 0:
            with _decompressor() as decompressor:
                return decompressor.decompress(body, allow_extra_data=False)
        return _unzstd_in_parts(body)
    except zstandard.ZstdError as error:
        raise BadBody("body.zstd", error=error) from None


@contextlib.contextmanager
def _decompressor() -> Iterator[zstandard.ZstdDecompressor]:
    """One that nobody uses just now: making one costs more than what it unpacks."""
    try:
        one = _idle.pop()
    except IndexError:
        one = zstandard.ZstdDecompressor()
    yield one
    _idle.append(one)


def _unzstd_in_parts(body: bytes) -> bytes:
    """A frame that does not say how large it becomes."""
    parts, size = [], 0
    with zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(body) as reader:
        while part := reader.read(1 << 16):
            size += len(part)
            if size > LARGEST_BODY:
                raise _bomb()
            parts.append(part)
    return b"".join(parts)


def _bomb() -> TooLarge:
    return TooLarge("body.bomb", mebibytes=LARGEST_BODY >> 20)


def snapshots_of(body: bytes) -> list[Arrived]:
    """One snapshot, or a JSON array of them. Raises BadBody or BadSnapshot."""
    start = body[:64].lstrip()[:1]
    if start != b"[":
        return [_arrived(body, "snapshot")]
    if len(body) > LARGEST_USUAL:
        _bounded(body, "body", TOGETHER)
        _entries(body, _Entry)  # these are next to nothing in memory
    entries = _entries(body, msgspec.Raw)
    return [_arrived(bytes(entry), f"snapshots[{i}]") for i, entry in enumerate(entries)]


class _Entry(msgspec.Struct):
    """An object, whatever it holds."""


def _entries(body: bytes, of: Any) -> list[Any]:
    """The entries of a JSON array, if they are not too many."""
    try:
        entries: list[Any] = msgspec.json.decode(body, type=list[of])
    except msgspec.ValidationError as error:
        raise BadSnapshot(_where(str(error), "snapshots", body)) from None
    except msgspec.DecodeError as error:
        raise BadBody("body.json", error=error) from None
    except RecursionError:
        raise BadBody("body.nested") from None
    if len(entries) > MOST_SNAPSHOTS:
        raise TooLarge("body.many", count=len(entries), most=MOST_SNAPSHOTS)
    return entries


def _arrived(body: bytes, place: str) -> Arrived:
    snapshot, body = _read(body, place)
    check(snapshot, place)
    return Arrived(snapshot, body)


def read(body: bytes, place: str = "snapshot") -> Snapshot:
    """One snapshot from JSON, as bounded and as plain as what is stored; the error names the field."""
    return _read(body, place)[0]


def _read(body: bytes, place: str) -> tuple[Snapshot, bytes]:
    """A snapshot, and the JSON that says the same: another one where control characters had to go."""
    if len(body) > LARGEST_SNAPSHOT:
        raise TooLarge("body.snapshot", place=place, mebibytes=len(body) >> 20, most=LARGEST_SNAPSHOT >> 20)
    if len(body) > MOST_OBJECTS:
        _bounded(body, place)
    snapshot = _decoded(body, place)
    problem = _too_many(snapshot)
    if problem is None and not is_plain(body):
        try:
            if tidy(snapshot):
                body = msgspec.json.encode(snapshot)
        except Beyond as error:
            problem = (error.place, str(error))
    if problem is not None:
        raise BadSnapshot(f"{place} refused at {problem[0]}: {problem[1]}")
    return snapshot, body


def _bounded(body: bytes, place: str, times: int = 1) -> None:
    """Refuse what would take seconds and gigabytes to read; what stands in texts is counted, too."""
    if (count := body.count(b"{")) > MOST_OBJECTS * times:
        raise TooLarge("body.objects", place=place, count=count, most=MOST_OBJECTS * times)
    if (count := body.count(b",")) > MOST_VALUES * times:
        raise TooLarge("body.values", place=place, count=count, most=MOST_VALUES * times)


def _too_many(snapshot: Snapshot) -> tuple[str, str] | None:
    """More than one machine has: judging it would keep everybody else waiting."""
    for name, most in MOST_OF.items():
        if len(getattr(snapshot, name)) > most:
            return name, f"has more than {most} entries"
    if len({gpu.index for gpu in snapshot.gpus}) < len(snapshot.gpus):
        return "gpus", "names the same index twice"
    if sum(len(process.gpus or ()) for process in snapshot.processes) > MOST_USES:
        return "processes", f"name more than {MOST_USES} uses of GPUs"
    return None


def _decoded(body: bytes, place: str) -> Snapshot:
    try:
        return DECODER.decode(body)
    except msgspec.ValidationError as error:
        raise BadSnapshot(_where(str(error), place, body)) from None
    except msgspec.DecodeError as error:
        raise BadBody("body.json", error=error) from None
    except UnicodeDecodeError:
        raise BadBody("body.utf8") from None
    except RecursionError:
        raise BadBody("body.nested") from None


_AT = re.compile(r"^(?P<what>.*?)(?: - at `\$(?P<path>.*)`)?$", re.DOTALL)
_TYPES = (
    ("float", "a number"),
    ("int", "a whole number"),
    ("str", "a text"),
    ("bool", "true or false"),
    ("array", "a list"),
    ("object", "an object"),
)


def _where(said: str, place: str, body: bytes) -> str:
    """`snapshot refused at gpus[2].power_watts: expected a number, got "n/a"`."""
    match = _AT.match(said)
    what, path = (match["what"], match["path"]) if match else (said, None)
    words = plain(what[:1].lower() + what[1:], 200)
    for name, readable in _TYPES:
        words = re.sub(rf"`{name}(?: \| null)?`", readable, words)
    field = path.lstrip(".") if path else None
    if field is None:
        return f"{place} refused: {words}"
    if ", got " in words:
        words = f"{words.partition(', got ')[0]}, got {_value_at(body, field)}"
    return f"{place} refused at {field}: {words}"


def _value_at(body: bytes, field: str) -> str:
    """The value that stands at `gpus[2].power_watts`, as JSON and short."""
    try:
        value = msgspec.json.decode(body)
        for name, index in re.findall(r"(\w+)|\[(\d+)\]", field):
            value = value[name] if name else value[int(index)]
        return plain(msgspec.json.encode(value).decode(), 60)
    except (msgspec.DecodeError, LookupError, TypeError, RecursionError):
        return "something else"


def check(snapshot: Snapshot, place: str) -> None:
    """What the types cannot say. Raises BadSnapshot."""
    agent = snapshot.agent
    problem: tuple[str, str] | None = None
    if not NODE_NAME.fullmatch(snapshot.node):
        problem = ("node", "wants a name of letters, digits and . _ : @ + - (at most 253)")
    elif snapshot.schema != 1:
        problem = ("schema", f"this server reads 1, got {snapshot.schema}; update the older of the two")
    elif not (math.isfinite(snapshot.taken_at) and 0 < snapshot.taken_at < 1e11):
        problem = ("taken_at", "wants a moment in Unix seconds")
    elif agent is None:
        problem = ("agent", "is missing; start_id and sequence make a report count once")
    elif not 0 < len(agent.start_id) <= LONGEST_START_ID:
        problem = ("agent.start_id", f"wants a text of at most {LONGEST_START_ID} characters")
    elif not 0 <= agent.sequence < LARGEST_NUMBER:
        problem = ("agent.sequence", "wants a whole number of 0 or more")
    elif not (math.isfinite(agent.interval_seconds) and 0.1 <= agent.interval_seconds <= 3_600):
        problem = ("agent.interval_seconds", "wants seconds between 0.1 and 3600")
    elif snapshot.source == "pasted":
        problem = ("source", "pasted text is not reported; POST it to /diagnose")
    if problem is not None:
        raise BadSnapshot(f"{place} refused at {problem[0]}: {problem[1]}")


def check_time(
    snapshot: Snapshot, sent_at: float | None, received_at: float, keep: float, place: str
) -> None:
    """Refuse what cannot have been seen: taken after it was sent, or older than anything we keep."""
    now = received_at if sent_at is None else sent_at
    if snapshot.taken_at > now + FUTURE_SECONDS:
        ahead = snapshot.taken_at - now
        raise BadSnapshot(
            f"{place} refused at taken_at: it lies {ahead:.0f} s in the future; is the node's clock set?"
        )
    if snapshot.taken_at < now - keep:
        raise BadSnapshot(
            f"{place} refused at taken_at: it is older than what this server keeps ({keep / 86_400:g} days)"
        )
