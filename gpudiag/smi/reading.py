"""Tell whose each part of a text is, have it read, and put the results together: a reading per machine."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gpudiag.model import PasteReading, ProcessReading, Snapshot
from gpudiag.smi import xml
from gpudiag.smi.assembling import NODE, snapshots_of
from gpudiag.smi.cleaning import cleaned, lines_of, log_lines, text_of
from gpudiag.smi.machines import UNREACHED, Machines, machines_of_log
from gpudiag.smi.parts import Parts
from gpudiag.smi.readers import take_lines
from gpudiag.smi.sheet import Row
from gpudiag.smi.strangers import refusal_of
from gpudiag.window import Window
from gpudiag.workloads import workload_of


@dataclass(frozen=True, slots=True)
class Reading:
    """What a pasted text says: snapshots in time order; several of them are one series."""

    snapshots: list[Snapshot] = field(default_factory=list)

    @property
    def paste(self) -> PasteReading:
        """What the text says about itself."""
        paste = self.snapshots[-1].paste
        assert paste is not None
        return paste


def read(text: str | bytes, now: float | None = None) -> Reading:
    """Read pasted tool output; of several machines the one that is judged where nothing else decides.

    `now` is the time where the text shows none. Raises NothingOfAGpu, TooLarge, NotText or RefusedXml.
    """
    return read_machines(text, now)[0][-1][1]


def read_machines(text: str | bytes, now: float | None = None) -> tuple[list[tuple[str, Reading]], list[str]]:
    """(name, reading) of each machine that the text shows, and the names of those that could not be reached.

    The last is the one that `read` gives. A machine that the text does not name is called by its place, as in
    `#2`, where there are several.
    """
    clean = cleaned(text_of(text))
    moment = time.time() if now is None else now
    found: list[tuple[str, list[Snapshot]]] = []
    silent: list[str] = []
    for name, parts, lines in _parts_by_machine(clean):
        if _of_a_gpu(parts):
            found += [(name, snapshots) for snapshots in snapshots_of(parts, moment)]
        elif name and any(map(UNREACHED.search, lines)):
            silent.append(name)
    if not found:
        raise refusal_of(clean)
    several = len(found) + len(silent) > 1
    if several:
        for _, snapshots in found:
            _says_that_there_are_others(snapshots[-1])
    named = [
        (name or (f"#{place}" if several else ""), Reading(snapshots))
        for place, (name, snapshots) in enumerate(found, 1)
    ]
    return named, silent


def window_of(text: str | bytes, now: float | None = None) -> Window:
    """The window of pasted tool output, ready to be examined."""
    return window_of_reading(read(text, now))


def window_of_reading(reading: Reading) -> Window:
    """The window of what was read of one machine."""
    window = Window(NODE)
    for snapshot in reading.snapshots:
        window.add(snapshot)
    return window


def _says_that_there_are_others(snapshot: Snapshot) -> None:
    paste = snapshot.paste
    if paste is not None and not {"other_machine", "other_list"} & set(paste.missing or ()):
        paste.missing = sorted([*(paste.missing or ()), "other_machine"])


def _parts_by_machine(text: str) -> list[tuple[str, Parts, list[str]]]:
    """(name, what was read, lines) of each machine; last the one that is judged where nothing else decides.

    What no line gives to a machine, XML and log lines of no name, is of that one.
    """
    whole = Parts()
    text = _take_xml(text, whole)
    shown, left_out = lines_of(text)
    whole.missing |= left_out
    logs = machines_of_log(log_lines(text))
    if not shown.several and not logs.several:
        return [("", take_lines(whole, _only(shown), _only(logs)), _only(shown))]
    if not logs.several:
        logs = _logs_below(shown, logs)
    told = shown.told if shown.several else logs.told
    names = dict.fromkeys([*shown.lines, *logs.lines] if shown.several else logs.lines)
    found = []
    for name in [*(name for name in names if name != told), told]:
        parts = whole if name == told else Parts(missing=set(left_out))
        lines = shown.lines.get(name, [])
        if not shown.several and name == told:
            lines = _only(shown)  # whose table stands among the logs of several is not known
        found.append((name, take_lines(parts, lines, logs.lines.get(name, [])), lines))
    return found


def _only(machines: Machines) -> list[str]:
    return next(iter(machines.lines.values()))


def _logs_below(shown: Machines, logs: Machines) -> Machines:
    """The log lines among each machine's own, where none of them is of no machine."""
    parts = {name: log_lines("\n".join(lines)) for name, lines in shown.lines.items()}
    told = sum(map(_of_a_driver, logs.lines[""]))
    if sum(_of_a_driver(line) for lines in parts.values() for line in lines) < told:
        return Machines({shown.told: logs.lines[""]}, shown.told)
    return Machines(parts, shown.told)


def _of_a_driver(line: str) -> bool:
    return "NVRM" in line or "nvidia-nvswitch" in line


def _take_xml(text: str, parts: Parts) -> str:
    """Read the XML documents of a text and take them out of it."""
    if xml.ROOT not in text:
        xml.refuse_declarations(text)
        return text
    xml.refuse_declarations(text)
    documents, rest, too_many = xml.documents(text)
    if too_many:
        parts.missing.add("long")
    parts.sheets += [xml.read(document) for document in documents]
    return rest


def _of_a_gpu(parts: Parts) -> bool:
    if parts.events or parts.complaints.kinds or parts.failures or parts.shortages or parts.failed_tests:
        return True
    if any(sheet.gpus or sheet.rows or sheet.driver or sheet.cut_gpus or sheet.process_list or sheet.missing
           for sheet in parts.sheets):  # fmt: skip
        return True
    return any(_concerns_a_gpu(row) for row in parts.processes)


def _concerns_a_gpu(row: Row) -> bool:
    if "nvidia" in (row.wait or ""):
        return True
    return workload_of(ProcessReading(pid=row.pid, name=row.name)).kind == "engine"
