"""A node's past: GPUs that come and go, a restart of the server, and numbers that no scale foresaw."""

from __future__ import annotations

import contextlib
import copy

import pytest

from gpudiag.model import NvmlReading
from gpudiag.rules.situations import GIB, INTERVAL, Situation, idle_h100
from gpudiag.window import W2, W5, W6H, W7D, W15, W30, NotMeasured, Window


def uuids(node: Situation) -> list[str | None]:
    return [gpu.reading.uuid for gpu in node.window.gpus_in_order()]


def another_card(node: Situation, index: int) -> None:
    """The card at `index` was changed for one with another serial number."""
    node.gpus[index].reading.uuid = f"GPU-another-{node.gpus[index].reading.uuid}"


def test_gpus_with_the_same_mean_keep_their_own_extremes() -> None:
    node = Situation(gpus=3)
    for index, samples in enumerate(([50.0, 50.0], [40.0, 60.0], [10.0, 90.0])):
        node.gpu(index).shows(utilization_percent=samples)
    node.passes(minutes=5)
    loads = [gpu.over("utilization_percent", W5) for gpu in node.window.gpus_in_order()]

    assert [(load.mean, load.min, load.max) for load in loads] == [(50, 50, 50), (50, 40, 60), (50, 10, 90)]


# ---------------------------------------------------------------------------- GPUs that come and go


def test_a_gpu_is_known_for_no_longer_than_it_was_there() -> None:
    node = Situation(gpus=2)
    late = node.gpus.pop(1)
    node.passes(minutes=5)
    node.gpus[1] = late
    node.passes(seconds=30)
    first, second = node.window.gpus_in_order()

    assert first.over("utilization_percent", W5).seconds == 300.0
    assert second.over("utilization_percent", W5).seconds == 30.0
    assert (first.covers(W5), second.covers(W5)) == (True, False)


def test_a_gpu_that_was_away_is_known_from_when_it_was_first_there() -> None:
    node = Situation(gpus=2).passes(minutes=1)
    away = node.gpus.pop(1)
    node.passes(minutes=1)
    node.gpus[1] = away
    node.passes(minutes=1)
    load = node.window.gpus_in_order()[1].over("utilization_percent", W5)

    assert (load.n, load.seconds) == (12, 180.0)


def test_a_gpu_that_is_gone_says_nothing_of_the_last_minutes() -> None:
    node = Situation(gpus=2).passes(minutes=5)
    del node.gpus[1]
    node.passes(minutes=3)
    gone = node.window.gpus_in_order()[1]

    assert not gone.present
    assert gone.over("utilization_percent", W5).n == 12
    with pytest.raises(NotMeasured):
        gone.over("utilization_percent", W2)


@pytest.mark.parametrize("first", [0, 7])
def test_a_card_that_was_replaced_is_forgotten_though_the_driver_came_late(first: int) -> None:
    node = Situation(gpus=8).passes(minutes=1)
    there = dict(node.gpus)
    another_card(node, 3)
    node.machine(boot_id="boot-2")
    node.gpus = {index: there[index] for index in range(first)}
    node.nvml.error = None if first else "driver_not_loaded"
    node.passes(minutes=1)
    node.gpus, node.nvml.error = there, None
    node.passes(seconds=10)

    assert uuids(node) == [tale.reading.uuid for tale in node.gpus.values()]
    assert all(gpu.over("utilization_percent", W5).n for gpu in node.window.gpus_in_order())


def test_a_card_that_does_not_come_back_from_a_reboot_is_missed() -> None:
    node = Situation(gpus=8).passes(minutes=1)
    del node.gpus[3]
    node.machine(boot_id="boot-2").passes(minutes=1)

    assert [3] == [gpu.index for gpu in node.window.gpus_in_order() if not gpu.present]


def test_those_after_a_forgotten_card_keep_their_own_past() -> None:
    node = Situation(gpus=4)
    for index, tale in node.gpus.items():
        tale.shows(utilization_percent=10.0 * index)
    node.passes(minutes=30)
    another_card(node, 1)
    node.gpu(1).shows(utilization_percent=99.0)
    node.machine(boot_id="boot-2").passes(minutes=2)

    found = {gpu.index: round(gpu.over("utilization_percent", W30).max) for gpu in node.window.gpus.values()}

    assert found == {0: 0, 1: 99, 2: 20, 3: 30}


def test_a_node_whose_cards_change_their_names_all_the_time_does_not_grow() -> None:
    node = Situation(gpus=64)
    for round_ in range(12):
        for index in node.gpus:
            node.gpus[index].reading.uuid = f"GPU-{round_}-{index}"
        node.reports()

    present = [gpu.reading.uuid for gpu in node.window.gpus.values() if gpu.present]
    assert len(node.window.gpus) == 256
    assert present == [f"GPU-11-{index}" for index in range(64)]


def test_a_node_without_gpus_gets_them_and_loses_all_but_one() -> None:
    node = Situation(gpus=0).passes(minutes=2)
    node.gpus = {index: copy.deepcopy(Situation(gpus=8).gpus[index]) for index in range(8)}
    node.passes(minutes=2)
    node.gpus = {5: node.gpus[5]}
    node.passes(minutes=2)
    found = {gpu.index: gpu.over("utilization_percent", W5).seconds for gpu in node.window.gpus.values()}

    assert found == {**dict.fromkeys(range(8), 120.0), 5: 240.0}


@pytest.mark.parametrize("interval", [5.0, 10.0, 30.0, 60.0])
def test_a_span_is_covered_however_often_an_agent_reports(interval: float) -> None:
    node = Situation()
    node.agent.interval_seconds = interval
    covered = {}
    for minutes in range(1, 7):
        for _ in range(round(60 / interval)):
            node.now += interval - INTERVAL
            node.reports()
        covered[minutes] = node.window.covers(W5)

    assert [1, 2, 3] == [minutes for minutes in covered if not covered[minutes]]


def test_two_servers_that_an_agent_calls_alike_have_a_past_each() -> None:
    node = Situation(gpus=2)
    for gpu in (0, 1):
        server = node.serves("vllm", name=f"pod-{gpu}", pid=4100 + gpu, gpus=[gpu], requests_running=gpu)
        server.name = "vllm:8000"
    node.passes(minutes=5)
    asked = {name: engine.over("requests_running", W5).mean for name, engine in node.window.engines.items()}

    assert {"vllm:8000": 0.0, "vllm:8000:pid4101": 1.0} == asked


def test_a_process_is_known_for_the_part_of_a_minute_that_it_was_there() -> None:
    node = Situation(start=1_764_288_000.0)
    node.runs(pid=1, memory={0: GIB})
    node.passes(minutes=10, seconds=20)
    node.runs(pid=2, memory={0: GIB})
    node.passes(minutes=9)
    here, late = node.window.processes.values()

    closed_at = node.now // 60 * 60 - INTERVAL  # the minute that goes on has no row yet
    assert late.over("memory_used_bytes", W30).seconds == pytest.approx(
        closed_at - late.first_seen + INTERVAL
    )
    assert here.over("memory_used_bytes", W30).seconds == closed_at - here.first_seen + INTERVAL


def test_a_gpu_that_is_back_for_a_part_of_a_minute_counts_no_more_than_it_was_there() -> None:
    node = Situation(gpus=2, start=1_764_288_000.0).passes(seconds=50)
    away = node.gpus.pop(1)
    node.passes(minutes=10)
    node.gpus[1] = away
    node.passes(seconds=20)
    del node.gpus[1]
    node.passes(minutes=2)
    back = node.window.gpus_in_order()[1]

    assert back.over("utilization_percent", W30).seconds == pytest.approx(50.0 + 600.0 + 20.0)


# ----------------------------------------------------------------------------- a restart of the server


def hours_of_work(until: float, gpus: int = 2) -> Situation:
    """A node that works for two hours, in waves, until `until` seconds after a full quarter of an hour."""
    node = Situation(gpus=gpus, start=1_764_288_000.0 + until)
    for minute in range(2 * 60):
        busy = minute % 7 < 4
        for index, tale in node.gpus.items():
            tale.shows(utilization_percent=90.0 + index if busy else 0.0, power_watts=600.0 if busy else 70.0)
        node.passes(minutes=1)
    return node


def restarted(node: Situation, reread_seconds: float, order: list[int] | None = None) -> Window:
    """The node's window as another process builds it: of what was packed, and of the last snapshots."""
    packed, until = node.window.pack(), node.now
    again = Situation(gpus=len(node.gpus), start=until - reread_seconds)
    again.gpus = {index: node.gpus[index] for index in order or node.gpus}
    again.passes(seconds=reread_seconds)
    again.window.unpack(packed)
    return again.window


@pytest.mark.parametrize("until", [0.0, 100.0, 290.0, 450.0, 890.0])
def test_what_was_usual_for_days_is_so_after_a_restart(until: float) -> None:
    node = hours_of_work(until)
    after = restarted(node, 320.0)

    for key, gpu in node.window.gpus.items():
        for name in ("power_watts", "busy_power_watts", "idle_power_watts", "quiet", "memory_used_bytes"):
            assert after.gpus[key].over(name, W7D).mean == gpu.over(name, W7D).mean
            assert after.gpus[key].over(name, W6H).n == gpu.over(name, W6H).n
    assert after.host.over("cpu_percent", W7D).n == node.window.host.over("cpu_percent", W7D).n


@pytest.mark.parametrize("lost", [60.0, 300.0, 890.0])
@pytest.mark.parametrize("until", [50.0, 450.0, 890.0])
def test_a_quarter_of_an_hour_that_ended_unpacked_is_whole_after_a_crash(until: float, lost: float) -> None:
    node = hours_of_work(until)
    packed, minute = node.window.pack(), node.now - node.now % 60.0
    after = Situation(gpus=2, start=minute - INTERVAL)
    after.gpus = node.gpus
    after.passes(seconds=node.now - after.now)  # all of the minute in which it was packed
    for each in (node, after):
        each.all_gpus(utilization_percent=50.0, power_watts=300.0).passes(seconds=lost)
    after.window.unpack(packed)

    for key, gpu in node.window.gpus.items():
        for name in ("power_watts", "utilization_percent", "quiet"):
            for span in (W30, W6H):
                assert after.window.gpus[key].track.series(name, span) == gpu.track.series(name, span)
                assert after.window.gpus[key].over(name, span).seconds == gpu.over(name, span).seconds


@pytest.mark.parametrize("late", [890.0, 1_010.0])  # the last of a quarter of an hour, and of a minute
def test_what_came_late_at_the_end_of_a_row_is_not_counted_beside_it(late: float) -> None:
    packed, whole, again = (Situation(gpus=2, start=1_764_288_000.0 - INTERVAL) for _ in range(3))
    again.passes(seconds=late // 60 * 60)
    again.window = Window("node-1")
    for node, until in ((packed, 1_200.0), (whole, 1_300.0), (again, 1_300.0)):
        while node.now < 1_764_288_000.0 + until:
            kept = node.window
            if node is packed and node.now + INTERVAL == 1_764_288_000.0 + late:
                node.window = Window("node-1")  # it is not there yet
            node.passes(seconds=INTERVAL)
            node.window = kept
    again.window.unpack(packed.window.pack())

    for span in (W30, W6H):
        assert whole.window.host.track.covered(span) == again.window.host.track.covered(span)
        assert whole.window.host.track.series("cpu_percent", span) == again.window.host.track.series(
            "cpu_percent", span
        )


def test_each_gpu_gets_its_own_past_back_in_any_order() -> None:
    node = hours_of_work(100.0, gpus=3)
    after = restarted(node, 320.0, order=[2, 0])

    most = {gpu.index: round(gpu.over("utilization_percent", W30).max) for gpu in after.gpus.values()}

    assert most == {0: 90, 2: 92}


def test_gpus_that_are_missed_are_missed_after_a_restart_too() -> None:
    node = Situation(gpus=3).passes(minutes=5)
    lost = node.gpus.pop(1).reading
    after = restarted(node.passes(minutes=10), 320.0)

    gone = after.gpus[str(lost.uuid)]
    assert (gone.index, gone.present, gone.last_seen) == (1, False, node.now - 600.0)
    assert after.due_gpus == 3


def test_gpus_whose_driver_does_not_answer_are_unread_after_a_restart_too() -> None:
    node = Situation(gpus=2).passes(minutes=5)
    node.gpus.clear()
    node.nvml = NvmlReading(error="driver_not_loaded")
    after = restarted(node.passes(minutes=10), 320.0)

    assert [(gpu.index, gpu.unread) for gpu in after.gpus_in_order()] == [(0, True), (1, True)]


def test_cards_that_a_reboot_replaced_are_not_missed_after_a_restart() -> None:
    node = Situation(gpus=2).passes(minutes=5)
    del node.gpus[1]
    packed = node.passes(minutes=5).window.pack()
    again = Situation(gpus=3, start=node.now + 7200.0)
    again.host.boot_id = "boot-2"
    del again.gpus[1]
    again.passes(minutes=1).window.unpack(packed)
    again.passes(minutes=1)

    assert [gpu.index for gpu in again.window.gpus_in_order()] == [0, 2]


@pytest.mark.parametrize("packed", [b"", b"\x93\x01\x02\x03", b"\xc1", b"\x91\x80"])
def test_what_is_no_packed_window_changes_nothing(packed: bytes) -> None:
    node = Situation().passes(minutes=3)
    with contextlib.suppress(ValueError):
        node.window.unpack(packed)

    assert node.window.gpus_in_order()[0].over("utilization_percent", W5).n == 18


# --------------------------------------------------------------------------- numbers nobody foresaw


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("memory_used_bytes", 400 * GIB),
        ("power_watts", 5_000.0),
        ("power_watts", 0.4),
        ("sm_clock_megahertz", 4_200.0),
        ("temperature_celsius", -40.0),
        ("temperature_margin_celsius", -15.0),
        ("temperature_celsius", 130.0),
    ],
)
def test_older_rows_hold_what_a_machine_may_say(name: str, value: float) -> None:
    node = Situation()
    node.gpu(0).shows(**{name: value})
    node.passes(minutes=31)

    assert node.window.gpus_in_order()[0].over(name, W15).mean == pytest.approx(value, rel=1e-3, abs=0.05)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("sm_clock_megahertz", 6_553.4, 6_553.4),
        ("sm_clock_megahertz", 6_553.5, 6_553.4),
        ("power_watts", 9_000.0, 6_553.4),
        ("temperature_celsius", 555.35, 555.34),
        ("temperature_celsius", -100.01, -100.0),
    ],
)
def test_what_a_scale_ends_at_is_kept_as_its_last_step(name: str, value: float, kept: float) -> None:
    node = Situation()
    node.gpu(0).shows(**{name: value})
    node.passes(minutes=31)
    quarter = node.window.gpus_in_order()[0].over(name, W15)

    assert quarter.n == 15  # minutes: not the newest snapshots in place of rows that know nothing
    assert quarter.mean == pytest.approx(kept, rel=1e-6)


@pytest.mark.parametrize("value", [-1e18, 1e18, 2.0**64])
def test_what_no_machine_says_spoils_nothing_else(value: float) -> None:
    node = Situation(gpus=2)
    names = ("power_watts", "temperature_celsius", "sm_clock_megahertz", "temperature_margin_celsius")
    node.gpu(0).shows(**dict.fromkeys(names, value))
    node.passes(minutes=31)
    other = node.window.gpus_in_order()[1]

    assert [other.over(name, W15).mean for name in names] == pytest.approx(
        [getattr(idle_h100(1), name) for name in names], rel=1e-3
    )


def test_what_is_not_known_in_between_is_not_counted() -> None:
    node = Situation()
    for minute in range(31):
        node.gpu(0).shows(utilization_percent=80.0 if minute % 2 else None)
        node.passes(minutes=1)

    assert node.window.gpus_in_order()[0].over("utilization_percent", W15).mean == pytest.approx(80.0)
