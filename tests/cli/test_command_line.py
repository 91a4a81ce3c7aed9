"""What a person meets first on the command line: the overview, mistakes, and what each of them exits with."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import msgspec
import pytest

from gpudiag.cli import main
from gpudiag.cli.completion import whole_parser
from gpudiag.simulator import fleet
from gpudiag.words.columns import WIDTH, cells
from tests.api.conftest import Api, ReportingNode


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GPUDIAG_LANG", "GPUDIAG_CONFIG", "GPUDIAG_TOKEN_FILE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


def test_every_command_has_one_line_in_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]

    assert [line.split()[0] for line in lines[:4]] == ["demo", "up", "why", "explain"]
    assert [line for line in lines if line.endswith(".") or line.split()[1][0].isupper()] == []


def test_help_of_a_command_is_the_commands_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "check"]) == 0
    asked = capsys.readouterr().out
    assert main(["check", "--help"]) == 0

    assert asked == capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["why", "node-3", "--token-file", "/nowhere/token"], "token file /nowhere/token cannot be read"),
        (["why", "--lang", "xx"], "--lang wants en or ko; got 'xx'"),
        (["why", "--for", "soon"], "--for wants a span of time"),
        (["why", "node-3", "--at", "99999999d"], "cannot read the time '99999999d'"),
        (["why", "--api", "http://127.0.0.1:9"], "The nodes: gpudiag ask --api http://127.0.0.1:9"),
        (["why", "--explain-rule", "gpu-fre"], "near: gpu-free"),
        (["why", "node-3", "--explain-rule", "gpu-free"], "--explain-rule looks at this machine"),
        (["help", "nosuch"], "there is no command 'nosuch'"),
        (["wy"], "did you mean `gpudiag why`?"),
        (["status"], "it is a question: gpudiag ask status"),
    ],
)
def test_a_mistake_is_one_sentence(
    capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err

    assert sentence in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["why", "node-3", "--token-file", "/nowhere/token"], "토큰 파일 /nowhere/token: 읽을 수 없습니다"),
        (["why", "node-3", "--at", "gestern"], "'gestern': 읽을 수 없는 시각입니다"),
        (["why", "--api", "http://127.0.0.1:9"], "전체 노드: gpudiag ask --api http://127.0.0.1:9"),
        (["why", "--at", "10m"], "--at에는 NODE가 필요합니다"),
        (["why", "--for", "soon"], "--for: 10s, 5m, 2h, 7d처럼 0보다 긴 시간을 지정하십시오"),
        (["record", "-", "--interval", "0s"], "--interval: 10s, 5m, 2h, 7d처럼"),
        (["rules", "gpu-fre"], "비슷한 이름: gpu-free"),
        (["rules", "orphan"], "비슷한 이름: orphaned-engine"),
        (["replay", "/nowhere/file"], "replay: /nowhere/file 파일을 읽을 수 없습니다"),
        (
            ["kv", "/nowhere/config.json"],
            "/nowhere/config.json 파일을 읽을 수 없습니다(파일이나 폴더가 없음)",
        ),
        (
            ["rules", "--config", "/nowhere.toml"],
            "설정 파일 /nowhere.toml: 읽을 수 없습니다(파일이나 폴더가 없음)",
        ),
        (["wy"], "비슷한 명령: `gpudiag why`"),
    ],
)
def test_a_mistake_is_told_in_korean_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: list[str], sentence: str
) -> None:
    monkeypatch.setenv("GPUDIAG_LANG", "ko")

    assert main(words) == 2
    assert sentence in capsys.readouterr().err


def test_a_check_says_why_it_knows_nothing_in_the_language_that_was_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["check", "node-3", "--token-file", "/nowhere/token", "--lang", "ko"]) == 3
    assert capsys.readouterr().out.startswith("GPU UNKNOWN - 토큰 파일 /nowhere/token: 읽을 수 없습니다")


def test_a_language_without_words_is_told_from_the_environment_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUDIAG_LANG", "klingon")

    assert main(["rules", "gpu-free"]) == 2
    assert "GPUDIAG_LANG wants en or ko" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["--nosuch"], ["--for", "soon"], ["--lang", "xx"], ["node-3", "--token-file", "/nowhere/token"]]
)
def test_a_check_that_was_mistyped_is_unknown_and_not_critical(words: list[str]) -> None:
    assert main(["check", *words]) == 3


@pytest.mark.parametrize(("command", "code"), [("why", 2), ("check", 3)])
def test_an_empty_name_is_not_this_machine(
    command: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, ""]) == code
    assert "empty" in "".join(capsys.readouterr())


def test_a_check_through_an_api_is_never_of_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--api", "http://127.0.0.1:9"]) == 3
    assert capsys.readouterr().out.startswith("GPU UNKNOWN - --api needs a NODE")


def test_a_check_that_fails_over_a_bug_is_unknown_in_its_line(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text('raise RuntimeError("a broken copy")\n')
    command = [sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())", "check"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    assert done.returncode == 3
    assert done.stdout.startswith("GPU UNKNOWN - gpudiag failed here (RuntimeError: a broken copy;")
    assert "Traceback" not in done.stderr


def test_a_recording_names_the_page_that_can_be_read_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = next(machine for machine in fleet(0.0) if machine.name == "node-3")
    file = tmp_path / "node-3.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(s) + b"\n" for s in machine.history(0.0, 1800.0)))

    assert main(["replay", str(file)]) == 0
    assert "Runbook: gpudiag rules kv-pool-reserved-idle\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["completion", "bash"], ["rules", "gpu-free"], ["help"]])
def test_a_reader_that_has_gone_ends_a_command_in_silence(words: list[str]) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    code = "import sys; from gpudiag.cli import main; sys.exit(main())"
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, env=env)
    os.close(writes)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize("words", [["kv", "llama-3-8b"], ["rules", "gpu-free"], ["rules"]])
def test_an_output_without_space_is_one_sentence(words: list[str]) -> None:
    command = [sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())", *words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)

    assert done.returncode == 3
    [line] = done.stderr.splitlines()
    assert line.startswith("gpudiag: stdout: No space left on device.")


@pytest.mark.parametrize("development", ["", "1"])
def test_a_bug_is_one_sentence_with_its_place(tmp_path: Path, development: str) -> None:
    (tmp_path / "buggy.py").write_text(
        'SUMMARY = ""\narguments = print\ndef run(options):\n    return {}["a\\nb"]\n'
    )
    program = (
        "import sys; from gpudiag import cli; cli.COMMANDS['buggy'] = 'buggy'; sys.exit(cli.main(['buggy']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDEVMODE": development}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 3
    *before, line = done.stderr.splitlines()
    assert line.startswith(
        "gpudiag: gpudiag failed here (KeyError: 'a\\nb'; buggy.py, line 4): this is a bug."
    )
    assert bool(development) == any("Traceback" in other for other in before)


def test_the_overview_loads_no_server() -> None:
    code = "import sys; from gpudiag.cli import dispatch; dispatch(['help']); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert not {"flask", "sqlalchemy", "slack_bolt"} & set(loaded.split())


NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    "words",
    [
        ["ask", "status"],
        ["ask", "why node-3"],
        ["ask", "--json", "idle"],
        ["why", "node-3"],
        ["check", "node-3"],
    ],
)
def test_a_question_that_nobody_answers_is_no_success(words: list[str]) -> None:
    assert main([*words, "--api", NOBODY]) == 3


def test_what_went_wrong_on_the_way_to_the_api_is_told_in_korean_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["why", "node-3", "--lang", "ko", "--api", NOBODY]) == 3
    assert main(["why", "node-3", "--lang", "ko", "--api", "ftp://server"]) == 2
    nobody, no_address = capsys.readouterr().err.splitlines()

    assert nobody == f"gpudiag: {NOBODY} 주소에서 실행 중인 서버가 없습니다. `gpudiag serve`로 시작하십시오"
    assert no_address.startswith("gpudiag: 'ftp://server': API 주소가 아닙니다.")


def test_a_chat_command_that_was_not_understood_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "mute node-3", "--api", NOBODY]) == 2
    assert main(["ask", "help", "--api", NOBODY]) == 0
    assert "why" in capsys.readouterr().out


def test_the_help_of_the_terminal_offers_what_a_terminal_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "help", "--api", NOBODY]) == 0
    offered, _, elsewhere = capsys.readouterr().out.rpartition("\n\n")

    assert "mute" not in offered
    assert "chart, watch, mute, ack, language" in " ".join(elsewhere.split())
    assert main(["ask", "help mute", "--api", NOBODY]) == 0
    assert "quiet for a while" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("mute off node-3", "curl -X DELETE"),
        ("watch node-3", "watch -n 30 gpudiag ask 'why node-3'"),
        ("ack 7", "/v1/findings/7/ack"),
        ("language ko", "--lang ko"),
    ],
)
def test_what_needs_a_channel_is_refused_with_what_a_terminal_has_instead(
    capsys: pytest.CaptureFixture[str], command: str, instead: str
) -> None:
    assert main(["ask", command, "--api", NOBODY]) == 2
    assert instead in capsys.readouterr().out


def test_a_mute_refused_in_a_terminal_names_the_command_that_mutes(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=6)
    assert main(["ask", "mute node-3 thermal-hw-slowdown 2h new fans", "--api", api.url]) == 2
    (command,) = (line for line in capsys.readouterr().out.splitlines() if "curl" in line)
    *_, body, address = shlex.split(command)
    with urlopen(Request(address, body.encode()), timeout=10) as answered:
        assert 201 == answered.status

    (held,) = api.ask("GET", "/v1/mutes")["items"]
    assert ("node-3", "thermal-hw-slowdown", "new fans") == (held["node"], held["rule"], held["why"])


def test_every_option_says_what_it_is_and_names_its_variable_as_all_do() -> None:
    (commands,) = (action for action in whole_parser()._actions if action.choices)
    told = {
        (name, action.metavar or action.dest, action.help)
        for name, command in dict(commands.choices or {}).items()
        for action in command._actions
    }

    assert [
        (name, option) for name, option, said in told if not said and option != "create|list|revoke"
    ] == []
    assert [said for *_, said in told if "(GPUDIAG_" in str(said)] == []
    assert {"settings file in TOML; GPUDIAG_CONFIG"} == {s for *_, s in told if "GPUDIAG_CONFIG" in str(s)}


def test_a_chat_command_ends_as_its_question_did(api: Api) -> None:
    ReportingNode("node-3", api).serves_idle_vllm().passes(minutes=6)

    assert 0 == main(["ask", "why node-3", "--api", api.url])
    assert 2 == main(["ask", "why nod-3", "--api", api.url])
    assert 0 == main(["ask", "runbook orphaned-engine", "--api", api.url])
    assert 2 == main(["ask", "runbook orphan", "--api", api.url])


def test_the_list_of_rules_speaks_as_the_diagnosis_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--lang", "ko"]) == 0
    korean = capsys.readouterr().out
    assert main(["rules"]) == 0
    english = capsys.readouterr().out

    assert korean.startswith("agent: 상태를 볼 수 있는지.\n")
    assert english.startswith("agent: Whether we can see at all.\n")
    assert ["정보", "info"] == [_severity_shown("agent-blind", said) for said in (korean, english)]


@pytest.mark.parametrize("words", [["xid", "79"], ["79"], ["gpu-lost-bus"]])
def test_a_runbook_is_found_by_what_the_log_says(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert main(["rules", *words]) == 0
    assert "`gpu-lost-bus` · critical" in capsys.readouterr().out


def test_words_that_several_pages_have_list_those(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "kv", "pool"]) == 0
    listed = capsys.readouterr().out

    assert "kv-pool-reserved-idle" in listed
    assert "gpu-lost-bus" not in listed


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_list_of_rules_fits_a_terminal_and_cuts_no_threshold(
    capsys: pytest.CaptureFixture[str], language: str
) -> None:
    assert main(["rules", "--lang", language]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert [line for line in lines if cells(line) > WIDTH] == []
    assert [line for line in lines if re.search(r"^ *=|=$", line)] == []
    assert [line for line in lines if "…" in line or "{" in line] == []


def _severity_shown(rule: str, listed: str) -> str:
    return next(line.split()[1] for line in listed.splitlines() if line.split()[:1] == [rule])


def test_a_recording_that_was_sent_is_told_in_the_language_that_was_asked_for(
    tmp_path: Path, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    begin = api.clock() - 60.0
    machine = next(machine for machine in fleet(begin) if machine.name == "node-3")
    file = tmp_path / "node-3.jsonl"
    file.write_bytes(b"".join(msgspec.json.encode(s) + b"\n" for s in machine.history(begin, begin + 30.0)))
    count = len(file.read_bytes().splitlines())

    assert main(["replay", str(file), "--api", api.url, "--lang", "ko"]) == 0
    assert capsys.readouterr().out == f"{api.url} 주소로 스냅샷 {count}개를 보냈습니다.\n"
    assert main(["replay", str(file), "--api", api.url, "--lang", "en"]) == 0
    assert capsys.readouterr().out == f"Snapshots sent to {api.url}: {count}.\n"


@pytest.mark.parametrize("variable", ["GPUDIAG_API_URL", "GPUDIAG_API"])
def test_questions_go_where_the_bot_or_the_agent_is_told_to_go(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GPUDIAG_API_URL", raising=False)
    monkeypatch.setenv(variable, "http://127.0.0.1:9")

    code = main(["check", "node-3"])

    assert code == 3
    assert "http://127.0.0.1:9" in "".join(capsys.readouterr())
