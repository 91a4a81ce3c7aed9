"""Questions for the calculator as requests ask them.

A model is known by the catalogue, by its config in the request, or by its id on the Hugging Face hub. A
server never opens a path or an address that a request names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudiag.kv import Question
from gpudiag.kv.catalogue import find_model
from gpudiag.kv.errors import UnknownModel


def question_of(options: Mapping[str, Any], config: Any = None) -> Question:
    """The question that options and a raw config ask. Raises KvError or HubError in one sentence."""
    if config is not None:
        return Question.from_mapping(options, config=config)
    question = Question.from_mapping(options)
    if question.config is not None or question.model is None:
        return question
    try:
        find_model(question.model)
    except UnknownModel:
        from gpudiag.hub import is_hub_id, read_in_time

        if not is_hub_id(question.model):
            raise
        found = read_in_time(question.model)
        return Question.from_mapping(options, config=found.config, checkpoint_bytes=found.weights_bytes)
    return question
