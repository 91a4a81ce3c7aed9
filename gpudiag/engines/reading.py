"""Asking one inference server: only its own address, two seconds, two megabytes, no redirects."""

from __future__ import annotations

import http.client
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from gpudiag.engines.exposition import Page, bucket_counts, parse, quantile, values
from gpudiag.engines.flags import Flags
from gpudiag.model import LARGEST, EngineReading

SECONDS = 2.0
LONGEST = 2 << 20
LATEST = 1e11  # Unix seconds
NO_HEALTH_CHECK = frozenset((401, 403, 404, 405))  # there is none, or not for us: it says nothing

# How values of several label sets (data-parallel ranks, models) become one.
SUM, MAX = "sum", "max"


@dataclass(frozen=True, slots=True)
class Table:
    """What one engine's server says, and where.

    `gauges` and `counters` map a field of EngineReading to (how to put ranks together, metric names, newest
    first). `histograms` map a field to a histogram's names; it gets the 95th percentile of the last interval.
    `finish` adds what needs more than a table.
    """

    engine: str
    port: int
    metrics_path: str = "/metrics"
    health_path: str | None = "/health"
    metrics_flag: str | None = None  # what switches the metrics on, where they are off by default
    metrics_apart: bool = False  # on a port of their own, where nobody asks for work
    gauges: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    counters: Mapping[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    histograms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    finish: Callable[[EngineReading, Page], None] | None = None
    marks: tuple[str, ...] = ()  # prefixes of its metric names: the page is this engine's when one is there
    json_status: Callable[[EngineReading, bytes], None] | None = None  # engines without a metrics page
    port_flags: tuple[str, ...] = ("--port",)
    flags: Flags = field(default_factory=Flags)


WHOLE = frozenset(name for name, kind in EngineReading.__annotations__.items() if str(kind).startswith("int"))
"""Fields that are counted in whole numbers: a metrics page writes them all as 27962.0."""


class Unreadable(Exception):
    """The address did not give a metrics page; the text says why in words."""


Histories = dict[str, dict[str, float]]
"""Bucket counts of the last read, by histogram: the caller keeps them for each engine."""


def read(
    table: Table, address: str, name: str, history: Histories | None = None, seconds: float = SECONDS
) -> EngineReading:
    """Ask the server at `address` (http://host:port) for its metrics and its health.

    Never raises for what the server does: an answer that is late, endless, redirected or another program's
    gives a reading with `metrics_ok` False.
    """
    reading = EngineReading(name=name, engine=table.engine, address=address, metrics_ok=False)
    deadline = time.monotonic() + seconds
    if table.health_path is not None:
        try:
            status, _ = get(address, table.health_path, deadline, 4096)
            reading.port_open = True
            reading.health_ok = None if status in NO_HEALTH_CHECK else status == 200
        except Unreadable as error:
            reading.health_ok = False
            reading.port_open = error.args[1] if len(error.args) > 1 else None
            return reading
    try:
        status, body = get(address, table.metrics_path, deadline, LONGEST)
    except Unreadable:
        return reading
    reading.port_open = True
    if status != 200:
        return reading
    try:
        return _read_body(table, body, reading, {} if history is None else history)
    except Exception:  # whatever it says: num_gpu_blocks="inf", or lists in lists without end
        reading.metrics_ok = False
        return reading


def _read_body(table: Table, body: bytes, reading: EngineReading, history: Histories) -> EngineReading:
    if table.json_status is not None:
        table.json_status(reading, body)
        return reading
    page = parse(body.decode("utf-8", "replace"))
    if any(metric.startswith(table.marks) for metric in page):
        return reading_of(table, page, reading, history)
    return reading


def within_reason(reading: EngineReading) -> EngineReading:
    """The reading without what no server can mean: a report that holds such would be refused as a whole."""
    for name in reading.__struct_fields__:
        value = getattr(reading, name)
        if isinstance(value, str):
            setattr(reading, name, value.encode("utf-8", "replace").decode())  # halves of a character
        elif isinstance(value, (int, float)) and not -LARGEST <= value <= LARGEST:
            setattr(reading, name, None)
    if reading.unloads_at is not None and not 0 <= reading.unloads_at < LATEST:
        reading.unloads_at = None
    return reading


def reading_of(table: Table, page: Page, reading: EngineReading, history: Histories) -> EngineReading:
    """Fill a reading from a metrics page."""
    for fields in (table.gauges, table.counters):
        for target, (how, names) in fields.items():
            found = values(page, *names)
            if found:
                value = sum(found) if how == SUM else max(found)
                if math.isfinite(value):
                    setattr(reading, target, round(value) if target in WHOLE else value)
    for target, names in table.histograms.items():
        for metric in names:
            counts = bucket_counts(page, metric)
            if counts:
                before = history.get(metric)
                if before is not None:
                    setattr(reading, target, quantile(page, metric, before, 0.95))
                history[metric] = counts
                break
    if table.finish is not None:
        table.finish(reading, page)
    reading.metrics_ok = True
    return reading


def get(address: str, path: str, deadline: float, longest: int) -> tuple[int, bytes]:
    """One GET, bounded in time and size. Raises Unreadable(why, port is open or None)."""
    parts = urlsplit(address)
    left = deadline - time.monotonic()
    if parts.scheme != "http" or not parts.hostname or left <= 0:
        raise Unreadable("no time left" if left <= 0 else f"not an http address: {address}", None)
    connection = http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=left)
    connected = False
    try:
        connection.connect()
        connected = True
        connection.request("GET", path, headers={"Accept": "text/plain", "User-Agent": "gpudiag"})
        response = connection.getresponse()
        body = bytearray()
        while len(body) <= longest:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unreadable("did not answer in time", True)
            if connection.sock is not None:
                connection.sock.settimeout(left)
            chunk = response.read1(65_536)
            if not chunk:
                return response.status, bytes(body)
            body += chunk
        raise Unreadable(f"sent more than {longest} bytes", True)
    except (TimeoutError, OSError, http.client.HTTPException) as error:
        refused = isinstance(error, ConnectionRefusedError)
        raise Unreadable(str(error), connected or (False if refused else None)) from None
    finally:
        connection.close()
