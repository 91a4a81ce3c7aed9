"""The driver asks for a recovery action: a reset, a reboot, or less."""

from collections.abc import Iterator
from typing import Any

from gpudiag.kernel_lines import RECOVERY_ACTIONS
from gpudiag.model import Evidence
from gpudiag.rule import DEVICE, Fires, measured, rule
from gpudiag.rules.faults.episodes import LOG, Episode, episodes, require_log, since, words_of_line
from gpudiag.window import GpuWindow, NotMeasured, Window
from gpudiag.xid import ACTION

VARIANTS = {
    "gpu_reset": None,
    "drain_and_reset": None,
    "bus_reset": None,
    "node_reboot": "reboot",
    "system_reboot": "reboot",
    "drain_p2p": "drain-p2p",
    "recover_imex_domain": "imex",
}


@rule(
    severity="critical",
    rank=DEVICE,
    given=("fault",),
    confidence="proven",
    explains=("gpu-free", "healthy-busy", "kv-pool-reserved-idle", "memory-held-idle", "weights-loaded-idle"),
)
def gpu_needs_reset(node: Window) -> Iterator[Fires]:
    """The driver names a recovery action for this GPU, and it is not none."""
    settled: set[int] = set()
    for gpu in node.gpus.values():
        action = _asked(gpu)
        if action is None:
            continue
        settled.add(gpu.index)
        if action != "none":
            yield _of(gpu, action)
    told = list(_told(node))
    for episode in told:
        if episode.gpu is None or episode.gpu not in settled:
            evidence = (measured("recovery_action_name", episode.action, source=LOG), *episode.evidence())
            yield _fires(evidence, episode.action or "", episode.gpu, episode.bus, episode.words(),
                         since(node, episode))  # fmt: skip
    line = _tool_line(node)
    if line is not None and not settled and not told:
        evidence = (
            measured("recovery_action_name", "gpu_reset", source="pasted text"),
            measured("tool_error", line, source="pasted text"),
        )
        yield _fires(evidence, "gpu_reset", None, "", words_of_line(line), None)
    elif not told and not settled:
        _require(node)


def _tool_line(node: Window) -> str | None:
    """A pasted line in which a tool says that a GPU requires a reset."""
    paste = node.latest.paste if node.latest else None
    lines = (paste.error_lines or []) if paste else []
    return next((line for line in lines if "requires reset" in line or "RESET_REQUIRED" in line), None)


def _asked(gpu: GpuWindow) -> str | None:
    """The action that NVML names now; None where it does not tell."""
    if gpu.reading.error == "reset_required" or gpu.node.gap(f"gpu:{gpu.index}", "*") == "reset_required":
        return "gpu_reset"
    number = gpu.reading.recovery_action
    if number is None:
        return None
    return RECOVERY_ACTIONS[number] if 0 <= number < len(RECOVERY_ACTIONS) else str(number)


def _told(node: Window) -> Iterator[Episode]:
    """The latest word of the log on each card, where it asks for something."""
    latest: dict[str, Episode] = {}
    for episode in episodes(node):
        if episode.number in ACTION and episode.action is not None:
            latest[episode.bus] = episode
    return (episode for episode in latest.values() if episode.action != "none")


def _require(node: Window) -> None:
    """Neither NVML nor the log says anything: then nothing is known."""
    if node.gpus and any(gpu.reading.recovery_action is not None for gpu in node.gpus.values()):
        return
    try:
        require_log(node)
    except NotMeasured as absent:
        raise NotMeasured("recovery_action", *absent.missing, reason=absent.reason) from None


def _of(gpu: GpuWindow, action: str) -> Fires:
    bus = gpu.reading.bus_id or "?"
    words = {"device": f"GPU {gpu.index}", "bus": bus, "card": str(gpu.index)}
    return _fires((measured("recovery_action_name", action),), action, gpu.index, "", words, None)


def _fires(
    evidence: tuple[Evidence, ...],
    action: str,
    gpu: int | None,
    key: str,
    words: dict[str, Any],
    began: float | None,
) -> Fires:
    variant = VARIANTS.get(action, "other")
    return Fires(evidence, variant=variant, gpu=gpu, key=key, words=words, since=began)
