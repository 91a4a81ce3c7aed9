"""Everything the bot sends to Slack, and what comes of it. Knows slack_sdk, not Bolt.

slack_sdk raises for Web API errors but stays silent when a response_url refuses a message; here every
result is looked at, logged and counted.
"""

from __future__ import annotations

import logging
from collections import Counter
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import ConnectionErrorRetryHandler, RateLimitErrorRetryHandler
from slack_sdk.webhook import WebhookClient

from bot.blocks import Json
from bot.guard import is_slacks
from bot.settings import Settings
from gpudiag.errors import GpudiagError

log = logging.getLogger("gpudiag.bot.slack")

TIMEOUT_SECONDS = 10
LARGEST_FILE = 2 * 2**20


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


class Delivery:
    """One way out. `patient` waits when Slack is busy; the watching does its own waiting."""

    def __init__(self, settings: Settings, patient: bool = True):
        self.settings = settings
        self.counts: Counter[str] = Counter()
        handlers: list[Any] = [ConnectionErrorRetryHandler(max_retry_count=1)]
        if patient:
            handlers.append(RateLimitErrorRetryHandler(max_retry_count=3))
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
            status = error.response.status_code
            code = str(error.response.get("error") or status)
            self.counts[code] += 1
            if status == 429 or code in ("ratelimited", "rate_limited"):
                raise SlackAway(method, retry_seconds(error.response.headers)) from error
            if status >= 500:
                raise SlackAway(method) from error
            detail = "; ".join(str(line) for line in error.response.get("errors") or [])
            log.error("slack: %s answered %s %s", method, code, detail)
            raise SlackRefused(method, code, detail or str(error.response.get("needed") or "")) from error
        except (OSError, TimeoutError, ValueError) as error:  # urllib's errors are OSErrors
            self.counts["away"] += 1
            raise SlackAway(method) from error
        self.counts["ok"] += 1
        data = answer.data
        result: Json = dict(data) if isinstance(data, dict) else {}
        result["headers"] = {str(name).lower(): value for name, value in answer.headers.items()}
        return result

    def post(self, channel: str, message: Json, thread: str | None = None) -> str:
        """Post a message; its id (ts)."""
        what = {"channel": channel, "unfurl_links": False, "unfurl_media": False, **message}
        if thread:
            what["thread_ts"] = thread
        return str(self.call("chat.postMessage", **what)["ts"])

    def whisper(self, channel: str, user: str, message: Json, thread: str | None = None) -> None:
        """A message that only one person sees."""
        what = {"channel": channel, "user": user, **message, **({"thread_ts": thread} if thread else {})}
        self.call("chat.postEphemeral", **what)

    def edit(self, channel: str, ts: str, message: Json) -> None:
        # chat.update would parse @names and links by default, unlike chat.postMessage.
        self.call("chat.update", channel=channel, ts=ts, parse="none", **message)

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
        except (OSError, ValueError) as error:
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
            code = str(error.response.get("error"))
            raise SlackRefused("files.upload", code, str(error.response.get("needed") or "")) from error
        except (OSError, ValueError) as error:
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


def retry_seconds(headers: Any) -> float:
    value = str(
        {str(name).lower(): value for name, value in dict(headers or {}).items()}.get("retry-after", "30")
    )
    return float(value) if value.isdigit() else 30.0
