"""`/v1/kv`: the KV cache and memory calculator."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from api.problems import Unprocessable
from api.resources.asked import body_object, json_answer

calculator = Blueprint("calculator", __name__)

NOT_OURS = ("lang", "format")


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
    from gpudiag.kv import Question, calculate

    wanted = {name: value for name, value in options.items() if name not in NOT_OURS}
    return json_answer(calculate(Question.from_mapping(wanted, config=config)).as_json())
