"""A file system so small that it can be filled."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """One of that size (64k, 2m) for as long as the block lasts; skips where none may be mounted."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=False)


def fill(folder: Path) -> Path:
    """Another program takes all space that is left; its file."""
    filling = folder / "filling"
    with contextlib.suppress(OSError), filling.open("wb", buffering=0) as file:
        while file.write(b"x" * 4_096):
            pass
    return filling
