"""What no card can show is no measurement: it gives no number, no "normal", and the answer says why."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.smi import read, window_of
from tests.smi.tables import GIB, gpu, machine
from tests.smi.writers import query, table, xml

GPUSTAT = "[0] NVIDIA L4 | {heat}'C, {load} %, {power} / 72 W | {used} / 23034 MB |\n"
DMON = "# gpu    pwr  gtemp     sm    mem     fb\n# Idx      W      C      %      %     MB\n"
CSV = (
    "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W], temperature.gpu\n"
    "0, {load} %, {used} MiB, 23034 MiB, {power} W, {heat}\n"
)
VALUES = {"load": 3, "used": 900, "power": 20, "heat": 40}


def answer(text: str) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(explain(examine(window_of(text, now=1.0))))
    return built


def told(text: str) -> tuple[str, str]:
    verdict = answer(text)["gpus"][0]["verdict"]
    return verdict["severity"], verdict["rule"]


CANNOT_BE = [
    ("load", 103, "utilization_percent"),
    ("used", 90_000, "memory_used_bytes"),
    ("power", 9000, "power_watts"),
    ("heat", 900, "temperature_celsius"),
]


@pytest.mark.parametrize(
    "shape", [CSV, GPUSTAT, CSV.replace(" %,", ",").replace(" MiB", "").replace(" W,", ",")]
)
@pytest.mark.parametrize(("name", "value", "reading"), CANNOT_BE)
def test_a_value_that_cannot_be_is_no_reading_and_not_normal(
    shape: str, name: str, value: int, reading: str
) -> None:
    text = shape.format(**{**VALUES, name: value})

    assert told(shape.format(**VALUES))[1] != "impossible-value"
    assert told(text) == ("unknown", "impossible-value")
    assert answer(text)["gpus"][0]["readings"][reading] is None


@pytest.mark.parametrize("write", [table, query, xml])
@pytest.mark.parametrize(
    "values",
    [
        {"utilization_percent": 103},
        {"memory_used_bytes": 99 * GIB},
        {"memory_used_bytes": 0, "memory_total_bytes": 0},
        {"power_watts": 9000},
        {"temperature_celsius": 900},
    ],
    ids=lambda values: next(iter(values)),
)
def test_nor_in_the_formats_of_nvidia_smi(write: Any, values: dict[str, int]) -> None:
    text = write(machine(gpu(0, **values), gpu(1)))

    shown = answer(text)["gpus"]
    assert all(shown[0]["readings"][name] is None for name in values)
    assert ("unknown", "impossible-value") == told(text)
    assert "ok" == shown[1]["verdict"]["severity"]


def test_a_monitor_s_load_above_100_is_no_load() -> None:
    row = "    0     70     31    {:>3}      0      4\n"
    two = read(DMON + row.format(50) + row.format(103), now=1.0).snapshots[-1]

    assert two.gpus[0].samples is not None
    assert [50.0, None] == two.gpus[0].samples.utilization_percent
    assert ("unknown", "impossible-value") == told(DMON + row.format(103))


def test_what_a_process_cannot_hold_is_not_known() -> None:
    raw = table(machine(gpu(0, memory_used_bytes=4 * GIB)))
    nobody = next(line for line in raw.split("\n") if "No running" in line)
    row = "|    0   N/A  N/A      4242      C   python                       17592186044415MiB |"
    process = read(raw.replace(nobody, row), now=1.0).snapshots[-1].processes[0]

    assert ("python", None) == (process.name, (process.gpus or [])[0].memory_used_bytes)


def test_a_loose_row_above_100_is_no_load() -> None:
    cut = table(machine(gpu(0, utilization_percent=103))).split("\n")
    second = next(number for number, line in enumerate(cut) if "103%" in line)

    assert read("\n".join(cut[second:]), now=1.0).paste.loose_utilization_percent is None


def test_a_fault_outweighs_a_value_that_cannot_be() -> None:
    text = table(machine(gpu(0, utilization_percent=103, ecc_uncorrected_volatile=2)))

    assert ("warning", "ecc-uncorrectable-new") == told(text)


def test_a_fan_may_turn_faster_than_its_most() -> None:
    assert told(table(machine(gpu(0, fan_percent=104))))[0] == "ok"


@pytest.mark.parametrize("value", [0, 100])
def test_the_ends_of_what_can_be_are_values(value: int) -> None:
    assert (
        answer(table(machine(gpu(0, utilization_percent=value))))["gpus"][0]["readings"][
            "utilization_percent"
        ]
        == value
    )


def test_a_row_of_gpustat_with_a_size_that_cannot_be_is_still_a_card() -> None:
    rows = GPUSTAT.format(**{**VALUES, "used": 17592186044415}) + GPUSTAT.format(**VALUES).replace(
        "[0]", "[1]"
    )

    assert ("unknown", "impossible-value") == told(rows)
    assert 2 == len(answer(rows)["gpus"])


@pytest.mark.parametrize("load", [1003, 99999])
def test_a_load_of_four_digits_is_no_cut_cell(load: int) -> None:
    assert ("unknown", "impossible-value") == told(table(machine(gpu(0, utilization_percent=load))))


@pytest.mark.parametrize("write", [table, query, xml])
def test_power_far_above_the_limit_is_no_measurement(write: Any) -> None:
    known = {"utilization_percent": 100.0, "power_limit_watts": 35.0, "memory_used_bytes": 2 * GIB}

    assert told(write(machine(gpu(0, **known, power_watts=588.0)))) == ("unknown", "impossible-value")
    assert told(write(machine(gpu(0, **known, power_watts=41.0))))[1] != "impossible-value"
