"""Every benchmark after another, in versions of a minute or so."""

from __future__ import annotations

import subprocess
import sys

ALL = (
    ("judging", ["benchmarks.judge"]),
    ("pasted output", ["benchmarks.smi"]),
    ("calculator", ["benchmarks.kv"]),
    ("agent", ["benchmarks.agent", "--seconds", "60"]),
    ("ingest and judge", ["benchmarks.api", "ingest"]),
    ("/diagnose", ["benchmarks.api", "diagnose"]),
    ("2,000 nodes for a minute", ["benchmarks.api", "fleet", "--seconds", "60"]),
    ("Slack", ["benchmarks.slack"]),
)


def main() -> int:
    failed = []
    for title, command in ALL:
        print(f"\n== {title}: python -m {' '.join(command)}", flush=True)
        if subprocess.run([sys.executable, "-m", *command], check=False).returncode:
            failed.append(title)
    if failed:
        print(f"\nbeyond a limit or broken: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
