"""The lock files can be installed anywhere: releases with hashes, no path of the machine that wrote them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [ROOT / "requirements.lock", ROOT / "requirements-dev.lock"]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_releases_with_hashes_and_nothing_else(lock: Path) -> None:
    lines = lock.read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    requirements = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]

    odd = [
        line
        for line in requirements
        if not re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+( ;.*?)?\s+--hash=sha256:", line)
    ]

    assert requirements

    assert odd == []
