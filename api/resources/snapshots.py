"""`POST /v1/snapshots`: where agents report."""

from __future__ import annotations

import math
from typing import Any

from flask import Blueprint, Response, g, request
from werkzeug.wrappers import Request

from api.access import needs
from api.intake import check_time, snapshots_of, unpacked
from api.parts import Parts, parts
from api.problems import BadRequest
from api.resources.asked import json_answer
from api.store.tokens import Token
from api.writer import Report
from gpudiag.client import SENT_AT

PATH = "/v1/snapshots"
REFUSED = "gpudiag.refused"  # in the WSGI environment: why it was not taken in front of Flask

snapshots = Blueprint("snapshots", __name__)


@snapshots.post(PATH)
@needs("agent")
def report() -> Response:
    """Store what is reported; where that was tried already (see api/front.py), say why it was refused."""
    refused = request.environ.pop(REFUSED, None)
    if refused is not None:
        raise refused
    return json_answer(take(parts(), request, g.token))


def take(here: Parts, request: Request, token: Token | None) -> dict[str, Any]:
    """Store one snapshot or a list of them; the answer means that they survive a crash."""
    received_at = here.answers.now()
    raw = request.get_data(cache=False)
    encoding = request.headers.get("Content-Encoding")
    body = unpacked(raw, encoding)
    arrived = snapshots_of(body)
    sent_at = _sent_at(request)
    several = len(arrived) > 1
    for i, (snapshot, _) in enumerate(arrived):
        here.gate.may_report(token, snapshot.node)
        told = sent_at if sent_at is not None else snapshot.agent.sent_at if snapshot.agent else None
        place = f"snapshots[{i}]" if several else "snapshot"
        check_time(snapshot, told, received_at, here.settings.serve.keep, place)
    if sent_at is None and arrived and arrived[-1].snapshot.agent is not None:
        sent_at = arrived[-1].snapshot.agent.sent_at
    as_it_is = raw if encoding == "zstd" and len(arrived) == 1 and arrived[0].body is body else None
    done = Report(arrived, received_at, sent_at, as_it_is)
    if arrived:
        here.writer.submit(done)
    answer: dict[str, Any] = {"stored": done.stored, "duplicates": done.duplicates, "time": received_at}
    if done.two_agents:
        answer["two_agents"] = done.two_agents
    return answer


def _sent_at(request: Request) -> float | None:
    text = request.headers.get(SENT_AT)
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1e11:
        raise BadRequest("sent-at", header=SENT_AT)
    return value
