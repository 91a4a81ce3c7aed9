"""The kernel log is read on from where the agent stopped, and a storm of lines stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag.agent.kernel_log import LONGEST_LINE, MOST_EVENTS, KernelLog
from tests.agent.machine import FakeHost

BOOTED = 1_700_000_000.0
XID_79 = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus."


@pytest.fixture
def log(host: FakeHost) -> KernelLog:
    return KernelLog(str(host.kmsg))


def test_an_xid_is_an_event_with_its_time_and_place(host: FakeHost, log: KernelLog) -> None:
    host.logs(XID_79, seconds=500)
    [event] = log.events(BOOTED)
    log.close()

    assert (event.kind, event.number, event.bus_id, event.pid) == ("xid", 79, "0000:3b:00", 1234)
    assert event.at == BOOTED + 500


def test_a_line_is_told_once(host: FakeHost, log: KernelLog) -> None:
    host.logs(XID_79)
    assert len(log.events(BOOTED)) == 1

    host.logs("usb 1-1: new device")
    assert log.events(BOOTED) == []
    log.close()


def test_a_storm_of_one_line_is_one_event_that_counts(host: FakeHost, log: KernelLog) -> None:
    for second in range(2000):
        host.logs("NVRM: Xid (PCI:0000:3b:00): 31, pid=7, name=app, Ch 8", seconds=second / 100)
    [event] = log.events(BOOTED)
    log.close()

    assert event.count == 2000
    assert event.last_at == pytest.approx(BOOTED + 19.99)


def test_a_storm_of_many_lines_is_cut_and_the_rest_counted(host: FakeHost, log: KernelLog) -> None:
    for number in range(300):
        host.logs(f"NVRM: Xid (PCI:0000:3b:00): {1000 + number}, pid=7, name=app")
    events = log.events(BOOTED)
    log.close()

    assert len(events) == MOST_EVENTS
    assert log.lost == 200


def test_a_restarted_agent_goes_on_where_it_stopped(host: FakeHost, tmp_path: Path) -> None:
    bookmark = tmp_path / "bookmark"
    host.logs(XID_79)
    before = KernelLog(str(host.kmsg), bookmark, "boot-1")
    before.events(BOOTED)
    before.close()
    host.logs(
        "NVRM: Xid (PCI:0000:3b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot)"
    )
    after = KernelLog(str(host.kmsg), bookmark, "boot-1")
    events = after.events(BOOTED)
    after.close()

    assert [event.number for event in events] == [154]


def test_after_a_reboot_it_begins_at_the_start(host: FakeHost, tmp_path: Path) -> None:
    bookmark = tmp_path / "bookmark"
    bookmark.write_text("boot-1 4711\n")
    host.logs(XID_79)
    log = KernelLog(str(host.kmsg), bookmark, "boot-2")
    events = log.events(BOOTED)
    log.close()

    assert [event.number for event in events] == [79]


def test_a_log_that_is_not_there_has_a_reason_and_may_come_later(host: FakeHost, tmp_path: Path) -> None:
    place = tmp_path / "later"
    log = KernelLog(str(place))
    assert (log.events(BOOTED), log.reason) == ([], "not_found")

    host.logs(XID_79)
    host.kmsg.rename(place)
    assert len(log.events(BOOTED)) == 1
    log.close()


def test_hostile_text_is_made_harmless(host: FakeHost, log: KernelLog) -> None:
    name = "\x1b]0;gotcha\x07<b>" + "x" * 2000
    host.logs(f"NVRM: Xid (PCI:0000:3b:00): 13, pid=7, name={name}")
    [event] = log.events(BOOTED)
    log.close()

    assert event.text.isprintable()
    assert len(event.text) <= LONGEST_LINE
