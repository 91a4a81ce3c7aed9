"""Sheets of all formats → one series in time order.

Formats of one paste tell of the same machine: the one with the most samples is the series, the others add
what it lacks. Nothing is filled in: a value that no format shows stays unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import Any

from gpudiag.smi.machines import MOST_MACHINES
from gpudiag.smi.sheet import BUCKET_SECONDS, FORMATS, LIST_RANK, Draft, Row, Sheet
from gpudiag.window import bus_key

LOOKED_BACK = 16  # machines that a sample may go on with
MOST_SAMPLES = 2_000  # of formats that are not folded as they are read
IMPOSSIBLE_SHARE = 2.0  # of the power limit (our judgement)
JUMP_SHARE, JUMP_CELSIUS, JUMP_PERCENT = 0.10, 15.0, 50.0  # our judgement
_LOGS = ("csv", "dmon")
_ERROR_COUNTS = (
    "ecc_uncorrected_volatile", "ecc_uncorrected_aggregate", "remapped_rows_uncorrectable",
    "retired_pages_double_bit",
)  # fmt: skip
_MEMORY = ("memory_used_bytes", "memory_total_bytes", "memory_free_bytes")


def runs_of(sheets: list[Sheet]) -> list[dict[str, list[Sheet]]]:
    """The samples of each format, by machine; the one whose samples stand last in the text is the last.

    Machines are told apart by cards of the same number that are others.
    """
    by_format: dict[str, list[Sheet]] = {}
    for sheet in sheets:
        by_format.setdefault(sheet.format, []).append(sheet)
    found = {name: _by_machine(run[-MOST_SAMPLES:]) for name, run in by_format.items()}
    most = max(map(len, found.values()), default=1)
    machines: list[dict[str, list[Sheet]]] = [{} for _ in range(most)]
    for name, runs in found.items():
        for machine, run in zip(machines[most - len(runs) :], runs, strict=True):
            machine[name] = run
    return machines


def series_of(runs: dict[str, list[Sheet]], now: float) -> list[Sheet]:
    """One machine's samples in time order, with what the other formats add to the last one, named and timed.

    `now` stands for the time where no sample has one.
    """
    series, others = _series(runs)
    if not series:
        series = [Sheet("lines")]
    for other in others:
        _join(series[-1], other)
    for sheet in series:
        _without_twins(sheet)
        _without_impossible_memory(sheet)
        _without_impossible_power(sheet)
    _name_alike(series)
    _times(series, now)
    if len(series) == 1:
        series[0].at = series[0].at or now
    return series


def is_bare_list(runs: dict[str, list[Sheet]]) -> bool:
    """Whether a machine is a list alone that names neither its host nor a time nor a card."""
    return runs.keys() == {"csv"} and all(
        sheet.headed and sheet.at is None and all(draft.identity is None for draft in sheet.gpus)
        for sheet in runs["csv"]
    )


def buckets_of(series: list[Sheet]) -> Iterable[list[Sheet]]:
    """Samples that lie close together: each bucket becomes one snapshot."""
    bucket: list[Sheet] = []
    for sheet in series:
        folded = sheet.count > 1 or (bucket and bucket[0].count > 1)
        if bucket and (folded or (sheet.at or 0.0) - (bucket[0].at or 0.0) >= BUCKET_SECONDS - 0.5):
            yield bucket
            bucket = []
        bucket.append(sheet)
    if bucket:
        yield bucket


# ------------------------------------------------------------------------------------- one format


def _series(runs: dict[str, list[Sheet]]) -> tuple[list[Sheet], list[Sheet]]:
    """The samples of the format that has the most, and one sample of each other format."""
    if not runs:
        return [], []
    order = sorted(runs, key=lambda name: (-len(runs[name]), FORMATS.index(name)))
    if len(runs[order[0]]) == 1:
        order.sort(key=FORMATS.index)
    return runs[order[0]], [runs[name][-1] for name in sorted(order[1:], key=FORMATS.index)]


def _by_machine(sheets: list[Sheet]) -> list[list[Sheet]]:
    """Samples in order, a run for each machine; parts of one sample (`-i 0`, `-i 1`) put together.

    A machine that comes again goes on with its run.
    """
    runs: list[list[Sheet]] = []
    for sheet in sheets:
        mine = next(
            (run for run in reversed(runs[-LOOKED_BACK:]) if not _other_machine(run[-1], sheet)), None
        )
        if mine is None:
            runs.append([sheet])
            continue
        runs.remove(mine)
        runs.append(mine)
        before = mine[-1]
        if _strangers(before, sheet):
            _append(before, sheet)
        elif _completes(before, sheet):
            for draft, other in zip(before.gpus, sheet.gpus, strict=True):
                _fill_draft(draft, other)
            _merge_heads(before, sheet)
        else:
            mine.append(sheet)
    return runs[-MOST_MACHINES:]


def _other_machine(one: Sheet, other: Sheet) -> bool:
    """Whether the samples are of two machines: other cards at the same places, or the same well again."""
    if not _strangers(one, other):
        return _is_well_again(one, other) or _other_cards(one, other) or _another_list(one, other)
    if one.format in (
        "query",
        "xml",
    ):  # these number what they print: cards of other addresses are more of them
        return bool(_addresses(one) & _addresses(other))
    return _same_indexes(one, other)


def _completes(one: Sheet, other: Sheet) -> bool:
    """Whether the other shows other values of the same GPUs: one sample, asked for in several commands."""
    if one.format != "csv" or one.at is not None or max(one.count, other.count) > 1 or not one.gpus:
        return False
    if [draft.index for draft in one.gpus] != [draft.index for draft in other.gpus]:
        return False
    return not any(
        (mine.shown & more.shown) - {"name", "uuid", "bus_id"}
        for mine, more in zip(one.gpus, other.gpus, strict=True)
    )


def _strangers(one: Sheet, other: Sheet) -> bool:
    """Whether no GPU of one sample is in the other, by what identifies them."""
    if len(one.gpus) == len(other.gpus) and all(
        a.index == b.index and a.identity == b.identity for a, b in zip(one.gpus, other.gpus, strict=True)
    ):
        return False
    ours = {d.values["uuid"] for d in one.gpus if "uuid" in d.values}
    uuids = {d.values["uuid"] for d in other.gpus if "uuid" in d.values}
    if ours and uuids:
        return not ours & uuids  # the cards of two machines may sit at the same addresses
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


def _is_well_again(one: Sheet, other: Sheet) -> bool:
    """Whether an error count falls or a lost card is back: two machines alike, or one after a reset.

    The text does not tell which; taken for one machine, the fault would be over. A list that runs on through
    a reboot is of one machine.
    """
    if one.format in _LOGS or one.format != other.format:
        return False
    before = {draft.index: draft for draft in one.gpus}
    return any(draft.index in before and _fell(before[draft.index], draft) for draft in other.gpus)


def _other_cards(one: Sheet, other: Sheet) -> bool:
    """Whether a card that nothing but its number identifies has another name or size of memory."""
    before = {draft.index: draft.values for draft in one.gpus if draft.identity is None}
    pairs = [(before[d.index], d.values) for d in other.gpus if d.identity is None and d.index in before]
    return any(
        name in mine and name in theirs and mine[name] != theirs[name]
        for mine, theirs in pairs
        for name in ("name", "memory_total_bytes")
    )


def _another_list(one: Sheet, other: Sheet) -> bool:
    """Whether two lists that name neither host nor time are too far apart to be one machine's samples.

    A loop over hosts prints them, and a loop over time: of one machine, memory and heat move little between.
    Where one list works and the other stands still, the mean of both would hide what stands still.
    """
    if one.format != "csv" or not other.headed or one.at is not None or other.at is not None:
        return False
    before = {draft.index: draft for draft in one.gpus if draft.identity is None}
    pairs = [(before[d.index], d) for d in other.gpus if d.identity is None and d.index in before]
    return any(_fell(mine, more) or _jumped(mine.values, more.values) for mine, more in pairs)


def _jumped(before: dict[str, Any], after: dict[str, Any]) -> bool:
    for name, least in (
        ("memory_used_bytes", JUMP_SHARE * after.get("memory_total_bytes", inf)),
        ("temperature_celsius", JUMP_CELSIUS),
    ):
        if name in before and name in after and abs(after[name] - before[name]) >= least:
            return True
    loads = [values["utilization_percent"] for values in (before, after) if "utilization_percent" in values]
    return len(loads) == 2 and min(loads) == 0.0 and max(loads) >= JUMP_PERCENT


def _fell(before: Draft, after: Draft) -> bool:
    counts = ((before.values.get(name, 0), after.values.get(name)) for name in _ERROR_COUNTS)
    return any(now is not None and now < then for then, now in counts) or bool(before.lost and not after.lost)


def _addresses(sheet: Sheet) -> set[str]:
    return {bus_key(draft.values["bus_id"]) for draft in sheet.gpus if "bus_id" in draft.values}


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
    had_measures = any(draft.measures for draft in sheet.gpus)
    moved = _join_gpus(sheet, other)
    _join_rows(sheet, other, moved)
    if any(draft.measures for draft in other.gpus) or had_measures:
        other.missing -= {"gpu_part"}
        sheet.missing -= {"gpu_part"}
    if sheet.gpus and sheet.driver and "gpus" in other.missing and not other.cut_gpus and not other.gpus:
        other.missing -= {"gpus"}
    announced, cut = sheet.announced, sheet.cut_gpus
    _merge_heads(sheet, other)
    sheet.announced = announced or other.announced
    sheet.cut_gpus = max(0, cut, other.cut_gpus)


def _join_gpus(sheet: Sheet, other: Sheet) -> dict[int | None, int | None]:
    """Add the other format's GPUs; its index of each → the index here."""
    moved: dict[int | None, int | None] = {}
    for draft in other.gpus:
        mine = _counterpart(sheet, draft, other)
        if mine is None:
            index = draft.index
            if index is None or sheet.has(index):
                index = 1 + max((d.index or 0 for d in sheet.gpus), default=-1)
            moved[draft.index] = index
            draft.index = index
            sheet.gpus.append(draft)
        else:
            moved[draft.index] = mine.index
            _fill_draft(mine, draft)
    return moved


def _fill_draft(mine: Draft, other: Draft) -> None:
    for name, value in other.values.items():
        if name not in mine.values and not (mine.lost and name not in ("uuid", "bus_id", "name")):
            mine.give(name, value)
    for name, reason in other.gaps.items():
        if name not in mine.values:
            mine.gaps.setdefault(name, reason)
    mine.mig = mine.mig or other.mig
    mine.cut = mine.cut and other.cut
    mine.lost = mine.lost or other.lost


def _join_rows(sheet: Sheet, other: Sheet, moved: dict[int | None, int | None]) -> None:
    known = {(row.pid, row.gpu): row for row in sheet.rows}
    for row in other.rows:
        row.gpu = moved.get(row.gpu, row.gpu)
        mine = known.get((row.pid, row.gpu))
        if mine is None:
            sheet.rows.append(row)
        else:
            _fill_row(mine, row)


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


def _without_impossible_memory(sheet: Sheet) -> None:
    """More memory used than there is, or none there: which of the numbers is wrong is not known."""
    totals: dict[int | None, int] = {}
    for draft in sheet.gpus:
        total = draft.values.get("memory_total_bytes")
        if total is None:
            continue
        used = draft.samples.get("memory_used_bytes") or [draft.values.get("memory_used_bytes")]
        if total == 0 or any(value is not None and value > total for value in used):
            draft.is_nonsense(*_MEMORY)
            continue
        totals[draft.index] = total
    for row in sheet.rows:
        if row.memory is not None and row.memory > totals.get(row.gpu, row.memory):
            row.memory, row.memory_gap = None, "nonsense"
    for device in (device for draft in sheet.gpus for device in draft.mig):
        if (device.memory_used_bytes or 0) > (device.memory_total_bytes or inf):
            device.memory_used_bytes = device.memory_total_bytes = None


def _without_impossible_power(sheet: Sheet) -> None:
    """More than twice the power that the card may draw: its sensor tells nothing."""
    for draft in sheet.gpus:
        limit = draft.values.get("power_limit_watts")
        drawn = draft.samples.get("power_watts") or [draft.values.get("power_watts")]
        if limit and any(watts is not None and watts > IMPOSSIBLE_SHARE * limit for watts in drawn):
            draft.is_nonsense("power_watts")


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
