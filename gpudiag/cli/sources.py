"""Where a diagnosis comes from: the API, or this machine itself without any server."""

from __future__ import annotations

import re
from argparse import Namespace
from datetime import UTC, datetime, timedelta
from typing import Any

from gpudiag.cli import terminal
from gpudiag.words.programs import words
from gpudiag.words.refusals import Refusal

HISTORY_SECONDS = 3600.0
RUNBOOKS = "gpudiag rules "
"""Without a server the runbook is a command: `gpudiag rules RULE` prints the page."""


class BadTarget(Refusal):
    """NODE[:GPU] or a time cannot be read."""


def names_a_node(options: Namespace) -> bool:
    """Whether the API is asked, which takes a node; without one this machine is looked at.

    Raises BadTarget for an empty word, which an unset variable leaves, and for an API without a node: who
    names a server does not mean this machine.
    """
    if options.node is not None and not options.node.strip():
        raise BadTarget("empty-node")
    if options.node is None and options.api is not None:
        raise BadTarget("api-of-no-node", api=options.api)
    return options.node is not None


def target(text: str) -> tuple[str, int | None]:
    """`node-3:2` is GPU 2 of node-3; a pod, `job:ID` or `pid:N` stays as it is written."""
    name, colon, gpu = text.rpartition(":")
    if colon and gpu.isdigit() and name not in ("job", "pid"):
        return name, int(gpu)
    return text, None


def moment(text: str | None) -> str | None:
    """`--at`: ISO 8601, `15:43` (today, UTC), or `10m ago`; ISO 8601 for the API."""
    if text is None:
        return None
    try:
        return _moment(text)
    except (ValueError, OverflowError):  # no date, or one before the year 1
        raise BadTarget("no-such-time", text=text) from None


def _moment(text: str) -> str:
    now = datetime.now(UTC)
    ago = re.fullmatch(r"(\d+)\s*([smhd])(?:\s+ago)?", text.strip())
    if ago:
        unit = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}[ago[2]]
        return (now - timedelta(**{unit: int(ago[1])})).isoformat()
    clock = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?", text.strip())
    if clock:
        at = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=int(clock[3] or 0), microsecond=0)
        return (at if at <= now else at - timedelta(days=1)).isoformat()
    at = datetime.fromisoformat(text.strip())
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).isoformat()


def from_api(options: Namespace, language: str) -> dict[str, Any]:
    """The API's answer for `options.node`."""
    from gpudiag.client import Client

    node, gpu = target(options.node)
    address = terminal.api_address(options.api)
    with Client(address, terminal.token_in(options.token_file), language=language) as client:
        at = moment(getattr(options, "at", None))
        return client.diagnosis(node, gpu=gpu, at=at, lang=language)


def from_here(seconds: float, config: str | None, language: str) -> dict[str, Any]:
    """This machine's diagnosis: the history of an agent that runs here, else a look of `seconds`."""
    import msgspec

    from gpudiag.examine import examine
    from gpudiag.explain import explain

    window, rules = window_here(seconds, config, language)
    diagnosis = explain(examine(window, rules), language, rules, runbooks=RUNBOOKS)  # type: ignore[arg-type]
    found: dict[str, Any] = msgspec.to_builtins(diagnosis)
    return found


def window_here(seconds: float, config: str | None, language: str) -> tuple[Any, Any]:
    """(window, ruleset) of this machine."""
    from gpudiag import agent
    from gpudiag.examine import Ruleset
    from gpudiag.settings import load
    from gpudiag.window import Window

    settings = load(config)
    try:
        snapshots = agent.history(HISTORY_SECONDS)
    except agent.NoAgent:
        snapshots = []
    if not snapshots:
        progress = terminal.Progress(words(language).DOING["looking"], seconds)
        snapshots = agent.watch(seconds, lambda share: progress.tick())
        progress.done()
    window = Window(snapshots[-1].node)
    declared = settings.declared(window.node)
    window.expected_gpus = declared.expected_gpus
    if declared.workloads is not None:
        window.allowed_workloads, window.workloads_declared = declared.workloads, True
    for snapshot in snapshots:
        window.add(snapshot)
    return window, Ruleset(thresholds=settings.rules)
