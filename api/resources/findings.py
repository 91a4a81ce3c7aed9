"""`/v1/findings`: what opened, changed and ended."""

from __future__ import annotations

from flask import Blueprint, Response, request

from api.parts import parts
from api.resources.asked import json_answer, language, limit

findings = Blueprint("findings", __name__)


@findings.get("/v1/findings")
def feed() -> Response:
    """Changes in order after a cursor. Keep the last `next` you got: it is null when nothing is new."""
    here = parts()
    lang = language(here.settings.serve.lang)
    node = request.args.get("node") or None
    return json_answer(here.answers.feed(request.args.get("after"), limit(), lang, node))


@findings.get("/v1/findings/<finding_id>")
def finding(finding_id: str) -> Response:
    """One finding with its history."""
    here = parts()
    return json_answer(here.answers.finding(finding_id, language(here.settings.serve.lang)))
