"""The same serious Xid came back on the same card after a reboot or a reset."""

from collections.abc import Iterator

from gpudiag.model import KernelEvent
from gpudiag.resets import resets, settled
from gpudiag.rule import DEVICE, Fires, calculated, measured, rule
from gpudiag.rules.faults.episodes import LOG, require_log
from gpudiag.window import Window, bus_key
from gpudiag.xid import SERIOUS, description_of

DAY = 86_400.0


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    confidence="proven",
    latched=True,
    explains=("xid-hardware",),
)
def xid_repeat(node: Window, *, within_days: float = 3.0) -> Iterator[Fires]:
    """A serious Xid was there before the last boot or reset, and it is there again."""
    require_log(node)
    host = node.latest.host if node.latest else None
    if host is None or host.booted_at is None:
        return
    before: dict[tuple[int | None, str], KernelEvent] = {}
    had = resets(node)
    for event in node.events:
        if event.kind != "xid" or event.number not in SERIOUS or not event.bus_id or event.at is None:
            continue
        key = (event.number, bus_key(event.bus_id))
        if event.at < host.booted_at or settled(event, had):
            before[key] = event
            continue
        earlier = before.pop(key, None)
        if earlier is not None and event.at - (earlier.at or 0.0) <= within_days * DAY:
            yield _of(event, earlier)


def _of(event: KernelEvent, earlier: KernelEvent) -> Fires:
    number, bus = event.number or 0, event.bus_id or "?"
    return Fires(
        (
            measured("xid", number, source=LOG),
            measured("kernel_line", event.text, source=LOG),
            measured("first_seen_at", earlier.at, source=LOG),
            calculated("between_seconds", (event.at or 0.0) - (earlier.at or 0.0)),
        ),
        gpu=event.gpu,
        key=f"{bus_key(bus)}/{number}",
        since=event.at,
        words={
            "device": f"GPU {bus}" if event.gpu is None else f"GPU {event.gpu} ({bus})",
            "fault": description_of(number),
        },
    )
