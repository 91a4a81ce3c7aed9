"""The demo's fleet: eight nodes, each in the situation that its name promises."""

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import Checkup, Snapshot
from gpudiag.simulator import Machine, fleet
from gpudiag.window import Window

BEGAN = 1_764_400_000.0
HOUR = 3600.0

PROMISES = {
    "node-1": ("healthy-busy", "ok"),
    "node-2": ("cpu-bound-single-core", "warning"),
    "node-3": ("kv-pool-reserved-idle", "ok"),
    "node-4": ("stuck-job", "critical"),
    "node-5": ("hidden-memory", "warning"),
    "node-6": ("gpu-lost-bus", "critical"),
    "node-7": ("orphaned-engine", "critical"),
    "node-8": ("agent-stale", "critical"),
}


def after_an_hour(machine: Machine) -> Checkup:
    window = Window(machine.name)
    for snapshot in machine.history(BEGAN, BEGAN + HOUR):
        window.add(snapshot)
    return examine(window, now=BEGAN + HOUR)


@pytest.mark.parametrize("machine", fleet(BEGAN), ids=lambda machine: machine.name)
def test_each_node_is_in_the_situation_its_name_promises(machine: Machine) -> None:
    verdict = explain(after_an_hour(machine)).verdict

    assert PROMISES[machine.name] == (verdict["rule"], verdict["severity"])


def test_low_utilization_stays_beside_its_cause() -> None:
    rules = [finding.rule for finding in after_an_hour(fleet(BEGAN)[1]).findings]

    assert {"low-util-under-load", "cpu-bound-single-core"} <= set(rules)


def test_the_reserved_pool_opens_with_the_owners_sentence() -> None:
    verdict = explain(after_an_hour(fleet(BEGAN)[2])).verdict

    assert verdict["headline"] == "memory full, util 0%: reserved KV pool, normal"


def test_the_orphan_looks_like_the_reserved_pool_and_is_not_ok() -> None:
    idle, orphan = fleet(BEGAN)[2], fleet(BEGAN)[6]
    at = BEGAN + HOUR
    one, other = (machine.snapshot(at) for machine in (idle, orphan))

    assert one is not None and other is not None
    assert one.gpus[0].memory_used_bytes == other.gpus[0].memory_used_bytes
    assert one.gpus[0].utilization_percent == other.gpus[0].utilization_percent == 0


def test_the_same_seed_and_second_give_the_same_snapshot() -> None:
    first, again = (fleet(BEGAN, seed=7)[0].snapshot(BEGAN + 600) for _ in range(2))

    assert msgspec.json.encode(first) == msgspec.json.encode(again)


def test_another_seed_gives_another_machine() -> None:
    one, other = (fleet(BEGAN, seed=seed)[0].snapshot(BEGAN + 600) for seed in (1, 2))

    assert one is not None and other is not None
    assert one.gpus[0].uuid != other.gpus[0].uuid


def test_every_report_says_that_it_is_simulated_and_survives_the_wire() -> None:
    for machine in fleet(BEGAN):
        snapshot = machine.snapshot(BEGAN + 600)
        assert snapshot is not None

        again = msgspec.json.decode(msgspec.json.encode(snapshot), type=Snapshot)

        assert again.source == "simulated"
        assert again == snapshot


def test_reports_are_numbered_without_a_hole() -> None:
    numbers = [s.agent.sequence for s in fleet(BEGAN)[0].history(BEGAN, BEGAN + HOUR) if s.agent]

    assert numbers == list(range(1, 361))


def test_a_silent_agent_reports_no_more() -> None:
    silent = fleet(BEGAN)[7]

    assert silent.snapshot(BEGAN + 51 * 60) is not None
    assert silent.snapshot(BEGAN + 53 * 60) is None


def test_parts_never_exceed_the_card() -> None:
    for machine in fleet(BEGAN):
        for ledger in after_an_hour(machine).ledgers.values():
            assert ledger.over_capacity_bytes == 0, machine.name
