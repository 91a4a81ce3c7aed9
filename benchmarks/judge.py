"""What judging costs: all rules over a node with 8 GPUs, per situation. `python -m benchmarks.judge`"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence

import msgspec

from gpudiag.examine import default_rules, examine, judge
from gpudiag.explain import explain
from gpudiag.model import Snapshot
from gpudiag.rules.situations import GIB, Situation, vllm_idle, vllm_processes
from gpudiag.window import Window


def busy() -> Situation:
    s = Situation(gpus=8)
    s.all_gpus(memory_used_bytes=75 * GIB, power_watts=520.0, utilization_percent=[88.0, 95.0, 97.0],
               sm_clock_megahertz=1755.0, temperature_celsius=58.0, clocks_event_reasons=0x4)  # fmt: skip
    vllm_processes(s)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=list(range(8)), requests_running=24.0,
             rates={"generation_tokens_total": 1500.0})  # fmt: skip
    return s.passes(minutes=6)


SITUATIONS: dict[str, Callable[[], Situation]] = {
    "8 GPUs empty": lambda: Situation(gpus=8).passes(minutes=6),
    "8 GPUs, pool reserved, idle": lambda: vllm_idle(gpus=8),
    "8 GPUs serving under load": busy,
}


ROUNDS, TIMES = 10, 20


def quickest(times: Sequence[float]) -> float:
    """The median of each round, of the quickest round: what else runs on a machine only adds."""
    return min(statistics.median(times[i : i + TIMES]) for i in range(0, len(times), TIMES))


def seconds_of(*works: Callable[[], object]) -> list[float]:
    """Processor time of each of `works`, which are done by turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS * TIMES):
        for work, spent in zip(works, times, strict=True):
            before = time.process_time_ns()
            work()
            spent.append((time.process_time_ns() - before) / 1e9)
    return [quickest(spent) for spent in times]


class _OffTheWire(Window):
    """Keeps what a situation reports as an agent would send it."""

    def __init__(self) -> None:
        super().__init__("bench")
        self.taken: list[bytes] = []

    def add(self, snapshot: Snapshot, received_at: float | None = None) -> None:
        self.taken.append(msgspec.json.encode(snapshot))


def what_follows(situation: Situation) -> list[Snapshot]:
    """The next snapshots of a situation that goes on as it is: one for each time it is folded in."""
    window, wire = situation.window, _OffTheWire()
    situation.window = wire
    for _ in range(ROUNDS * TIMES):
        situation.reports()
    situation.window = window
    return [msgspec.json.decode(body, type=Snapshot) for body in wire.taken]


def main() -> int:
    rules = default_rules()
    print(f"judging with {len(rules.rules)} rules (processor time, median of {TIMES}, best of {ROUNDS})")
    print(f"{'situation':32}{'fold in':>10}{'judge':>10}{'in words':>10}")
    for name, build in SITUATIONS.items():
        situation = build()
        window = situation.window
        following = iter(what_follows(situation))
        fold, judging = seconds_of(
            lambda: window.add(next(following)),  # noqa: B023
            lambda: judge(window, rules),  # noqa: B023
        )
        checkup = examine(window, rules)
        [worded] = seconds_of(lambda: explain(checkup, "en", rules))  # noqa: B023
        print(f"{name:32}{fold * 1e3:>7.3f} ms{judging * 1e3:>7.3f} ms{worded * 1e3:>7.3f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
