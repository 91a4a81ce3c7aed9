"""Liveness, readiness, Prometheus exposition and the description of this API."""

from __future__ import annotations

from flask import Blueprint, Response

from api.access import needs
from api.exposition import exposition
from api.parts import parts
from api.resources.asked import json_answer
from gpudiag import __version__

operations = Blueprint("operations", __name__)


@operations.get("/healthz")
@needs("public")
def healthz() -> Response:
    """The process runs."""
    return json_answer({"status": "ok", "version": __version__})


@operations.get("/readyz")
@needs("public")
def readyz() -> Response:
    """Reports are taken and questions answered; else 503 with the reason."""
    here = parts()
    trouble = here.writer.trouble
    try:
        with here.store.reading() as connection:
            connection.exec_driver_sql("SELECT 1")
    except Exception:
        return json_answer({"status": "not ready", "reason": "the store cannot be read"}, 503)
    if trouble is not None:
        return json_answer({"status": "not ready", "reason": str(trouble)}, 503)
    said = {"status": "ready", "windows": "all" if here.clockwork.all_loaded else "loading"}
    notes = []
    if here.store.damaged is not None:
        notes.append("the store was damaged, set aside and started anew; see the log")
    if here.store.kept_log.warning is not None:
        notes.append(here.store.kept_log.warning.said("en"))
    if notes:
        said["note"] = "; ".join(notes)
    return json_answer(said)


@operations.get("/metrics")
def metrics() -> Response:
    """Prometheus text exposition."""
    return Response(exposition(parts()), content_type="text/plain; version=0.0.4; charset=utf-8")


@operations.get("/openapi.json")
def openapi() -> Response:
    """This API as OpenAPI 3.1."""
    from api.endpoints import openapi as described

    return json_answer(described(parts().answers.public_url or "/"))
