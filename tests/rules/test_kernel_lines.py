"""Lines of the kernel log, as people have them, and the events they tell of."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.kernel_lines import Grouping, event_of, events_of
from gpudiag.model import KernelEvent

XID_79 = "NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def the(line: str) -> KernelEvent:
    event = event_of(line)
    assert event is not None, line
    return event


@pytest.mark.parametrize(
    "dress",
    [
        "{}",
        "[6781741.548779] {}",
        "[Fri Mar  3 04:44:24 2023] {}",
        "2024-11-15T12:02:03,470068+00:00 {}",
        "kern  :warn  : 2025-01-21T02:21:33,498559+00:00 {}",
        "Jan  5 10:00:02 gpunode kernel: [6781741.548779] {}",
        "\x1b[32m[ 1741.548779] \x1b[0m\x1b[33mNVRM: \x1b[0m{}",
        "> {}",
        "4,1234,5678901,-;{}",
    ],
)
def test_an_xid_is_read_in_every_dress(dress: str) -> None:
    event = the(dress.format(XID_79))

    assert (event.kind, event.number, event.bus_id) == ("xid", 79, "0000:91:00")
    assert event.pid is None and event.process is None


def test_the_old_form_has_no_process() -> None:
    event = the("[24128.834365] NVRM: Xid (PCI:0000:01:00): 31, Ch 00000003, engmask 00000101, intr 10000000")

    assert (event.number, event.pid, event.process) == (31, None, None)


def test_the_oldest_form_has_no_word_pci() -> None:
    assert the("NVRM: Xid (0000:03:00): 8, Channel 00000001").number == 8


def test_the_process_is_named() -> None:
    event = the("NVRM: Xid (PCI:0000:38:00): 43, pid=2815167, name=pt_main_thread, Ch 00000008")

    assert (event.pid, event.process) == (2815167, "pt_main_thread")


def test_an_nvswitch_number_is_no_xid() -> None:
    event = the("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 48 LTSSM Fault Up")

    assert (event.kind, event.number, event.fatal) == ("sxid", 20034, True)


def test_a_non_fatal_nvswitch_error_says_so() -> None:
    event = the("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO")

    assert event.fatal is False


def test_the_cause_inside_a_line_is_not_a_second_xid() -> None:
    event = the(
        "NVRM: Xid (PCI:0000:dc:00): 45, pid=18990, name=python3, Ch 00000001 caused by previous Xid 149"
    )

    assert (event.number, event.caused_by) == (45, 149)


def test_the_recovery_action_is_read_by_its_number() -> None:
    line = "NVRM: Xid (PCI:0009:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 (Drain)"

    assert the(line).action == "drain_and_reset"


def test_a_lost_card_without_a_number() -> None:
    event = the("[6781741.548783] NVRM: GPU 0000:91:00.0: GPU has fallen off the bus.")

    assert (event.kind, event.bus_id) == ("fallen_off_bus", "0000:91:00.0")


@pytest.mark.parametrize(
    "line",
    [
        "Jul 01 22:55:07 gpu kernel: NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)",
        "Jul 01 22:55:07 gpu kernel: NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0",
        "[  903.609564] NVRM: RmInitAdapter: Cannot initialize GSP firmware RM",
        "[ 2052.745833] NVRM: gpuWaitForGfwBootComplete_TU102: failed to wait for GFW_BOOT: (progress 0x3)",
    ],
)
def test_a_card_that_does_not_start(line: str) -> None:
    assert the(line).kind == "init_failed"


def test_a_time_is_not_taken_for_an_address() -> None:
    line = "Jul 01 22:55:07 gpu kernel: NVRM: RmInitAdapter: Cannot initialize GSP firmware RM"

    assert the(line).bus_id is None


@pytest.mark.parametrize("cut", ["NVRM: Xid (PCI:0000:91:00): 7", "nvswitch1: SXid (PCI:0000:06:00.0): 20"])
def test_a_number_at_the_end_of_a_cut_line_is_not_believed(cut: str) -> None:
    assert event_of(cut) is None


def test_a_pid_at_the_end_of_a_cut_line_is_not_believed() -> None:
    assert the("NVRM: Xid (PCI:0000:91:00): 31, pid=12").pid is None


def test_the_device_plugin_names_an_xid() -> None:
    event = the("health.go:159] XidCriticalError: Xid=48 on Device=GPU-1234, the device will go unhealthy.")

    assert ("xid", 48) == (event.kind, event.number)


def test_a_card_that_became_inaccessible_has_left_the_bus() -> None:
    event = the("nvidia 0000:41:00.0: Unable to change power state from D3cold to D0, device inaccessible")

    assert ("fallen_off_bus", "0000:41:00.0") == (event.kind, event.bus_id)


def test_the_memory_killer_names_its_victim() -> None:
    lines = [
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task_memcg=/a,task=python3,pid=4242,uid=1000",
        "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:1kB, anon-rss:1kB",
    ]
    (event,) = events_of(lines)

    assert (event.kind, event.pid, event.process) == ("oom_kill", 4242, "python3")


@pytest.mark.parametrize(
    ("line", "fatal"),
    [
        ("pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0", None),
        ("pcieport 0000:00:01.0: AER: Uncorrected (Non-Fatal) error received: 0000:01:00.0", False),
        ("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received: 0000:01:00.0", True),
    ],
)
def test_a_pcie_error_report_tells_how_bad_it_is(line: str, fatal: bool | None) -> None:
    event = the(line)

    assert ("aer", "0000:01:00.0", fatal) == (event.kind, event.bus_id, event.fatal)


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.144.03",
        "NVRM: GPU at PCI:0000:08:00: GPU-deadbeef",
        "the chat said Xid 79 is bad",
        "room temperature rose",
        "Killed",
        "",
    ],
)
def test_other_lines_are_no_events(line: str) -> None:
    assert event_of(line) is None


def test_many_lines_of_one_fault_are_one_event() -> None:
    line = "[{}.5] NVRM: Xid (PCI:0000:61:00): 119, pid=1365, name=smi, Timeout waiting for RPC from GSP!"
    (event,) = events_of(line.format(100 + 45 * i) for i in range(6))

    assert event.count == 6


def test_the_same_fault_an_hour_later_is_another_event() -> None:
    line = "[{}.5] NVRM: Xid (PCI:0000:61:00): 13, pid='<unknown>', name=<unknown>, Graphics Exception"

    assert len(events_of([line.format(100), line.format(3700)])) == 2


def test_two_cards_are_two_events() -> None:
    assert len(events_of([XID_79, XID_79.replace("91", "92")])) == 2


def test_a_flood_of_one_complaint_leaves_room_for_another() -> None:
    flood = [f"NVRM: Xid (PCI:0000:01:00): 45, pid={pid}, name=python3, Ch 00000001" for pid in range(2000)]
    events = events_of([*flood, XID_79])

    assert events[-1].number == 79
    assert len(events) < 30 and sum(event.count for event in events) == 2001


def test_only_a_date_with_its_zone_is_a_moment() -> None:
    zoned = the(f"2024-11-15T12:02:03,5+02:00 {XID_79}")
    bare = the(f"[Fri Nov 15 12:02:03 2024] {XID_79}")

    assert zoned.at == 1731664923.5
    assert bare.at is None and bare.clock_seconds is not None


@given(st.text(max_size=400))
def test_no_text_breaks_the_reader(text: str) -> None:
    event_of(text)
    event_of("NVRM: Xid (PCI:" + text)
    event_of("NVRM: GSP " + text)


def test_a_hundred_thousand_lines_take_no_time() -> None:
    grouping = Grouping()
    lines = [
        f"[1.5] NVRM: Xid (PCI:0000:{i % 8:02x}:00): 13, pid={i}, name=python3, x" for i in range(100_000)
    ]
    before = time.process_time()
    for line in lines:
        grouping.add(event_of(line))

    assert time.process_time() - before < 5
