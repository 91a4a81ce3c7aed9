"""What is said once about the whole text: error lines, gaps, how complete it is, and kernel events.

It goes with the last snapshot. A value that no format shows stays unknown, with the reason as a gap.
"""

from __future__ import annotations

from gpudiag.model import CLOCKS_EVENT, Gap, GpuReading, KernelEvent, NvmlReading, PasteReading, Snapshot
from gpudiag.smi.complaints import Complaints
from gpudiag.smi.parts import Parts
from gpudiag.smi.processes import add_listed
from gpudiag.smi.sheet import FORMATS, Sheet
from gpudiag.window import bus_key

BY_PLACE = ("query", "xml")  # formats that do not print the number of a GPU
OF_PROCESSES = ("lines", "pmon")  # formats that tell of processes and never of the GPUs they are on
SAME_TIME_SECONDS = 6 * 3600.0
_CUT = ("row", "document", "gpus", "joined")


def complete(snapshot: Snapshot, series: list[Sheet], parts: Parts) -> None:
    """What is said once about the whole text goes with the last snapshot."""
    last = series[-1]
    _add_vanished(snapshot, series)
    add_listed(snapshot, parts.processes)
    _add_gpus_of_processes(snapshot)
    _add_complaints(snapshot, parts.complaints)
    snapshot.driver_version = snapshot.driver_version or next((s.driver for s in series if s.driver), None)
    snapshot.gaps = _gaps(snapshot, last)
    snapshot.paste = _paste(snapshot, series, parts)


def _add_vanished(snapshot: Snapshot, series: list[Sheet]) -> None:
    """A GPU of an earlier sample that the last one lost by a cut is still there, and unknown."""
    last = series[-1]
    if len(series) < 2 or not (
        last.missing.intersection(_CUT) or last.cut_gpus or any(d.cut for d in last.gpus)
    ):
        return
    shown = {gpu.index for gpu in snapshot.gpus}
    for draft in series[-2].gpus:
        if draft.index not in shown:
            kept = {name: draft.values[name] for name in ("uuid", "bus_id", "name") if name in draft.values}
            snapshot.gpus.append(GpuReading(index=draft.index or 0, **kept))


def _add_gpus_of_processes(snapshot: Snapshot) -> None:
    """A GPU that only its processes name is there; nothing else is known of it."""
    shown = {gpu.index for gpu in snapshot.gpus}
    named = {use.gpu for process in snapshot.processes for use in process.gpus or ()}
    snapshot.gpus += [GpuReading(index=index) for index in sorted(named - shown)]
    snapshot.gpus.sort(key=lambda gpu: gpu.index)


def _add_complaints(snapshot: Snapshot, complaints: Complaints) -> None:
    if complaints.nvml is not None:
        snapshot.nvml = NvmlReading(error=complaints.nvml)
    by_bus = {bus_key(gpu.bus_id): gpu for gpu in snapshot.gpus if gpu.bus_id}
    named = [bus for bus, _ in complaints.gpus if bus] + complaints.corrupted
    alone = {bus_key(each): each for each in reversed(named) if bus_key(each) not in by_bus}
    buses = list(reversed(alone.values()))  # as they are written first, in the order of the lines
    for address, index in zip(buses, _places(snapshot, complaints, buses), strict=True):
        gpu = by_bus[bus_key(address)] = GpuReading(index=index, bus_id=address)
        snapshot.gpus.append(gpu)
    for bus, reason in complaints.gpus:
        if bus is not None:
            gpu = by_bus[bus_key(bus)]
            gpu.error = gpu.error or reason
    for bus in complaints.corrupted:
        by_bus[bus_key(bus)].inforom_corrupted = True
    snapshot.gpus.sort(key=lambda gpu: gpu.index)


def _places(snapshot: Snapshot, complaints: Complaints, buses: list[str]) -> list[int]:
    """Numbers of GPUs that only error lines name: as they say, or those left out of the list, or the next."""
    shown = {gpu.index for gpu in snapshot.gpus}
    said = [complaints.places.get(bus, -1) for bus in buses]
    if min(said, default=-1) >= 0 and len({*said, *shown}) == len(said) + len(shown):
        return said
    end = 1 + max(shown, default=-1)
    left_out = sorted(set(range(end)) - shown)
    return left_out if len(left_out) == len(buses) else [end + place for place in range(len(buses))]


NOT_SHOWN = (
    "sm_clock_megahertz", "memory_utilization_percent", "temperature_memory_celsius",
    "temperature_margin_celsius",
    "pcie_link_generation", "pcie_link_width", "pcie_replay_count", "row_remap_pending", "recovery_action",
    "clocks_event_reasons", "power_brake", "hw_thermal", "sw_thermal", "hw_slowdown", "sw_power_cap",
    "utilization_percent", "memory_used_bytes", "memory_total_bytes", "power_watts", "power_limit_watts",
    "temperature_celsius", "pstate",
)  # fmt: skip
"""What rules ask for and `nvidia-smi -q` would show: where it is not there, the answer says to paste that."""


def _gaps(snapshot: Snapshot, last: Sheet) -> list[Gap]:
    drafts = {draft.index: draft for draft in last.gpus}
    gaps = []
    for gpu in snapshot.gpus:
        subject = f"gpu:{gpu.index}"
        draft = drafts.get(gpu.index)
        if gpu.error:
            gaps.append(Gap(subject=subject, metric="*", reason=gpu.error))
            continue
        said = draft.gaps if draft is not None else {}
        gaps += [Gap(subject=subject, metric=metric, reason=reason) for metric, reason in said.items()]
        reason = "cut" if draft is not None and draft.cut else "not_shown"
        shown = draft.values if draft is not None else {}
        bits = "clocks_event_reasons" in shown
        for metric in NOT_SHOWN:
            if metric not in shown and metric not in said and not (bits and metric in CLOCKS_EVENT):
                gaps.append(Gap(subject=subject, metric=metric, reason=reason))
    for row in last.rows:
        if row.memory is None and row.memory_gap:
            gaps.append(Gap(subject=f"process:{row.pid}", metric="memory_used_bytes", reason=row.memory_gap))
    return gaps


def _paste(snapshot: Snapshot, series: list[Sheet], parts: Parts) -> PasteReading:
    last = series[-1]
    missing = set(parts.missing)
    for sheet in series:
        missing |= sheet.missing if sheet is last else sheet.missing & {"joined", "shortened"}
    cut = sum(draft.cut for draft in last.gpus) + last.cut_gpus
    known = {draft.index for draft in last.gpus}
    if len(series) > 1:
        cut += sum(gpu.index not in known and gpu.error is None for gpu in snapshot.gpus)
    if cut:
        missing.add("gpus")
    whole = sum(draft.measures and not draft.cut for draft in last.gpus)
    if last.announced is not None and len(last.gpus) + last.cut_gpus < last.announced and last.gpus:
        missing.add("fewer")
    measured = any(draft.measures for draft in last.gpus)
    alone = last.format in OF_PROCESSES  # it shows nothing else, and is whole
    if snapshot.processes and snapshot.gpus and last.rows and not measured and not alone:
        missing.add("gpu_part")
    if not measured and _of_programs_alone(last, parts):
        missing = {*(missing - {"gpu_part"}), "programs"}
    return PasteReading(
        formats=parts.formats,
        samples=sum(sheet.count for sheet in series),
        gpus_announced=last.announced,
        gpus_whole=whole,
        gpus_cut=cut,
        by_place=True if last.format in BY_PLACE and "fewer" in missing and not last.numbered else None,
        process_list=last.process_list or "absent",
        loose_utilization_percent=last.loose or None,
        missing=sorted(missing) or None,
        errors=parts.complaints.kinds or None,
        error_lines=parts.complaints.lines or None,
        hints=parts.hints or None,
        out_of_memory=parts.failures or None,
        cache_shortages=parts.shortages or None,
        failed_tests=parts.failed_tests or None,
    )


def _of_programs_alone(last: Sheet, parts: Parts) -> bool:
    """Whether all that was pasted is what a command prints that lists programs, without their load."""
    lists = [name for name in parts.formats if name in FORMATS]
    at_work = any(row.sm or row.encoder or row.decoder for row in last.rows)
    told = last.process_list == "none" or (bool(last.rows) and not at_work)
    return told and bool(lists) and all(name in ("apps", "pmon") for name in lists)


def put_events(snapshots: list[Snapshot], events: list[KernelEvent]) -> None:
    """Events go with the last snapshot; a log of another time or time zone is moved to it as a whole."""
    if not events:
        return
    last = snapshots[-1]
    known = [event.last_at or event.at for event in events]
    newest = max((at for at in known if at is not None), default=None)
    if newest is not None:
        shift = last.taken_at - newest
        if shift < 0 or shift > SAME_TIME_SECONDS:
            for event in events:
                event.at = None if event.at is None else event.at + shift
                event.last_at = None if event.last_at is None else event.last_at + shift
    last.events = events
