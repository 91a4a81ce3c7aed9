"""`gpudiag up`: one host, one command, over the stand-in for the driver's library."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from gpudiag.client import Client
from tests.doubles.nvml import Nvml
from tests.waiting import PATIENCE_SECONDS

START = "import sys; from gpudiag.cli import main; sys.exit(main())"


def test_up_watches_this_host_and_ends_cleanly(tmp_path: Path) -> None:
    (tmp_path / "gpudiag").mkdir()  # a checkout beside which the person stands
    with Nvml(gpus=2) as nvml:
        environment = {
            **os.environ,
            **nvml.environment(),
            "XDG_RUNTIME_DIR": str(tmp_path),
            "HOME": str(tmp_path),
        }
        words = ["up", "--port", "0", "--node", "this-host", "--interval", "1s"]
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START, *words, "--store", f"sqlite:///{tmp_path}/store.sqlite3"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path,
        )  # fmt: skip
        try:
            assert process.stdout is not None
            readable, _, _ = select.select([process.stdout], [], [], PATIENCE_SECONDS)
            line = process.stdout.readline() if readable else ""
            assert "gpudiag watches this-host" in line
            with Client(line.split()[-1]) as client:
                said = client.diagnosis("this-host")
        finally:
            process.send_signal(signal.SIGTERM)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)

    assert [0, 1] == [gpu["index"] for gpu in said["gpus"]]
    assert 0 == process.returncode
    assert "Traceback" not in errors
