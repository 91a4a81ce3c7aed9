"""The chat application on Slack: what arrives through Bolt becomes a question, its answer a message.

The only file that imports slack_bolt. Acknowledgements never wait for Slack and at most a blink for the API:
what is not answered by then is finished through the response_url.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future

from flask import Request as HttpRequest
from flask import Response
from slack_bolt import Ack, App, BoltResponse
from slack_bolt.adapter.flask import SlackRequestHandler
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_bolt.authorization import AuthorizeResult

from bot.access import is_ours
from bot.answer import Answer
from bot.answers import trouble
from bot.answers.asking import Place
from bot.blocks import Json, explain_modal, home, message, short
from bot.delivery import Delivery, SlackAway, SlackRefused
from bot.desk import Desk
from bot.grammar import read
from bot.paste import from_message
from bot.payload import Pressed, whose
from bot.pictures import timeline
from bot.request import Request
from bot.state import StateUnusable
from bot.words import say
from gpudiag.errors import GpudiagError
from gpudiag.words import LANGUAGES

log = logging.getLogger("gpudiag.bot.slack")

BUTTON = re.compile(r"(ask|tell|share|link|chart|change)\.\w+")
EVENT_MEMORY = 3600.0
PRESS_MEMORY = 60.0
TRIGGER_MEMORY = 600.0
MOST_JOBS = 256


class SlackBot:
    """The handlers of one workspace. `app` is the Bolt application for both transports."""

    def __init__(self, desk: Desk, delivery: Delivery):
        self.desk = desk
        self.delivery = delivery
        self.settings = desk.settings
        self.state = desk.state
        self.jobs: dict[str, Future[Answer]] = {}  # by trigger id
        self.lock = threading.Lock()
        self.identity: Json = json.loads(self.state.note("identity") or "{}")
        self.app = self.bolt()
        self.flask = SlackRequestHandler(self.app)
        self.desk.person = self.person
        self.told: Callable[[], None] = lambda: (
            None
        )  # called when something was changed: watching looks at once

    def bolt(self) -> App:
        # With `token=` Bolt would call auth.test at start, and a Slack that is down would stop us.
        app = App(
            name="gpudiag",
            signing_secret=self.settings.signing_secret or "socket mode",
            client=self.delivery.without_token(),
            authorize=lambda enterprise_id, team_id: self.authorize(enterprise_id, team_id),
            before_authorize=self.only_our_workspace,
            process_before_response=True,
            request_verification_enabled=bool(self.settings.signing_secret),
            ssl_check_enabled=False,
            logger=logging.getLogger("gpudiag.bot.bolt"),
        )
        app.command(re.compile(r"/.*"))(self.on_command)
        app.event("app_mention")(self.on_mention)
        app.event("message")(self.on_direct_message)
        app.event("app_home_opened")(self.on_home)
        app.action(BUTTON)(self.on_press)
        app.action(re.compile(r".*"))(lambda ack: ack())
        app.shortcut("explain_smi")(self.on_shortcut)
        app.view("explain")(self.on_modal)
        app.event(re.compile(r".*"))(lambda ack: ack())
        app.error(self.on_error)
        return app

    # Who we are, and whom we answer.

    def identify(self) -> bool:
        """Ask Slack once who we are; remembered over restarts. False while Slack is away."""
        try:
            found = self.delivery.call("auth.test")
        except (SlackAway, SlackRefused) as error:
            log.warning("%s; the bot starts without it and asks again", error)
            return False
        keep = ("team_id", "enterprise_id", "user_id", "bot_id", "team", "url")
        self.identity = {name: found[name] for name in keep if found.get(name)}
        with contextlib.suppress(StateUnusable):  # asked again at the next start
            self.state.set_note("identity", json.dumps(self.identity))
        return True

    def authorize(self, enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=self.settings.bot_token,
            bot_user_id=self.identity.get("user_id"),
            bot_id=self.identity.get("bot_id"),
        )

    def only_our_workspace(self, body: Json, next: Callable[[], None]) -> BoltResponse | None:
        if body.get("type") == "url_verification" or self.ours(body):
            next()
            return None
        log.warning("slack: refused a request of another workspace")
        return BoltResponse(status=403, body="not this workspace")

    def ours(self, body: Json) -> bool:
        team, enterprise = whose(body)
        known_team = self.settings.team or str(self.identity.get("team_id") or "")
        known_enterprise = self.settings.enterprise or str(self.identity.get("enterprise_id") or "")
        return is_ours(team, enterprise, known_team, known_enterprise)

    def person(self, user: str) -> tuple[str, str] | None:
        """A person's language and time zone; None where users:read was not given."""
        try:
            found = self.delivery.call("users.info", user=user, include_locale=True).get("user") or {}
        except (SlackAway, SlackRefused):
            return None
        lang = str(found.get("locale") or "")[:2]
        return lang if lang in LANGUAGES else "", str(found.get("tz") or "")

    # Slash commands.

    def on_command(self, ack: Ack, body: Json) -> None:
        place = Place(body.get("team_id", ""), body["channel_id"], body["user_id"])
        trigger = str(body.get("trigger_id") or uuid.uuid4().hex)
        if not self.first(f"trigger:{trigger}", TRIGGER_MEMORY) and trigger not in self.jobs:
            ack()
            return
        request = read(body.get("text") or "")
        if request.verb == "explain" and not request.words:
            ack()
            metadata = json.dumps({"response_url": body.get("response_url", ""), "channel": place.channel})
            self.desk.later(lambda: self.open_modal(trigger, metadata, place, body.get("response_url", "")))
            return
        if request.verb == "chart" and not request.problem:
            ack()
            self.desk.later(lambda: self.draw(request, place, body.get("response_url", "")))
            return
        job = self.job(trigger, request, place)
        try:
            answer = job.result(timeout=self.settings.answer_seconds)
        except TimeoutError:
            ack(text=say(request.lang or self.desk.language(place), "asking"))
            job.add_done_callback(lambda job: self.finish(job, request, place, body["response_url"]))
            return
        public = request.here or answer.public
        ack(response_type="in_channel" if public else "ephemeral", **message(answer))
        self.after(answer)

    def job(self, trigger: str, request: Request, place: Place) -> Future[Answer]:
        """The answer under way. Socket Mode delivers a command again whose acknowledgement was cut off."""
        with self.lock:
            if trigger not in self.jobs:
                self.jobs[trigger] = self.desk.start(request, place)
                while len(self.jobs) > MOST_JOBS:
                    self.jobs.pop(next(iter(self.jobs)))
            return self.jobs[trigger]

    def finish(self, job: Future[Answer], request: Request, place: Place, response_url: str) -> None:
        """The answer that came after its acknowledgement; it takes the place of "Asking…"."""
        answer = job.result()
        public = request.here or answer.public
        self.delivery.answer(message(answer), place, response_url, everybody=public, replace=not public)
        self.after(answer)

    def after(self, answer: Answer) -> None:
        if answer.public:
            self.told()

    def open_modal(self, trigger: str, metadata: str, place: Place, response_url: str) -> None:
        lang = self.desk.language(place)
        try:
            self.delivery.call("views.open", trigger_id=trigger, view=explain_modal(metadata, lang))
        except (SlackAway, SlackRefused):
            self.delivery.answer(short(say(lang, "m.not.opened")), place, response_url)

    # Mentions and direct messages.

    def on_mention(self, event: Json, body: Json) -> None:
        place = Place(body.get("team_id", ""), event["channel"], event.get("user", ""))
        if self.from_person(event) and self.first(f"event:{body.get('event_id')}", EVENT_MEMORY):
            thread = event.get("thread_ts") or event["ts"]
            self.desk.later(lambda: self.reply(event.get("text", ""), place, thread))

    def on_direct_message(self, event: Json, body: Json) -> None:
        place = Place(body.get("team_id", ""), event["channel"], event.get("user", ""))
        direct = event.get("channel_type") == "im" and event.get("subtype") in (None, "file_share")
        if direct and self.from_person(event) and self.first(f"event:{body.get('event_id')}", EVENT_MEMORY):
            text = event.get("text", "")
            self.desk.later(lambda: self.reply(text, place, event.get("thread_ts"), direct=True))

    def from_person(self, event: Json) -> bool:
        return (
            bool(event.get("user"))
            and not event.get("bot_id")
            and event["user"] != self.identity.get("user_id")
        )

    def reply(self, text: str, place: Place, thread: str | None, direct: bool = False) -> None:
        """Answer in the thread: to the asker alone, or for everybody when asked `here`."""
        request = read(text)
        if request.verb == "chart" and not request.problem:
            self.draw(request, place, thread=thread)
            return
        answer = self.desk.answer(request, place)
        everybody = direct or request.here or answer.public
        self.delivery.answer(message(answer), place, "", thread, everybody=everybody)
        self.after(answer)

    # Buttons, menus.

    def on_press(self, ack: Ack, body: Json, action: Json) -> None:
        ack()
        does, _, _ = action["action_id"].partition(".")
        command = action.get("value") or (action.get("selected_option") or {}).get("value") or ""
        if (
            does == "link"
            or not command
            or not self.first(f"trigger:{body.get('trigger_id')}", TRIGGER_MEMORY)
        ):
            return
        self.desk.later(lambda: self.press(does, read(command), Pressed(body)))

    def press(self, does: str, request: Request, pressed: Pressed) -> None:
        place = pressed.place
        if does == "chart" or request.verb == "chart":
            self.draw(request, place, pressed.response_url, pressed.thread)
            return
        if does == "change" and not self.first(
            f"press:{pressed.ts}:{place.user}:{request.text}", PRESS_MEMORY
        ):
            return
        answer = self.desk.answer(request, place)
        if pressed.in_home:
            self.in_home(does, request, answer, place)
        elif does == "change" and answer.public and pressed.thread:
            self.delivery.answer(message(answer), place, "", pressed.thread, everybody=True)
        else:
            everybody = does == "share" or answer.public or (does == "ask" and pressed.public)
            self.delivery.answer(
                message(answer), place, pressed.response_url, pressed.thread,
                everybody=everybody, replace=does == "ask",
            )  # fmt: skip
        self.after(answer)

    def in_home(self, does: str, request: Request, answer: Answer, place: Place) -> None:
        """From the Home tab: refreshing stays there, other answers come as a direct message."""
        if does == "ask" and request.verb == "status":
            self.publish(answer, place)
        else:
            self.delivery.post(place.user, message(answer))

    def draw(self, request: Request, place: Place, response_url: str = "", thread: str | None = None) -> None:
        """Put the picture into the thread; from a private answer, under a message of its own."""
        lang = request.lang or self.desk.language(place)
        try:
            picture = timeline(request, self.desk.asking(place), lang)
            if isinstance(picture, Answer):
                self.delivery.answer(message(picture), place, response_url, thread)
                return
            thread = thread or self.delivery.post(place.channel, short(picture.title))
            self.delivery.upload(place.channel, picture.name, picture.title, picture.png, thread)
        except SlackRefused as refused:
            self.delivery.answer(
                short(say(lang, "chart.refused", code=refused.code)), place, response_url, thread
            )
        except GpudiagError as error:
            said = trouble(error, request, self.desk.asking(place))
            self.delivery.answer(message(said), place, response_url, thread)

    # The Home tab.

    def on_home(self, event: Json, body: Json) -> None:
        if event.get("tab", "home") == "home" and self.first(f"event:{body.get('event_id')}", EVENT_MEMORY):
            place = Place(body.get("team_id", ""), event.get("channel", ""), event["user"])
            self.desk.later(lambda: self.publish(self.desk.answer(read("status"), place), place))

    def publish(self, answer: Answer, place: Place) -> None:
        self.delivery.call("views.publish", user_id=place.user, view=home(answer))

    # Pasted output.

    def on_shortcut(self, ack: Ack, body: Json) -> None:
        ack()
        self.desk.later(lambda: self.explain(body["message"], Pressed(body)))

    def explain(self, said: Json, pressed: Pressed) -> None:
        lang = self.desk.language(pressed.place)
        try:
            text = from_message(said, self.delivery.download)
        except (SlackRefused, SlackAway) as error:
            code = error.code if isinstance(error, SlackRefused) else "away"
            self.delivery.answer(
                short(say(lang, "paste.file", code=code)), pressed.place, pressed.response_url
            )
            return
        answer = self.desk.answer(Request("explain", words=(text,) if text else ()), pressed.place)
        self.delivery.answer(message(answer), pressed.place, pressed.response_url)

    def on_modal(self, ack: Ack, body: Json, view: Json) -> None:
        values = view["state"]["values"]
        text = (values.get("text", {}).get("text") or {}).get("value") or ""
        files = (values.get("file", {}).get("file") or {}).get("files") or []
        metadata = json.loads(view.get("private_metadata") or "{}")
        pressed = Pressed(
            {
                **body,
                "response_url": metadata.get("response_url", ""),
                "channel": {"id": metadata.get("channel", "")},
            }
        )
        if not text and not files:
            lang = self.desk.language(pressed.place)
            ack(response_action="errors", errors={"text": say(lang, "m.empty")})
            return
        ack()
        self.desk.later(lambda: self.explain({"text": text, "files": files}, pressed))

    # Around everything.

    def first(self, key: str, seconds: float) -> bool:
        """Whether this is new, over all workers: Slack delivers again, people press twice."""
        return key.endswith(":None") or self.state.first_time(key, time.time(), seconds)

    def on_error(self, error: Exception, body: Json) -> BoltResponse | None:
        """Whoever typed a command reads that it failed, in the answer to the request itself."""
        # Nothing is sent from here: an error handler may run for requests that nobody has authorised.
        reference = uuid.uuid4().hex[:8]
        what = body.get("command") or body.get("type")
        log.error("slack: handling %s failed (%s)", what, reference, exc_info=error)
        if not body.get("command"):
            return None
        return BoltResponse(status=200, body=say(self.settings.lang, "e.ours", reference=reference))

    def handle(self, request: HttpRequest) -> Response:
        """One HTTP request that the guard let pass."""
        try:
            return self.flask.handle(request)
        except (LookupError, TypeError, AttributeError, ValueError) as error:  # of no shape that Slack sends
            log.error("slack: a request was not understood (%s: %s)", type(error).__name__, error)
            return Response("not understood", 400, {"X-Slack-No-Retry": "1"}, mimetype="text/plain")


class SocketMode:
    """The second transport: one process, one connection, kept up while Slack comes and goes."""

    def __init__(self, bot: SlackBot):
        self.bot = bot
        self.stopped = threading.Event()
        self.handler = SocketModeHandler(
            bot.app, bot.settings.app_token, proxy=bot.settings.proxy, concurrency=32,
            ping_interval=bot.settings.reconnect_seconds,
        )  # fmt: skip
        self.thread = threading.Thread(target=self.keep_connected, name="socket-mode", daemon=True)

    def start(self) -> None:
        self.thread.start()

    def keep_connected(self) -> None:
        """Connect; when that fails, again after 1, 2, 4 … 60 s. slack_sdk follows Slack's refreshes."""
        wait = 1.0
        while not self.stopped.is_set():
            try:
                self.handler.connect()
                return
            except Exception as error:
                log.warning("socket mode: cannot connect (%s); again in %.0f s", error, wait)
                self.stopped.wait(wait)
                wait = min(60.0, wait * 2)

    def stop(self) -> None:
        self.stopped.set()
        self.handler.close()
        self.thread.join(timeout=5)
        client = self.handler.client
        connected = client.connect_operation_lock.acquire(timeout=5)  # one that was under way just now
        client.disconnect()
        if connected:
            client.connect_operation_lock.release()
