"""Who gets in: local people without a token, others by role, nobody by a trick."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from api.access import TooOpen, check_binding
from gpudiag.cli import main
from gpudiag.client import Answer, ApiError, Client, Forbidden, Unauthorized
from tests.api.conftest import Api, ReportingNode


def token(api: Api, role: str, node: str | None = None) -> str:
    made, _ = api.parts.store.tokens.create(role, node, "", api.clock.now)
    api.parts.gate._read_at = -1e9
    return made


def test_a_local_request_needs_no_token(api: Api) -> None:
    assert api.client.nodes()["items"] == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},  # a page whose name was pointed at 127.0.0.1
        {"Host": "evil.example:8000"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"X-Forwarded-For": "10.0.0.9"},
        {"X-Forwarded-Proto": "https"},
        {"Forwarded": "for=10.0.0.9"},
        {"X-Real-IP": "10.0.0.9"},
        {"Via": "1.1 proxy"},
    ],
)
def test_what_is_not_really_local_needs_one(api: Api, headers: dict[str, str]) -> None:
    with pytest.raises(Unauthorized, match="token"):
        api.ask("GET", "/v1/nodes", headers=headers)
    with pytest.raises(Unauthorized):
        api.ask("POST", "/v1/snapshots", b"{}", headers)

    reader = {**headers, "Authorization": f"Bearer {token(api, 'reader')}"}
    assert api.ask("GET", "/v1/nodes", headers=reader)["items"] == []


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:8000", "x.localhost:80"])
def test_the_names_of_this_machine_are_local(api: Api, host: str) -> None:
    assert api.ask("GET", "/v1/nodes", headers={"Host": host})["items"] == []


def test_a_proxy_that_adds_no_header_is_not_local(api: Api) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", int(api.url.rsplit(":", 1)[1]))) as proxied:
        proxied.sendall(b"GET /v1/nodes HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")

        assert b" 401 " in proxied.makefile("rb").readline()


def test_behind_an_https_address_nobody_is_taken_for_local(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    config = tmp_path / "gpudiag.toml"
    config.write_text('[serve]\npublic_url = "https://gpu.example.org"\n')
    api = make_api(config=config)

    with pytest.raises(Unauthorized, match="public_url"):
        api.client.nodes()  # a proxy on this host that adds no header asks just like this
    assert api.ask("GET", "/readyz")["status"] == "ready"
    assert 200 == ask_as(api, token(api, "reader"), "GET", "/v1/nodes")


def test_a_public_address_without_tls_keeps_loopback_open(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    config = tmp_path / "gpudiag.toml"
    config.write_text('[serve]\npublic_url = "http://gpu.example.org:8000"\n')

    assert make_api(config=config).client.nodes()["items"] == []


def test_health_and_runbooks_are_public(api: Api) -> None:
    foreign = {"Host": "gpu.example.org", "Accept": "text/markdown"}

    assert api.ask("GET", "/healthz", headers=foreign)["status"] == "ok"
    assert "# memory full" in api.ask("GET", "/runbooks/kv-pool-reserved-idle", headers=foreign)


FOREIGN = {"Host": "gpu.example.org"}


def ask_as(api: Api, bearer: str, method: str, path: str, body: bytes | None = None) -> int:
    try:
        api.ask(method, path, body, {**FOREIGN, "Authorization": f"Bearer {bearer}"})
    except ApiError as error:
        return int(error.problem["status"])
    return 200


def test_a_role_does_what_it_is_for(api: Api, node: ReportingNode) -> None:
    body = node.unsent(seconds=10)[0]
    tokens = {
        "agent": token(api, "agent", "node-3"),
        "reader": token(api, "reader"),
        "admin": token(api, "admin"),
    }
    mute = b'{"node": "*", "seconds": 60, "by": "x"}'
    doors = {
        "report": ("POST", "/v1/snapshots", body),
        "read": ("GET", "/v1/nodes", None),
        "paste": ("GET", "/diagnose", None),
        "decide": ("POST", "/v1/mutes", mute),
        "watch": ("GET", "/metrics", None),
    }

    may = {role: [name for name, door in doors.items() if ask_as(api, bearer, *door) < 400]
           for role, bearer in tokens.items()}  # fmt: skip

    assert may == {
        "agent": ["report"],
        "reader": ["read", "paste", "watch"],
        "admin": ["report", "read", "paste", "decide", "watch"],
    }


def test_an_agent_reports_only_its_own_node(api: Api, node: ReportingNode) -> None:
    other = token(api, "agent", "node-4")
    client = Client(api.url, other)

    with client, pytest.raises(Forbidden, match="reports as node-4, not as node-3"):
        client.send(node.unsent(seconds=10))
    assert api.client.nodes()["items"] == []


def test_a_token_for_a_pattern_reports_for_the_names_it_fits(api: Api) -> None:
    of_the_pool = token(api, "agent", "gpu-*")
    told = {}
    for name in ("gpu-1", "gpu-2.example.com", "cpu-1", "GPU-1", "a.gpu-1"):
        body = ReportingNode(name, api).unsent(seconds=10)[0]
        told[name] = ask_as(api, of_the_pool, "POST", "/v1/snapshots", body)

    assert told == {"gpu-1": 200, "gpu-2.example.com": 200, "cpu-1": 403, "GPU-1": 403, "a.gpu-1": 403}
    assert {"gpu-1", "gpu-2.example.com"} == {item["node"] for item in api.client.nodes()["items"]}


def test_a_token_for_a_pattern_takes_no_batch_with_another_node_in_it(api: Api) -> None:
    bodies = [ReportingNode(name, api).unsent(seconds=10)[0] for name in ("gpu-1", "cpu-1")]

    batch = b"[" + b",".join(bodies) + b"]"

    assert ask_as(api, token(api, "agent", "gpu-*"), "POST", "/v1/snapshots", batch) == 403
    assert api.client.nodes()["items"] == []


@pytest.mark.parametrize("pattern", ["gpu-*", "*.gpu.example.com", "gpu-[0-9]", "n?", "*"])
def test_a_pattern_tells_how_far_it_reaches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"

    assert main(["token", "--store", store, "create", "agent", pattern]) == 0
    told = capsys.readouterr().err

    assert "whoever has this token can report as every node" in told
    assert (f"matches {pattern}" in told) is (pattern != "*")


@pytest.mark.parametrize("pattern", ["**", "?*", "*?*", "[a-z]*", "[!x]*", "*-*", "gpu *", "gpu-\x1b*"])
def test_a_pattern_that_is_wider_than_it_looks_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pattern: str
) -> None:
    store = tmp_path / "store.sqlite3"

    assert main(["token", "--store", f"sqlite:///{store}", "create", "agent", pattern]) == 2
    assert "'*' where every node is meant" in capsys.readouterr().err
    assert not store.exists()


def test_a_token_from_a_file_opens_what_it_was_made_for(api: Api, tmp_path: Path) -> None:
    file, given = tmp_path / "token", secrets.token_hex(32)
    file.write_text(f"{given}\n")
    create = ["token", "--store", api.store, "create", "agent", "gpu-*", "--from", str(file)]

    assert [main(create), main(create)] == [0, 0]  # as each start of a pod does
    api.parts.gate._read_at = -1e9
    body = ReportingNode("gpu-1", api).unsent(seconds=10)[0]

    assert ask_as(api, given, "POST", "/v1/snapshots", body) == 200
    assert ask_as(api, given, "GET", "/v1/nodes") == 403
    assert len(api.parts.store.tokens.all()) == 1


@pytest.mark.parametrize("weak", ["", "hunter2", "x" * 64, "0123456789" * 3, "ключ" * 16])
def test_what_could_be_guessed_becomes_no_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], weak: str
) -> None:
    file, store = tmp_path / "token", f"sqlite:///{tmp_path}/store.sqlite3"
    file.write_text(weak)

    assert main(["token", "--store", store, "create", "admin", "--from", str(file)]) == 2
    said = capsys.readouterr().err
    assert "openssl rand" in said
    assert not weak or weak not in said


def test_a_token_is_written_to_a_file_that_its_owner_alone_can_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, token = tmp_path / "token", ["token", "--store", f"sqlite:///{tmp_path}/store.sqlite3"]
    umask = os.umask(0)
    try:
        assert main([*token, "create", "reader", "--out", str(file)]) == 0
    finally:
        os.umask(umask)
    said = capsys.readouterr()
    written = file.read_text()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.fullmatch(r"gpudiag_\S+\n", written)
    assert said.out == "" and written.strip() not in said.err
    assert f"it is in {file}" in said.err


def test_no_file_is_written_over_by_a_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "token", tmp_path / "store.sqlite3"
    file.write_text("in use")

    for out, said in (
        (file, "is there already"),
        (tmp_path / "none" / "token", "cannot be made"),
        ("-", "the name of a new file, not -"),
    ):
        assert main(["token", "--store", f"sqlite:///{store}", "create", "reader", "--out", str(out)]) == 2
        assert said in capsys.readouterr().err
    assert file.read_text() == "in use"
    assert not store.exists()


def test_where_no_token_is_made_no_file_is_left(tmp_path: Path) -> None:
    file, store = tmp_path / "token", tmp_path / "no-folder" / "store.sqlite3"
    store.parent.write_text("")

    assert main(["token", "--store", f"sqlite:///{store}", "create", "reader", "--out", str(file)]) != 0
    assert not file.exists()


def test_a_token_file_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"

    assert main(["token", "--store", store, "create", "admin", "--from", f"{tmp_path}/none"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_one_token_is_not_two(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, store = tmp_path / "token", f"sqlite:///{tmp_path}/store.sqlite3"
    file.write_text(secrets.token_hex(32))
    token = ["token", "--store", store]
    assert main([*token, "create", "reader", "--from", str(file)]) == 0
    assert main([*token, "create", "admin", "--from", str(file)]) == 2
    assert "each purpose takes its own" in capsys.readouterr().err

    assert main([*token, "list"]) == 0
    [entry] = capsys.readouterr().out.splitlines()
    assert main([*token, "revoke", entry.split()[0]]) == 0
    assert main([*token, "create", "reader", "--from", str(file)]) == 2
    assert "which was revoked" in capsys.readouterr().err


@pytest.mark.parametrize("action", [["list"], ["revoke", "0123abcd"]])
def test_looking_for_tokens_in_the_wrong_place_makes_no_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], action: list[str]
) -> None:
    store = tmp_path / "wrong" / "store.sqlite3"

    assert main(["token", "--store", f"sqlite:///{store}", *action]) == 2
    said = capsys.readouterr().err

    assert str(store) in said and "--store" in said
    assert not store.parent.exists()


@pytest.mark.parametrize("header", ["Bearer nonsense", "Basic abc", "Bearer", "Bearer \u00e9", "bearer  "])
def test_a_wrong_token_is_refused_even_locally(api: Api, header: str) -> None:
    with pytest.raises(Unauthorized):
        api.ask("GET", "/v1/nodes", headers={"Authorization": header.encode().decode("latin-1")})


def test_a_revoked_token_opens_nothing(api: Api) -> None:
    made, entry = api.parts.store.tokens.create("reader", None, "", api.clock.now)
    assert ask_as(api, made, "GET", "/v1/nodes") == 200

    api.parts.store.tokens.revoke(entry.id, api.clock.now)
    api.parts.gate._read_at = -1e9

    assert ask_as(api, made, "GET", "/v1/nodes") == 401


def test_the_store_holds_no_token(api: Api) -> None:
    made = token(api, "admin")

    folder = api.parts.store.file.parent
    api.stop()
    content = b"".join(path.read_bytes() for path in folder.glob("store.sqlite3*"))

    assert made.encode() not in content and made.removeprefix("gpudiag_").encode() not in content


def test_an_open_address_wants_tokens_first(api: Api) -> None:
    for host in ("0.0.0.0", "::", "10.1.2.3", "gpu.example.org"):
        with pytest.raises(TooOpen, match="token create reader, with the same --store"):
            check_binding(host, api.parts.store)
    for host in ("127.0.0.1", "::1", "localhost"):
        check_binding(host, api.parts.store)

    token(api, "reader")
    check_binding("0.0.0.0", api.parts.store)


def test_the_demo_is_open_to_read_and_closed_to_reports(make_api: Callable[..., Api]) -> None:
    api = make_api(open_to_all=True, reports_token="the-demo's-own")
    node = ReportingNode("node-3", api)
    body = node.unsent(seconds=10)[0]

    assert api.ask("GET", "/v1/nodes", headers={"Host": "anywhere.example"})["items"] == []
    with pytest.raises(Forbidden, match="simulated"):
        api.ask("POST", "/v1/snapshots", body)
    api.client.token = "the-demo's-own"
    assert api.send(body)["stored"] == 1


def test_pages_ask_for_a_login(api: Api) -> None:
    login = api.client._exchange("GET", "/", None, {"Host": "gpu.example.org"})
    cookie = {"Host": "gpu.example.org", "Cookie": f"gpudiag_token={token(api, 'reader')}"}

    assert login.status == 302 and "/login" in login.headers["location"]
    assert api.client._exchange("GET", "/", None, cookie).status == 200
    # A cookie alone decides nothing: a foreign page's form would bring it along.
    forged = {**cookie, "Origin": "https://evil.example", "Content-Type": "application/json"}
    assert api.client._exchange("POST", "/v1/mutes", b"{}", forged).status == 401


OUTSIDE = {"Host": "gpu.example.org", "Content-Type": "application/x-www-form-urlencoded"}


def sends_the_form(api: Api, path: str, headers: dict[str, str], **fields: str) -> Answer:
    return api.client._exchange("POST", path, urlencode(fields).encode(), {**OUTSIDE, **headers})


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},  # a neighbour below the same domain
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://gpu.example.org"},
    ],
)
def test_no_other_site_logs_anybody_in_or_out(api: Api, headers: dict[str, str]) -> None:
    reader = token(api, "reader")
    told_in = sends_the_form(api, "/login", headers, token=reader)
    told_out = sends_the_form(api, "/logout", headers)  # the browser keeps a strict cookie to itself

    assert (told_in.status, told_out.status) == (403, 302)
    assert "set-cookie" not in {**told_in.headers, **told_out.headers}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "https://gpu.example.org"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://gpu.example.org"},
        # A proxy that does not pass the Host header on: the browser itself says where the form is from.
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://gpu.example.org", "Host": "10.0.0.5:8000"},
    ],
)
def test_our_own_form_logs_in(api: Api, headers: dict[str, str]) -> None:
    answer = sends_the_form(api, "/login", headers, token=token(api, "reader"), next="/nodes/node-3")

    assert (answer.status, answer.headers["location"]) == (303, "/nodes/node-3")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_a_cookie_goes_over_https_alone_where_people_come_by_https(
    make_api: Callable[..., Api], tmp_path: Path
) -> None:
    """Behind a proxy that ends the encryption the request itself looks like plain http."""
    config = tmp_path / "gpudiag.toml"
    config.write_text('[serve]\npublic_url = "https://gpu.example.org"\n')
    api = make_api(config=str(config))
    answer = sends_the_form(api, "/login", {}, token=token(api, "reader"))

    assert "; Secure" in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "goal", ["//evil.example", "/\\evil.example", "https://evil.example", "\t//evil", "/\r\nX: y"]
)
def test_a_login_leads_to_no_other_site(api: Api, goal: str) -> None:
    assert sends_the_form(api, "/login", {}, token=token(api, "reader"), next=goal).headers["location"] == "/"


def test_an_agents_token_is_no_login(api: Api) -> None:
    assert sends_the_form(api, "/login", {}, token=token(api, "agent", "*")).status == 401


def test_a_cookie_of_another_server_on_this_host_shuts_nobody_out(api: Api) -> None:
    """Browsers send a cookie to every port: one that a forwarded server set comes along to this one."""
    strange = {"Cookie": "gpudiag_token=gpudiag_of-another-server"}

    assert api.client._exchange("GET", "/", None, strange).status == 200
    assert api.ask("GET", "/v1/nodes", headers=strange)["items"] == []
    with pytest.raises(Unauthorized):
        api.ask("GET", "/v1/nodes", headers={**strange, **FOREIGN})


def test_tokens_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path}/store.sqlite3"

    assert main(["token", "--store", store, "create", "agent", "node-3", "--note", "rack 4"]) == 0
    made = capsys.readouterr().out.strip()
    assert main(["token", "--store", store, "list"]) == 0
    listed = capsys.readouterr().out
    assert made not in listed and "node-3" in listed and "rack 4" in listed

    assert main(["token", "--store", store, "revoke", listed.split()[0]]) == 0
    assert main(["token", "--store", store, "revoke", listed.split()[0]]) == 2
    assert main(["token", "--store", store, "create", "agent"]) == 2
    assert "bound to one node" in capsys.readouterr().err
