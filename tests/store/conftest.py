"""Stores to test: SQLite in a file, and a PostgreSQL cluster of our own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.store import Store
from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, until


def _binaries() -> Path | None:
    """The folder of PostgreSQL's programs."""
    found = shutil.which("postgres")
    if found is not None and (Path(found).resolve().parent / "initdb").exists():
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def _other_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root: somebody else's account then."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    """A cluster on loopback; its address without a database."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'gpudiag[postgresql]'")
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed (no initdb in PATH or /usr/lib/postgresql)")
    user = _other_user()
    if os.getuid() == 0 and user is None:
        pytest.skip("PostgreSQL does not run as root, and there is no account postgres or nobody")
    folder = Path(tempfile.mkdtemp(prefix="gpudiag-pg-"))
    ids: dict[str, Any] = {}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
        ids = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    environment = {**os.environ, "LC_ALL": "C", "HOME": str(folder)}
    data = folder / "data"
    made = subprocess.run(
        [binaries / "initdb", "-D", data, "-U", "gpudiag", "-A", "trust", "-E", "UTF8", "--no-sync"],
        capture_output=True, text=True, env=environment, cwd=folder, **ids,
    )  # fmt: skip
    if made.returncode != 0:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"initdb failed: {made.stderr.strip().splitlines()[-1:]}")
    port = str(free_port())
    log = (folder / "log").open("w")
    process = subprocess.Popen(
        [binaries / "postgres", "-D", data, "-p", port, "-c", "listen_addresses=127.0.0.1",
         "-k", str(folder), "-c", "fsync=off"],
        stdout=log, stderr=log, env=environment, cwd=folder, **ids,
    )  # fmt: skip
    asks = [str(binaries / "pg_isready"), "-h", "127.0.0.1", "-p", port]
    try:
        until(lambda: process.poll() is not None or subprocess.run(asks, capture_output=True).returncode == 0)
        if process.poll() is not None:
            pytest.skip(f"postgres ended at once: {(folder / 'log').read_text()[-300:]}")
        yield f"postgresql://gpudiag@127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)  # at once: SIGTERM would wait for every connection to be closed
        process.wait(PATIENCE_SECONDS)
        log.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql(postgresql_server: str) -> Iterator[str]:
    """An empty database; dropped afterwards."""
    import psycopg

    with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS gpudiag WITH (FORCE)")
        connection.execute("CREATE DATABASE gpudiag")
    yield f"{postgresql_server}/gpudiag"
    with psycopg.connect(f"{postgresql_server}/postgres", autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS gpudiag WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = (
        f"sqlite:///{tmp_path}/store.sqlite3"
        if request.param == "sqlite"
        else request.getfixturevalue("postgresql")
    )
    made = Store(url)
    yield made
    made.close()
