"""The blueprint: one function per page."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, g, make_response, redirect, render_template, request, url_for
from markupsafe import Markup
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge
from werkzeug.wrappers import Response as AnyResponse

from api.judging.together import FLEET
from api.problems import NoSuch, Refused
from api.web import language, pictures, show
from api.web.asked import Answers, Chat
from api.web.playing import add_calculator
from api.web.told import changes_of, together, unjudged_of, verdicts_of
from api.web.words import SENTENCES
from api.words import Sentence
from gpudiag.errors import GpudiagError
from gpudiag.examine import STALE
from gpudiag.model import SEVERITY_ORDER
from gpudiag.rule_search import LONGEST, search
from gpudiag.runbook import about, runbook_of
from gpudiag.words import Language, words
from gpudiag.words.foreign import plain
from gpudiag.words.gpus import findings_of, headline_finding, looked_at, saying_the_same, told_of
from gpudiag.words.hosts import host_of

TOKEN_COOKIE = "gpudiag_token"
"""The cookie that carries a token after the login page; the application reads it like a bearer token."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
LARGEST_PASTE = 4 << 20
LONGEST_KEPT = 200_000  # characters of a refused paste that its form keeps
ROOM_FOR_FORM = 64 << 10
PAST_SECONDS = 3600.0
ON_ONE_PAGE = 250  # nodes
A_WORKDAY = 12 * 3600
OPEN_ENDPOINTS = frozenset({"web.static", "web.login", "web.log_in", "web.runbook", "web.runbooks"})


class FromElsewhere(Refused):
    """A page of another site made the browser send a form."""

    status = 403


def pages(answers: Answers, *, simulated: bool = False, chat: Chat | None = None) -> Blueprint:
    """The web pages over `answers`. `chat` adds the chat page; `simulated` says so on every page."""
    web = Blueprint(
        "web", __name__, template_folder="templates", static_folder="static", static_url_path="/assets"
    )
    for name, function in show.FILTERS.items():
        web.app_template_filter(f"gd_{name}")(function)
    web.before_request(_guard(answers))
    web.after_request(_careful)
    web.app_context_processor(lambda: _everywhere(simulated, chat is not None))
    web.register_error_handler(GpudiagError, _failed)
    web.register_error_handler(HTTPException, _refused)
    _add_fleet(web, answers)
    _add_paste(web, answers)
    _add_rules(web, answers)
    _add_login(web, answers)
    add_calculator(web)
    if chat is not None:
        _add_chat(web, chat)
    return web


# ------------------------------------------------------------------------------------- every page


def _guard(answers: Answers) -> Callable[[], AnyResponse | None]:
    def guard() -> AnyResponse | None:
        if request.endpoint in OPEN_ENDPOINTS or not answers.must_log_in():
            return None
        return redirect(url_for("web.login", next=_asked_for()))

    return guard


def _asked_for() -> str:
    """Where to go on after the login."""
    return request.full_path.removesuffix("?") if request.method == "GET" else "/"


def _careful(response: Response) -> Response:
    """Nothing from elsewhere is loaded, nothing inline is run, nobody frames the page."""
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "same-origin"
    if request.endpoint == "web.static":
        response.headers["Cache-Control"] = "public, max-age=300"
    else:
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.add("Vary", "Accept-Language, Cookie")
    return language.remember(response)


def _everywhere(simulated: bool, chat: bool) -> dict[str, Any]:
    lang = language.chosen()
    return {
        "lang": lang,
        "t": SENTENCES[lang],
        "w": words(lang),
        "other_languages": [
            (tag, said["own_name"], _here_in(tag)) for tag, said in SENTENCES.items() if tag != lang
        ],
        "simulated": simulated,
        "has_chat": chat,
        "logged_in": TOKEN_COOKIE in request.cookies,
        "endpoint": request.endpoint,
    }


def _here_in(lang: Language) -> str:
    """This page in another language; where a form was sent, the first page."""
    place = _inside(request.path) if request.method == "GET" else "/"
    return f"{place}?{urlencode({**request.args.to_dict(), 'lang': lang})}"


def error_page(said: Sentence, status: int) -> Response:
    """What went wrong outside of the pages, at an address that nothing owns for one."""
    page = render_template("web/error.html", message=said.said(language.chosen()), nearest=[])
    return _careful(make_response(page, status))


def _failed(error: GpudiagError) -> tuple[str, int]:
    told, nearest = error.said(language.chosen()), []
    if isinstance(error, Refused) and error.nearest:  # the page links them: the sentence lists them not again
        nearest, sentence = error.nearest, error.sentence
        told = Sentence(sentence.key, **{**sentence.values, "hint": ""}).said(language.chosen())
    return render_template("web/error.html", message=told, nearest=nearest), _status_of(error)


def _status_of(error: GpudiagError) -> int:
    return error.status if 400 <= error.status < 600 else 500


def _refused(error: HTTPException) -> Any:
    """What the framework itself refuses, such as a body that is too large, as a page."""
    status = error.code or 500
    if status < 400:
        return error
    lang = language.chosen()
    said = SENTENCES[lang]["too_large"] if status == 413 else error.description or error.name
    return render_template("web/error.html", message=said, nearest=[]), status


# ---------------------------------------------------------------------------------------- nodes


def _add_fleet(web: Blueprint, answers: Answers) -> None:
    @web.get("/")
    def fleet() -> str:
        wanted = request.args.get("severity")
        first = max(0, request.args.get("first", 0, type=int))
        known = not wanted or wanted in SEVERITY_ORDER
        lang, most = language.chosen(), ON_ONE_PAGE + 1
        nodes = answers.fleet(lang, wanted or None, skip=first, most=most) if known else []
        return render_template(
            "web/fleet.html",
            nodes=nodes[:ON_ONE_PAGE],
            first=first,
            step=ON_ONE_PAGE,
            more=len(nodes) > ON_ONE_PAGE,
            counts=answers.counts(),
            wanted=wanted,
            now=answers.now(),
            address=request.host_url.rstrip("/"),
        )

    @web.get("/nodes/<node>")
    def node(node: str) -> str | AnyResponse:
        at = request.args.get("at")
        try:
            diagnosis = answers.diagnosis(node, language.chosen(), at)
        except NoSuch:
            if node == FLEET:  # so findings about many nodes are labelled
                return redirect(url_for("web.fleet"))
            raise
        history = answers.history(node, PAST_SECONDS, at)
        return _diagnosis_page(diagnosis, history, at)

    @web.get("/nodes/<namespace>/<pod>")
    def pod(namespace: str, pod: str) -> str | AnyResponse:
        return node(f"{namespace}/{pod}")


def _diagnosis_page(diagnosis: dict[str, Any], history: dict[str, Any] | None, at: str | None) -> str:
    lang = language.chosen()
    verdict = diagnosis["verdict"]
    everything = findings_of(diagnosis)
    head = headline_finding(everything, verdict)
    same = saying_the_same(head, everything) if head else []
    rest = [finding for finding in everything if not any(finding is one for one in same)]
    age = 0.0 if at else diagnosis["observed"].get("age_seconds") or 0.0
    return render_template(
        "web/node.html",
        d=diagnosis,
        head=together(same)[0] if same else None,
        headline=told_of(verdict["headline"], same, verdict["gpu"]),
        verdicts=verdicts_of(diagnosis["gpus"]),
        opened=looked_at(diagnosis, head),
        also=together(rest),
        changed=changes_of(diagnosis),
        unjudged=unjudged_of(diagnosis),
        drawn={
            gpu["index"]: {
                "bar": pictures.bar(gpu["memory"], lang),
                "timeline": pictures.timeline(gpu, history, lang, PAST_SECONDS, age),
            }
            for gpu in diagnosis["gpus"]
        },
        silent=any(finding["rule"] == STALE for finding in everything),
        host=host_of(diagnosis),
        pasted=diagnosis["source"] == "pasted",
        at=at,
    )


# ---------------------------------------------------------------------------------------- paste


def _add_paste(web: Blueprint, answers: Answers) -> None:
    @web.post("/explain")
    def explain() -> tuple[str, int]:
        request.max_content_length = LARGEST_PASTE + ROOM_FOR_FORM
        request.max_form_memory_size = LARGEST_PASTE
        lang = language.chosen()
        try:
            upload, typed = request.files.get("file"), request.form.get("text", "")
            text = upload.read() if upload and upload.filename else typed.encode()
        except RequestEntityTooLarge:
            return _paste_refused(SENTENCES[lang]["too_large"], 413)
        try:
            diagnosis = answers.pasted(text, lang)
        except GpudiagError as error:
            return _paste_refused(error.said(lang), _status_of(error), typed)
        return _diagnosis_page(diagnosis, None, None), 200

    @web.get("/explain")
    def explain_form() -> str:
        return render_template("web/explain.html")


def _paste_refused(said: str, status: int, typed: str = "") -> tuple[str, int]:
    """The form once more with what was pasted, or its beginning, and why it could not be read."""
    page = render_template(
        "web/explain.html", problem=said, text=typed[:LONGEST_KEPT], cut=len(typed) > LONGEST_KEPT
    )
    return page, status


# ---------------------------------------------------------------------------------------- rules


def _add_rules(web: Blueprint, answers: Answers) -> None:
    @web.get("/runbooks")
    def runbooks() -> str:
        lang = language.chosen()
        rules = sorted(answers.rules.rules, key=lambda rule: (rule.family, rule.id))
        asked = plain(request.args.get("q", "").strip(), LONGEST)
        found = [(rule, about(rule, lang)) for rule in search(rules, asked)]
        return render_template("web/runbooks.html", found=found, asked=asked, known=len(rules))

    @web.get("/runbooks/<rule>")
    def runbook(rule: str) -> Response:
        """A rule's page as HTML; the application answers who asks for text."""
        known = answers.rules.by_id.get(rule)
        if known is None:
            raise no_such_rule(rule, answers)
        book = runbook_of(known, language.chosen())
        response = make_response(render_template("web/runbook.html", book=book, rule=known))
        response.headers.add("Vary", "Accept")
        return response


def no_such_rule(rule: str, answers: Answers) -> NoSuch:
    near = get_close_matches(rule, answers.rules.by_id, n=3)
    hint = Sentence("near", names=", ".join(near)) if near else Sentence("runbooks")
    return NoSuch("rule", rule=plain(rule, 60), hint=hint)


# ---------------------------------------------------------------------------------------- login


def _add_login(web: Blueprint, answers: Answers) -> None:
    @web.get("/login")
    def login() -> str:
        return render_template("web/login.html", next=_inside(request.args.get("next")), wrong=False)

    @web.post("/login")
    def log_in() -> AnyResponse:
        if not answers.from_our_page():
            raise FromElsewhere("from.elsewhere")
        token = request.form.get("token", "").strip()
        goal = _inside(request.form.get("next"))
        if not token or not answers.accepts(token):
            return make_response(render_template("web/login.html", next=goal, wrong=True), 401)
        response = redirect(goal, 303)
        response.set_cookie(
            TOKEN_COOKIE,
            token,
            max_age=A_WORKDAY,
            httponly=True,
            samesite="Strict",
            secure=answers.encrypted(),
        )
        return response

    @web.post("/logout")
    def log_out() -> AnyResponse:
        response = redirect(url_for("web.login"), 303)
        response.delete_cookie(TOKEN_COOKIE, httponly=True, samesite="Strict", secure=answers.encrypted())
        return response


def _inside(goal: str | None) -> str:
    """A page of ours to go on to: never another site."""
    if not goal or not goal.isprintable() or not goal.startswith("/") or goal.startswith(("//", "/\\")):
        return "/"
    return goal


# ----------------------------------------------------------------------------------------- chat


def _add_chat(web: Blueprint, chat: Chat) -> None:
    @web.get("/chat")
    def talk() -> str:
        text = (request.args.get("q") or request.args.get("text", "")).strip()[:4000]
        g.said = text
        answer = Markup(chat(text, language.chosen())) if text else None
        return render_template("web/chat.html", text=text, answer=answer)
