"""Whose a process is, and how its owner frees what it holds without hurting the others.

`ownership` tells a rule's finding who owns the process and what would end it; `freeing` puts that into
words, with the exact command for that kind of owner. What is ended is the smallest whole that its owner
started: a pod, a job, a container, a unit, and a single process only where nothing else holds it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpudiag.model import ProcessReading, Snapshot
from gpudiag.words import words
from gpudiag.words.foreign import plain
from gpudiag.words.units import NOBODY
from gpudiag.workloads import Workload, workload_of

COMMANDS = {
    "pod": "kubectl -n {namespace} delete pod {pod}",
    "pod-somewhere": "kubectl get pods -A --field-selector metadata.name={pod}",
    "slurm": "scancel {job}",
    "container": "docker stop {container}",
    "unit": "sudo systemctl restart {unit}",
    "notebook": "kill {pid}",
    "engine": "kill {parent}",
    "hidden": "ps -o pid,user,lstart,cgroup:120,cmd -p {pid}",
    "windows": "taskkill /PID {pid}",
    "process": "kill {pid}",
}
LOGS = {  # how the log of a run that ended is read
    "pod": "kubectl -n {namespace} logs {pod} --previous",
    "slurm": "scontrol show job {job} | grep -E 'StdOut|StdErr'",
    "container": "docker logs --tail 200 {container}",
    "unit": "journalctl -u {unit} -n 200",
}
SHARED_UNITS = re.compile(
    r".*\.(scope|slice)|user@.*|(docker|containerd|crio|podman|kubelet|k3s|k3s-agent|rke2-\w+|slurmd|slurmstepd|"
    r"ssh|sshd|cron|crond|atd|jupyterhub|gdm|lightdm|display-manager)\.service"
)
"""Units that run other people's programs too: a restart would end those as well."""

_DRAIN = re.compile(r'scontrol update nodename=(\S+) state=drain reason="[^"]*"')
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@:-]*")


def owner_of(reading: ProcessReading) -> str:
    """Whose process it is: pod, job, unit or user, whichever says most."""
    return job_of(reading) or reading.unit or (f"user {reading.user}" if reading.user else NOBODY)


def job_of(reading: ProcessReading) -> str | None:
    """The pod or the Slurm job that a process belongs to."""
    if reading.pod:
        return f"pod {reading.namespace}/{reading.pod}" if reading.namespace else f"pod {reading.pod}"
    return f"Slurm job {reading.slurm_job}" if reading.slurm_job else None


def ownership(reading: ProcessReading, *, alone: bool = False, maybe: bool = False) -> dict[str, Any]:
    """A finding's words about the process that holds memory: its names, and what would free it.

    `alone`: it serves nobody any more, so that ending it breaks nothing. `maybe`: it is only the one process
    that may be the holder.
    """
    called = reading.name or reading.command or f"pid {reading.pid}"
    names = {
        "by": _kind(reading, alone),
        "pid": str(reading.pid),
        "owner": owner_of(reading),
        "pod": reading.pod,
        "namespace": reading.namespace,
        "job": reading.slurm_job,
        "container": reading.container and reading.container[:64],
        "unit": reading.unit,
        "parent": reading.parent_pid and str(reading.parent_pid),
    }
    names["maybe"] = called if maybe else None
    held_by = {name: value for name, value in names.items() if value}
    return {"process": called, "pid": str(reading.pid), "owner": owner_of(reading), "free": held_by}


def _kind(reading: ProcessReading, alone: bool) -> str:
    workload = workload_of(reading)
    if reading.pod:
        return "pod" if reading.namespace else "pod-somewhere"
    if reading.slurm_job:
        return "slurm"
    if reading.hidden:
        return "hidden"
    if _is_notebook(reading, workload):
        return "notebook"
    if reading.container:
        return "container"
    if reading.unit and not SHARED_UNITS.fullmatch(reading.unit):
        return "unit"
    if (reading.name or "").lower().endswith(".exe"):
        return "windows"
    is_worker = workload.kind == "engine" and workload.role == "worker"
    return "engine" if is_worker and not alone and (reading.parent_pid or 0) > 1 else "process"


def _is_notebook(reading: ProcessReading, workload: Workload) -> bool:
    parents = " ".join(reading.parents or (reading.parent_name or "",))
    return workload.kind == "notebook" or "jupyter" in parents


def freeing(finding_words: Mapping[str, Any], language: str) -> dict[str, Any] | None:
    """The step that frees the memory, for the kind of its owner; None where no process is known."""
    held_by = finding_words.get("free")
    if not isinstance(held_by, Mapping) or held_by.get("by") not in COMMANDS:
        return None
    texts = words(language)
    names = {name: str(value) for name, value in held_by.items()}
    if names.get("owner") == NOBODY:
        names["owner"] = texts.OWNER_UNKNOWN
    text = texts.FREE[names["by"]].format_map(_Shown(names))
    if "maybe" in names:
        text = f"{texts.FREE_MAYBE.format_map(_Shown(names))} {text}"
    return {"text": text, "command": _command(names), "frees": True}


def cancelling(reading: ProcessReading) -> str | None:
    """The command that ends the pod, the Slurm job or the container of a process; None where it has none."""
    names = ownership(reading)["free"]
    return _command(names) if names["by"] in ("pod", "slurm", "container") else None


def log_of(reading: ProcessReading) -> str | None:
    """The command that reads the log of the run before; None where nobody knows who keeps it."""
    names = ownership(reading)["free"]
    return _command(names, LOGS) if names["by"] in LOGS else None


def _command(names: Mapping[str, str], commands: Mapping[str, str] = COMMANDS) -> str | None:
    """What is typed for its owner's kind, made only of names that a shell takes as they are."""
    asked = re.findall(r"\{(\w+)\}", commands[names["by"]])
    safe = all(_SAFE.fullmatch(names.get(name, "")) for name in asked)
    return commands[names["by"]].format_map(names) if safe else None


def by_its_scheduler(command: str, snapshot: Snapshot) -> str:
    """A page's drain is Slurm's; where pods and no Slurm job are seen on the node, it is Kubernetes'."""
    processes = snapshot.processes or ()
    pods_alone = any(p.pod for p in processes) and not any(p.slurm_job for p in processes)
    return _DRAIN.sub(r"kubectl cordon \1", command) if pods_alone else command


class _Shown(dict[str, str]):
    """Names as people may be shown them."""

    def __getitem__(self, name: str) -> str:
        return plain(super().__getitem__(name), 120)

    def __missing__(self, name: str) -> str:
        return "?"
