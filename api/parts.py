"""What a running application is made of, and where its requests find that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import Flask, current_app

from api.access import Gate
from api.answers import Answers
from api.clockwork import Clockwork
from api.judging.judge import Judge
from api.reports.writer import Writer
from api.store import Store
from gpudiag.settings import Settings

KEY = "gpudiag"  # among Flask's extensions


@dataclass(frozen=True, slots=True)
class Parts:
    """One of each."""

    settings: Settings
    store: Store
    judge: Judge
    writer: Writer
    clockwork: Clockwork
    gate: Gate
    answers: Answers
    started_at: float


def parts() -> Parts:
    """Those of the application that answers the request at hand."""
    return parts_of(current_app)


def parts_of(app: Flask) -> Parts:
    return cast(Parts, app.extensions[KEY])
