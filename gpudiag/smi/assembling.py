"""Samples of all formats → snapshots in time order.

Formats of one paste tell of the same machine: the one with the most samples is the series, the others add
what it lacks. Rows closer than `BUCKET_SECONDS` become one snapshot with its samples, as an agent sends them.
Nothing is filled in: a value that no format shows stays unknown, with the reason as a gap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import fmean

from gpudiag.model import (
    CLOCKS_EVENT,
    Gap,
    GpuReading,
    GpuUse,
    KernelEvent,
    NvmlReading,
    PasteReading,
    ProcessReading,
    Samples,
    Snapshot,
)
from gpudiag.smi.complaints import Complaints
from gpudiag.smi.sheet import BUCKET_SECONDS, LIST_RANK, Draft, Row, Sheet
from gpudiag.smi.values import reason_of
from gpudiag.window import bus_key

NODE = "pasted"
MOST_SAMPLES = 2_000  # of formats that are not folded as they are read
SAME_TIME_SECONDS = 6 * 3600.0
PRIORITY = ("xml", "query", "csv", "table", "dmon", "pmon", "apps", "gpustat", "listing", "topology")
"""Which format is believed first where two show the same value."""

_SAMPLED = (*Samples.__struct_fields__,)
_CUT = ("row", "document", "gpus", "joined")


@dataclass(slots=True)
class Parts:
    """All that was found in a text."""

    sheets: list[Sheet] = field(default_factory=list)
    events: list[KernelEvent] = field(default_factory=list)
    complaints: Complaints = field(default_factory=Complaints)
    hints: list[str] = field(default_factory=list)
    processes: list[Row] = field(default_factory=list)  # of ps
    formats: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)


def snapshots_of(parts: Parts, now: float) -> list[Snapshot]:
    """The snapshots of a paste. `now` stands for the time where the text shows none."""
    series, others = _series(parts)
    if not series:
        series = [Sheet("lines")]
    for other in others:
        _join(series[-1], other)
    for sheet in series:
        _without_twins(sheet)
    _name_alike(series)
    _times(series, now)
    if len(series) == 1:
        series[0].at = series[0].at or now
    snapshots = [_snapshot(bucket) for bucket in _buckets(series)]
    _complete(snapshots[-1], series, parts)
    _put_events(snapshots, parts.events)
    return snapshots


# ------------------------------------------------------------------------------------- series


def _series(parts: Parts) -> tuple[list[Sheet], list[Sheet]]:
    """The samples of the format that has the most, and one sample of each other format."""
    by_format: dict[str, list[Sheet]] = {}
    for sheet in parts.sheets:
        by_format.setdefault(sheet.format, []).append(sheet)
    runs = {name: _one_machine(sheets[-MOST_SAMPLES:], parts) for name, sheets in by_format.items()}
    if not runs:
        return [], []
    order = sorted(runs, key=lambda name: (-len(runs[name]), PRIORITY.index(name)))
    if len(runs[order[0]]) == 1:
        order.sort(key=PRIORITY.index)
    return runs[order[0]], [runs[name][-1] for name in sorted(order[1:], key=PRIORITY.index)]


def _one_machine(sheets: list[Sheet], parts: Parts) -> list[Sheet]:
    """Samples of one machine in order; parts of one sample (`-i 0`, `-i 1`) put together."""
    run: list[Sheet] = []
    for sheet in sheets:
        before = run[-1] if run else None
        if before is None:
            run.append(sheet)
        elif _strangers(before, sheet):
            if sheet.format in ("query", "xml") or not _same_indexes(before, sheet):
                _append(before, sheet)
            else:
                parts.missing.add("other_machine")
                run = [sheet]
        else:
            run.append(sheet)
    return run


def _strangers(one: Sheet, other: Sheet) -> bool:
    """Whether no GPU of one sample is in the other, by what identifies them."""
    if len(one.gpus) == len(other.gpus) and all(
        a.index == b.index and a.identity == b.identity for a, b in zip(one.gpus, other.gpus, strict=True)
    ):
        return False
    mine, theirs = _identities(one), _identities(other)
    if mine and theirs:
        return not mine & theirs
    indexes = {d.index for d in one.gpus} & {d.index for d in other.gpus}
    return bool(one.gpus and other.gpus) and not indexes


def _identities(sheet: Sheet) -> set[str]:
    found = set()
    for draft in sheet.gpus:
        bus = draft.values.get("bus_id")
        uuid = draft.values.get("uuid")
        if bus:
            found.add(bus_key(bus))
        elif uuid:
            found.add(uuid)
    return found


def _same_indexes(one: Sheet, other: Sheet) -> bool:
    return bool({d.index for d in one.gpus} & {d.index for d in other.gpus})


def _append(sheet: Sheet, more: Sheet) -> None:
    """GPUs of the same machine that were printed one by one."""
    first = 1 + max((d.index or 0 for d in sheet.gpus), default=-1)
    taken = {d.index for d in sheet.gpus}
    moved: dict[int | None, int | None] = {}
    for position, draft in enumerate(more.gpus):
        moved[draft.index] = draft.index if draft.index not in taken else first + position
        draft.index = moved[draft.index]
        sheet.gpus.append(draft)
    for row in more.rows:
        row.gpu = moved.get(row.gpu, row.gpu)
        sheet.rows.append(row)
    _merge_heads(sheet, more)


def _merge_heads(sheet: Sheet, more: Sheet) -> None:
    sheet.driver = sheet.driver or more.driver
    sheet.cuda = sheet.cuda or more.cuda
    sheet.announced = sheet.announced or more.announced
    sheet.at = sheet.at if sheet.at is not None else more.at
    sheet.missing |= more.missing
    sheet.cut_gpus += more.cut_gpus
    lists = [name for name in (sheet.process_list, more.process_list) if name]
    sheet.process_list = max(lists, key=LIST_RANK.index) if lists else None


# --------------------------------------------------------------------- other formats of the same paste


def _join(sheet: Sheet, other: Sheet) -> None:
    """Add what another format of the same paste shows; values that are there already stay."""
    moved: dict[int | None, int | None] = {}
    had_measures = any(draft.measures for draft in sheet.gpus)
    for draft in other.gpus:
        mine = _counterpart(sheet, draft, other)
        if mine is None:
            index = draft.index
            if index is None or sheet.has(index):
                index = 1 + max((d.index or 0 for d in sheet.gpus), default=-1)
            moved[draft.index] = index
            draft.index = index
            sheet.gpus.append(draft)
            continue
        moved[draft.index] = mine.index
        for name, value in draft.values.items():
            if name not in mine.values and not (mine.lost and name not in ("uuid", "bus_id", "name")):
                mine.give(name, value)
        for name, reason in draft.gaps.items():
            if name not in mine.values:
                mine.gaps.setdefault(name, reason)
        mine.mig = mine.mig or draft.mig
        mine.cut = mine.cut and draft.cut
        mine.lost = mine.lost or draft.lost
    known = {(row.pid, row.gpu): row for row in sheet.rows}
    for row in other.rows:
        row.gpu = moved.get(row.gpu, row.gpu)
        mine_row = known.get((row.pid, row.gpu))
        if mine_row is None:
            sheet.rows.append(row)
        else:
            _fill_row(mine_row, row)
    if any(draft.measures for draft in other.gpus) or had_measures:
        other.missing -= {"gpu_part"}
        sheet.missing -= {"gpu_part"}
    if sheet.gpus and sheet.driver and "gpus" in other.missing and not other.cut_gpus and not other.gpus:
        other.missing -= {"gpus"}
    announced = sheet.announced
    cut = sheet.cut_gpus
    _merge_heads(sheet, other)
    sheet.announced = announced or other.announced
    sheet.cut_gpus = max(0, max(cut, other.cut_gpus))


def _fill_row(mine: Row, other: Row) -> None:
    mine.name = mine.name if mine.name and "..." not in mine.name else other.name or mine.name
    if mine.memory is None and other.memory is not None:
        mine.memory, mine.memory_gap = other.memory, None
    for name in ("type", "sm", "encoder", "decoder", "user", "parent", "state", "wait"):
        if getattr(mine, name) is None:
            setattr(mine, name, getattr(other, name))


def _counterpart(sheet: Sheet, draft: Draft, other: Sheet) -> Draft | None:
    bus, uuid = draft.values.get("bus_id"), draft.values.get("uuid")
    for mine in sheet.gpus:
        mine_bus = mine.values.get("bus_id")
        if bus and mine_bus and bus_key(bus) == bus_key(mine_bus):
            return mine
        if uuid and mine.values.get("uuid") == uuid:
            return mine
    if bus and any(mine.values.get("bus_id") for mine in sheet.gpus):
        return None
    return next((mine for mine in sheet.gpus if mine.index == draft.index), None)


# ---------------------------------------------------------------------------------- names and times


def _without_twins(sheet: Sheet) -> None:
    """An identity that two GPUs share was made up or blanked out: it identifies nothing."""
    if len(sheet.gpus) < 2:
        return
    for name in ("uuid", "bus_id"):
        counted = Counter(d.values[name] for d in sheet.gpus if name in d.values)
        for draft in sheet.gpus:
            if counted.get(draft.values.get(name), 0) > 1:
                del draft.values[name]


def _name_alike(series: list[Sheet]) -> None:
    """A GPU carries its identity in every sample, also where only one of them shows it."""
    if len(series) < 2:
        return
    known: dict[int | None, dict[str, str]] = {}
    for sheet in series:
        for draft in sheet.gpus:
            names = known.setdefault(draft.index, {})
            for name in ("uuid", "bus_id", "name"):
                if name in draft.values:
                    names.setdefault(name, draft.values[name])
    for sheet in series:
        for draft in sheet.gpus:
            for name, value in known[draft.index].items():
                draft.values.setdefault(name, value)


def _times(series: list[Sheet], now: float) -> None:
    """A time for every sample: as printed, else a second after the one before."""
    known = [sheet.at for sheet in series if sheet.at is not None]
    if not known:
        at = now
        for sheet in reversed(series):
            sheet.at = at
            at -= sheet.count
        return
    before: float | None = None
    for sheet in series:
        if sheet.at is None:
            sheet.at = known[0] if before is None else before + sheet.count
        elif before is not None and sheet.at < before:
            sheet.at = before
        before = sheet.at


def _buckets(series: list[Sheet]) -> Iterable[list[Sheet]]:
    bucket: list[Sheet] = []
    for sheet in series:
        folded = sheet.count > 1 or (bucket and bucket[0].count > 1)
        if bucket and (folded or (sheet.at or 0.0) - (bucket[0].at or 0.0) >= BUCKET_SECONDS - 0.5):
            yield bucket
            bucket = []
        bucket.append(sheet)
    if bucket:
        yield bucket


# --------------------------------------------------------------------------------------- snapshots


def _snapshot(bucket: list[Sheet]) -> Snapshot:
    """One snapshot of samples that lie close together: the last one's values, all of them as samples."""
    last = bucket[-1]
    gpus = [_reading(draft) for draft in last.gpus]
    if len(bucket) > 1 and all(sheet.count == 1 for sheet in bucket):
        _add_samples(gpus, bucket)
    elif last.count > 1:
        for reading, draft in zip(gpus, last.gpus, strict=True):
            reading.samples = Samples(**draft.samples)
    snapshot = Snapshot(node=NODE, taken_at=last.at or 0.0, source="pasted", gpus=gpus)
    snapshot.driver_version = next((s.driver for s in reversed(bucket) if s.driver), None)
    snapshot.cuda_version = next((s.cuda for s in reversed(bucket) if s.cuda), None)
    snapshot.processes = _processes(bucket)
    return snapshot


def _reading(draft: Draft) -> GpuReading:
    index = draft.index or 0
    if draft.lost:  # what its cells print is no reading
        kept = {name: draft.values[name] for name in ("uuid", "bus_id", "name") if name in draft.values}
        return GpuReading(index=index, error=draft.lost, **kept)
    return GpuReading(index=index, mig_devices=draft.mig or None, **draft.values)


def _add_samples(gpus: list[GpuReading], bucket: list[Sheet]) -> None:
    for reading in gpus:
        drafts = [next((d for d in sheet.gpus if d.index == reading.index), None) for sheet in bucket]
        samples = Samples()
        for name in _SAMPLED:
            cells = [None if draft is None else draft.values.get(name) for draft in drafts]
            if any(cell is not None for cell in cells):
                setattr(samples, name, cells)
        reading.samples = samples


def _processes(bucket: list[Sheet]) -> list[ProcessReading]:
    """Every process of the samples, once; its values are the latest, its load the mean."""
    merged: dict[tuple[int, int | None, int | None, int | None], list[Row]] = {}
    for sheet in bucket:
        for row in sheet.rows:
            merged.setdefault((row.pid, row.gpu, row.gpu_instance, row.compute_instance), []).append(row)
    found: dict[int, ProcessReading] = {}
    for (pid, gpu, _, _), rows in merged.items():
        row = rows[-1]
        process = found.get(pid)
        if process is None:
            process = found[pid] = ProcessReading(pid=pid, in_nvml=True)
        if reason_of(row.name or "-") and row.name:
            process.hidden = True  # the driver names a pid that nobody can look up
        _call(process, row.name)
        process.user = process.user or row.user
        if gpu is not None:
            use = GpuUse(gpu=gpu, memory_used_bytes=row.memory, type=row.type)
            use.sm_percent = _mean([r.sm for r in rows])
            use.encoder_percent = _most([r.encoder for r in rows])
            use.decoder_percent = _most([r.decoder for r in rows])
            use.mig_device = row.gpu_instance
            process.gpus = [*(process.gpus or []), use]
        _from_ps(process, row)
    return list(found.values())


def _call(process: ProcessReading, shown: str | None) -> None:
    """The name of a process; a whole command line is kept beside it."""
    if shown is None or process.name:
        return
    program, option, _ = shown.partition(" -")
    process.name = program
    if option:
        process.command = shown


def _from_ps(process: ProcessReading, row: Row) -> None:
    process.parent_pid = process.parent_pid if process.parent_pid is not None else row.parent
    process.state = process.state or row.state
    process.wait_channel = process.wait_channel or row.wait


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _most(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return max(known) if known else None


def _complete(snapshot: Snapshot, series: list[Sheet], parts: Parts) -> None:
    """What is said once about the whole text goes with the last snapshot."""
    last = series[-1]
    _add_vanished(snapshot, series)
    _add_processes(snapshot, parts.processes)
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


def _add_processes(snapshot: Snapshot, rows: list[Row]) -> None:
    known = {process.pid: process for process in snapshot.processes}
    for row in rows:
        process = known.get(row.pid)
        if process is None:
            process = ProcessReading(pid=row.pid, name=row.name)
            snapshot.processes.append(process)
        _from_ps(process, row)
        process.command = process.command or row.name
        process.user = process.user or row.user


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
    for bus, reason in complaints.gpus:
        if bus is None:
            continue
        gpu = _gpu_by_bus(snapshot, by_bus, bus)
        gpu.error = gpu.error or reason
    for bus in complaints.corrupted:
        _gpu_by_bus(snapshot, by_bus, bus).inforom_corrupted = True


def _gpu_by_bus(snapshot: Snapshot, by_bus: dict[str, GpuReading], bus: str) -> GpuReading:
    """The GPU at this address; one that only an error line names is added behind the others."""
    gpu = by_bus.get(bus_key(bus))
    if gpu is None:
        index = 1 + max((g.index for g in snapshot.gpus), default=-1)
        gpu = by_bus[bus_key(bus)] = GpuReading(index=index, bus_id=bus)
        snapshot.gpus.append(gpu)
    return gpu


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
    if snapshot.processes and snapshot.gpus and last.rows and not measured and last.format != "lines":
        missing.add("gpu_part")
    return PasteReading(
        formats=parts.formats,
        samples=sum(sheet.count for sheet in series),
        gpus_announced=last.announced,
        gpus_whole=whole,
        gpus_cut=cut,
        process_list=last.process_list or "absent",
        loose_utilization_percent=last.loose or None,
        missing=sorted(missing) or None,
        errors=parts.complaints.kinds or None,
        error_lines=parts.complaints.lines or None,
        hints=parts.hints or None,
    )


def _put_events(snapshots: list[Snapshot], events: list[KernelEvent]) -> None:
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
