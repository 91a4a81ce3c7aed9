"""Request + API → Answer, one file per kind of question. Knows no chat system.

To add a verb: its row in `grammar.VERBS`, a function here, its line in `ANSWERS`, and its help, `h.NAME`, in
words.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import replace

from bot.answer import Answer
from bot.answers import calculator, changes, diagnosis, fleet, guidance, processes
from bot.answers.asking import Asking
from bot.grammar import read
from bot.questions import ApiAway, ApiNonsense, ApiRefused, ApiSlow
from bot.request import Request
from bot.words import say
from gpudiag.errors import GpudiagError

__all__ = ["Asking", "answer", "answer_text", "trouble"]

log = logging.getLogger("gpudiag.bot")

ANSWERS: dict[str, Callable[[Request, Asking], Answer]] = {
    "status": fleet.status,
    "why": diagnosis.why,
    "kv": calculator.kv,
    "top": processes.top,
    "idle": processes.idle,
    "chart": diagnosis.chart,
    "explain": diagnosis.paste,
    "watch": changes.watch,
    "mute": changes.mute,
    "ack": changes.ack,
    "language": changes.language,
    "runbook": guidance.runbook,
    "doctor": guidance.doctor,
    "help": guidance.overview,
}


def answer_text(text: str, asking: Asking) -> Answer:
    """Answer one typed sentence."""
    return answer(read(text), asking)


def answer(request: Request, asking: Asking) -> Answer:
    """The answer to one request. Never raises: whatever goes wrong becomes one clear sentence."""
    asking = replace(asking, lang=request.lang or asking.lang)
    try:
        if request.problem:
            return replace(guidance.problem(request, asking), exit_code=2)
        return ANSWERS[request.verb](request, asking)
    except Exception as error:
        wrong = isinstance(error, ApiRefused) and error.status in WRONG_QUESTIONS
        return replace(trouble(error, request, asking), exit_code=2 if wrong else 3)


def trouble(error: Exception, request: Request, asking: Asking) -> Answer:
    """What a person is told when a question could not be answered; the log keeps the rest."""
    if isinstance(error, ApiRefused):
        return guidance.refused(request, error, asking)
    if key := next((key for kind, key in SENTENCE_OF.items() if isinstance(error, kind)), None):
        return Answer(headline=say(asking.lang, key), lang=asking.lang, state="unknown")
    if isinstance(error, GpudiagError):
        return Answer(headline=error.said(asking.lang), lang=asking.lang, state="unknown")
    reference = uuid.uuid4().hex[:8]
    log.error("answering %r failed (%s)", request.verb, reference, exc_info=error)
    if isinstance(error, (LookupError, TypeError, ValueError, AttributeError)):
        # The API's answer had not the shape of the contract.
        return Answer(headline=say(asking.lang, "e.nonsense"), lang=asking.lang, state="unknown")
    return Answer(headline=say(asking.lang, "e.ours", reference=reference), lang=asking.lang, state="unknown")


WRONG_QUESTIONS = frozenset((400, 404, 409, 413, 415, 422))
"""Statuses with which the API says that it was asked for what is not there, or cannot be."""

SENTENCE_OF = {ApiAway: "e.away", ApiSlow: "e.slow", ApiNonsense: "e.nonsense"}
