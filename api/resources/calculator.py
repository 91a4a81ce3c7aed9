"""`/v1/kv`: the KV cache and memory calculator; and `/kv` as text, for people at a terminal."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from api.parts import parts
from api.problems import BadRequest
from api.resources.asked import body_object, json_answer, language, text_answer
from gpudiag.kv import Answer, KvError
from gpudiag.words import Language
from gpudiag.words.foreign import plain

calculator = Blueprint("calculator", __name__)

NOT_OURS = ("lang", "format")


@calculator.get("/v1/kv")
def ask() -> Response:
    """Calculate for a catalogue name or a Hugging Face id."""
    return _calculated(_query(), None)


@calculator.post("/v1/kv")
def ask_with_config() -> Response:
    """Calculate for the raw config.json under `config`; options may also stand in the address."""
    body, query = body_object(), _query()
    if "config" not in body and "model" not in body and body.keys() & {"architectures", "model_type"}:
        raise KvError("refused-config-bare")
    for name in body.keys() & query.keys() - {*NOT_OURS}:
        raise KvError("refused-both", name=name, one=plain(query[name], 40), other=plain(str(body[name]), 40))
    config = body.pop("config", None)
    return _calculated({**query, **body}, config)


def _query() -> dict[str, str]:
    """The options of the address. Raises KvError for one that is given twice: either may be meant."""
    for name, values in request.args.lists():
        if len(set(values)) > 1:
            raise KvError("refused-both", name=name, one=plain(values[0], 40), other=plain(values[1], 40))
    return request.args.to_dict()


def _calculated(options: dict[str, Any], config: Any) -> Response:
    lang = language(parts().settings.serve.lang)
    as_text = _wants_text()
    answer = _answer(options, config)
    response = text_answer(render_text(answer, lang)) if as_text else json_answer(answer.as_json(lang))
    response.headers["Vary"] = "Accept, Accept-Language"
    return response


def calculator_text() -> Response:
    """`/kv` for who does not read HTML: the same answer in words and a bar."""
    lang = language(parts().settings.serve.lang)
    return text_answer(render_text(_answer(_query(), None), lang))


def prefers_text() -> bool:
    """Whether a page's address is asked a question without naming HTML, as curl does."""
    asks = any(name not in NOT_OURS for name in request.args)
    return request.method == "GET" and asks and "html" not in request.headers.get("Accept", "*/*")


def _answer(options: dict[str, Any], config: Any) -> Answer:
    from api.calculating import question_of
    from gpudiag.kv import calculate

    wanted = {name: value for name, value in options.items() if name not in NOT_OURS}
    return calculate(question_of(wanted, config))


def render_text(answer: Answer, lang: Language) -> str:
    from gpudiag.kv.text import render

    return render(answer, lang)


def _wants_text() -> bool:
    """Whether text is asked for by `?format=text` or by Accept; JSON else, as everywhere below /v1."""
    form = request.args.get("format")
    if form is not None:
        if form not in ("json", "text"):
            raise BadRequest("format", form=plain(form, 20))
        return form == "text"
    return request.accept_mimetypes.best_match(["application/json", "text/plain"]) == "text/plain"
