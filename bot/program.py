"""`gpudiag bot`: state, desk, Slack, watching and web server put together, started and stopped."""

from __future__ import annotations

import errno
import logging
import multiprocessing.util
import signal
import threading
import uuid
from dataclasses import dataclass
from functools import partial
from socket import AF_INET, AF_INET6, create_server

from flask import Flask

from bot.api import Api
from bot.delivery import Delivery
from bot.desk import Desk
from bot.doctor import examine
from bot.guard import Guard
from bot.http import PATH, application, blueprint
from bot.settings import Settings
from bot.slack import SlackBot, SocketMode
from bot.state import State
from bot.watchman import Watchman
from bot.words import Mistake, say

log = logging.getLogger("gpudiag.bot")

IDENTIFY_SECONDS = 30.0
THREADS = 32


@dataclass
class Program:
    """All parts of a running bot. `start` never waits for Slack or our API to be there."""

    settings: Settings
    api: Api
    state: State
    desk: Desk
    slack: SlackBot
    watchman: Watchman
    web: Flask | None
    socket: SocketMode | None

    def start(self) -> None:
        self.stopping = threading.Event()
        if not self.slack.identify():
            threading.Thread(target=self.keep_identifying, name="identify", daemon=True).start()
        self.watchman.start()
        if self.socket:
            self.socket.start()

    def keep_identifying(self) -> None:
        while not self.stopping.wait(IDENTIFY_SECONDS) and not self.slack.identify():
            pass

    def stop(self) -> None:
        self.stopping.set()
        if self.socket:
            self.socket.stop()
        self.watchman.stop()
        self.desk.close()
        self.api.close()
        self.state.close()


def build(settings: Settings) -> Program:
    """The bot's parts, connected and not yet started."""
    state = State(settings.state_path)
    api = Api(settings.api_url, settings.api_token, settings.api_seconds)
    desk = Desk(settings, api, state)
    delivery = Delivery(settings)
    slack = SlackBot(desk, delivery)
    watchman = Watchman(settings, api, state, Delivery(settings, patient=False), name=uuid.uuid4().hex)
    slack.told = watchman.wake
    desk.doctor = lambda lang: examine(settings, lang, api, delivery, state)
    web = (
        application(slack.handle, Guard(settings.signing_secret, state)) if settings.signing_secret else None
    )
    socket = SocketMode(slack) if settings.app_token else None
    return Program(settings, api, state, desk, slack, watchman, web, socket)


def mount(web: Flask, settings: Settings) -> Program:
    """Serve Slack beside the pages of another application; call `stop` on the program when that one ends."""
    program = build(settings)
    web.register_blueprint(blueprint(program.slack.handle, Guard(settings.signing_secret, program.state)))
    program.start()
    return program


class CannotListen(Mistake):
    """The port is taken, or not for this user."""

    exit_code = 3


def serve(settings: Settings, lang: str) -> int:
    """Run until interrupted: Socket Mode in this process, HTTP in granian's worker."""
    State(settings.state_path).close()  # a file that cannot be opened is said here, not in a worker's log
    if settings.signing_secret:
        listen(settings, lang)
        return 0
    program = build(settings)
    program.start()
    announce(settings, lang, "start.socket")
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    try:
        while not stopped.wait(1.0):
            pass
    finally:
        program.stop()
    return 0


def announce(settings: Settings, lang: str, key: str, **values: object) -> None:
    """Say how Slack comes in, and which file knows what was told: a bot with another one tells it again."""
    print(say(lang, key, **values), say(lang, "start.file", file=settings.state_path), sep="\n", flush=True)


def listen(settings: Settings, lang: str) -> None:
    """Serve HTTP. One worker process holds one desk, one pool and the connections to our API."""
    from granian import Granian
    from granian.constants import Interfaces
    from granian.log import LogLevels

    check_port(settings)
    server = Granian(
        "bot.program:load",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.WSGI,
        workers=1,
        blocking_threads=THREADS,
        websockets=False,
        log_level=LogLevels.error,
    )
    address = f"http://{settings.host}:{settings.port}{PATH}"
    announce(settings, lang, "start.http", address=address)
    server.serve(target_loader=partial(load, settings), wrap_loader=False)


def check_port(settings: Settings) -> None:
    """Raise CannotListen where the server could not: it would tell so with a traceback."""
    family = AF_INET6 if ":" in settings.host else AF_INET
    try:
        with create_server((settings.host, settings.port), family=family):
            pass
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        key = "start.port.taken" if taken else "start.port"
        raise CannotListen(key, host=settings.host, port=settings.port, reason=error) from None


def load(settings: Settings) -> Flask:
    """The worker's application; its parts stop when the worker does."""
    program = build(settings)
    assert program.web is not None
    program.start()
    multiprocessing.util.Finalize(None, program.stop, exitpriority=10)
    return program.web
