"""Several nodes at one moment: the subject of fleet rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudiag.model import Finding
from gpudiag.window import Window


@dataclass(slots=True)
class Fleet:
    """`windows` by node name; `findings` are the open ones by node, normal states left out.

    `now` is the judge's time. `changes` holds (time, node, finding, what) of warnings and worse in the last
    seven days, oldest first; `what` is opened, resolved or gone. Nodes that `catch_up` send what they took
    while they could not reach the server: their newest snapshot is old, and they are not silent.
    """

    windows: Mapping[str, Window]
    now: float
    findings: Mapping[str, list[Finding]] = field(default_factory=dict)
    changes: list[tuple[float, str, Finding, str]] = field(default_factory=list)
    judged_at: float | None = None
    catch_up: frozenset[str] = frozenset()
