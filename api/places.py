"""Where a question points to: a node, one of its GPUs, or whoever runs there (a pod, a Slurm job, a pid).

`node-3`, `node-3:2`, `vllm-0`, `default/vllm-0`, `job:123`, `pid:4121`, `container:4f6b…`; a kind may also
stand before a slash (`job/123`). What names several things is told, with what to ask instead.
"""

from __future__ import annotations

import difflib
import time
from dataclasses import dataclass
from typing import Literal, NamedTuple

from api.judging.judge import Judge
from api.judging.nodes import NodeState
from api.problems import NoSuch, Refused
from api.words import Sentence
from gpudiag.model import SEVERITY_ORDER, ProcessReading
from gpudiag.words import units
from gpudiag.words.foreign import plain

LOOK_SECONDS = 2.0
MOST_NAMED = 6
SOME = 4  # names, where none is like the one that was asked for

Kind = Literal["pod", "job", "pid", "container"]
KINDS: dict[str, Kind] = {
    "pod": "pod", "job": "job", "slurm": "job", "pid": "pid", "process": "pid", "container": "container",
}  # fmt: skip


class Ambiguous(Refused):
    """The name means several things; `nearest` are names that mean one each."""

    status = 409


@dataclass(frozen=True, slots=True)
class Place:
    """A node, the GPU that is meant (None: all of them), and who was asked for instead of a node."""

    state: NodeState
    gpu: int | None = None
    who: str | None = None  # "pod default/vllm-0"
    where: str | None = None  # "node-3:0-1, node-4:0"


class _Seen(NamedTuple):
    """One process of the one that is looked for."""

    who: str
    state: NodeState
    process: ProcessReading

    @property
    def gpus(self) -> set[int]:
        return {use.gpu for use in self.process.gpus or ()} | set(self.process.open_devices or ())


def place_of(judge: Judge, text: str) -> Place:
    """What `text` names. A node's own name comes before anything else.

    Raises NoSuch with the nearest names of nodes, or Ambiguous with what to ask instead.
    """
    state = judge.state(text)
    if state is not None:
        return Place(state)
    name, colon, index = text.rpartition(":")
    if colon and index.isdigit() and len(index) < 4 and name not in KINDS:
        state = judge.state(name)
        if state is not None:
            return Place(state, int(index))
    kind, name = _kind_of(text)
    seen, missed = _look(judge, kind, name)
    if not seen:
        raise _nobody(judge, text, kind, missed)
    return _one(judge, text, seen)


def _kind_of(text: str) -> tuple[Kind | None, str]:
    for sign in (":", "/"):
        kind, found, name = text.partition(sign)
        if found and name and kind.lower() in KINDS:
            return KINDS[kind.lower()], name
    return None, text


def _look(judge: Judge, kind: Kind | None, name: str) -> tuple[list[_Seen], int]:
    """Every process of that name that holds a GPU, and on how many nodes there was no time to look."""
    seen: list[_Seen] = []
    missed, until = 0, time.monotonic() + LOOK_SECONDS
    for node in list(judge.nodes):
        if time.monotonic() > until:
            missed += 1
            continue
        state = judge.state(node)
        latest = state.window.latest if state is not None else None
        if state is None or latest is None:
            continue
        for process in latest.processes:
            who = _who(process, kind, name)
            if who is not None:
                seen.append(_Seen(who, state, process))
    on_gpus = [one for one in seen if one.gpus]
    return on_gpus or seen, missed


def _who(process: ProcessReading, kind: Kind | None, name: str) -> str | None:
    """How the process is called by what was asked for; None when it is another one."""
    pod = process.pod
    if kind in (None, "pod") and pod:
        whole = f"{process.namespace}/{pod}" if process.namespace else pod
        if name in (pod, whole):
            return f"pod {whole}"
    if kind in (None, "job") and process.slurm_job == name:
        return f"Slurm job {name}"
    if kind in (None, "pid") and str(process.pid) == name:
        return f"pid {name}"
    container = process.container
    if container and kind in (None, "container") and len(name) >= 6 and container.startswith(name):
        return f"container {container[:12]}"
    return None


def _one(judge: Judge, text: str, seen: list[_Seen]) -> Place:
    """The place of one pod, job, pid or container; a job on several nodes is answered where it is worst."""
    called = list(dict.fromkeys(one.who for one in seen))
    states = list({one.state.name: one.state for one in seen}.values())
    if len(called) > 1 or (len(states) > 1 and not called[0].startswith(("pod ", "Slurm job "))):
        choices = [f"{one.state.name}:{gpu}" for one in seen for gpu in sorted(one.gpus)[:1]]
        told = "; ".join(dict.fromkeys(f"{one.who} ({_on([one])})" for one in seen[:MOST_NAMED]))
        some = " …" if len(seen) > MOST_NAMED else ""
        nearest = list(dict.fromkeys(choices))[:MOST_NAMED]
        raise Ambiguous("several", nearest, name=plain(text, 80), told=told + some)

    def severity(state: NodeState) -> int:
        return SEVERITY_ORDER.index(judge.wording.verdict(state, "en")["severity"])

    worst = max(states, key=severity)
    gpus = {gpu for one in seen if one.state is worst for gpu in one.gpus}
    return Place(worst, next(iter(gpus)) if len(gpus) == 1 else None, called[0], _on(seen))


def _on(seen: list[_Seen]) -> str:
    """`node-3:0-1, node-4`: the nodes and GPUs of processes."""
    gpus: dict[str, set[int]] = {}
    for one in seen:
        gpus.setdefault(plain(one.state.name, 80), set()).update(one.gpus)
    named = [f"{node}:{units.runs(found)}" if found else node for node, found in gpus.items()]
    return ", ".join(named[:MOST_NAMED]) + (" …" if len(named) > MOST_NAMED else "")


def _nobody(judge: Judge, text: str, kind: Kind | None, missed: int) -> NoSuch:
    shown = plain(text, 80)
    nearest, hint = nodes_like(judge, text)
    if not judge.nodes:
        return NoSuch("node", name=shown, hint=hint)
    looked = Sentence("not.looked", count=missed) if missed else ""
    if kind is not None:
        return NoSuch("process", name=shown, count=len(judge.nodes), looked=looked)
    return NoSuch("node.or.process", nearest, name=shown, looked=looked, hint=hint)


def nodes_like(judge: Judge, name: str) -> tuple[list[str], Sentence]:
    """Names of nodes that are nearly `name`, and what to do instead of asking for it."""
    if not judge.nodes:
        return [], Sentence("no.agent")
    written = {node.casefold(): node for node in sorted(judge.nodes)}
    nearest = [written[near] for near in difflib.get_close_matches(name.casefold(), written, 3, 0.5)]
    return nearest, Sentence("near", names=", ".join(nearest)) if nearest else _those_that_report(judge)


def _those_that_report(judge: Judge) -> Sentence:
    """Which nodes could be asked for: a few of their names."""
    names = sorted(judge.nodes)
    told, more = ", ".join(plain(name, 80) for name in names[:SOME]), len(names) - SOME
    return Sentence("nodes", names=Sentence("nodes.more", names=told, more=more) if more > 0 else told)
