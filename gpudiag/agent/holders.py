"""Who holds a GPU open, whether NVML lists it or not: a slow round over the open files of all processes.

Young processes are looked at every minute, for they open their GPUs soon after they start, and old ones
every ten: on a host with a thousand processes the whole look costs a tenth of a second.
"""

from __future__ import annotations

import os
import re

from gpudiag.agent.files import TICKS, Stat, numbers, stat_of, text

ROUND_SECONDS = 60.0
YOUNG_SECONDS = 300.0
OLD_ROUND_SECONDS = 600.0
_NVIDIA = re.compile(r"^/dev/nvidia(\d+)$")


class Holders:
    """`found`: pid → numbers N of the /dev/nvidiaN it has open. `denied`: some could not be looked at."""

    def __init__(self, proc: str = "/proc") -> None:
        self._proc = proc
        self._looked_at: dict[int, tuple[int, float]] = {}  # pid → start, and when
        self._round_at: float | None = None
        self.found: dict[int, list[int]] = {}
        self.denied = False

    def read(self, monotonic: float) -> dict[int, list[int]]:
        """The holders, looked for afresh when a round is due."""
        if self._round_at is None or monotonic - self._round_at >= ROUND_SECONDS:
            self._round_at = monotonic
            self._look(monotonic)
        return self.found

    def _look(self, monotonic: float) -> None:
        uptime = float((text(f"{self._proc}/uptime") or "0").split()[0])
        found: dict[int, list[int]] = {}
        looked_at: dict[int, tuple[int, float]] = {}
        for pid in numbers(self._proc):
            stat = stat_of(f"{self._proc}/{pid}/stat")
            if stat is None or stat.state == "Z" or stat.parent == 2:  # 2: kernel threads
                continue
            before = self._looked_at.get(pid)
            if before is not None and not self._due(pid, stat, before, uptime, monotonic):
                looked_at[pid] = before
                continue
            looked_at[pid] = (stat.start, monotonic)
            opened = open_devices(f"{self._proc}/{pid}/fd")
            self.denied = self.denied or opened is None
            if opened:
                found[pid] = opened
        self.found, self._looked_at = found, looked_at

    def _due(self, pid: int, stat: Stat, before: tuple[int, float], uptime: float, monotonic: float) -> bool:
        start, at = before
        young = uptime - stat.start / TICKS < YOUNG_SECONDS
        return start != stat.start or young or pid in self.found or monotonic - at >= OLD_ROUND_SECONDS


def open_devices(folder: str) -> list[int] | None:
    """Numbers N of the /dev/nvidiaN that are open there; None where we may not look."""
    found: set[int] = set()
    try:
        names = os.listdir(folder)
    except PermissionError:
        return None
    except OSError:
        return []
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        match = _NVIDIA.match(target)
        if match is not None:
            found.add(int(match[1]))
    return sorted(found)
