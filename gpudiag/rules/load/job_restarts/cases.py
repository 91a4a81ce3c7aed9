"""Situations of job-restarts and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_busy
from gpudiag.window import Window

TRAIN = "python3 train.py --config big.yaml"


def _runs(
    times: int = 4,
    lives_minutes: float = 2,
    command: str | list[str] = TRAIN,
    utilization: Any = 0.0,
    each: list[dict[str, Any]] | None = None,
    memory: int = 60 * GIB,
    **process: Any,
) -> Window:
    """A job that fills its memory for two minutes, ends, and is started again a minute later."""
    s = Situation()
    for number in range(times):
        pid = 5400 + number
        told = command if isinstance(command, str) else command[number]
        s.gpu(0).shows(memory_used_bytes=memory, utilization_percent=utilization)
        s.runs({0: memory}, pid=pid, name="python3", command=told, started_at=s.now, cpu_percent=100.0,
               **process, **(each[number] if each else {}))  # fmt: skip
        s.passes(minutes=lives_minutes)
        if number < times - 1:
            s.ends(pid).gpu(0).shows(memory_used_bytes=4 << 20)
            s.gpu(0).shows(utilization_percent=None if utilization is None else 0.0)
            s.passes(minutes=1)
    return s.window


def _the_fourth_lasts() -> Window:
    s = Situation()
    for number in range(4):
        s.runs({0: 60 * GIB}, pid=5400 + number, name="python3", command=TRAIN, started_at=s.now,
               parent_pid=5300, parent_name="torchrun")  # fmt: skip
        s.gpu(0).shows(memory_used_bytes=60 * GIB)
        s.passes(minutes=2)
        if number < 3:
            s.ends(5400 + number).passes(minutes=1)
    s.gpu(0).shows(utilization_percent=96.0, power_watts=600.0)
    return s.passes(minutes=3).window


def _beside_a_server() -> Window:
    s = vllm_busy()
    for number in range(5):
        s.runs({0: 5 * GIB}, pid=5400 + number, name="python3", command=TRAIN, started_at=s.now)
        s.passes(minutes=1)
        s.ends(5400 + number).passes(minutes=1)
    s.runs({0: 5 * GIB}, pid=5499, name="python3", command=TRAIN, started_at=s.now)
    return s.passes(minutes=1).window


IN_ONE_POD = [{"pod": "train-0", "container": f"c{number}"} for number in range(4)]
IN_OTHER_PODS = [{"pod": f"train-{number}", "container": f"c{number}"} for number in range(4)]
IN_OTHER_CONTAINERS = [{"container": f"c{number}"} for number in range(4)]

CASES = [
    Case(
        "a training job starts for the fourth time", _runs, "fires", severity="warning", confidence="likely"
    ),
    Case(
        "it works for a minute each time, and its launcher starts it again",
        lambda: _runs(utilization=95.0, parent_pid=5300, parent_name="torchrun"),
        "fires",
        severity="warning",
    ),
    Case(
        "Kubernetes starts its container again in the same pod",
        lambda: _runs(utilization=60.0, each=IN_ONE_POD),
        "fires",
        severity="warning",
    ),
    Case(
        "a Python program of unknown kind starts for the fourth time",
        lambda: _runs(command="python3 main.py"),
        "fires",
        severity="info",
        confidence="possible",
        variant="may",
    ),
    Case(
        "a training job that a shell starts for the fourth time: a person may try it out",
        lambda: _runs(parent_name="bash"),
        "fires",
        severity="info",
        variant="may",
    ),
    Case(
        "the shell of a Slurm job starts it for the fourth time",
        lambda: _runs(parent_name="bash", slurm_job="4711"),
        "fires",
        severity="warning",
    ),
    Case("the fourth run works, and has lived longer than the others", _the_fourth_lasts, "clear"),
    Case("it starts for the second time", lambda: _runs(2), "clear"),
    Case("short jobs that work, one after the other", lambda: _runs(utilization=70.0), "clear"),
    Case(
        "a sweep: each run has other arguments",
        lambda: _runs(command=[f"{TRAIN} --lr {n}" for n in range(4)]),
        "clear",
    ),
    Case("it runs for twenty minutes each time", lambda: _runs(3, lives_minutes=20), "clear"),
    Case("tests, each in a container of its own", lambda: _runs(each=IN_OTHER_CONTAINERS), "clear"),
    Case("tests, each in a pod of its own", lambda: _runs(each=IN_OTHER_PODS), "clear"),
    Case("a probe that opens the GPU again and again", lambda: _runs(memory=GIB // 2), "clear"),
    Case("short programs beside a server that stays", _beside_a_server, "clear"),
    Case("utilization cannot be read", lambda: _runs(utilization=None), "unjudged"),
]
