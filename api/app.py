"""Putting the application together, and taking it apart."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, cast

import platformdirs
from flask import Flask, Response, g, request

from api import garbage
from api.access import Gate
from api.answers import Answers
from api.clockwork import Clockwork
from api.endpoints import OPTIONS
from api.judging.judge import Judge
from api.judging.shared import SharedJudge
from api.parts import KEY, Parts, parts_of
from api.problems import answer as problem_of
from api.problems import handle_errors, read_on
from api.reports.intake import LARGEST_REQUEST
from api.reports.writer import Writer
from api.resources import BLUEPRINTS
from api.resources.asked import only_options
from api.resources.calculator import calculator_text, prefers_text
from api.resources.rules import WRITTEN, written_kind, written_list, written_runbook
from api.store import Store
from api.store.outside import network_of
from api.web import error_page, pages
from api.words import Sentence
from gpudiag.errors import GpudiagError
from gpudiag.examine import Ruleset
from gpudiag.settings import Settings

log = logging.getLogger("gpudiag.api")


def default_store() -> str:
    """The embedded store in the user's data folder."""
    return f"sqlite:///{platformdirs.user_data_path('gpudiag') / 'store.sqlite3'}"


def create_app(
    settings: Settings,
    *,
    clock: Callable[[], float] = time.time,
    open_to_all: bool = False,
    reports_token: str | None = None,
    chat: Any = None,
) -> Flask:
    """The application on the store that `settings` name. Call `close(app)` when it has ended.

    `open_to_all` lets everybody read and decide, and `reports_token` is then the only one that may report:
    the demo, where all is simulated. `chat` adds the demo's chat page.
    """
    rules = Ruleset(thresholds=settings.rules)
    store = Store(settings.serve.store or default_store(), alone=True)
    if store.file is not None and (network := network_of(store.file)) is not None:
        log.warning("%s", Sentence("store.network", where=store.file, network=network).said("en"))
    judge = (Judge if store.embedded else SharedJudge)(store, settings, rules, clock)
    writer = Writer(store, judge, settings.serve.keep, clock)
    clockwork = Clockwork(writer, judge, settings.serve.keep, clock)
    gate = Gate(
        store,
        clock,
        open_to_all=open_to_all,
        reports_token=reports_token,
        behind_proxy=(settings.serve.public_url or "").startswith("https://"),
    )
    answers = Answers(settings, store, judge, writer, gate, rules)

    app = Flask("api", static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.config["MAX_CONTENT_LENGTH"] = LARGEST_REQUEST
    app.extensions[KEY] = Parts(settings, store, judge, writer, clockwork, gate, answers, clock())
    handle_errors(app, error_page)
    for blueprint in (*BLUEPRINTS, pages(answers, simulated=open_to_all, chat=chat)):
        app.register_blueprint(blueprint)
    _guard(app, gate)
    writer.start()
    clockwork.start()
    garbage.tune()
    return app


def close(app: Flask) -> None:
    """Write what is waiting, keep the windows, close the store."""
    made = parts_of(app)
    made.clockwork.stop()
    made.writer.stop()
    made.store.close()


def _guard(app: Flask, gate: Gate) -> None:
    """Every view takes the role it is marked with, else a reader; pages guard themselves."""
    roles = {
        endpoint: "public" if endpoint.startswith("web.") else getattr(view, "needs", "reader")
        for endpoint, view in app.view_functions.items()
    }

    @app.before_request
    def _enter() -> Response | None:
        endpoint = request.endpoint
        if endpoint is None:
            g.token, g.who = None, "nobody"
            return None  # answered as 404 or 405, which tells nothing
        as_text = endpoint == "web.kv" and prefers_text()
        gate.enter("reader" if as_text else cast(Any, roles.get(endpoint, "reader")))
        options = None if endpoint.startswith("web.") else OPTIONS.get(_question())
        if options is not None:
            only_options(options)
        return _in_writing(endpoint)

    @app.after_request
    def _careful(response: Response) -> Response:
        if response.status_code == 413:
            read_on()
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Cache-Control", "no-store")
        return response


def _in_writing(endpoint: str) -> Response | None:
    """The answer at a page's address to who asks for text or JSON there; None where the page is to answer."""
    try:
        if endpoint == "web.kv" and prefers_text():
            return calculator_text()
        if endpoint == "web.runbook" and (kind := written_kind(*WRITTEN)):
            only_options(OPTIONS[_question()])
            return written_runbook((request.view_args or {})["rule"], kind)
        if endpoint == "web.runbooks" and written_kind("text/plain"):
            only_options(("lang", "q"))
            return written_list()
    except GpudiagError as error:  # said in our way: the pages' own handler would answer HTML
        return problem_of(error)
    return None


def _question() -> tuple[str, str]:
    """Method and path of the request at hand, as api/endpoints.py has them."""
    path = request.url_rule.rule if request.url_rule else ""
    return "GET" if request.method == "HEAD" else request.method, path.replace("<", "{").replace(">", "}")
