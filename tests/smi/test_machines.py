"""Texts that show several machines, or one behind labels: whose output it is decides what may be said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from gpudiag.examine import default_rules
from gpudiag.explain import explain
from gpudiag.model import Snapshot
from gpudiag.pasted import judge
from gpudiag.smi import read
from tests.smi.tables import gpu, machine
from tests.smi.writers import csv, query, table, xml

MIB = 1 << 20
BUSY = machine(gpu(0, utilization_percent=99, ecc_uncorrected_volatile=4, memory_used_bytes=70_000 * MIB))
FREE = machine(gpu(0), gpu(1))
COMMAND = "pdsh -w gpu[01-02] nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv,noheader"

Writer = Callable[[Snapshot], str]
WRITERS: tuple[Writer, ...] = (table, query, lambda snapshot: csv([snapshot]))


def last(text: str) -> Snapshot:
    return read(text, now=1.0).snapshots[-1]


def labelled(label: str, text: str) -> str:
    return "\n".join(f"{label}{line}" for line in text.strip("\n").split("\n"))


def interleaved(first: str, second: str) -> str:
    """Lines of two machines as they arrive."""
    lines = [line for pair in zip(first.split("\n"), second.split("\n"), strict=True) for line in pair]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "label", ["gpu01: ", "0: ", " 12: ", "[gpu01] ", "[1,0]<stdout>:", "gpu01.cluster: "]
)
@pytest.mark.parametrize("write", WRITERS, ids=["table", "query", "csv"])
def test_a_label_before_every_line_changes_nothing(label: str, write: Writer) -> None:
    plain, behind = last(write(FREE)), last(labelled(label, write(FREE)))

    assert (behind.gpus, behind.paste) == (plain.gpus, plain.paste)


@pytest.mark.parametrize("numbers", ["{:>6}\t", "{:4}  ", "{}: ", "{}. "])
@pytest.mark.parametrize("write", WRITERS, ids=["table", "query", "csv"])
def test_numbered_lines_are_no_values(numbers: str, write: Writer) -> None:
    lines = write(FREE).strip("\n").split("\n")
    text = "\n".join(numbers.format(number) + line for number, line in enumerate(lines, 1))

    assert [g.memory_used_bytes for g in last(text).gpus] == [4 * MIB, 4 * MIB]
    assert last(text).paste == last(write(FREE)).paste


@pytest.mark.parametrize("label", ["{}: ", "[{}] "])
def test_the_machine_with_a_card_that_fails_is_judged(label: str) -> None:
    failing = table(BUSY).replace("P0 ", "ERR!")
    text = "\n".join((labelled(label.format("gpu01"), failing), labelled(label.format("gpu02"), table(FREE))))

    assert [70_000 * MIB] == [g.memory_used_bytes for g in last(text).gpus]


def test_rows_of_two_machines_are_never_gpus_of_one() -> None:
    rows = interleaved(
        "gpu01: 0, 99 %, 70000 MiB\ngpu01: 1, 98 %, 70000 MiB", "gpu02: 0, 0 %, 4 MiB\ngpu02: 1, 1 %, 4 MiB"
    )

    snapshot = last(f"$ {COMMAND}\n{rows}\n")

    assert [(0, 0.0), (1, 1.0)] == [(g.index, g.utilization_percent) for g in snapshot.gpus]
    assert snapshot.paste is not None and snapshot.paste.missing == ["other_machine"]


@pytest.mark.parametrize(
    "heading",
    [
        "root@{}:~# nvidia-smi",
        "[user@{} ~]$ nvidia-smi",
        "---------------\n{}\n---------------",
        "==> {} <==",
        "### {} ###",
        "{}:",
        "{} | CHANGED | rc=0 >>",
    ],
)
def test_two_machines_with_cards_at_the_same_addresses_are_not_two_samples_of_one(heading: str) -> None:
    text = f"{heading.format('gpu01')}\n{table(BUSY)}\n{heading.format('gpu02')}\n{table(machine(gpu(0)))}"

    snapshot = last(text)

    assert snapshot.paste is not None and snapshot.paste.missing == ["other_machine"]
    assert (0.0, 0) == (snapshot.gpus[0].utilization_percent, snapshot.gpus[0].ecc_uncorrected_volatile)


def test_the_machine_with_the_error_line_is_the_one_that_is_judged() -> None:
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    text = f"gpu01: {failed}\n" + labelled("gpu02: ", table(FREE))

    snapshot = last(text)

    assert snapshot.paste is not None and snapshot.paste.errors == ["driver_not_loaded"]
    assert "other_machine" in (snapshot.paste.missing or [])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("root@gpu01:~# nvidia-smi", "root@gpu01:~# nvidia-smi"),
        ("user@gpu01:~$ nvidia-smi", "root@f29740c58731:/# nvidia-smi"),  # a container on it
        ("gpu01:", "gpu01:"),
        ("=== step1 ===", "=== step2 ==="),
        ("before:", "after:"),
    ],
)
def test_one_machine_twice_is_a_series(first: str, second: str) -> None:
    text = f"{first}\n{table(machine(gpu(0), at=0))}\n{second}\n{table(machine(gpu(0), at=30))}"

    snapshots = read(text, now=1.0).snapshots

    assert 2 == len(snapshots)
    assert snapshots[-1].paste is not None and snapshots[-1].paste.missing is None


XID = "NVRM: Xid (PCI:0000:1b:00): {}, pid=4242, name=python, Ch 00000008"
LOST = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


@pytest.mark.parametrize(
    "label",
    [
        "{}: [Mon Mar  4 10:11:12 2024] ",
        "Mar  4 10:11:12 {} kernel: ",
        "2024-03-04T10:11:12.123456+00:00 {} kernel: ",
    ],
)
def test_kernel_lines_of_two_machines_are_never_one_card_s(label: str) -> None:
    first, second = label.format("gpu01"), label.format("gpu02")
    text = "\n".join(first + XID.format(31) for _ in range(3)) + f"\n{second}{XID.format(31)}\n"

    snapshot = last(text)

    assert [(31, 1)] == [(event.number, event.count) for event in snapshot.events or ()]
    assert snapshot.paste is not None and "other_machine" in (snapshot.paste.missing or [])


def test_the_machine_whose_card_is_lost_is_the_one_that_is_judged() -> None:
    text = f"gpu01: [ 12.5] {LOST}\ngpu02: [ 13.5] {XID.format(31)}\n"

    assert [79] == [event.number for event in last(text).events or ()]


@pytest.mark.parametrize("label", ["kernel: ", "ERROR: ", "Mar  4 10:11:12 gpu01 kernel: ", ""])
def test_the_log_of_one_machine_is_whole(label: str) -> None:
    text = "\n".join(label + XID.format(number) for number in (13, 31, 43)) + "\n"

    snapshot = last(text)

    assert {13, 31, 43} == {event.number for event in snapshot.events or ()}
    assert snapshot.paste is not None and "other_machine" not in (snapshot.paste.missing or [])


# ------------------------------------------------------------------------- which machine is told of

ECC = machine(gpu(0, ecc_uncorrected_volatile=4), gpu(1))


def answer(text: str, language: Any = "en") -> dict[str, Any]:
    rules = default_rules()
    built: dict[str, Any] = msgspec.to_builtins(explain(judge(text, rules, now=1.0), language, rules))
    return built


def of_several(said: dict[str, Any]) -> str:
    """What the answer says of the machines of the text."""
    found = [finding for finding in said["findings"] if finding["rule"] == "paste-incomplete"]
    assert len(found) == 1
    headline: str = found[0]["headline"]
    return headline


def prompts(*machines: tuple[str, str]) -> str:
    return "\n".join(f"root@{name}:~# nvidia-smi\n{text}" for name, text in machines)


def labels(*machines: tuple[str, str]) -> str:
    return "\n".join(labelled(f"{name}: ", text) for name, text in machines)


@pytest.mark.parametrize("join", [prompts, labels])
@pytest.mark.parametrize("write", WRITERS, ids=["table", "query", "csv"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_the_worst_machine_is_told_of_wherever_it_stands(join: Any, write: Writer, at: int) -> None:
    shown = [("gpu01", write(FREE)), ("gpu02", write(FREE)), ("gpu03", write(FREE))]
    shown[at] = (shown[at][0], write(machine(gpu(0, temperature_celsius=900), gpu(1))))

    said = answer(join(*shown))

    assert ("unknown", "impossible-value") == (said["verdict"]["severity"], said["verdict"]["rule"])
    assert said["verdict"]["headline"].startswith(f"{shown[at][0]}: ")


@pytest.mark.parametrize("join", [prompts, labels])
def test_other_machines_that_look_broken_are_named_the_worst_first(join: Any) -> None:
    lost = table(ECC).replace("31C    P0             70W", "ERR!  ERR!           ERR! ")
    text = join(
        ("gpu01", table(ECC)),
        ("gpu02", table(FREE)),
        ("gpu03", lost),
        ("gpu04", lost),
        ("gpu05", table(FREE)),
    )

    said = answer(text)

    assert ("critical", "gpu-lost-bus") == (said["verdict"]["severity"], said["verdict"]["rule"])
    assert "the text holds 5 machines; this is said of gpu04; look also at gpu03, gpu01" == (of_several(said))
    assert "gpu03, gpu01" in of_several(answer(text, "ko"))


def test_a_counter_is_enough_on_a_machine_that_no_line_names() -> None:
    other = machine(gpu(0, bus_id="00000000:AA:00.0"))
    said = answer(table(ECC) + "\n" + table(other))

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert "the text holds 2 machines; this is said of #1" == of_several(said)


@pytest.mark.parametrize("write", [query, xml])
def test_cards_of_other_uuids_at_the_same_addresses_are_another_machine(write: Writer) -> None:
    one = machine(gpu(0, uuid="GPU-0000000a-1111-2222-3333-000000000000", row_remap_failed=True))
    other = machine(gpu(0, uuid="GPU-0000000b-1111-2222-3333-000000000000"), at=5)

    said = answer(write(one) + "\n" + write(other))

    assert "row-remap-failed" == said["verdict"]["rule"]
    assert "#1" in of_several(said)


def test_a_machine_that_is_well_stands_beside_others_that_are() -> None:
    said = answer(prompts(("gpu01", table(FREE)), ("gpu02", table(FREE))))

    assert {"ok"} == {each["verdict"]["severity"] for each in said["gpus"]}
    assert "the text holds 2 machines; this is said of gpu02" == of_several(said)


def test_the_log_below_a_heading_is_of_its_machine() -> None:
    first = f"{table(FREE)}\nroot@gpu01:~# dmesg | grep NVRM ; nvidia-smi -L\n[   12.5] {LOST}"
    said = answer(prompts(("gpu01", first), ("gpu02", table(FREE))))

    assert "gpu-lost-bus" == said["verdict"]["rule"]
    assert said["verdict"]["headline"].startswith("gpu01: ")


def test_machines_whose_samples_take_turns_are_two() -> None:
    there = [machine(gpu(0, bus_id="00000000:AA:00.0"), at=at) for at in (5.0, 35.0)]
    here = [machine(gpu(0, ecc_uncorrected_volatile=4), at=at) for at in (0.0, 30.0)]
    text = "\n".join(table(sample) for pair in zip(here, there, strict=True) for sample in pair)

    said = answer(text)

    assert "this is said of #1" in of_several(said)
    assert "the text holds 2 machines" in of_several(said)


def test_a_word_that_names_the_machine_stands_in_the_commands() -> None:
    lost = "Unable to determine the device handle for GPU 0000:19:00.0: GPU is lost.\n"
    said = answer(prompts(("gpu01", lost + table(FREE)), ("gpu02", table(FREE))))

    found = [*said["findings"], *said["gpus"][0]["findings"]]
    commands = [step["command"] or "" for finding in found for step in finding["next_steps"]]
    assert any("nodename=gpu01 " in command for command in commands)


ASKED = "index,ecc.errors.uncorrected.volatile.total,utilization.gpu,memory.used"
LIST = f"nvidia-smi --query-gpu={ASKED} --format=csv"
HEADER = "index, ecc.errors.uncorrected.volatile.total, utilization.gpu [%], memory.used [MiB]"


def rows(errors: int) -> str:
    return f"0, 0, 0 %, 4 MiB\n1, {errors}, 0 %, 4 MiB"


@pytest.mark.parametrize(
    "command",
    [
        "ops@bastion:~$ ssh {} {}",
        "ops@bastion:~$ ssh -o StrictHostKeyChecking=no -p 2222 root@{} '{}'",
        "+ ssh {} sudo {}",
        "$ kubectl exec -n ml {} -c main -- {}",
        "ops@login:~$ srun -w {} --overlap {}",
    ],
)
def test_a_command_for_another_machine_names_the_machine_not_its_prompt(command: str) -> None:
    text = "\n".join(
        f"{command.format(host, LIST)}\n{HEADER}\n{rows(errors)}"
        for host, errors in (("gpu-3", 7), ("gpu-4", 0))
    )

    said = answer(text)

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert "the text holds 2 machines; this is said of gpu-3" == of_several(said)


def test_one_command_above_the_headings_names_the_columns_of_all() -> None:
    loop = f'$ for h in gpu3 gpu4; do echo "## $h"; ssh $h {LIST},noheader; done'
    said = answer(f"{loop}\n## gpu3\n{rows(7)}\n## gpu4\n{rows(0)}\n")

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert said["verdict"]["headline"].startswith("gpu3: ")


def test_a_heading_that_names_a_card_is_no_machine() -> None:
    text = "\n".join(f"## gpu{index}\n{HEADER}\n{index}, {index}, 0 %, 4 MiB" for index in range(2))

    assert not [finding for finding in answer(text)["findings"] if finding["rule"] == "paste-incomplete"]


def test_labels_of_tasks_are_called_ranks() -> None:
    text = "\n".join(
        labelled(f"{rank}: ", f"{HEADER}\n{rows(errors)}") for rank, errors in ((0, 0), (1, 7), (2, 0))
    )

    assert answer(text)["verdict"]["headline"].startswith("rank 1: ")


def test_a_fault_that_is_gone_in_a_later_table_is_told_of() -> None:
    said = answer(table(ECC) + "\nanother one says\n" + table(FREE))

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert "the text holds 2 machines; this is said of #1" == of_several(said)


def test_a_lost_card_that_a_later_table_shows_well_is_told_of() -> None:
    lost = table(FREE).replace("31C    P0             70W", "ERR!  ERR!           ERR! ", 1)
    said = answer(lost + "\n" + table(FREE))

    assert "gpu-lost-bus" == said["verdict"]["rule"]


def test_errors_that_become_more_are_of_one_machine() -> None:
    worse = machine(gpu(0, ecc_uncorrected_volatile=6), gpu(1), at=30)
    said = answer(table(ECC) + "\n" + table(worse))

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert not [finding for finding in said["findings"] if finding["rule"] == "paste-incomplete"]


def test_a_list_that_runs_on_through_a_reboot_is_of_one_machine() -> None:
    said = answer(csv([ECC, machine(gpu(0), gpu(1), at=600)]))

    assert not [finding for finding in said["findings"] if finding["rule"] == "paste-incomplete"]


@pytest.mark.parametrize(
    "silent",
    [
        "gpu02: ssh: connect to host gpu02 port 22: No route to host",
        'gpu02 | UNREACHABLE! => {\n    "changed": false,\n    "unreachable": true\n}',
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_machine_that_could_not_be_reached_is_named(silent: str, first: bool) -> None:
    shown = table(FREE)
    there = f"gpu01 | CHANGED | rc=0 >>\n{shown}" if "|" in silent else labelled("gpu01: ", shown)
    said = answer("\n".join((silent, there) if first else (there, silent)))

    assert "the text holds 2 machines; this is said of gpu01; look also at gpu02" == of_several(said)


@pytest.mark.parametrize("options", ["", ",noheader"])
def test_a_loop_over_hosts_names_each_of_them(options: str) -> None:
    header = "" if options else f"{HEADER}\n"
    lists = "".join(f"{header}{rows(errors)}\n" for errors in (0, 7, 0))
    said = answer(f"$ for h in gpu1 gpu2 gpu3; do ssh $h {LIST}{options}; done\n{lists}")

    assert "ecc-uncorrectable-new" == said["verdict"]["rule"]
    assert "the text holds 3 machines; this is said of gpu2" == of_several(said)


def test_a_host_of_a_loop_that_did_not_answer_keeps_its_name() -> None:
    loop = f"$ for h in gpu1 gpu2 gpu3; do ssh ${{h}} {LIST}; done"
    failed = "ssh: connect to host gpu2 port 22: No route to host"
    said = answer("\n".join((loop, HEADER, rows(0), failed, HEADER, rows(7))))

    assert "the text holds 3 machines; this is said of gpu3; look also at gpu2" == of_several(said)


def test_tables_below_a_loop_over_hosts_are_no_series() -> None:
    tables = table(machine(gpu(0), at=0)) + table(machine(gpu(0), at=30))
    read_as_one, parted = (
        read(loop + tables, now=1.0).snapshots
        for loop in (
            "$ for n in 1 2; do nvidia-smi; done\n",
            "$ for n in $(cat hosts); do ssh $n nvidia-smi; done\n",
        )
    )

    assert (2, 1) == (len(read_as_one), len(parted))
    assert parted[-1].paste is not None and parted[-1].paste.missing == ["other_machine"]


def test_a_list_asked_for_again_and_again_is_of_one_machine() -> None:
    text = f"$ for i in 1 2; do {LIST}; sleep 5; done\n{HEADER}\n{rows(0)}\n{HEADER}\n{rows(0)}\n"

    assert 2 == read(text, now=1.0).paste.samples
    assert read(text, now=1.0).paste.missing is None


def test_a_card_of_another_name_or_size_is_of_another_machine() -> None:
    header = "index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
    first = "0, NVIDIA A30, 0 %, 23000 MiB, 24576 MiB\n"
    for second in (
        "0, NVIDIA A16, 97 %, 14000 MiB, 15356 MiB\n",
        "0, NVIDIA A30, 97 %, 5000 MiB, 12288 MiB\n",
    ):
        said = answer(header + first + header + second)

        assert said["verdict"]["headline"].startswith("#1: ")
        assert 23000 * MIB == said["gpus"][0]["readings"]["memory_used_bytes"]


BARE = "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu\n"
HELD, AT_WORK, EMPTY = (f"0, {cells}\n" for cells in (
    "0 %, 42000 MiB, 46068 MiB, 38", "97 %, 31000 MiB, 46068 MiB, 71", "0 %, 3 MiB, 46068 MiB, 36",
))  # fmt: skip


def test_lists_without_host_and_time_are_judged_one_by_one() -> None:
    said = answer(BARE + HELD + BARE + AT_WORK + BARE + EMPTY)

    assert "#1: 41.0 GiB held" in said["verdict"]["headline"]
    assert "the text holds 3 lists without a host's name or a time; this is said of #1" == of_several(said)


@pytest.mark.parametrize("order", [(HELD, AT_WORK), (AT_WORK, HELD), (EMPTY, HELD)])
def test_no_list_hides_what_another_holds(order: tuple[str, str]) -> None:
    assert "memory-held-idle" == answer("".join(BARE + row for row in order))["verdict"]["rule"]


def test_lists_that_move_little_are_samples_of_one_machine() -> None:
    rows = (
        "96 %, 31000 MiB, 46068 MiB, 70",
        "12 %, 31200 MiB, 46068 MiB, 66",
        "98 %, 31200 MiB, 46068 MiB, 71",
    )
    paste = read("".join(f"{BARE}0, {row}\n" for row in rows), now=1.0).paste

    assert (3, None) == (paste.samples, paste.missing)


def test_a_list_that_works_does_not_hide_one_that_stands_still() -> None:
    still, works = "0 %, 42000 MiB, 46068 MiB, 60", "97 %, 42010 MiB, 46068 MiB, 66"
    for order in ((still, works), (works, still)):
        said = answer("".join(f"{BARE}0, {row}\n" for row in order))

        assert "memory-held-idle" == said["verdict"]["rule"]
        assert "2 lists" in str(of_several(said))


def test_lists_below_their_command_are_of_one_machine() -> None:
    paste = read(f"$ watch -n 60 {LIST}\n{BARE}{HELD}{BARE}{EMPTY}", now=1.0).paste

    assert (2, None) == (paste.samples, paste.missing)
