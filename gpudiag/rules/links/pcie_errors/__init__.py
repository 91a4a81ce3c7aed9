"""Transmission errors on the PCIe link are rising."""

from collections.abc import Iterator

from gpudiag.model import KernelEvent
from gpudiag.rule import INEFFICIENT, Fires, calculated, measured, rule
from gpudiag.window import W30, GpuWindow, NotMeasured, Window, bus_key

REPLAYS_PER_LANE_AND_MINUTE = {1: 0.15, 2: 0.3, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}
BOOT_GRACE = 600.0


@rule(severity="warning", rank=INEFFICIENT, given=("linked",))
def pcie_errors(node: Window, *, min_corrected_reports: int = 10) -> Iterator[Fires]:
    """Replays above what the link's speed allows for, or error reports of the bus."""
    read = False
    told = _reports(node)
    for gpu in node.gpus.values():
        reading = gpu.reading
        if reading.pcie_replay_count is None and reading.pcie_fatal_errors is None:
            continue
        read = True
        if not (reading.pcie_replay_count or reading.pcie_fatal_errors or reading.pcie_nonfatal_errors):
            continue
        fires = _counted(gpu)
        if fires is not None:
            told.pop(gpu.index, None)
            yield fires
    for index, (fatal, corrected, line) in told.items():
        if fatal is None and corrected < min_corrected_reports:
            continue
        yield Fires(
            (measured("report_count", corrected, source="kernel log"),
             measured("kernel_line", line, source="kernel log")),
            severity="critical" if fatal else "warning",
            confidence="proven",
            variant="reports",
            gpu=index,
            words={"bus": _bus(node, index)},
        )  # fmt: skip
    if not read and not told and node.gpus:
        _require(node)


def _require(node: Window) -> None:
    agent = node.latest.agent if node.latest else None
    if agent is None or not agent.kernel_log_readable:
        index = next(iter(node.gpus.values())).index
        raise NotMeasured("pcie_replay_count", reason=node.gap(f"gpu:{index}", "pcie_replay_count"))


def _counted(gpu: GpuWindow) -> Fires | None:
    fatal, nonfatal = _rise(gpu, "pcie_fatal_errors"), _rise(gpu, "pcie_nonfatal_errors")
    if fatal or nonfatal:
        return Fires(
            (measured("pcie_fatal_errors", int(fatal), window=W30),
             measured("pcie_nonfatal_errors", int(nonfatal), window=W30)),
            severity="critical" if fatal else "warning",
            confidence="proven",
            variant="uncorrected",
            gpu=gpu.index,
            words={"bus": gpu.reading.bus_id or "?"},
        )  # fmt: skip
    replays = _rise(gpu, "pcie_replay_count")
    if not replays or _just_booted(gpu):
        return None
    minutes = max(5.0, min(W30, gpu.node.time - gpu.first_seen) / 60)
    generation = gpu.reading.pcie_link_generation_max or gpu.reading.pcie_link_generation
    lanes = gpu.reading.pcie_link_width or 16
    allowed = lanes * REPLAYS_PER_LANE_AND_MINUTE.get(generation or 5, 3.84)
    if replays / minutes <= allowed:
        return None
    return Fires(
        (calculated("replays_per_minute", replays / minutes, of=allowed, window=60 * minutes),),
        gpu=gpu.index,
        words={"bus": gpu.reading.bus_id or "?"},
    )


def _rise(gpu: GpuWindow, name: str) -> float:
    try:
        return gpu.rise(name, W30)
    except NotMeasured:
        return 0.0


def _just_booted(gpu: GpuWindow) -> bool:
    host = gpu.node.latest.host if gpu.node.latest else None
    return bool(host and host.booted_at and gpu.node.time - host.booted_at < BOOT_GRACE)


def _reports(node: Window) -> dict[int | None, tuple[bool | None, int, str]]:
    """Reports of the bus on each GPU: the worst, how many, and a line."""
    found: dict[int | None, tuple[bool | None, int, str]] = {}
    for event in _events(node):
        index = event.gpu if event.gpu is not None else _index(node, event.bus_id)
        if index is None and (node.gpus or "nvidia" not in event.text):
            continue  # another device of the machine
        worst, count, line = found.get(index, (None, 0, event.text))
        worst = event.fatal if worst is None else worst or bool(event.fatal)
        found[index] = (worst, count + event.count, line)
    return found


def _events(node: Window) -> list[KernelEvent]:
    """Reports of the last half hour; pasted ones have no age."""
    if not node.events:
        return []
    return node.recent_events(node.time + 1.0 if node.pasted else W30, "aer")


def _index(node: Window, bus: str | None) -> int | None:
    wanted = bus_key(bus) if bus else None
    return next(
        (g.index for g in node.gpus.values() if g.reading.bus_id and bus_key(g.reading.bus_id) == wanted),
        None,
    )


def _bus(node: Window, index: int | None) -> str:
    return next((g.reading.bus_id or "?" for g in node.gpus.values() if g.index == index), "BUS_ID")
