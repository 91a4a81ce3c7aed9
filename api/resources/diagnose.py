"""`/diagnose`: the same answers for people, as plain text of at most 80 columns."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from api.parts import parts
from api.problems import BadRequest
from api.reports.intake import read, unpacked
from api.resources.asked import json_answer, language, number, text_answer, wants_json
from gpudiag.plaintext import diagnosis_text, fleet_text
from gpudiag.smi import NothingPasted
from gpudiag.words import Language
from gpudiag.words.foreign import plain

diagnose = Blueprint("diagnose", __name__)

OF_THE_FLEET = frozenset({"node", "lang", "format", "color", "colour"})
"""What the fleet may be asked with; a mistyped `node` would else be answered with the fleet."""


@diagnose.get("/diagnose")
def fleet() -> Response:
    """The fleet, or one node by `?node=`."""
    node = request.args.get("node")
    if node:
        return of_node(node)
    unknown = next((name for name in request.args if name not in OF_THE_FLEET), None)
    if unknown is not None:
        raise BadRequest("fleet.option", name=plain(unknown, 40))
    here = parts()
    lang = language(here.settings.serve.lang)
    items = here.answers.fleet(lang)
    together = here.answers.fleet_findings(lang)
    if wants_json():
        answer = {"items": items, "next": None}
        return json_answer({**answer, "findings": together} if together else answer)
    return text_answer(
        fleet_text(
            items,
            lang,
            now=here.answers.now(),
            together=together,
            colour=_colour(),
            site=request.host_url,
        )
    )


@diagnose.get("/diagnose/<node>")
def of_node(node: str) -> Response:
    """One node, or the one where a pod, `job:ID` or `pid:N` runs."""
    here = parts()
    lang = language(here.settings.serve.lang)
    said = here.answers.diagnosis(
        node,
        lang,
        request.args.get("at") or None,
        number("gpu", None, 0, 1_023),
        request.args.get("window") or None,
    )
    if wants_json():
        return json_answer(said)
    return text_answer(_text(said, lang, past=bool(request.args.get("at"))))


@diagnose.get("/diagnose/<namespace>/<pod>")
def of_pod(namespace: str, pod: str) -> Response:
    """The node and GPU where a pod runs; also of `job/ID` and `pid/N`."""
    return of_node(f"{namespace}/{pod}")


@diagnose.post("/diagnose")
def pasted() -> Response:
    """The diagnosis of pasted tool output or of one snapshot as JSON; nothing is stored."""
    here = parts()
    lang = language(here.settings.serve.lang)
    body = unpacked(request.get_data(cache=False), request.headers.get("Content-Encoding"))
    if not body.strip():
        raise NothingPasted
    if _is_snapshot(body):
        said = here.answers.of_snapshot(read(body), lang)
    else:
        said = here.answers.pasted(body, lang)
    if wants_json():
        return json_answer(said)
    return text_answer(_text(said, lang))


def _is_snapshot(body: bytes) -> bool:
    return body[:64].lstrip()[:1] == b"{" and b'"taken_at"' in body


def _text(said: dict[str, Any], lang: Language, past: bool = False) -> str:
    return diagnosis_text(said, lang, colour=_colour(), site=request.host_url, past=past)


def _colour() -> bool:
    return request.args.get("color", request.args.get("colour", "")) in ("1", "true", "always")
