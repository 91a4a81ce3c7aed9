"""On which host a command has to be typed, where the reader may sit at another one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpudiag.words import words

NO_OTHER_HOST = ("pasted", "local")  # a text without a name; the machine on which the question is asked

OF_ITS_HOST = {
    "nvidia-smi", "nvidia-bug-report.sh", "nvidia-ctk", "dcgmi", "nv-fabricmanager", "nvbandwidth",
    "all_reduce_perf", "p2pBandwidthLatencyTest", "py-spy", "ps", "kill", "taskkill", "top", "free",
    "df", "ss", "cat", "dmesg", "journalctl", "systemctl", "lspci", "lsmod", "modinfo", "dkms",
    "cpupower", "iostat", "ldconfig", "ls", "pgrep", "mpstat", "ibstat", "docker", "ollama", "curl", "sudo",
}  # fmt: skip
"""Programs that tell or change something of the machine on which they are typed.

Not those that reach it from elsewhere (ssh, ping, kubectl, scancel), nor how a program is to be started.
"""
ORDERS_OF_ITS_HOST = ("gpudiag agent ", "gpudiag record", "scontrol pidinfo ", "for i in $(seq ")


def host_of(diagnosis: dict[str, Any]) -> str | None:
    """The node on which the commands of an answer have to be typed; None where it has no name."""
    return None if diagnosis.get("source") in NO_OTHER_HOST else str(diagnosis["node"])


def with_hosts(steps: Iterable[dict[str, Any]], host: str | None, language: str) -> list[dict[str, Any]]:
    """Steps, each with `on`: "on node-7:" before the first of several commands that belong there, else ""."""
    placed, told = [], False
    for step in steps:
        command = step.get("command")
        there = told if not command else host is not None and is_of_its_host(command)
        on = words(language).LABEL["typed_on"].format(node=host) if there and not told else ""
        placed.append({**step, "on": on})
        told = there
    return placed


def is_of_its_host(command: str) -> bool:
    """Whether it matters on which host a command is typed."""
    first = command.split()[0].rstrip(";")
    return first in OF_ITS_HOST or command.startswith(ORDERS_OF_ITS_HOST) or "| sudo " in command
