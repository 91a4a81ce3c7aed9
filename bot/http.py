"""Slack over HTTP: `POST /slack/events`, in a process of its own or as a blueprint of another app."""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Flask, Request, Response, request

from bot.guard import Guard

PATH = "/slack/events"


def blueprint(handle: Callable[[Request], Response], guard: Guard) -> Blueprint:
    """The one address Slack talks to. Nothing that the guard refuses reaches `handle`."""
    pages = Blueprint("slack", __name__)

    @pages.post(PATH)
    def events() -> Response:
        timestamp = request.headers.get("X-Slack-Request-Timestamp", "")
        signature = request.headers.get("X-Slack-Signature", "")
        refused = guard.refuses_headers(timestamp, signature, request.content_length)
        if refused is None:
            refused = guard.refuses_body(timestamp, signature, request.get_data(cache=True))
        if refused is not None:
            guard.log(refused)
            answer = Response(refused.reason, status=refused.status, mimetype="text/plain")
            answer.headers["X-Slack-No-Retry"] = "1"
            answer.headers["Connection"] = "close"
            return answer
        return handle(request)

    return pages


def application(handle: Callable[[Request], Response], guard: Guard) -> Flask:
    """The bot's own web server application. It is ready while it runs: without our API it answers, too."""
    web = Flask("gpudiag-bot", static_folder=None)
    web.register_blueprint(blueprint(handle, guard))

    @web.get("/healthz")
    @web.get("/readyz")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return web
