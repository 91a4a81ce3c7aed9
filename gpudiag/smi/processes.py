"""Rows of processes → processes: what several samples, formats and `ps` say of one pid."""

from __future__ import annotations

from statistics import fmean

from gpudiag.model import GpuUse, ProcessReading, Snapshot
from gpudiag.smi.sheet import Row, Sheet
from gpudiag.smi.values import reason_of


def processes_of(bucket: list[Sheet]) -> list[ProcessReading]:
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


def add_listed(snapshot: Snapshot, rows: list[Row]) -> None:
    """Add what `ps` tells of processes, also of those that no GPU tool lists."""
    known = {process.pid: process for process in snapshot.processes}
    for row in rows:
        process = known.get(row.pid)
        if process is None:
            process = ProcessReading(pid=row.pid, name=row.name)
            snapshot.processes.append(process)
        _from_ps(process, row)
        process.command = process.command or row.name
        process.user = process.user or row.user


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
