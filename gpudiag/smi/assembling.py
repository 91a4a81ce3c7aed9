"""A series of samples → snapshots, as an agent sends them: those that lie close together are one.

`series.py` puts the formats of a text together, `processes.py` the rows of processes; `whole.py` adds what is
said once about the whole text.
"""

from __future__ import annotations

from dataclasses import replace

from gpudiag.model import GpuReading, HostReading, Samples, Snapshot
from gpudiag.smi.parts import Parts
from gpudiag.smi.processes import processes_of
from gpudiag.smi.series import buckets_of, is_bare_list, runs_of, series_of
from gpudiag.smi.sheet import Draft, Sheet
from gpudiag.smi.whole import complete, put_events

NODE = "pasted"
_SAMPLED = (*Samples.__struct_fields__,)


def snapshots_of(parts: Parts, now: float) -> list[list[Snapshot]]:
    """The snapshots of each machine of a paste. `now` stands for the time where the text shows none.

    What is said once about the whole text is said of the last machine.
    """
    *others, last = runs_of(parts.sheets)
    if not others:
        return [_snapshots(parts, last, now)]
    lists = all(map(is_bare_list, (*others, last)))
    parts.missing.add("other_list" if lists else "other_machine")
    mine = Parts(formats=parts.formats, missing=parts.missing)
    return [*(_snapshots(replace(mine), runs, now) for runs in others), _snapshots(parts, last, now)]


def _snapshots(parts: Parts, runs: dict[str, list[Sheet]], now: float) -> list[Snapshot]:
    series = series_of(runs, now)
    snapshots = [_snapshot(bucket) for bucket in buckets_of(series)]
    complete(snapshots[-1], series, parts)
    put_events(snapshots, parts.events)
    return snapshots


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
    snapshot.processes = processes_of(bucket)
    if last.shared_memory is not None:
        used, total = last.shared_memory
        snapshot.host = HostReading(memory_total_bytes=total, memory_available_bytes=max(0, total - used))
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
