"""The text ends in the middle, or a part of the output is not in it: the text is short, not the machine."""

from gpudiag.model import Evidence, PasteReading
from gpudiag.rule import TEXT, Fires, measured, rule
from gpudiag.window import Window

MOST_NAMED = 8

# which part is missing → the wording, in the order in which one is chosen
VARIANTS = {
    "joined": "joined",
    "gpus": None,
    "document": "cut-short",
    "row": "cut-short",
    "gpu_part": "fragment",
    "columns": "fragment",
    "gpu_line": "fragment",
    "processes": "process-list",
    "shortened": "cut-short",
    "long": "cut-short",
    "header": "fragment",
    "fewer": "fewer",
    "version": "version",
    "state": "no-state",
    "programs": "programs",
    "accounted": "accounted",
}


@rule(severity="info", rank=TEXT, confidence="proven", maturity="experimental")
def paste_incomplete(node: Window) -> Fires | None:
    """Part of the pasted output is missing."""
    paste = node.latest.paste if node.latest else None
    if paste is None or not paste.missing:
        return None
    if "other_machine" in paste.missing or "other_list" in paste.missing:
        return _of_several(paste)
    variant = next((name for part, name in VARIANTS.items() if part in paste.missing), "cut-short")
    if variant == "programs" and paste.process_list == "none":
        variant = "no-programs"
    return Fires(_numbers(paste), variant=variant, words={"command": _command(paste)})


def _of_several(paste: PasteReading) -> Fires:
    """Which machine is judged, and which of the others look broken."""
    broken = paste.broken_machines or []
    more = len(broken) - MOST_NAMED
    named = ", ".join(broken[:MOST_NAMED] or ["-"]) + (f" (+{more})" if more > 0 else "")
    lists = "other_machine" not in (paste.missing or ())
    variant = "others-broken" if broken else "other-machine"
    return Fires(
        (measured("lists" if lists else "machines", paste.machines or 2, source="pasted text"),),
        variant="lists" if lists else variant,
        words={"command": _command(paste), "machine": paste.machine or "#2", "broken": named},
    )


def _numbers(paste: PasteReading) -> tuple[Evidence, ...]:
    numbers: dict[str, int | None] = {
        "gpus_complete": paste.gpus_whole,
        "gpus_cut": paste.gpus_cut,
        "gpus_attached": paste.gpus_announced,
    }
    return tuple(
        measured(name, value, source="pasted text") for name, value in numbers.items() if value is not None
    )


def _command(paste: PasteReading) -> str:
    """The command that prints the whole of what was pasted in part."""
    for name, command in (
        ("xml", "nvidia-smi -q -x"),
        ("query", "nvidia-smi -q"),
        (
            "csv",
            "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,memory.total --format=csv",
        ),
    ):
        if name in paste.formats and "table" not in paste.formats:
            return command
    return "nvidia-smi"
