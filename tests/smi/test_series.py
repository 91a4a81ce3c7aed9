"""A series is one window: what moves, and what a single look cannot show."""

from __future__ import annotations

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import Snapshot
from gpudiag.smi import read, window_of
from gpudiag.window import W5
from tests.smi import writers
from tests.smi.tables import GIB, gpu, machine

HEADER = "timestamp, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"


def csv_of(loads: list[int], used: int = 75_000, step: int = 1) -> str:
    rows = (
        f"2026/11/29 10:{second // 60:02d}:{second % 60:02d}.000, {load} %, {used} MiB, 81559 MiB"
        for second, load in zip(range(0, step * len(loads), step), loads, strict=True)
    )
    return HEADER + "\n".join(rows) + "\n"


def verdict(text: str) -> dict[str, object]:
    return explain(examine(window_of(text))).verdict


def test_loads_of_a_series_are_one_window() -> None:
    window = window_of(csv_of([0, 90, 0, 40] * 15))

    stats = window.gpus_in_order()[0].over("utilization_percent", W5)
    assert (0.0, 90.0) == (stats.min, stats.max)
    assert 32.5 == stats.mean


def test_requests_that_come_and_go_are_work_and_not_an_idle_pool() -> None:
    assert verdict(csv_of([0, 95, 90, 0, 60, 97] * 20))["rule"] != "gpu-free"
    assert verdict(csv_of([0, 95, 90, 0, 60, 97] * 20))["severity"] in ("ok", "info")


def test_one_zero_at_the_end_says_nothing_about_the_minute_before() -> None:
    busy = window_of(csv_of([96] * 59 + [0])).gpus_in_order()[0]

    assert busy.over("utilization_percent", W5).mean > 90


def test_rows_a_minute_apart_keep_their_times() -> None:
    reading = read(csv_of([10, 20, 30], step=60))

    assert [60.0, 60.0] == [
        b.taken_at - a.taken_at for a, b in zip(reading.snapshots, reading.snapshots[1:], strict=False)
    ]
    assert 3 == reading.paste.samples


def test_a_watched_table_is_two_samples_of_one_gpu() -> None:
    first, second = machine(gpu(0, utilization_percent=10)), machine(gpu(0, utilization_percent=90), at=1.0)
    reading = read(writers.table(first) + "\n" + writers.table(second))

    assert 2 == reading.paste.samples
    assert [[10.0, 90.0]] == [g.samples.utilization_percent for g in reading.snapshots[-1].gpus if g.samples]


def test_a_gpu_that_vanishes_between_two_whole_tables_is_missed() -> None:
    both, one = machine(gpu(0), gpu(1)), machine(gpu(0), at=30.0)
    window = window_of(writers.table(both) + "\n" + writers.table(one))

    assert [True, False] == [g.present for g in window.gpus_in_order()]


def test_a_gpu_that_a_cut_took_away_is_not_lost() -> None:
    both = machine(gpu(0), gpu(1))
    again = writers.table(machine(gpu(0), gpu(1), at=30.0))
    window = window_of(writers.table(both) + "\n" + again[: again.index("|   1 ") + 12])

    assert all(g.present for g in window.gpus_in_order())
    assert verdict(writers.table(both) + "\n" + again[: again.index("|   1 ") + 12])["severity"] != "ok"


def test_two_machines_in_one_paste_are_not_mixed() -> None:
    here, there = machine(gpu(0)), machine(gpu(0, bus_id="00000000:AA:00.0", memory_used_bytes=8 * GIB))
    reading = read(writers.table(here) + "\n" + writers.table(there))

    assert "other_machine" in (reading.paste.missing or [])
    assert [8 * GIB] == [g.memory_used_bytes for g in reading.snapshots[-1].gpus]


def test_tables_asked_for_one_by_one_are_one_machine() -> None:
    one, other = machine(gpu(0)), machine(gpu(1))
    reading = read(writers.query(one) + writers.query(other))

    assert [0, 1] == [g.index for g in reading.snapshots[-1].gpus]
    assert 1 == len(reading.snapshots)


def test_pmon_over_time_keeps_the_mean_load_of_a_process() -> None:
    text = "# gpu        pid  type    sm   mem   enc   dec   command\n"
    rows = "".join(
        f"    0       4242     C   {load:>3}     5     -     -   python\n" for load in (0, 50, 100)
    )
    process = read(text + rows, now=100.0).snapshots[-1].processes[0]

    assert process.gpus is not None
    assert 50.0 == process.gpus[0].sm_percent


def test_pmon_alone_is_whole_and_tells_which_process_computes() -> None:
    text = (
        "# gpu        pid  type    sm   mem   enc   dec   command\n"
        "    0       4242     C     -     -     -     -   VLLM::EngineCor\n"
        "    1       4711     C    97    41     -     -   python\n"
    )
    said = explain(examine(window_of(text)))

    assert ["not-enough-evidence", "healthy-busy"] == [gpu["verdict"]["rule"] for gpu in said.gpus]
    assert "python (pid 4711) computes 97 % of the time" in said.gpus[1]["verdict"]["headline"]
    assert not any(found["rule"] == "paste-incomplete" for found in said.findings)


def test_a_log_of_another_day_is_judged_with_the_table() -> None:
    line = (
        "2024-01-05T10:00:00,123456+00:00 NVRM: Xid (PCI:0000:19:00): 79, pid=1, GPU has fallen off the bus."
    )

    assert verdict(writers.table(machine(gpu(0))) + "\n" + line)["rule"] == "gpu-lost-bus"


def test_the_same_text_reads_the_same() -> None:
    text = writers.table(machine(gpu(0), gpu(1)))

    assert read(text, now=5.0) == read(text, now=5.0)
    assert isinstance(read(text).snapshots[0], Snapshot)
