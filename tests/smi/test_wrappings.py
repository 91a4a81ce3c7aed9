"""What chats, trackers, terminals and tools wrap around an output takes no value away and adds none."""

from __future__ import annotations

import json
import quopri
from collections.abc import Callable

import pytest

from gpudiag.model import GpuUse, ProcessReading, Snapshot
from gpudiag.smi import NothingOfAGpu, read
from tests.smi.tables import gpu, machine
from tests.smi.writers import csv, dmon, query, table

MIB = 1 << 20
NEWLINE = "\n"
MACHINE = machine(gpu(0, utilization_percent=97, memory_used_bytes=61_000 * MIB), gpu(1))
OUTPUTS = {
    "table": table(MACHINE),
    "query": query(MACHINE),
    "csv": csv([MACHINE, MACHINE]),
    "dmon": dmon([MACHINE, MACHINE]),
}


def last(text: str) -> Snapshot:
    return read(text, now=1.0).snapshots[-1]


def every_line(before: str, behind: str = "") -> Callable[[str], str]:
    return lambda text: "\n".join(f"{before}{line}{behind}" for line in text.split("\n"))


def boxed(text: str) -> str:
    width = max(map(len, text.split("\n")))
    return "\n".join(f"│{line.ljust(width)}│" for line in text.split("\n"))


def beside(text: str) -> str:
    """A terminal with another pane at each side."""
    width = max(map(len, text.split("\n")))
    return "\n".join(
        f"{f'  {n} root  20   0':<24}│{line.ljust(width)}│ make[{n}]: done"
        for n, line in enumerate(text.split("\n"))
    )


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "jira": lambda text: f"{{noformat}}{text}{{noformat}}",
    "jira-code": lambda text: f"{{code:bash|title=smi}}\n{text}{{code}}",
    "forum": lambda text: f"[code]{text}[/code]",
    "ansible": lambda text: json.dumps({"changed": True, "stdout": text, "stdout_lines": text.split("\n")}),
    "lines-of-json": lambda text: json.dumps([{"host": "gpu01", "lines": text.split("\n")}], indent=1),
    "log-of-json": lambda text: "\n".join(
        json.dumps({"log": f"{line}\n", "stream": "stdout"}) for line in text.split("\n")
    ),
    "part-of-json": lambda text: f'  "rc": 0,\n  "stdout": {json.dumps(text)},\n  "cmd": [\n',
    "logfmt": lambda text: f"level=info msg=asked\nlevel=info out={json.dumps(text)}\nlevel=info msg=done",
    "bytes-of-python": lambda text: repr(text.encode()),
    "quoted-with-bars": every_line("| "),
    "bullets": every_line("* "),
    "patch": every_line("+"),
    "bold": every_line("**", "**"),
    "code-marks": every_line("`", "`"),
    "pilcrows": every_line("", "\u00b6"),
    "numbers-and-a-bar": lambda text: "\n".join(
        f"{number:>3} | {line}" for number, line in enumerate(text.split("\n"), 1)
    ),
    "mail": lambda text: quopri.encodestring(text.encode()).decode(),
    "ansible-debug": lambda text: (
        f"ok: [gpu01] => {json.dumps({'out.stdout_lines': text.split(NEWLINE)}, indent=4)}"
    ),
    "list-of-python": lambda text: repr(text.split("\n")),
    "tmux-frame": boxed,
    "tmux-panes": beside,
}


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS.keys())
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_a_wrapping_changes_nothing(wrap: Callable[[str], str], output: str) -> None:
    plain, wrapped = last(output.strip("\n")), last(wrap(output.strip("\n")))

    assert (wrapped.gpus, wrapped.processes, wrapped.driver_version) == (
        plain.gpus,
        plain.processes,
        plain.driver_version,
    )
    assert wrapped.paste == plain.paste


def test_bars_that_markdown_escaped_are_bars() -> None:
    escaped = table(MACHINE).replace("|", "\\|")

    assert last(escaped).gpus == last(table(MACHINE)).gpus


def test_sections_are_told_where_one_blank_is_left_of_the_indentation() -> None:
    collapsed = "\n".join(" ".join(f" {line}".split(" ")) for line in query(MACHINE).split("\n"))
    squeezed = "\n".join(
        (" " if line.startswith(" ") else "") + " ".join(line.split()) for line in query(MACHINE).split("\n")
    )

    assert last(squeezed).gpus == last(collapsed).gpus == last(query(MACHINE)).gpus


def test_a_list_of_gpus_and_slices_says_nothing_of_their_state() -> None:
    listed = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-1111-2222-3333-000000000000)\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-00000000-1111-5222-8333-000000000000)\n"
    )

    snapshot = last(listed)

    assert snapshot.paste is not None and snapshot.paste.missing == ["state"]
    assert [device.profile for device in snapshot.gpus[0].mig_devices or ()] == ["1g.10gb"]


def test_a_list_in_a_part_of_a_document_has_no_mark_in_its_values() -> None:
    text = (
        '    "--query-gpu=name,driver_version,memory.used,memory.total",\n    "--format=csv,noheader"\n  ],\n'
        '  "stdout": "NVIDIA L4, 570.86.10, 812 MiB, 23034 MiB"\n'
    )

    assert ["NVIDIA L4"] == [gpu.name for gpu in last(text).gpus]
    assert [23034 * MIB] == [gpu.memory_total_bytes for gpu in last(text).gpus]


def test_a_list_out_of_a_spreadsheet_has_tabs_for_its_commas() -> None:
    copied = OUTPUTS["csv"].replace(", ", "\t")

    assert last(OUTPUTS["csv"]) == last(copied)


def test_dmon_writes_commas_when_asked_for_them() -> None:
    lines = [", ".join(line.replace("# ", "#").split()) for line in OUTPUTS["dmon"].strip().split("\n")]

    assert last(OUTPUTS["dmon"]) == last("\n".join(lines) + "\n")


def test_a_hash_that_markdown_escaped_is_a_hash() -> None:
    text = "> \\# gpu   pwr    sm    fb\n> \\# Idx     W     %    MB\n>     0    61    42  9000\n"
    gpu = read(text, now=1.0).snapshots[-1].gpus[0]

    assert (61.0, 42.0) == (gpu.power_watts, gpu.utilization_percent)


@pytest.mark.parametrize("squeezed", [False, True])
def test_a_table_without_its_bars_is_a_table(squeezed: bool) -> None:
    owner = ProcessReading(
        pid=4711, name="python", gpus=[GpuUse(gpu=0, memory_used_bytes=60_000 * MIB, type="C")]
    )
    whole = table(machine(*MACHINE.gpus, processes=(owner,)))
    bare = [
        line.replace("|", " ").replace("+", " ") for line in whole.split("\n") if set(line) - set("+-=| ")
    ]
    read_of_it = last("\n".join(" ".join(line.split()) if squeezed else line for line in bare))

    for name in (
        "name",
        "bus_id",
        "utilization_percent",
        "memory_used_bytes",
        "power_watts",
        "ecc_uncorrected_volatile",
    ):
        assert [getattr(gpu, name) for gpu in last(whole).gpus] == [
            getattr(gpu, name) for gpu in read_of_it.gpus
        ]
    assert last(whole).processes == read_of_it.processes
    assert last(whole).driver_version == read_of_it.driver_version


def test_words_beside_a_size_are_no_row_of_a_table() -> None:
    with pytest.raises(NothingOfAGpu):
        last("45C P0 71W / 700W are normal, he says, and 74112MiB / 81559MiB are taken at 0% Default\n")


@pytest.mark.parametrize(
    "before", ["trainer-1  | ", "2026-07-28T10:00:00.123456789Z ", "2026-07-28T10:00:00Z gpu: "]
)
def test_rows_without_a_heading_lose_the_container_or_the_time_before_them(before: str) -> None:
    rows = [
        "[0] NVIDIA A100-SXM4-80GB | 45'C,  97 % | 60000 / 81920 MB | kim(60000M)",
        "[1] NVIDIA A100-SXM4-80GB | 44'C,   0 % |  1000 / 81920 MB | lee(1000M)",
    ]

    shown = last(every_line(before)("\n".join(rows)))

    assert [(97.0, 60_000 * MIB), (0.0, 1_000 * MIB)] == [
        (gpu.utilization_percent, gpu.memory_used_bytes) for gpu in shown.gpus
    ]
