"""Everything the bot sends to Slack, and what comes of it. Knows slack_sdk, not Bolt.

slack_sdk raises for Web API errors but stays silent when a response_url refuses a message; here every
result is looked at, logged and counted.
"""

from __future__ import annotations

import http.client
import logging
import re
import time
from collections import Counter
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import ConnectionErrorRetryHandler, RateLimitErrorRetryHandler
from slack_sdk.webhook import WebhookClient

from bot.answers.asking import Place
from bot.blocks import Json
from bot.guard import is_slacks
from bot.mrkdwn import cut
from bot.settings import Settings
from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.bot.slack")

TIMEOUT_SECONDS = 10
LARGEST_FILE = 2 * 2**20
LONGEST_WAIT = 5.0  # seconds a person's answer waits when Slack is busy; after that it is told as lost
LONGEST_RETRY = 300.0  # seconds, whatever Slack asks for
# urllib's errors are OSErrors; the others are slack_sdk's own when what answers is not Slack.
NO_ANSWER = (OSError, ValueError, LookupError, TypeError, AttributeError, http.client.HTTPException)
LAYOUT = {"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "only_one_table_allowed"}


class SlackRefused(GpudiagError):
    """Slack said no; `code` is its error word, such as not_in_channel or missing_scope."""

    def __init__(self, method: str, code: str, detail: str = ""):
        super().__init__(f"Slack: {method} answered {code}{f' ({detail})' if detail else ''}")
        self.code = code


class SlackAway(GpudiagError):
    """Slack cannot be reached, or asks to be left alone for `retry_after` seconds."""

    def __init__(self, method: str, retry_after: float = 0.0):
        super().__init__(f"Slack: {method} got no answer")
        self.retry_after = retry_after


class Patience(RateLimitErrorRetryHandler):
    """Tries again when Slack says so, unless that is too late for an answer; a header may be anything."""

    def _can_retry(self, *, state: Any, request: Any, response: Any = None, error: Any = None) -> bool:
        return bool(
            response is not None
            and response.status_code == 429
            and retry_seconds(response.headers) <= LONGEST_WAIT
        )

    def prepare_for_next_attempt(
        self, *, state: Any, request: Any, response: Any = None, error: Any = None
    ) -> None:
        state.next_attempt_requested = True
        time.sleep(retry_seconds(response.headers))
        state.increment_current_attempt()


class Delivery:
    """One way out. `patient` waits when Slack is busy; the watching does its own waiting."""

    def __init__(self, settings: Settings, patient: bool = True):
        self.settings = settings
        self.counts: Counter[str] = Counter()
        handlers: list[Any] = [ConnectionErrorRetryHandler(max_retry_count=1)]
        if patient:
            handlers.append(Patience(max_retry_count=2))
        self.client = WebClient(
            token=settings.bot_token,
            base_url=settings.slack_api_url,
            timeout=TIMEOUT_SECONDS,
            proxy=settings.proxy,
            retry_handlers=handlers,
            logger=logging.getLogger("gpudiag.bot.slack_sdk"),
        )
        self.client.proxy = settings.proxy
        # For response_url: only broken connections are tried again, as each url takes few messages.
        self.webhook_handlers: list[Any] = [ConnectionErrorRetryHandler(max_retry_count=1)]

    def without_token(self) -> WebClient:
        """A client for Bolt, which brings the token itself. Only Socket Mode opens through it."""
        made = WebClient(
            base_url=self.settings.slack_api_url, timeout=TIMEOUT_SECONDS, proxy=self.settings.proxy
        )
        made.proxy = self.settings.proxy
        return made

    def call(self, method: str, **what: Any) -> Json:
        """One Web API method; its answer, or SlackRefused or SlackAway."""
        try:
            answer = self.client.api_call(method, json=what)
        except SlackApiError as error:
            raise self.failure(method, error.response) from error
        except NO_ANSWER as error:
            self.counts["away"] += 1
            raise SlackAway(method) from error
        self.counts["ok"] += 1
        data = answer.data
        result: Json = dict(data) if isinstance(data, dict) else {}
        result["headers"] = {str(name).lower(): value for name, value in answer.headers.items()}
        return result

    def failure(self, method: str, answer: Any) -> SlackRefused | SlackAway:
        """Slack's no, where it is one of its error words; else Slack is away, whoever answers there."""
        said = answer.data if isinstance(answer.data, dict) else {}
        status, code = answer.status_code, str(said.get("error") or "")
        if status == 429 or code in ("ratelimited", "rate_limited"):
            self.counts["busy"] += 1
            return SlackAway(method, retry_seconds(answer.headers))
        if status >= 500 or not re.fullmatch(r"[a-z][a-z0-9_]{1,60}", code):
            self.counts["away"] += 1
            return SlackAway(method)
        self.counts[code] += 1
        errors = said.get("errors")
        detail = "; ".join(map(str, errors)) if isinstance(errors, list) else ""
        log.error("slack: %s answered %s %s", method, code, detail)
        return SlackRefused(method, code, detail or str(said.get("needed") or ""))

    def say(self, method: str, **what: Any) -> Json:
        """A message; where Slack refuses its layout, its words alone, which are an answer too."""
        try:
            return self.call(method, **what)
        except SlackRefused as refused:
            if refused.code not in LAYOUT:
                raise
        return self.call(method, **what | words_alone(what))

    def post(self, channel: str, message: Json, thread: str | None = None) -> str:
        """Post a message; its id (ts)."""
        what = {"channel": channel, "unfurl_links": False, "unfurl_media": False, **message}
        if thread:
            what["thread_ts"] = thread
        ts = self.say("chat.postMessage", **what).get("ts")
        if not isinstance(ts, str):
            raise SlackAway("chat.postMessage")
        return ts

    def whisper(self, place: Place, message: Json, thread: str | None = None) -> None:
        """A message that only one person sees; a direct one where the bot is not in the channel."""
        what = {"channel": place.channel, "user": place.user, **message}
        try:
            self.say("chat.postEphemeral", **what, **({"thread_ts": thread} if thread else {}))
        except SlackRefused:
            self.post(place.user, message)

    def edit(self, channel: str, ts: str, message: Json) -> None:
        # chat.update would parse @names and links by default, unlike chat.postMessage.
        self.say("chat.update", channel=channel, ts=ts, parse="none", **message)

    def answer(
        self,
        message: Json,
        place: Place,
        response_url: str,
        thread: str | None = None,
        *,
        everybody: bool = False,
        replace: bool = False,
    ) -> None:
        """Answer by the response_url; where it is used up or expired, as a message of our own.

        One for everybody comes to the asker alone where the bot may not write, or the channel is gone.
        """
        if response_url and self.respond(response_url, message, everybody=everybody, replace=replace):
            return
        try:
            if not everybody or not self.posted(place, message, thread):
                self.whisper(place, message, thread)
        except (SlackAway, SlackRefused) as error:
            self.counts["lost"] += 1
            log.error("slack: an answer did not arrive (%s)", error)

    def posted(self, place: Place, message: Json, thread: str | None) -> bool:
        """Whether everybody in the channel has it; False where Slack refuses that."""
        try:
            self.post(place.channel, message, thread)
        except SlackRefused:
            return False
        return True

    def respond(self, url: str, message: Json, *, everybody: bool = False, replace: bool = False) -> bool:
        """Answer through a response_url. False, logged and counted, when it did not arrive."""
        if not is_slacks(url, self.settings.slack_api_url):
            self.counts["foreign_response_url"] += 1
            log.error("slack: a response_url led elsewhere and was not used")
            return False
        body = {
            **message,
            "response_type": "in_channel" if everybody else "ephemeral",
            "replace_original": replace,
        }
        client = WebhookClient(
            url, timeout=TIMEOUT_SECONDS, proxy=self.settings.proxy, retry_handlers=self.webhook_handlers
        )
        client.proxy = self.settings.proxy
        try:
            answer = client.send_dict(body)
            if answer.status_code == 400 and answer.body in LAYOUT:
                log.error("slack: response_url answered %s; the words alone are sent", answer.body)
                answer = client.send_dict(body | words_alone(body))
        except NO_ANSWER as error:
            self.counts["response_url_away"] += 1
            log.error("slack: response_url got no answer (%s)", type(error).__name__)
            return False
        if answer.status_code != 200:
            self.counts[f"response_url_{answer.status_code}"] += 1
            log.error("slack: response_url answered %s %s", answer.status_code, answer.body[:200])
            return False
        self.counts["ok"] += 1
        return True

    def upload(self, channel: str, name: str, title: str, data: bytes, thread: str | None = None) -> None:
        """Send a picture into a channel or thread (scope files:write)."""
        try:
            self.client.files_upload_v2(
                channel=channel, thread_ts=thread, file=data, filename=name, title=title, alt_txt=title
            )
        except SlackApiError as error:
            raise self.failure("files.upload", error.response) from error
        except NO_ANSWER as error:
            raise SlackAway("files.upload") from error

    def download(self, url: str) -> bytes:
        """A file a person attached (scope files:read); only from Slack, at most 2 MiB, no redirects."""
        import requests

        if not is_slacks(url, self.settings.slack_api_url, "files"):
            raise SlackRefused("file", "foreign_address")
        with requests.Session() as session:
            session.trust_env = False
            proxy = self.settings.proxy
            proxies = {"https": proxy, "http": proxy} if proxy else {}
            headers = {"Authorization": f"Bearer {self.settings.bot_token}"}
            try:
                with session.get(
                    url, headers=headers, timeout=TIMEOUT_SECONDS, proxies=proxies, stream=True,
                    allow_redirects=False,
                ) as response:  # fmt: skip
                    if response.status_code != 200:
                        raise SlackRefused("file", f"http_{response.status_code}")
                    data = response.raw.read(LARGEST_FILE + 1, decode_content=True)
            except requests.RequestException as error:
                raise SlackAway("file") from error
        if len(data) > LARGEST_FILE:
            raise SlackRefused("file", "too_large")
        return bytes(data)


def words_alone(what: Json) -> Json:
    """The same message without its blocks. An edit takes 4,000 bytes of text: 1,300 Korean letters."""
    return {"blocks": [], "text": cut(str(what.get("text") or ""), 1300)}


def retry_seconds(headers: Any) -> float:
    """What Retry-After asks for, within reason; half a minute where it says nothing readable."""
    found = {str(name).lower(): value for name, value in dict(headers or {}).items()}.get("retry-after")
    value = str(found[0] if isinstance(found, list) and found else found)
    return min(float(value), LONGEST_RETRY) if re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) else 30.0
