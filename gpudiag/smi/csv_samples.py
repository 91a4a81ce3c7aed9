"""Rows of CSV → samples and buckets: which rows show one moment, and which moments lie together."""

from __future__ import annotations

import itertools

from gpudiag.smi import values as v
from gpudiag.smi.sheet import BUCKET_SECONDS

IDENTITY = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id")
"""Columns that tell one GPU from another."""

STAYING = ("name", "gpu_name", "memory.total")
"""Columns that stay as they are while the GPU is the same."""

RECENT_SECONDS = 900.0
MOST_GPUS = 16


def times_of(columns: list[str], rows: list[list[str]]) -> list[float | None]:
    """The time of each row, where the columns have one."""
    if "timestamp" not in columns:
        return [None] * len(rows)
    at = columns.index("timestamp")
    minutes: dict[str, float | None] = {}
    times = []
    for cells in rows:
        text = cells[at]
        minute = text[:17]  # `2026/06/24 10:17:`, the same for many rows
        if minute not in minutes:
            minutes[minute] = v.moment(minute + "00")
        whole, seconds = minutes[minute], text[17:]
        if whole is None or len(seconds) < 2 or not seconds.replace(".", "", 1).isdigit():
            times.append(v.moment(text))
        else:
            times.append(whole + float(seconds))
    return times


def samples_of(columns: list[str], rows: list[list[str]], times: list[float | None]) -> list[list[int]]:
    """Row numbers, grouped by sample: a new one begins where a GPU comes again.

    Without a column that names the GPU, rows of one moment are the GPUs of one sample; without a time too,
    all rows are GPUs, unless there are more than a machine holds.
    """
    key = next((columns.index(name) for name in IDENTITY if name in columns), None)
    if key is None:
        return _samples_by_time(columns, rows, times)
    groups: list[list[int]] = []
    seen: set[str] = set()
    for number, cells in enumerate(rows):
        if cells[key] in seen or not groups:
            groups.append([])
            seen = set()
        seen.add(cells[key])
        groups[-1].append(number)
    return groups


def buckets_of(
    groups: list[list[int]], rows: list[list[str]], times: list[float | None], columns: list[str]
) -> list[list[list[int]]]:
    """Samples of the same GPUs that lie within ten seconds; without times, ten samples.

    What is long past is only asked about by the minute, so there a bucket is a minute.
    """
    keys = [columns.index(name) for name in IDENTITY if name in columns][:1]
    keys += [columns.index(name) for name in STAYING if name in columns]
    found: list[list[list[int]]] = []
    moments = [
        float(number) if times[group[0]] is None else times[group[0]] or 0.0
        for number, group in enumerate(groups)
    ]
    recent = moments[-1] - RECENT_SECONDS
    start, alike = 0.0, None
    for moment, group in zip(moments, groups, strict=True):
        these = [rows[row][key] for key in keys for row in group] or len(group)
        span = BUCKET_SECONDS if moment >= recent else 60.0
        if not found or these != alike or not 0 <= moment - start < span - 0.5:
            found.append([])
            start, alike = moment, these
        found[-1].append(group)
    return found


def _samples_by_time(columns: list[str], rows: list[list[str]], times: list[float | None]) -> list[list[int]]:
    if all(time is None for time in times):
        if len(rows) > MOST_GPUS:
            return [[number] for number in range(len(rows))]
        return [list(range(len(rows)))]
    known = [time or 0.0 for time in times]
    gaps = sorted(later - earlier for earlier, later in itertools.pairwise(known))
    if not gaps or gaps[-1] < 0.05:
        return [list(range(len(rows)))]
    limit = gaps[-1] / 10
    groups = [[0]]
    for number in range(1, len(rows)):
        if known[number] - known[number - 1] < limit:
            groups[-1].append(number)
        else:
            groups.append([number])
    sizes = {len(group) for group in groups[:-1]} or {len(groups[0])}
    return groups if len(sizes) == 1 else [[number] for number in range(len(rows))]
