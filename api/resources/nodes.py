"""`/v1/nodes`: the fleet, a node's diagnosis and history, and what people decide about a node."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from api.answers import HISTORY_METRICS
from api.judging.nodes import Place, place_of_node
from api.parts import parts
from api.problems import BadRequest
from api.resources.asked import json_answer, language, limit, number, span
from gpudiag.model import SEVERITY_ORDER
from gpudiag.words.foreign import plain

nodes = Blueprint("nodes", __name__)


@nodes.get("/v1/nodes")
def fleet() -> Response:
    """The fleet, worst first; a page ends at `limit` and goes on after its `next`."""
    here = parts()
    severity = request.args.get("severity")
    if severity is not None and severity not in SEVERITY_ORDER:
        raise BadRequest("severity", severity=plain(severity, 20), known=", ".join(SEVERITY_ORDER))
    lang, cursor, most = language(here.settings.serve.lang), request.args.get("cursor"), limit()
    after = place_after(cursor) if cursor else None
    items = here.answers.fleet(lang, severity, after, most + 1)
    answer = {"items": items[:most], "next": cursor_to(items[most - 1]) if len(items) > most else None}
    together = here.answers.fleet_findings(lang)
    return json_answer({**answer, "findings": together} if together and not after else answer)


def cursor_to(item: dict[str, Any]) -> str:
    """The place of a listed node, not its number: nodes that change meanwhile make others move up or down."""
    return f"{item['verdict']['severity']}:{item['node']}"


def place_after(cursor: str) -> Place:
    severity, _, name = cursor.partition(":")
    if severity not in SEVERITY_ORDER or not name:
        raise BadRequest("cursor", name="cursor", text=plain(cursor, 40))
    return place_of_node(severity, name)


@nodes.get("/v1/nodes/<node>")
def diagnosis(node: str) -> Response:
    """The diagnosis of a node, or of where a pod, `job:ID` or `pid:N` runs.

    Of one GPU, of the past, over another window, in another language.
    """
    here = parts()
    said = here.answers.diagnosis(
        node,
        language(here.settings.serve.lang),
        request.args.get("at") or None,
        number("gpu", None, 0, 1_023),
        request.args.get("window") or None,
    )
    return json_answer(said)


@nodes.get("/v1/nodes/<namespace>/<pod>")
def diagnosis_of_pod(namespace: str, pod: str) -> Response:
    """The diagnosis of the node and GPU where a pod runs; also of `job/ID` and `pid/N`."""
    return diagnosis(f"{namespace}/{pod}")


@nodes.get("/v1/nodes/<node>/history")
def history(node: str) -> Response:
    """Series for charts: the finest rows that reach back as far as asked."""
    wanted = request.args.get("metrics")
    metrics = tuple(wanted.split(",")) if wanted else HISTORY_METRICS
    for name in metrics:
        if name not in HISTORY_METRICS:
            raise BadRequest("metric", metric=plain(name, 60), known=", ".join(HISTORY_METRICS))
    reach = span(request.args.get("span") or request.args.get("window") or "30m", "span")
    return json_answer(parts().answers.history(node, reach, request.args.get("at") or None, metrics))


@nodes.get("/v1/nodes/<namespace>/<pod>/history")
def history_of_pod(namespace: str, pod: str) -> Response:
    """Series of the node and GPU where a pod runs; also of `job/ID` and `pid/N`."""
    return history(f"{namespace}/{pod}")
