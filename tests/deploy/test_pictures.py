"""Pictures are drawn whole, or not at all with the packages that are missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("module", ["deploy.slack.pictures", "docs.pictures"])
def test_without_fonts_no_boxes_are_drawn_and_the_packages_are_named(tmp_path: Path, module: str) -> None:
    (tmp_path / "fonts.conf").write_text("<fontconfig/>")
    out = tmp_path / "out"
    ended = subprocess.run(
        [sys.executable, "-m", module, str(out)],
        cwd=ROOT,
        env={**os.environ, "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert "fonts-noto-cjk, fonts-noto-color-emoji" in ended.stderr
    assert not out.exists()
