"""A new uncorrectable memory error: the log or the counter says so."""

from collections.abc import Iterator

from gpudiag.model import Evidence, Severity
from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.rules.faults.episodes import Episode, since, xids
from gpudiag.window import W24H, GpuWindow, NotMeasured, Window
from gpudiag.xid import CONTAINED, MEMORY

DETAILS = frozenset({171, 172})  # they say where a 48 was: in DRAM or in SRAM


@rule(
    severity="critical",
    rank=MEMORY_ERROR,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=("row-remap-pending",),
)
def ecc_uncorrectable_new(node: Window) -> Iterator[Fires]:
    """An uncorrectable memory error happened since the boot (Xid 48, 94, 95, 140, or the counter rose)."""
    missing: NotMeasured | None = None
    by_card: dict[str, list[Episode]] = {}
    try:
        for episode in xids(node, MEMORY):
            by_card.setdefault(episode.bus, []).append(episode)
    except NotMeasured as absent:
        missing = absent.with_traceback(None)
    told = set()
    for bus, found in by_card.items():
        told.add(found[0].gpu)
        yield _of_log(node, bus, found)
    read = False
    for gpu in node.gpus.values():
        counted = _counted(gpu)
        read = read or counted is not None
        if gpu.index in told or not gpu.reading.ecc_uncorrected_volatile:
            continue
        told.add(gpu.index)
        yield _of_counter(gpu, counted) if counted else _from_before(gpu)
    line = _program_line(node)
    if line is not None and not told:
        yield Fires(
            (measured("program_error", line, source="pasted text"),),
            variant="program",
            words={"device": "GPU", "card": "INDEX"},
        )
        return
    if missing is not None and not read:
        raise missing


def _program_line(node: Window) -> str | None:
    """A pasted line in which CUDA tells a program of the error."""
    paste = node.latest.paste if node.latest else None
    if paste is None or "uncorrectable_ecc" not in (paste.errors or ()):
        return None
    return next((line for line in paste.error_lines or () if "correctable" in line.lower()), None)


def _of_log(node: Window, bus: str, found: list[Episode]) -> Fires:
    numbers = {episode.number for episode in found}
    contained = bool(numbers & CONTAINED) and not numbers & {95, 140}
    first = min(found, key=lambda e: (e.number in DETAILS, e.first))
    severity: Severity = "warning" if numbers <= CONTAINED else "critical"
    return Fires(
        (*first.evidence(), *_counter(node, first.gpu)),
        severity=severity,
        variant="contained" if contained else None,
        gpu=first.gpu,
        key=bus,
        since=since(node, first),
        words={**first.words(), "process": next((p for e in found for p in e.processes), "?")},
    )


def _counter(node: Window, index: int | None) -> tuple[Evidence, ...]:
    for gpu in node.gpus.values():
        if gpu.index == index and gpu.reading.ecc_uncorrected_volatile is not None:
            return (measured("ecc_uncorrected_volatile", gpu.reading.ecc_uncorrected_volatile),)
    return ()


def _counted(gpu: GpuWindow) -> float | None:
    """How far the counter rose while we looked; None where it is not read."""
    try:
        return gpu.rise("ecc_uncorrected_volatile", W24H)
    except NotMeasured:
        return None


def _from_before(gpu: GpuWindow) -> Fires:
    """Counted since the driver was loaded; no rise was seen, or one sample shows none: when is not known."""
    pasted = gpu.node.pasted
    return Fires(
        (measured("ecc_uncorrected_volatile", gpu.reading.ecc_uncorrected_volatile),),
        severity="warning" if pasted else "info",
        gpu=gpu.index,
        key="counter",
        variant="one-sample" if pasted else "before",
        words={"device": f"GPU {gpu.index}", "card": str(gpu.index)},
    )


def _of_counter(gpu: GpuWindow, risen: float) -> Fires:
    return Fires(
        (
            measured("new_uncorrectable_errors", int(risen), window=W24H),
            measured("ecc_uncorrected_volatile", gpu.now("ecc_uncorrected_volatile")),
        ),
        gpu=gpu.index,
        key="counter",
        since=gpu.last_rise_at("ecc_uncorrected_volatile"),
        variant="counter",
        words={"device": f"GPU {gpu.index}", "card": str(gpu.index)},
    )
