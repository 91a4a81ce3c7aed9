"""Ollama has no metrics page: `GET /api/ps` lists the loaded models and when they unload.

A request that runs holds its model: the moment then passes, and the model stays (server/sched.go).
https://github.com/ollama/ollama/blob/main/docs/api.md (read 2026-11)
"""

from __future__ import annotations

import json
from datetime import datetime

from gpudiag.engines.reading import Table
from gpudiag.model import EngineReading


def _status(reading: EngineReading, body: bytes) -> None:
    try:
        models = json.loads(body)["models"]
        names = [str(model["name"]) for model in models]
        expiries = [_moment(model.get("expires_at")) for model in models]
    except (ValueError, KeyError, TypeError, AttributeError):
        return
    reading.model = ", ".join(names) or None
    known = [moment for moment in expiries if moment is not None]
    reading.unloads_at = min(known) if known else None
    contexts = [model.get("context_length") for model in models]
    reading.max_model_len = next((c for c in contexts if isinstance(c, int)), None)
    reading.metrics_ok = True


def _moment(text: str | None) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text[:19] + text[-6:] if len(text) > 25 else text).timestamp()
    except ValueError:
        return None


OLLAMA = Table(
    engine="ollama",
    port=11434,
    metrics_path="/api/ps",
    health_path="/",
    json_status=_status,
    port_flags=(),
)
