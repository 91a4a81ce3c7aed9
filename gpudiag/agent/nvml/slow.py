"""What is asked at snapshots: the rows of `metrics.py`, the extras, the processes.

One call after the other, as generators that stop between them: on a driver that is slow, seconds pass from
the first to the last, and whoever runs them may do something else in between. They raise DeviceFault where
the GPU as a whole does not answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpudiag.agent.nvml.calls import Calls
from gpudiag.agent.nvml.device import Device
from gpudiag.agent.nvml.extras import EXTRAS, RARE_EXTRAS, Extra
from gpudiag.agent.nvml.faults import CAUGHT, DeviceFault
from gpudiag.agent.nvml.metrics import NOT_AVAILABLE, RARE, SLOW, Row
from gpudiag.agent.nvml.processes import ask_processes
from gpudiag.model import Reason

RETRY_SECONDS = 600.0
RARE_SECONDS = 60.0
_ASKED_FOR = tuple(
    field for table in (SLOW, RARE, EXTRAS, RARE_EXTRAS) for row in table for field in row.fields
)


def look(nvml: Calls, device: Device, now: float, time_of_day: float) -> Iterator[None]:
    """Asks what is wanted at every snapshot, and keeps it in the device."""
    if device.retry_at is None:
        device.retry_at = now + RETRY_SECONDS
    if now >= device.retry_at:
        device.retry_at = now + RETRY_SECONDS
        device.asks_again()
    mig_before = device.known.get("mig_mode")
    yield from _rows(nvml, device, SLOW)
    if mig_before is not None and device.known.get("mig_mode") != mig_before:
        device.asks_again()
    yield from _extras(nvml, device, EXTRAS)
    yield from ask_processes(nvml, device, time_of_day)


def look_rarely(nvml: Calls, device: Device, now: float) -> Iterator[None]:
    """Asks what seldom changes, where it is due."""
    if device.rare_at is None or now >= device.rare_at:
        device.rare_at = now + RARE_SECONDS
        yield from _rows(nvml, device, RARE)
        yield from _extras(nvml, device, RARE_EXTRAS)


def what_is_missing(device: Device, now: float) -> dict[str, Reason]:
    """Field → why it is not known."""
    found = {**device.refused, **device.failed}
    if device.error is not None or device.hangs:
        return found
    device.forgets_old(now)
    if device.looked_at is None:
        late = [field for field in _ASKED_FOR if field not in device.known and field not in found]
        found |= dict.fromkeys(late, "timeout")
    if device.uses is None:
        found.setdefault("processes", "timeout")
    return found


def _rows(nvml: Calls, device: Device, rows: Iterable[Row]) -> Iterator[None]:
    """Makes the calls but for those that are spared; those not worth asking next time are, from now on."""
    for row in rows:
        if row in device.spared:
            continue
        device.forgets_failure(row.fields)
        if not _ask_row(nvml, device, row):
            device.spared.add(row)
        yield


def _ask_row(nvml: Calls, device: Device, row: Row) -> bool:
    """Whether the row is worth asking again."""
    try:
        answer = nvml.make(row.call, device.handle, *row.arguments)
    except CAUGHT as error:
        lasts = device.notes(row.fields, error)
        if device.error:
            raise DeviceFault(device.error) from None
        return not lasts
    except AttributeError:  # these bindings are older than the row
        return not device.refuses(row.fields, "function_not_found")
    if answer in NOT_AVAILABLE:
        device.refuses(row.fields, "nonsense")
        return True
    for field, value in zip(row.fields, row.take(answer), strict=True):
        if value in NOT_AVAILABLE:
            device.refuses((field,), "nonsense")
        elif value is not None:
            device.known[field] = value
    return True


def _extras(nvml: Calls, device: Device, extras: Iterable[Extra]) -> Iterator[None]:
    for extra in extras:
        if extra in device.spared:
            continue
        device.forgets_failure(extra.fields)
        try:
            yield from extra.ask(nvml, device) or ()
        except CAUGHT as error:
            if device.notes(extra.fields, error):
                device.spared.add(extra)
            if device.error:
                raise DeviceFault(device.error) from None
        yield
