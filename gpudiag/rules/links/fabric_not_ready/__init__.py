"""The NVSwitch fabric is not up: CUDA cannot start."""

from gpudiag.rule import MEMORY_ERROR, Fires, measured, rule
from gpudiag.window import NotMeasured, Window

WAITING = frozenset({"not_started", "in_progress"})
MANAGER = "nvidia-fabricmanager"
BOOT_GRACE = 600.0


@rule(
    severity="critical",
    rank=MEMORY_ERROR,
    confidence="proven",
    given=("linked",),
    explains=("nvlink-down", "nvlink-errors", "fabric-degraded"),
)
def fabric_not_ready(node: Window) -> Fires | None:
    """The fabric is not initialised, or failed to be, or its manager does not run."""
    host = node.latest.host if node.latest else None
    states = {
        g.index: g.reading.fabric_state for g in node.gpus.values() if g.present and g.reading.fabric_state
    }
    waiting = [index for index, state in states.items() if state in WAITING]
    failed = [
        g.index
        for g in node.gpus.values()
        if g.reading.fabric_state == "completed" and g.reading.fabric_status not in (None, "success")
    ]
    manager = (host.services or {}).get(MANAGER) if host else None
    stopped = bool(host and host.nvswitches and manager not in (None, "active", "activating"))
    if not waiting and not failed and not stopped:
        line = _program_line(node)
        if line is not None:
            said = measured("program_error", line, source="pasted text")
            return Fires((said,), confidence="likely", variant="program")
        if not states and host is not None and host.nvswitches and manager is None:
            raise NotMeasured("fabric_state")
        return None
    starting = bool(host and host.booted_at and node.time - host.booted_at < BOOT_GRACE)
    blamed = waiting or failed
    evidence = [measured("fabric_gpus", len(blamed), of=len(node.gpus))]
    if blamed:
        reading = next(g.reading for g in node.gpus.values() if g.index == blamed[0])
        evidence.append(measured("fabric_state", reading.fabric_state or "?"))
        evidence.append(measured("fabric_status", reading.fabric_status or "?"))
    if manager is not None:
        evidence.append(measured("fabric_manager", manager, source="systemd"))
    return Fires(
        tuple(evidence),
        severity="info" if starting else "critical",
        confidence="possible" if starting else None if not node.pasted else "likely",
        variant="manager" if not blamed else "starting" if starting else None,
    )


def _program_line(node: Window) -> str | None:
    """A pasted line in which CUDA tells a program that the system is not initialised."""
    paste = node.latest.paste if node.latest else None
    if paste is None or "system_not_ready" not in (paste.errors or ()):
        return None
    marks = ("802", "initialized", "not_ready", "notready")
    return next((line for line in paste.error_lines or () if any(m in line.lower() for m in marks)), None)
