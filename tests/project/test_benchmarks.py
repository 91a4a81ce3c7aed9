"""The benchmarks run: what they measure is read by people, and fails no test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("benchmarks.api", "diagnose", "--rounds", "1"), "/diagnose?node=node-1: p50"),
        (("benchmarks.api", "judge", "--rounds", "1"), "its window after 60 min"),
        (("benchmarks.judge",), "8 GPUs serving under load"),
    ],
)
def test_a_benchmark_runs_and_says_what_it_measured(command: tuple[str, ...], says: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", *command], cwd=HERE, capture_output=True, text=True, timeout=120
    )

    assert ran.returncode == 0, ran.stderr
    assert says in ran.stdout
