"""Snapshot → text → snapshot: what a format prints is what is read, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudiag.model import GpuReading, Snapshot
from gpudiag.smi import read
from tests.smi import writers
from tests.smi.machines import series, snapshots

TABLE = ("bus_id", "pstate", "memory_used_bytes", "memory_total_bytes", "utilization_percent", "fan_percent",
         "temperature_celsius", "power_watts", "power_limit_watts", "persistence_mode", "display_active",
         "ecc_uncorrected_volatile")  # fmt: skip
LONG = ("name", "uuid", "bus_id", "pstate", "memory_used_bytes", "memory_total_bytes", "memory_free_bytes",
        "utilization_percent", "memory_utilization_percent", "fan_percent", "temperature_celsius",
        "power_watts", "power_limit_watts", "persistence_mode", "sm_clock_megahertz",
        "sm_clock_max_megahertz",
        "clocks_event_reasons", "row_remap_pending", "row_remap_failed")  # fmt: skip
CSV = ("name", "uuid", "bus_id", "pstate", "memory_used_bytes", "memory_total_bytes", "memory_free_bytes",
       "utilization_percent", "memory_utilization_percent", "temperature_celsius", "power_watts",
       "power_limit_watts", "sm_clock_megahertz", "fan_percent")  # fmt: skip
DMON = ("power_watts", "temperature_celsius", "utilization_percent", "memory_utilization_percent",
        "sm_clock_megahertz")  # fmt: skip


def values(gpu: GpuReading, names: tuple[str, ...]) -> dict[str, object]:
    return {name: getattr(gpu, name) for name in names}


def uses(snapshot: Snapshot) -> set[tuple[object, ...]]:
    return {
        (p.pid, p.name, use.gpu, use.memory_used_bytes, use.type)
        for p in snapshot.processes
        for use in p.gpus or ()
    }


def last(text: str) -> Snapshot:
    return read(text, now=0.0).snapshots[-1]


@pytest.mark.parametrize("generation", writers.GENERATIONS)
@given(snapshot=snapshots())
@settings(max_examples=25)
def test_the_table_of_every_generation(snapshot: Snapshot, generation: str) -> None:
    found = last(writers.table(snapshot, generation))

    assert [values(gpu, TABLE) for gpu in snapshot.gpus] == [values(gpu, TABLE) for gpu in found.gpus]
    assert snapshot.taken_at == found.taken_at
    assert snapshot.driver_version == found.driver_version
    if generation != "331":
        assert uses(snapshot) == uses(found)


@pytest.mark.parametrize("generation", ["440", "550", "610"])
@given(snapshot=snapshots())
@settings(max_examples=25)
def test_query(snapshot: Snapshot, generation: str) -> None:
    found = last(writers.query(snapshot, generation))

    assert [values(gpu, LONG) for gpu in snapshot.gpus] == [values(gpu, LONG) for gpu in found.gpus]
    assert uses(snapshot) == uses(found)


@pytest.mark.parametrize("version", [10, 12])
@given(snapshot=snapshots())
@settings(max_examples=25)
def test_xml(snapshot: Snapshot, version: int) -> None:
    found = last(writers.xml(snapshot, version))

    assert [values(gpu, LONG) for gpu in snapshot.gpus] == [values(gpu, LONG) for gpu in found.gpus]
    assert uses(snapshot) == uses(found)
    assert found.paste is not None and found.paste.missing is None


@pytest.mark.parametrize(("units", "header"), [(True, True), (False, True), (True, False), (False, False)])
@given(snapshot=snapshots())
@settings(max_examples=25)
def test_csv_with_and_without_units_and_header(snapshot: Snapshot, units: bool, header: bool) -> None:
    found = last(writers.csv([snapshot], units, header))

    assert [values(gpu, CSV) for gpu in snapshot.gpus] == [values(gpu, CSV) for gpu in found.gpus]
    assert snapshot.taken_at == found.taken_at


@given(snapshot=snapshots(), units=st.booleans())
@settings(max_examples=25)
def test_compute_apps_beside_a_table(snapshot: Snapshot, units: bool) -> None:
    found = last(writers.table(snapshot) + "\n$ nvidia-smi --query\n" + writers.apps(snapshot, units))

    assert {u[:4] for u in uses(snapshot)} == {u[:4] for u in uses(found)}


@given(samples=series())
@settings(max_examples=25)
def test_dmon_is_a_series(samples: list[Snapshot]) -> None:
    found = read(writers.dmon(samples), now=1_700_000_000.0)

    assert [values(gpu, DMON) for gpu in samples[-1].gpus] == [
        values(g, DMON) for g in found.snapshots[-1].gpus
    ]
    assert len(samples) == found.paste.samples


@given(samples=series())
@settings(max_examples=25)
def test_every_sample_of_a_csv_series_is_kept(samples: list[Snapshot]) -> None:
    found = read(writers.csv(samples))
    kept: list[float | None] = []
    for snapshot in found.snapshots:
        gpu = snapshot.gpus[0]
        shown = gpu.samples.utilization_percent if gpu.samples else [gpu.utilization_percent]
        kept += shown or [None] * len(gpu.samples.power_watts or [None]) if gpu.samples else shown or []

    assert [s.gpus[0].utilization_percent for s in samples if s.gpus[0].utilization_percent is not None] == [
        value for value in kept if value is not None
    ]
    assert len(samples) == found.paste.samples
    assert samples[-1].taken_at == found.snapshots[-1].taken_at


@given(samples=series())
@settings(max_examples=25)
def test_pmon_lists_every_process_once(samples: list[Snapshot]) -> None:
    found = read(writers.pmon(samples), now=1_700_000_000.0).snapshots[-1]

    assert {p.pid for p in samples[0].processes} == {p.pid for p in found.processes}
    assert len(found.processes) == len({p.pid for p in found.processes})


@given(snapshot=snapshots())
@settings(max_examples=25)
def test_gpustat(snapshot: Snapshot) -> None:
    names = ("name", "temperature_celsius", "utilization_percent", "memory_used_bytes", "memory_total_bytes")
    found = last(writers.gpustat(snapshot))

    assert [values(gpu, names) for gpu in snapshot.gpus] == [values(gpu, names) for gpu in found.gpus]


@given(snapshot=snapshots())
@settings(max_examples=25)
def test_formats_mixed_in_one_paste_are_one_machine(snapshot: Snapshot) -> None:
    found = last(writers.table(snapshot) + "\n$ nvidia-smi -q\n" + writers.query(snapshot))

    assert len(snapshot.gpus) == len(found.gpus)
    assert [values(gpu, LONG) for gpu in snapshot.gpus] == [values(gpu, LONG) for gpu in found.gpus]
    assert {u[:4] for u in uses(snapshot)} == {u[:4] for u in uses(found)}


NVITOP = """\
╒═════════════════════════════════════════════════════════════════════════════╕
│ NVITOP 1.3.2      Driver Version: 525.85.12       CUDA Driver Version: 12.0 │
├───────────────────────────────┬──────────────────────┬──────────────────────┤
│ GPU  Name        Persistence-M│ Bus-Id        Disp.A │ Volatile Uncorr. ECC │
│ Fan  Temp  Perf  Pwr:Usage/Cap│         Memory-Usage │ GPU-Util  Compute M. │
╞═══════════════════════════════╪══════════════════════╪══════════════════════╪══════════════╕
│   0  GeForce RTX 2080 Ti  Off │ 00000000:04:00.0 Off │                  N/A │ MEM: ███ 59% │
│ 27%   46C    P2    85W / 250W │   6480MiB / 11019MiB │     38%      Default │ UTL: ██  38% │
╘═══════════════════════════════╧══════════════════════╧══════════════════════╧══════════════╛
╒════════════════════════════════════════════════════════════════════════════════════════════╕
│ Processes:                                                                       user@host │
│ GPU     PID      USER  GPU-MEM %SM  %CPU  %MEM      TIME  COMMAND                          │
╞════════════════════════════════════════════════════════════════════════════════════════════╡
│   0 3788719 C panda     6470MiB  36   0.0   1.4  2:11:32  python3 train.py                 │
╘════════════════════════════════════════════════════════════════════════════════════════════╛
"""


def test_nvitop_looks_like_a_table() -> None:
    found = last(NVITOP)
    process = found.processes[0]

    assert (6480 << 20, 38.0) == (found.gpus[0].memory_used_bytes, found.gpus[0].utilization_percent)
    assert (3788719, "panda", 6470 << 20) == (
        process.pid,
        process.user,
        (process.gpus or [])[0].memory_used_bytes,
    )
    assert found.paste is not None and found.paste.missing is None


def test_nvitop_rounds_what_is_large() -> None:
    large = NVITOP.replace(" 6480MiB / 11019MiB", "31.25GiB / 45.00GiB").replace(" 6470MiB", "30.50GiB")
    found = last(large)
    use = (found.processes[0].gpus or [])[0]

    assert (32_000 << 20, 46_080 << 20) == (found.gpus[0].memory_used_bytes, found.gpus[0].memory_total_bytes)
    assert 31_232 << 20 == use.memory_used_bytes


MIG = """\
+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
|  0    1   0   0  |   8990MiB / 20096MiB | 14      0 |  3   0    2    0    0 |
|                  |      4MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
|  0    1   1   1  |   8990MiB / 20096MiB | 28      0 |  3   0    2    0    0 |
|                  |      4MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
"""


def test_mig_devices_are_no_gpus_and_their_bar1_is_no_memory() -> None:
    found = last(MIG)

    assert 1 == len(found.gpus)
    assert found.gpus[0].memory_used_bytes is None
    assert [(0, 1, 8990 << 20), (1, 1, 8990 << 20)] == [
        (d.index, d.gpu_instance, d.memory_used_bytes) for d in found.gpus[0].mig_devices or []
    ]


def test_a_process_memory_cut_by_its_column_is_unknown() -> None:
    row = "|    0   N/A  N/A      5762      C   python                             13020... |"
    text = (
        "| Processes: |\n|  GPU   GI   CI        PID   Type   Process name   GPU Memory |\n|====|\n"
        + row
        + "\n+----+\n"
    )
    found = last(text)

    assert (found.processes[0].gpus or [])[0].memory_used_bytes is None
    assert ["cut"] == [gap.reason for gap in found.gaps if gap.subject == "process:5762"]
