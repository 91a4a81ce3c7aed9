"""The client and what stands between it and the API, or in its place: proxies, firewalls, other servers."""

from __future__ import annotations

import http.client
import math
import random
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import msgspec
import pytest
import zstandard

from gpudiag.agent.reporter import Reporter
from gpudiag.agent.spool import Spool
from gpudiag.cli import main
from gpudiag.client import Broken, Busy, Client, Forbidden, NotFound, Refused
from tests.agent.loopback import Loopback
from tests.api.conftest import Api, ReportingNode

HOP_BY_HOP = ("connection", "content-length", "host", "transfer-encoding")


class Proxy(Loopback):
    """In front of the API: answers what it does not like itself (`refuses`), and passes on the rest."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.refuses: dict[str | None, int] = {}  # Content-Encoding → status
        self.largest: float = math.inf  # bytes of a body
        self.unpacks = False  # the body, and leaves the header as it was
        self.seen: list[str | None] = []  # Content-Encoding of each request
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        packing = request.headers["Content-Encoding"]
        self.seen.append(packing)
        if packing in self.refuses:
            self.send(request, self.refuses[packing], b"<h1>Not here</h1>", Content_Type="text/html")
            return
        if len(body) > self.largest:
            self.send(request, 413, b"<h1>Too large</h1>", Content_Type="text/html")
            return
        if self.unpacks:
            body = _unpacked(body, packing)
        kept = {name: value for name, value in request.headers.items() if name.lower() not in HOP_BY_HOP}
        connection = http.client.HTTPConnection(self._api.url.removeprefix("http://"), timeout=5)
        connection.request(request.command, request.path, body=body, headers=kept)
        answered = connection.getresponse()
        kind = answered.headers.get("Content-Type", "text/plain")
        self.send(request, answered.status, answered.read(), Content_Type=kind)
        connection.close()


def _unpacked(body: bytes, packing: str | None) -> bytes:
    match packing:
        case "zstd":
            return zstandard.ZstdDecompressor().decompress(body)
        case "gzip":
            return zlib.decompress(body, 31)
        case _:
            return body


class Elsewhere(Loopback):
    """Something else than the API: gives everybody the same answer."""

    def __init__(self, status: int, body: bytes = b"", **headers: str) -> None:
        self._status, self._body, self._headers = status, body, headers
        self.asked = 0
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers.get("Content-Length", 0)))
        self.asked += 1
        self.send(request, self._status, self._body, **self._headers)


@pytest.fixture
def proxy(api: Api) -> Iterator[Proxy]:
    proxy = Proxy(api)
    yield proxy
    proxy.close()


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Client]:
    """Reports by way of the proxy."""
    with Client(proxy.address) as client:
        yield client


@pytest.fixture
def elsewhere() -> Iterator[Callable[..., Elsewhere]]:
    made: list[Elsewhere] = []

    def make(status: int, body: bytes = b"", **headers: str) -> Elsewhere:
        made.append(Elsewhere(status, body, **headers))
        return made[-1]

    yield make
    for one in made:
        one.close()


def reports(api: Api, count: int) -> list[bytes]:
    """Snapshots of a node, with its own clock beside the server's."""
    return ReportingNode("node-1", api).unsent(seconds=10 * count)


# ------------------------------------------------------------------------------------ how it is packed


@pytest.mark.parametrize(
    ("refuses", "seen"),
    [
        ({}, ["zstd", "zstd"]),
        ({"zstd": 415}, ["zstd", "gzip", "gzip"]),
        ({"zstd": 415, "gzip": 415}, ["zstd", "gzip", None, None]),
        ({"zstd": 403, "gzip": 403}, ["zstd", "gzip", None, None]),
        ({"zstd": 400, "gzip": 501}, ["zstd", "gzip", None, None]),
    ],
    ids=["nothing", "zstd", "both", "a firewall", "garbled"],
)
def test_what_a_proxy_does_not_let_through_packed_is_sent_otherwise_from_then_on(
    api: Api, proxy: Proxy, client: Client, refuses: dict[str | None, int], seen: list[str | None]
) -> None:
    proxy.refuses = refuses
    first, second = reports(api, 2)
    api.clock.now += 20

    stored = [client.send(first)["stored"], client.send(second)["stored"]]

    assert stored == [1, 1]
    assert proxy.seen == seen


def test_a_proxy_that_unpacks_and_says_that_it_is_packed_is_got_around(
    api: Api, proxy: Proxy, client: Client
) -> None:
    proxy.unpacks = True
    api.clock.now += 10

    assert client.send(reports(api, 1)[0])["stored"] == 1
    assert proxy.seen == ["zstd", "gzip", None]


def test_what_is_wrong_in_itself_is_refused_with_its_place_behind_such_a_proxy(
    api: Api, proxy: Proxy, client: Client
) -> None:
    proxy.refuses = {"zstd": 415}
    snapshot = msgspec.json.decode(reports(api, 1)[0])
    snapshot["gpus"][0]["power_watts"] = "n/a"

    with pytest.raises(Refused, match=r"refused at gpus\[0\].power_watts"):
        client.send(msgspec.json.encode(snapshot))


def test_a_proxy_that_refuses_everything_is_asked_anew_the_next_time(
    api: Api, proxy: Proxy, client: Client
) -> None:
    proxy.refuses = {"zstd": 415, "gzip": 415, None: 415}
    one = reports(api, 1)[0]
    api.clock.now += 10
    with pytest.raises(Broken, match="415 Unsupported Media Type"):
        client.send(one)
    proxy.refuses = {}

    assert client.send(one)["stored"] == 1
    assert proxy.seen == ["zstd", "gzip", None, "zstd"]


def test_a_token_that_may_not_report_is_no_matter_of_packing(
    elsewhere: Callable[..., Elsewhere],
) -> None:
    there = elsewhere(403, b'{"detail": "the token is for node-2"}', Content_Type="application/problem+json")

    with Client(there.address) as client, pytest.raises(Forbidden, match="node-2"):
        client.send(b"{}")
    assert there.asked == 1


# ------------------------------------------------------------------------------------ a wrong address


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"<h1>400 Bad Request</h1>", "text/html"),
        (401, b"", "text/plain"),
        (404, b"<h1>404</h1>", "text/html"),
        (404, b'{"detail": "Not Found"}', "application/json"),
        (405, b'{"detail": "Method Not Allowed"}', "application/json"),
        (422, b'{"detail": [{"msg": "Field required"}]}', "application/json"),
        (418, b"\xff\xfe", "application/problem+json"),
    ],
)
def test_whoever_is_not_our_api_refuses_no_report_and_the_address_is_doubted(
    elsewhere: Callable[..., Elsewhere], status: int, body: bytes, kind: str
) -> None:
    there = elsewhere(status, body, Content_Type=kind)

    with Client(there.address) as client, pytest.raises(Broken) as caught:
        client.send(b"{}")
    assert there.address in str(caught.value)
    assert f"({status} " in str(caught.value)
    assert "is the address right?" in str(caught.value)


def test_a_body_that_is_too_large_for_a_proxy_is_not_refused_by_the_api(
    elsewhere: Callable[..., Elsewhere],
) -> None:
    there = elsewhere(413, b"<h1>413</h1>", Content_Type="text/html")

    with Client(there.address) as client, pytest.raises(Broken, match="raise its limit"):
        client.send(b"{}")


def test_what_is_too_large_as_it_is_packed_for_speed_is_packed_tight(
    api: Api, proxy: Proxy, client: Client
) -> None:
    api.clock.now += 10
    one = reports(api, 1)[0]
    quick, tight = (len(zstandard.ZstdCompressor(level).compress(one)) for level in (3, 19))
    proxy.largest = (quick + tight) // 2

    assert tight < quick
    assert client.send(one)["stored"] == 1
    assert proxy.seen == ["zstd", "zstd"]


def test_what_is_too_large_for_a_proxy_is_set_aside_and_a_person_sends_it_later(
    api: Api, proxy: Proxy, client: Client, tmp_path: Path
) -> None:
    first, large, last = reports(api, 3)
    snapshot = msgspec.json.decode(large)
    snapshot["notes"] = [random.Random(1).randbytes(20_000).hex()]
    proxy.largest, api.clock.now = 10_000, api.clock.now + 30
    reporter = Reporter(client, Spool(tmp_path))

    now = 0.0
    for one in (first, msgspec.json.encode(snapshot), last):
        reporter.report(one, now)
    while reporter.waiting and now < 600:
        now += reporter.push(now)
    [aside] = tmp_path.glob("set-aside/*.jsonl")

    assert (2, 1) == (api.parts.store.snapshots.count(), reporter.lost)
    assert main(["replay", str(aside), "--api", api.url]) == 0
    assert 3 == api.parts.store.snapshots.count()


def test_what_speaks_of_problems_without_naming_itself_is_heard_and_not_believed(
    elsewhere: Callable[..., Elsewhere],
) -> None:
    there = elsewhere(422, b'{"detail": "no such route"}', Content_Type="application/problem+json")

    with (
        Client(there.address) as client,
        pytest.raises(Broken, match=r"no such route .*is the address right") as said,
    ):
        client.send(b"{}")
    assert not said.value.ours


def test_an_address_that_sends_on_says_where_to(elsewhere: Callable[..., Elsewhere]) -> None:
    there = elsewhere(301, Location="https://gpu.example.org/v1/snapshots")

    with (
        Client(there.address) as client,
        pytest.raises(Broken, match=r"sends on to https://gpu\.example\.org/"),
    ):
        client.send(b"{}")


def test_our_api_below_another_path_says_that_nothing_is_there(api: Api) -> None:
    with Client(f"{api.url}/monitoring") as client, pytest.raises(NotFound, match="/monitoring/v1/snapshots"):
        client.send(reports(api, 1)[0])


def test_a_load_balancer_without_servers_is_busy_and_says_who_it_is(
    elsewhere: Callable[..., Elsewhere],
) -> None:
    there = elsewhere(503, b"<h1>503</h1>", Content_Type="text/html", Retry_After="7")

    with Client(there.address) as client, pytest.raises(Busy, match="a proxy in front of it") as caught:
        client.send(b"{}")
    assert caught.value.retry_after == 7
