"""Set-up: the manifests, the doctor, settings, and the program as people start it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from bot.doctor import examine
from bot.settings import SettingsWrong, settings_of
from bot.slack import BUTTON
from gpudiag.settings import BotSettings
from tests.bot.conftest import Running
from tests.bot.schema import faults
from tests.doubles.slack.people import SECRET, ByHttp, Person
from tests.doubles.slack.server import Message, SlackDouble
from tests.ports import free_port
from tests.waiting import PATIENCE_SECONDS, until

ROOT = Path(__file__).parents[2]
GPUDIAG = (sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())")
MANIFESTS = sorted((ROOT / "deploy" / "slack").glob("manifest.*.yaml"))
SCHEMA = json.loads((ROOT / "tests/doubles/slack/published/manifest.schema.json").read_text())


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_is_what_slack_takes(path: Path):
    assert faults(yaml.safe_load(path.read_text()), SCHEMA) == []


def test_the_check_of_manifests_sees_faults():
    manifest = yaml.safe_load(MANIFESTS[0].read_text())
    manifest["features"]["shortcuts"][0]["name"] = "Explain this nvidia-smi output"
    manifest["settings"]["event_subscriptions"]["bot_events"] = "app_mention"
    del manifest["display_information"]["name"]

    assert len(faults(manifest, SCHEMA)) == 3


def test_both_manifests_ask_for_the_same_and_name_what_the_bot_handles():
    http, sockets = (yaml.safe_load(path.read_text()) for path in MANIFESTS)

    assert http["oauth_config"] == sockets["oauth_config"]
    assert http["features"]["shortcuts"][0]["callback_id"] == "explain_smi"
    assert sockets["settings"]["socket_mode_enabled"] and not http["settings"]["socket_mode_enabled"]
    assert BUTTON.fullmatch("ask.0") and not BUTTON.fullmatch("other.0")


def test_the_doctor_is_content_with_a_whole_set_up(bot: Running, settings, slack: SlackDouble):
    answer = examine(replace(settings, app_token="xapp-test"), "en")

    assert (answer.state, answer.steps) == ("ok", ())
    assert any("Slack accepts our" in str(line) for line in answer.paragraphs)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"bot_token": ""}, "SLACK_BOT_TOKEN is not set"),
        ({"signing_secret": ""}, "neither SLACK_SIGNING_SECRET nor SLACK_APP_TOKEN is set"),
        ({"bot_token": "xoxp-user"}, "Slack refuses the token (invalid_auth)"),
        ({"api_url": "http://127.0.0.1:9"}, "the gpudiag API does not answer"),
        ({"slack_api_url": "http://127.0.0.1:9/api/"}, "Slack cannot be reached"),
        ({"app_token": "xoxb-not-app-level"}, "Socket Mode is refused (invalid_auth)"),
    ],
)
def test_the_doctor_says_what_is_missing(settings, changed: dict[str, str], said: str):
    answer = examine(replace(settings, **changed), "en")

    assert answer.state == "warning"
    assert any(said in str(line) for line in answer.paragraphs)
    assert answer.steps


def test_the_doctor_names_missing_scopes_and_features_that_are_off(settings, slack: SlackDouble):
    slack.scopes = "commands,chat:write"
    lines = [str(line) for line in examine(settings, "en").paragraphs]

    assert "[FIX] the scope `app_mentions:read` is missing" in lines
    assert "[off] `users:read`: each person's own language and time zone" in lines


def test_the_doctor_compares_the_clock_with_slacks(settings, slack: SlackDouble):
    slack.date_offset = 400.0
    lines = [str(line) for line in examine(settings, "en").paragraphs]

    assert any("s off Slack's" in line for line in lines)


def test_the_doctor_is_asked_in_slack(person: Person):
    assert "Slack accepts our" in person.asks("doctor").words
    assert "정상" in person.asks("점검").words


def test_the_doctor_names_all_that_is_missing_in_one_go(settings, slack: SlackDouble):
    bare = replace(settings, bot_token="", signing_secret="", api_url="http://127.0.0.1:9", public_url="")
    answer = examine(bare, "en")
    lines = [str(line) for line in answer.paragraphs]

    assert [line for line in lines if line.startswith("[FIX]")] == [
        "[FIX] the gpudiag API does not answer",
        "[FIX] SLACK_BOT_TOKEN is not set",
        "[FIX] neither SLACK_SIGNING_SECRET nor SLACK_APP_TOKEN is set",
    ]
    assert "[off] links lead to http://127.0.0.1:9, which opens only on this machine" in lines
    assert len(answer.steps) == 4


def test_the_doctor_tries_both_tokens_even_when_one_is_wrong(settings, slack: SlackDouble):
    wrong = replace(settings, bot_token="xoxp-user", app_token="xoxb-not-app-level")
    lines = [str(line) for line in examine(wrong, "en").paragraphs]

    assert "[FIX] Slack refuses the token (invalid_auth)" in lines
    assert "[FIX] Socket Mode is refused (invalid_auth)" in lines


def test_the_doctor_says_once_that_slack_is_away(settings, slack: SlackDouble):
    slack.goes_away()
    lines = [str(line) for line in examine(replace(settings, app_token="xapp-test"), "en").paragraphs]

    assert lines.count("[FIX] Slack cannot be reached") == 1


def test_settings_tell_what_is_missing_beside_what_is_wrong():
    with pytest.raises(SettingsWrong) as caught:
        settings_of(BotSettings(), {"SLACK_BOT_TOKEN": "xapp-1"})

    assert "SLACK_BOT_TOKEN is not a bot token" in str(caught.value)
    assert "neither SLACK_SIGNING_SECRET (HTTP) nor SLACK_APP_TOKEN" in str(caught.value)


def test_settings_tell_every_mistake_at_once():
    with pytest.raises(SettingsWrong) as caught:
        settings_of(BotSettings(), {"SLACK_BOT_TOKEN": "xapp-1", "SLACK_APP_TOKEN": "xoxb-1"})

    assert "SLACK_BOT_TOKEN" in str(caught.value) and "SLACK_APP_TOKEN" in str(caught.value)


def test_secrets_are_not_shown(settings):
    assert SECRET not in repr(settings) and "xoxb" not in repr(settings)


def test_the_bot_starts_without_slack_and_finds_it_later(settings, slack: SlackDouble):
    slack.goes_away()
    with Running(settings) as running:
        person = Person(slack, ByHttp(running.url))
        answered = person.types("why node-3").message
        slack.comes_back()
        found = running.program.slack.identify()

    assert answered is not None and answered.blocks
    assert found


def environment(settings, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return {
        **kept,
        "SLACK_BOT_TOKEN": "xoxb-test",
        "GPUDIAG_API_URL": settings.api_url,
        "GPUDIAG_SLACK_API_URL": settings.slack_api_url,
        "GPUDIAG_BOT_STATE": settings.state_path,
        **more,
    }


def gpudiag(*words: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*GPUDIAG, *words]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def test_the_program_serves_http_and_stops_cleanly(settings, slack: SlackDouble):
    port = free_port()
    env = environment(settings, SLACK_SIGNING_SECRET=SECRET)
    command = [*GPUDIAG, "bot", "--port", str(port)]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            person = Person(slack, ByHttp(f"http://127.0.0.1:{port}/slack/events"))
            answer = first_answer(person)
            program.send_signal(signal.SIGTERM)
            program.wait(PATIENCE_SECONDS)
        finally:
            program.kill()
        errors = program.stderr.read() if program.stderr else ""

    assert answer.blocks[0]["text"]["text"].startswith("node-3: memory full")
    assert program.returncode == 0
    assert "Traceback" not in errors


def test_the_program_speaks_socket_mode_and_follows_slack(settings, slack: SlackDouble):
    from tests.doubles.slack.people import BySocket

    env = environment(settings, SLACK_APP_TOKEN="xapp-test")
    command = [*GPUDIAG, "bot"]
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        try:
            slack.wait(lambda: slack.sockets)
            person = Person(slack, BySocket(slack))
            before = person.asks("why node-3")
            slack.sockets[0].send({"type": "disconnect", "reason": "refresh_requested"})
            slack.wait(lambda: len(slack.sockets) > 1)
            after = person.asks("why node-3")
            program.send_signal(signal.SIGTERM)
            program.wait(PATIENCE_SECONDS)
        finally:
            program.kill()
        told = program.stdout.read() if program.stdout else ""

    assert (before.blocks[0], program.returncode) == (after.blocks[0], 0)
    assert f"kept in {env['GPUDIAG_BOT_STATE']}; a bot with another file" in told


def first_answer(person: Person) -> Message:
    """The answer of a program that is still starting."""

    def answer() -> Message | None:
        try:
            return person.asks("why node-3")
        except OSError:
            return None

    return until(answer)


def test_without_secrets_one_line_says_what_to_set(settings):
    env = {name: value for name, value in environment(settings).items() if not name.startswith("SLACK_")}
    done = gpudiag("bot", env=env)

    assert done.returncode == 2
    for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN"):
        assert name in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            {"SLACK_BOT_TOKEN": ""},
            "SLACK_BOT_TOKEN(xoxb-…) 변수가 설정되지 않았습니다; SLACK_SIGNING_SECRET(HTTP)과",
        ),
        ({"SLACK_BOT_TOKEN": "xapp-1"}, "봇 설정: SLACK_BOT_TOKEN 값이 봇 토큰이 아닙니다"),
        (
            {"GPUDIAG_BOT_STATE": "/proc/none/file", "SLACK_APP_TOKEN": "xapp-1"},
            "봇의 파일 /proc/none/file: 쓸 수",
        ),
        ({"GPUDIAG_TOKEN_FILE": "/nowhere/token"}, "토큰 파일 /nowhere/token: 읽을 수 없습니다"),
        ({"GPUDIAG_BOT_PORT": "x"}, "GPUDIAG_BOT_PORT: 1 이상 65535 이하의 포트를"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line_in_korean_too(settings, more: dict[str, str], said: str):
    done = gpudiag("bot", env={**environment(settings), "LANG": "ko_KR.UTF-8", **more})

    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_port_that_is_taken_is_one_clear_line(settings):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = gpudiag("bot", "--port", str(port), env=environment(settings, SLACK_SIGNING_SECRET=SECRET))

    assert done.returncode == 3
    assert f"port {port} on 127.0.0.1 is taken" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_check_answers_in_the_language_of_the_terminal(settings):
    env = environment(settings, SLACK_SIGNING_SECRET=SECRET)
    away = {**env, "GPUDIAG_API_URL": "http://127.0.0.1:9"}

    assert "필요한 것이 모두 있습니다" in gpudiag("bot", "--check", "--lang", "ko", env=env).stdout
    assert "실행 중인 서버가 없습니다" in gpudiag("bot", "--check", "--lang", "ko", env=away).stdout


@pytest.mark.parametrize("name", ["text/bot.sqlite3", "text"])
def test_a_file_that_cannot_be_used_is_one_clear_line(
    settings, slack: SlackDouble, tmp_path: Path, name: str
):
    (tmp_path / "text").write_text("no database, and no folder")
    path = str(tmp_path / name)
    env = environment(settings, SLACK_SIGNING_SECRET=SECRET, GPUDIAG_BOT_STATE=path)
    done, checked = gpudiag("bot", env=env), gpudiag("bot", "--check", env=env)

    assert path in done.stderr and "GPUDIAG_BOT_STATE" in done.stderr
    assert "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert checked.returncode == 1 and "own file" in checked.stdout


def test_a_check_that_slack_does_not_answer_says_it_once_and_in_words(settings):
    env = environment(settings, SLACK_SIGNING_SECRET=SECRET, GPUDIAG_SLACK_API_URL="http://127.0.0.1:9/api/")
    done = gpudiag("bot", "--check", env=env)

    assert "Slack cannot be reached" in done.stdout
    assert done.stderr == ""


def test_check_prints_the_doctors_answer_and_fails_when_something_is_missing(settings):
    good = gpudiag("bot", "--check", env=environment(settings, SLACK_SIGNING_SECRET=SECRET))
    bad = gpudiag("bot", "--check", env=environment(settings))

    assert (good.returncode, bad.returncode) == (0, 1)
    assert "Everything needed is there" in good.stdout


def test_ask_answers_without_a_chat_system(settings):
    done = gpudiag("ask", "why node-3", "--lang", "en", env=environment(settings))

    assert done.returncode == 0
    assert done.stdout.startswith("node-3: memory full, util 0%: reserved KV pool, normal\n")
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    assert (
        json.loads(gpudiag("ask", "why node-3", "--json", env=environment(settings)).stdout)["state"] == "ok"
    )
