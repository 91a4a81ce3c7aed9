"""Asking the calculator as its callers do."""

from typing import Any

from gpudiag.kv import Answer, Question, calculate

GIB = 2**30
MIB = 2**20


def ask(config: dict[str, Any] | str, **options: Any) -> Answer:
    """The answer for a config, or for a model of the catalogue by name."""
    if isinstance(config, str):
        return calculate(Question.from_mapping({"model": config, **options}))
    return calculate(Question.from_mapping(options, config=config))
