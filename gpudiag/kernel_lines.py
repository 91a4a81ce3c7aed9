"""Lines of the kernel log → events, wherever the lines come from: /dev/kmsg, dmesg, journal, a pasted chat.

`event_of` reads one line, `events_of` many and puts together what belongs together, `Grouping` does the same
as they arrive. Prefixes of syslog and dmesg, colours and quotes are tolerated; a line that says nothing of a
GPU, of the memory killer or of a PCIe error is no event. Pure: no I/O, no clock.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable
from typing import NamedTuple

from gpudiag.model import KernelEvent

TOGETHER_SECONDS = 300.0  # the same complaint of the same device within this is one event
LONGEST_LINE = 4096
MOST_KINDS = 500
MOST_OF_A_KIND = 20

RECOVERY_ACTIONS = (
    "none",
    "gpu_reset",
    "node_reboot",
    "drain_p2p",
    "drain_and_reset",
    "recover_imex_domain",
    "bus_reset",
    "system_reboot",
)
"""What Xid 154 and NVML field 230 ask for, by number (nvmlDeviceGpuRecoveryAction_t in nvml.h)."""

_HINTS = (
    "NVRM",
    "Xid (",
    "Xid=",
    "fallen off",
    "device inaccessible",
    "illed process",
    "oom",
    "AER",
    "PCIe Bus Error",
    "NVSwitch",
)
"""Of these a line has to hold one before it is looked at closely."""

_BUS = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{1,4}:[0-9a-fA-F]{2}(?:\.[0-9a-fA-F])?"
_XID = re.compile(rf"\bXid \((?:PCI:)?(?P<bus>{_BUS})[^)\n]{{0,40}}\):\s*(?P<number>\d{{1,6}}),(?P<rest>.*)")
_SXID = re.compile(rf"\bSXid \((?:PCI:)?(?P<bus>{_BUS})\):\s*(?P<number>\d{{1,6}}),(?P<rest>.*)")
_FABRIC = re.compile(  # the Fabric Manager's own log
    r"detected NVSwitch (?P<kind>(?:non-)?fatal) error (?P<number>\d{1,6}) "
    rf".{{0,80}}pci bus id (?P<bus>{_BUS})"
)
_PLUGIN = re.compile(r"\bXid=(?P<number>\d{1,6}) on Device=")  # the Kubernetes device plugin's log
_PID = re.compile(r"\bpid=(\d{1,10})(?=\D)")  # digits at the end may be cut
_NAME = re.compile(r"\bname=([^,]{1,100}),")
_CAUSE = re.compile(r"caused by previous Xid (\d{1,6})")
_ACTION = re.compile(r"recovery action changed.{0,60}?to 0x([0-9a-fA-F]{1,4}) \(([^)]{1,60})\)")
_ASKED = re.compile(
    r"recovery action: ?\(?([A-Z][A-Za-z0-9 ]{2,40}?)(?: Required)?\)?\s*$"
)  # as people shorten it
_ANY_BUS = re.compile(rf"\b({_BUS})")
_KILLED = re.compile(r"\b[Kk]illed process (\d{1,10})[ ,]\s*\(?([^),]{0,64})")
_OOM = re.compile(r"oom-kill:.{0,400}?\btask=([^,]{1,64}),pid=(\d{1,10})")
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\n]{0,200}\x07")

_INIT = re.compile(
    r"RmInitAdapter failed|rm_init_adapter failed|GFW_BOOT|GFW boot|Cannot initialize GSP|"
    r"failed to (?:initialize|load) GSP|RmInitAdapter: Cannot|"
    r"requires use of the NVIDIA open kernel modules|is not supported by (?:the|open) |"
    r"supported through the NVIDIA|"
    r"PCI I/O region assigned to your NVIDIA device is invalid|BAR\d .{0,40}(?:is 0M|invalid)|"
    r"NVIDIA probe routine failed|None of the NVIDIA devices were initialized",
)
_POWER_CABLE = re.compile(
    r"necessary power cables? (?:is |are )?(?:not )?connected|[Aa]ux(?:iliary)? power.{0,40}not connected"
)
_GSP = re.compile(
    r"\bGSP\b.{0,120}(?:[Tt]imeout|[Ff]ail|[Ee]rror|[Cc]rash|halt|not respond)|"
    r"[Tt]imeout.{0,80}\bGSP\b|kgsp\w*: .{0,120}fail"
)
_DRIVER = re.compile(
    r"API mismatch|probe routine was not called|No NVIDIA (?:graphics adapter|devices) probed|"
    r"obtained ownership of|GPU is probably locked|"
    r"uncorrectable .{0,40}error",
)


def event_of(line: str, at: float | None = None) -> KernelEvent | None:
    """The event that one line tells of, or None. `at` is Unix seconds where the caller knows them."""
    if not any(hint in line for hint in _HINTS):
        return None
    text = line[:LONGEST_LINE]
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    text = text.strip()
    event = (
        _xid(text)
        or _sxid(text)
        or _fabric(text)
        or _plugin(text)
        or _device(text)
        or _oom_kill(text)
        or _aer(text)
    )
    if event is None:
        return None
    stamp = _stamp(text)
    event.at = stamp.at if at is None else at
    event.clock_seconds = stamp.clock if event.at is None else event.at
    return event


def events_of(lines: Iterable[str]) -> list[KernelEvent]:
    """All events of a log, oldest first, each however often it was printed."""
    grouping = Grouping()
    for line in lines:
        grouping.add(event_of(line))
    return grouping.drain()


class Grouping:
    """Puts events together as they arrive: the same complaint of the same device within minutes is one.

    A flood of one complaint never pushes out another: past `MOST_OF_A_KIND` it only counts up.
    """

    def __init__(self) -> None:
        self.left_out = 0  # events beyond what is kept in one go
        self._events: list[KernelEvent] = []
        self._groups: dict[tuple[object, ...], _Group] = {}

    def add(self, event: KernelEvent | None) -> None:
        """Take in one event; None is nothing."""
        if event is None:
            return
        key = (event.kind, event.number, event.bus_id)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_KINDS:
                self.left_out += 1
                return
            group = self._groups[key] = _Group()
        elif group.takes(event):
            return
        group.begin(event)
        self._events.append(event)

    def drain(self) -> list[KernelEvent]:
        """What has gathered, oldest first; begins anew."""
        events, self._events, self._groups = self._events, [], {}
        return events


class _Group:
    """The latest event of one complaint, and how many there were before it."""

    __slots__ = ("begun", "last", "latest")

    def __init__(self) -> None:
        self.begun = 0
        self.latest: KernelEvent | None = None
        self.last: float | None = None  # by the log's clock

    def begin(self, event: KernelEvent) -> None:
        self.latest, self.last = event, event.clock_seconds
        self.begun += 1

    def takes(self, event: KernelEvent) -> bool:
        """Merge `event` into the latest one if it belongs there."""
        known = self.latest
        if known is None or not (self.begun >= MOST_OF_A_KIND or self._belongs(known, event)):
            return False
        known.count += event.count
        known.last_at = event.at if event.at is not None else known.last_at
        known.pid = known.pid if known.pid is not None else event.pid
        known.process = known.process or event.process
        if known.kind == "aer" and "nvidia" in event.text and "nvidia" not in known.text:
            known.text = event.text  # a bridge reported first: this line says whose device it is
        if event.fatal is not None:
            known.fatal = bool(known.fatal) or event.fatal
        self.last = event.clock_seconds
        return True

    def _belongs(self, known: KernelEvent, event: KernelEvent) -> bool:
        if known.pid is not None and event.pid is not None and known.pid != event.pid:
            return False
        if known.action != event.action or known.caused_by != event.caused_by:
            return False
        before, now = self.last, event.clock_seconds
        return before is None or now is None or abs(now - before) <= TOGETHER_SECONDS


# ------------------------------------------------------------------------------------ kinds of lines


def _xid(text: str) -> KernelEvent | None:
    match = _XID.search(text)
    if match is None:
        return None
    rest = match["rest"]
    cause = _CAUSE.search(rest)
    return KernelEvent(
        kind="xid",
        text=text,
        number=int(match["number"]),
        bus_id=match["bus"],
        pid=_pid(rest),
        process=_name(rest),
        caused_by=int(cause[1]) if cause else None,
        action=_action(rest),
        fatal=_fatal(rest),
    )


def _sxid(text: str) -> KernelEvent | None:
    match = _SXID.search(text)
    if match is None:
        return None
    return KernelEvent(
        kind="sxid", text=text, number=int(match["number"]), bus_id=match["bus"], fatal=_fatal(match["rest"])
    )


def _fabric(text: str) -> KernelEvent | None:
    match = _FABRIC.search(text)
    if match is None:
        return None
    number, fatal = int(match["number"]), match["kind"] == "fatal"
    return KernelEvent(kind="sxid", text=text, number=number, bus_id=match["bus"], fatal=fatal)


def _plugin(text: str) -> KernelEvent | None:
    match = _PLUGIN.search(text)
    return None if match is None else KernelEvent(kind="xid", text=text, number=int(match["number"]))


def _device(text: str) -> KernelEvent | None:
    """What the driver says of a device without a number."""
    kind = None
    if "fallen off the bus" in text or ("device inaccessible" in text and "nvidia" in text):
        kind = "fallen_off_bus"
    elif "NVRM" in text or "kgsp" in text:
        kind = next((kind for kind, pattern in _DEVICE if pattern.search(text)), None)
    if kind is None:
        return None
    return KernelEvent(kind=kind, text=text, bus_id=_bus_after(text, "NVRM" if "NVRM" in text else "nvidia"))


_DEVICE = (("init_failed", _INIT), ("power_cable", _POWER_CABLE), ("gsp", _GSP), ("nvrm", _DRIVER))


def _oom_kill(text: str) -> KernelEvent | None:
    task = _OOM.search(text)
    if task is not None:
        return KernelEvent(kind="oom_kill", text=text, pid=int(task[2]), process=task[1])
    killed = _KILLED.search(text)
    if killed is None or "emory" not in text:
        return None
    return KernelEvent(kind="oom_kill", text=text, pid=int(killed[1]), process=killed[2].strip() or None)


def _aer(text: str) -> KernelEvent | None:
    """A PCIe error report: corrected (`fatal` is None), non-fatal (False) or fatal (True)."""
    if "PCIe Bus Error" not in text and "AER:" not in text:
        return None
    lowered = text.lower()
    if "error" not in lowered:
        return None
    corrected = "corrected" in lowered.replace("uncorrected", "")
    buses = _ANY_BUS.findall(text)
    return KernelEvent(
        kind="aer",
        text=text,
        bus_id=next((bus for bus in reversed(buses) if bus.count(":") == 2), None),
        fatal=None if corrected else _fatal(text),
    )


# --------------------------------------------------------------------------------------- their parts


def _pid(rest: str) -> int | None:
    match = _PID.search(rest)
    return int(match[1]) if match else None


def _name(rest: str) -> str | None:
    match = _NAME.search(rest)
    name = match[1].strip().strip("'\"") if match else ""
    return None if not name or "unknown" in name.lower() else name


def _action(rest: str) -> str | None:
    match = _ACTION.search(rest)
    if match is None:
        asked = _ASKED.search(rest)
        return asked[1].lower().replace(" ", "_") if asked else None
    number = int(match[1], 16)
    return RECOVERY_ACTIONS[number] if number < len(RECOVERY_ACTIONS) else match[2].strip()


def _fatal(rest: str) -> bool | None:
    """Whether the line itself calls the fault fatal; None where it does not say."""
    lowered = rest.lower()
    if "non-fatal" in lowered or "nonfatal" in lowered:
        return False
    return True if "fatal" in lowered else None


def _bus_after(text: str, word: str) -> str | None:
    """The PCI address of the message; addresses of the prefix (times look alike) do not count."""
    match = _ANY_BUS.search(text, max(0, text.find(word)))
    return match[1] if match and match[1].count(":") == 2 else None


class _Stamp(NamedTuple):
    at: float | None = None  # Unix seconds, only where the line leaves no doubt
    clock: float | None = None  # the log's own clock, good for distances


_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?\s?(?:(Z)|([+-])(\d\d):?(\d\d))?"
)
_UPTIME = re.compile(r"\[\s*(\d{1,10}\.\d{1,9})\]")
_DATE = re.compile(
    r"\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+(\d{1,2})\s+(\d\d):(\d\d):(\d\d)(?:\s+(\d{4}))?"
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]


def _stamp(text: str) -> _Stamp:
    """When a line was written. Only a date with its time zone is a moment; the rest tells distances."""
    head = text[:100]
    iso = _ISO.search(head)
    if iso is not None:
        year, month, day, hour, minute, second = (int(part) for part in iso.groups()[:6])
        seconds = calendar.timegm((year, month, day, hour, minute, second)) + float(f"0.{iso[7] or 0}")
        if iso[8]:
            return _Stamp(at=seconds)
        if iso[9]:
            shift = 60 * int(iso[11]) + 3600 * int(iso[10])
            return _Stamp(at=seconds - shift if iso[9] == "+" else seconds + shift)
        return _Stamp(clock=seconds)
    uptime = _UPTIME.search(head)
    if uptime is not None:
        return _Stamp(clock=float(uptime[1]))
    date = _DATE.search(head)
    if date is not None:
        month = _MONTHS.index(date[1]) + 1
        day, hour, minute, second = (int(date[i]) for i in range(2, 6))
        return _Stamp(clock=float(calendar.timegm((int(date[6] or 2000), month, day, hour, minute, second))))
    return _Stamp()
