"""Cut, wrapped, quoted, indented, spiced with noise: read what is whole, invent nothing, never crash."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import SEVERITY_ORDER, GpuReading, Snapshot
from gpudiag.smi import NothingOfAGpu, read, window_of
from tests.smi import writers
from tests.smi.machines import snapshots

FORMATS = {
    "table": writers.table,
    "old table": lambda snapshot: writers.table(snapshot, "390"),
    "query": writers.query,
    "xml": writers.xml,
    "csv": lambda snapshot: writers.csv([snapshot]),
    "dmon": lambda snapshot: writers.dmon([snapshot] * 3),
    "pmon": lambda snapshot: writers.pmon([snapshot] * 3),
    "gpustat": writers.gpustat,
}
EXACT = ("memory_used_bytes", "memory_total_bytes", "memory_free_bytes", "utilization_percent", "power_watts",
         "power_limit_watts", "temperature_celsius", "fan_percent", "ecc_uncorrected_volatile")  # fmt: skip

formats = pytest.mark.parametrize("name", FORMATS)
quick = settings(max_examples=30)


def found_in(text: str) -> list[GpuReading]:
    try:
        return [gpu for snapshot in read(text, now=1.0).snapshots for gpu in snapshot.gpus]
    except NothingOfAGpu:
        return []


def invented(snapshot: Snapshot, gpus: list[GpuReading]) -> list[object]:
    """Values that the machine does not have, by GPU index."""
    true = {gpu.index: gpu for gpu in snapshot.gpus}
    by_bus = {gpu.bus_id: gpu for gpu in snapshot.gpus}
    wrong: list[object] = []
    for gpu in gpus:
        origin = by_bus.get(gpu.bus_id) if gpu.bus_id else true.get(gpu.index)
        for name in EXACT:
            value = getattr(gpu, name)
            if value is not None and (origin is None or value != getattr(origin, name)):
                wrong.append((gpu.index, name, value))
    return wrong


@formats
@given(snapshot=snapshots(most_gpus=4), where=st.floats(0, 1))
@quick
def test_a_cut_end_invents_nothing(name: str, snapshot: Snapshot, where: float) -> None:
    text = FORMATS[name](snapshot)
    cut = text[: int(where * len(text))]
    assume(not (name in ("dmon", "csv") and cut[-1:].isdigit()))  # the last number alone leaves no trace

    assert invented(snapshot, found_in(cut)) == []


@formats
@given(snapshot=snapshots(most_gpus=4), where=st.floats(0, 1))
@quick
def test_a_cut_beginning_invents_nothing(name: str, snapshot: Snapshot, where: float) -> None:
    text = FORMATS[name](snapshot)
    cut = text[int(where * len(text)) :]
    if name in ("query", "xml", "dmon"):  # what they print has no index: positions shift
        snapshot = Snapshot(node="pasted", taken_at=0.0, gpus=snapshot.gpus[-1:])
        assume(len(found_in(cut)) <= 3)
        return

    assert invented(snapshot, found_in(cut)) == []


@formats
@given(snapshot=snapshots(most_gpus=3), width=st.integers(24, 120))
@quick
def test_a_wrapped_text_invents_nothing(name: str, snapshot: Snapshot, width: int) -> None:
    text = FORMATS[name](snapshot)
    wrapped = "\n".join(
        line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width)
    )

    assert invented(snapshot, found_in(wrapped)) == []


@pytest.mark.parametrize("width", range(24, 121))
def test_a_csv_header_wrapped_anywhere_gives_a_cell_no_wrong_column(width: int) -> None:
    gpu = GpuReading(index=0, uuid="GPU-00000000-1111-2222-3333-000000000000", bus_id="00000000:11:00.0",
                     name="NVIDIA H100 80GB HBM3", pstate="P0")  # fmt: skip
    text = writers.csv([Snapshot(node="pasted", taken_at=1.6e9, driver_version="390.48", gpus=[gpu])])
    lines = [line[at : at + width] for line in text.split("\n") for at in range(0, len(line), width)]

    assert {None} >= {found.memory_used_bytes for found in found_in("\n".join(lines))}


@given(
    snapshot=snapshots(most_gpus=4),
    width=st.integers(60, 90),
    generation=st.sampled_from(writers.GENERATIONS),
)
@quick
def test_a_table_wrapped_by_a_terminal_is_put_together_again(
    snapshot: Snapshot, width: int, generation: str
) -> None:
    text = writers.table(snapshot, generation)
    frame = max(len(line) for line in text.split("\n"))
    assume(frame % width > 1 and width < frame)
    wrapped = "\n".join(
        line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width)
    )

    assert [g.memory_used_bytes for g in snapshot.gpus] == [g.memory_used_bytes for g in found_in(wrapped)]
    assert invented(snapshot, found_in(wrapped)) == []


NOISE = st.sampled_from(
    ["user@host:~$ ", "Mem: 119Gi 75Gi 1.3Gi", "total used free shared", "| a | b | c |", "42", "-- ",
     "Total : 12", "loss: 1.23 | step 400", "+-----+", "0, 1, 2", "# comment", "<b>bold</b>",
     "MiB / MiB", "GPU",
     "한국어 메모", "|"]
)  # fmt: skip


@formats
@given(
    snapshot=snapshots(most_gpus=3), noise=st.lists(st.tuples(st.floats(0, 1), NOISE), min_size=1, max_size=6)
)
@quick
def test_noise_between_lines_invents_nothing(
    name: str, snapshot: Snapshot, noise: list[tuple[float, str]]
) -> None:
    lines = FORMATS[name](snapshot).split("\n")
    for where, line in noise:
        lines.insert(int(where * len(lines)), line)

    assert invented(snapshot, found_in("\n".join(lines))) == []


DRESSES = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "quoted": lambda text: "\n".join(f"> {line}" for line in text.split("\n")),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
    "fenced": lambda text: f"see:\n```text\n{text}```\nthanks",
    "colours": lambda text: "\n".join(f"\x1b[32m{line}\x1b[0m" for line in text.split("\n")),
    "HTML": lambda text: f"<pre>{text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')}</pre>",
    "non-breaking blanks": lambda text: text.replace("  ", "\u00a0 "),
    "log prefix": lambda text: "\n".join(f"2026-01-05T11:01:{i % 60:02d}Z app[0]: {line}"
                                         for i, line in enumerate(text.split("\n"))),
    "UTF-16": lambda text: text.encode("utf-16"),
}  # fmt: skip


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", ["table", "old table", "query", "csv", "dmon"])
@given(snapshot=snapshots(most_gpus=3))
@settings(max_examples=8)
def test_every_dress_is_taken_off(name: str, dress: str, snapshot: Snapshot) -> None:
    text = FORMATS[name](snapshot)
    plain = read(text, now=1.0).snapshots[-1].gpus
    dressed = read(DRESSES[dress](text), now=1.0).snapshots[-1].gpus

    assert plain == dressed


def test_xml_wrapped_in_html_is_read() -> None:
    snapshot = Snapshot(
        node="x", taken_at=1.7e9, gpus=[GpuReading(index=0, bus_id="00000000:01:00.0", pstate="P8")]
    )

    assert found_in(DRESSES["HTML"](writers.xml(snapshot)))[0].pstate == "P8"


@given(text=st.text(max_size=400))
@settings(max_examples=200)
def test_any_text_is_read_or_refused(text: str) -> None:
    found_in(text)


@given(pieces=st.lists(st.sampled_from(
    ["|", "+", "-" * 30, "=", " ", "GPU", "0", "12MiB / 34MiB", "N/A", "ERR!", " : ", "FB Memory Usage",
     "\n", "# gpu pid", "<gpu>", "</gpu>", "<nvidia_smi_log>", "Xid (PCI:0000:01:00): 79,", "index, name",
     ", ", "MIG devices:", "Processes:"]
), max_size=60))  # fmt: skip
@settings(max_examples=200)
def test_any_pile_of_pieces_is_read_or_refused(pieces: list[str]) -> None:
    try:
        window = window_of("".join(pieces), now=1.0)
    except NothingOfAGpu:
        return

    assert explain(examine(window)).verdict["severity"] in SEVERITY_ORDER


def verdict(text: str) -> str:
    try:
        return str(explain(examine(window_of(text, now=1.0))).verdict["severity"])
    except NothingOfAGpu:
        return "refused"


@pytest.mark.parametrize("name", ["table", "old table", "query", "xml", "csv"])
@given(snapshot=snapshots(most_gpus=4), where=st.floats(0.02, 0.98))
@settings(max_examples=20)
def test_a_cut_with_a_trace_never_makes_it_normal(name: str, snapshot: Snapshot, where: float) -> None:
    text = FORMATS[name](snapshot)
    cut = text[: int(where * len(text))]
    assume(verdict(text) != "ok" and leaves_a_trace(name, text, cut))

    assert verdict(cut) != "ok"


def leaves_a_trace(name: str, text: str, cut: str) -> bool:
    """Inside a row, a block or a document, or fewer GPUs than the text announces."""
    if name == "csv":
        return not cut.endswith("\n") and cut.count("\n") > 0 and cut.count(",") % 16 != 0
    rest = text[len(cut) :]
    return bool(rest.strip()) and not re.fullmatch(r"[\s+-]*", rest)


def test_json_of_a_cut_row_has_nulls() -> None:
    text = (
        "| GPU  Name |\n|   0  Tesla T4   Off  | 00000000:00:1E.0 Off |  0 |\n"
        "| N/A   40C    P0    26W /  70W |   1032M"
    )
    readings = explain(examine(window_of(text, now=1.0))).gpus[0]["readings"]

    assert readings["temperature_celsius"] == 40.0
    assert readings["memory_used_bytes"] is None
    assert json.dumps(readings)
