"""Ports on loopback for programs that must be told one, as they take no port 0."""

from __future__ import annotations

import contextlib
import random
import socket
from pathlib import Path

LOWEST = 10_000
GIVEN_BY_THE_KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port() -> int:
    """A free port that no outgoing connection is given before the program listens there."""
    first_given = int(GIVEN_BY_THE_KERNEL.read_text().split()[0])
    for port in random.sample(range(LOWEST, first_given), 100):
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError(f"no port between {LOWEST} and {first_given} is free")
