"""`POST /v1/snapshots`: where agents report."""

from __future__ import annotations

import math
from functools import partial

from flask import Blueprint, Response, g, request

from api.access import Environ, needs
from api.parts import Parts, parts
from api.problems import BadRequest
from api.reports.report import Report
from api.resources.asked import json_answer
from api.store.tokens import Token
from gpudiag.client import SENT_AT

PATH = "/v1/snapshots"
_SENT_AT = "HTTP_" + SENT_AT.upper().replace("-", "_")
REFUSED = "gpudiag.refused"  # in the WSGI environment: why it was not taken in front of Flask

snapshots = Blueprint("snapshots", __name__)


@snapshots.post(PATH)
@needs("agent")
def report() -> Response:
    """Store what is reported; where that was tried already (see api/front.py), say why it was refused."""
    if REFUSED in request.environ:
        raise request.environ.pop(REFUSED)  # nameless: its traceback would hold the name, and so itself
    here = parts()
    arrived = received(here, request.environ, request.get_data(cache=False), g.token)
    return json_answer(here.writer.submit(arrived).answer())


def received(here: Parts, environ: Environ, body: bytes, token: Token | None) -> Report:
    """One snapshot or a list of them, as they came."""
    return Report(
        body,
        environ.get("HTTP_CONTENT_ENCODING"),
        here.answers.now(),
        _sent_at(environ),
        partial(here.gate.may_report, token),
    )


def _sent_at(environ: Environ) -> float | None:
    text = environ.get(_SENT_AT)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e11:
        raise BadRequest("sent-at", header=SENT_AT)
    return value
