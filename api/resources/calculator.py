"""`/v1/kv`: the KV cache and memory calculator."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from api.app import parts
from api.problems import BadRequest, Unprocessable
from api.resources.asked import body_object, json_answer, language, text_answer
from gpudiag.words.foreign import plain

calculator = Blueprint("calculator", __name__)

NOT_OURS = ("lang", "format")
TERMINALS = ("curl/", "Wget/", "HTTPie/")


@calculator.get("/v1/kv")
def ask() -> Response:
    """Calculate for a catalogue name or a Hugging Face id."""
    return _calculated(request.args.to_dict(), None)


@calculator.post("/v1/kv")
def ask_with_config() -> Response:
    """Calculate for the raw config.json under `config`."""
    body = body_object()
    config = body.pop("config", None)
    if config is not None and not isinstance(config, dict):
        raise Unprocessable("config wants a JSON object, the content of a config.json")
    return _calculated(body, config)


def _calculated(options: dict[str, Any], config: dict[str, Any] | None) -> Response:
    from api.calculating import question_of
    from gpudiag.kv import calculate

    lang = language(parts().settings.serve.lang)
    as_text = _wants_text()
    wanted = {name: value for name, value in options.items() if name not in NOT_OURS}
    answer = calculate(question_of(wanted, config))
    if as_text:
        from gpudiag.kv.words import render

        response = text_answer(render(answer, lang))
    else:
        response = json_answer(answer.as_json(lang))
    response.headers["Vary"] = "Accept, Accept-Language, User-Agent"
    return response


def _wants_text() -> bool:
    """Whether text is asked for: by `?format=text`, by Accept, or by a terminal that accepts anything.

    Programs that accept anything get JSON, as everywhere below /v1.
    """
    form = request.args.get("format")
    if form is not None:
        if form not in ("json", "text"):
            raise BadRequest(f"format={plain(form, 20)!r} is not known; there are: json, text")
        return form == "text"
    accepted = request.headers.get("Accept", "*/*").strip()
    if accepted == "*/*":
        return request.method == "GET" and request.headers.get("User-Agent", "").startswith(TERMINALS)
    return request.accept_mimetypes.best_match(["application/json", "text/plain"]) == "text/plain"
