"""Rows of the fast values of one GPU → its sample lists, latest values and rates. Pure."""

from __future__ import annotations

from typing import Any

from gpudiag.agent.nvml.metrics import LIMITS, MEMORY_USED, RX, SAMPLED, SLOTS, TX, UTILIZATION
from gpudiag.model import GpuReading, Samples

HELD_SECONDS = 30.0
_COLUMNS = SLOTS[:7]
_RATES = ("pcie_tx_bytes_per_second", "pcie_rx_bytes_per_second")


def put_samples(
    reading: GpuReading,
    rows: list[tuple[float, list[Any]]],
    missing: dict[str, str],
    *,
    first_is_old: bool,
) -> None:
    """Turns the rows of one GPU into its sample lists and latest values; nonsense becomes a gap.

    `first_is_old`: the first row was in the last harvest already and serves only for rates.
    """
    fresh = [row for _, row in (rows[1:] if first_is_old else rows)]
    samples = Samples()
    columns = list(zip(*fresh, strict=True))
    sampled = columns[SAMPLED]
    reading.utilization_source = "instant"
    if any(value is not None for value in sampled):
        reading.utilization_source = "samples"
        columns[UTILIZATION] = tuple(
            instant if mean is None else mean
            for mean, instant in zip(sampled, columns[UTILIZATION], strict=True)
        )
    for field, column in zip(_COLUMNS, columns, strict=False):
        _put(reading, samples, field, list(column), missing)
    rates = _rates(rows if first_is_old else [rows[0], *rows])
    if rates is not None:
        for field, column_of_rates in zip(_RATES, rates, strict=True):
            _put(reading, samples, field, column_of_rates, missing)
    reading.samples = samples


def put_held(
    reading: GpuReading, rows: list[tuple[float, list[Any]]], missing: dict[str, str], now: float
) -> None:
    """For a GPU that no sweep over a slow driver reached since the last harvest: its last row holds on."""
    at, row = rows[-1] if rows else (now, [])
    values = row if now - at <= HELD_SECONDS else []
    for field, value in zip(_COLUMNS, values, strict=False):
        _put(reading, Samples(), field, [value], missing)
    for field in (*_COLUMNS, *_RATES):
        if getattr(reading, field) is None:
            missing.setdefault(field, "timeout")


def _put(
    reading: GpuReading, samples: Samples, field: str, values: list[Any], missing: dict[str, str]
) -> None:
    limit = LIMITS.get(field)
    if field == SLOTS[MEMORY_USED]:
        limit = reading.memory_total_bytes
    if limit is not None and any(value is not None and value > limit for value in values):
        missing[field] = "nonsense"
        values = [None if value is not None and value > limit else value for value in values]
    if all(value is None for value in values):
        return
    setattr(samples, field, values)
    setattr(reading, field, next((value for value in reversed(values) if value is not None), None))


def _rates(rows: list[tuple[float, list[Any]]]) -> tuple[list[float | None], list[float | None]] | None:
    """Bytes per second from the PCIe byte counters; a counter that wrapped or restarted gives None."""
    if all(row[TX] is None for _, row in rows):
        return None
    tx: list[float | None] = []
    rx: list[float | None] = []
    for (at, row), (before_at, before) in zip(rows[1:], rows, strict=False):
        span = at - before_at
        for out, slot in ((tx, TX), (rx, RX)):
            new, old = row[slot], before[slot]
            usable = new is not None and old is not None and new >= old and span > 0
            out.append(round((new - old) / span, 1) if usable else None)
    return tx, rx
