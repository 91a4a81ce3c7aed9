"""One file, GPUDIAG_… variables and options; every mistake told at once."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from gpudiag.settings import OPTIONS, Option, Settings, SettingsError, add_options, from_options, load
from gpudiag.words.units import exactly


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "gpudiag.toml"
    path.write_text(text)
    return str(path)


def test_nothing_said_is_the_documented_default() -> None:
    settings = load(environ={})

    assert (settings.serve.host, settings.serve.port, settings.serve.keep) == ("127.0.0.1", 8000, 7 * 86_400)
    assert (settings.bot.port, settings.agent.interval) == (3000, 10.0)


def test_options_win_over_variables_and_those_over_the_file(tmp_path: Path) -> None:
    config = written(tmp_path, '[serve]\nport = 1\nhost = "10.0.0.1"\nkeep = "1d"\n')
    environ = {"GPUDIAG_PORT": "2", "GPUDIAG_HOST": "10.0.0.2"}

    settings = load(config, environ, {"serve": {"port": "3"}})

    assert (settings.serve.port, settings.serve.host, settings.serve.keep) == (3, "10.0.0.2", 86_400)


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    config = written(
        tmp_path,
        """
        [serve]
        port = 99999
        keep = "soon"
        colour = "red"
        [server]
        [rules.no-such-rule]
        share = 1
        [rules.kv-pool-reserved-idle]
        min_ratio = 0.5
        min_used_share = "most"
        [nodes."gpu-*"]
        expected_gpus = "eight"
        """,
    )

    with pytest.raises(SettingsError) as caught:
        load(config, {"GPUDIAG_INTERVAL": "-1"})

    said = str(caught.value).splitlines()
    for mistake in (
        "serve.port wants a port", "serve.keep wants a span", "[serve] has no option 'colour'",
        "there is no table [server]", 'there is no rule "no-such-rule"',
        'has no threshold "min_ratio"; it has:',
        "rules.kv-pool-reserved-idle.min_used_share wants a number", "GPUDIAG_INTERVAL wants a span",
        'nodes."gpu-*".expected_gpus wants a number of GPUs',
    ):  # fmt: skip
        assert any(mistake in line for line in said), mistake
    assert len(said) == 9


@pytest.mark.parametrize(
    ("text", "said"), [("[serve", "not valid TOML"), ("a = \xff", None), (None, "cannot be read")]
)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, text: str | None, said: str | None) -> None:
    path = tmp_path / "gpudiag.toml"
    if text is not None:
        path.write_bytes(text.encode("latin-1"))

    with pytest.raises(SettingsError, match=said):
        load(str(path), {})


def test_a_variable_that_several_programs_share_is_one_mistake() -> None:
    with pytest.raises(SettingsError) as caught:
        load(None, environ={"GPUDIAG_LANG": "fr"})

    assert str(caught.value) == "GPUDIAG_LANG wants en or ko; got 'fr'"


def test_every_mistake_is_told_in_korean_too(tmp_path: Path) -> None:
    config = written(
        tmp_path,
        """
        engines = [{engine = "vllm", address = "node-3", port = 1}, 7]
        nodes = 1
        [serve]
        port = true
        colour = "red"
        [server]
        [agent]
        interval = "soon"
        api = "http://[half"
        [bot]
        lang = "klingon"
        """,
    )

    with pytest.raises(SettingsError) as caught:
        load(config, {})

    said = caught.value.said("ko").splitlines()
    for mistake in (
        "[server] 테이블은 없습니다", "serve.port: 1 이상 65535 이하", "[serve]: 'colour' 옵션은 없습니다",
        "agent.interval: 10s, 5m, 2h, 7d처럼", "agent.api: http://127.0.0.1:8000과 같은 주소",
        "bot.lang: en 또는 ko", "engines[0]: 'port' 옵션은 없습니다", "engines[0].address: http://",
        "engines[1]: 테이블이어야 합니다", 'nodes: [nodes."gpu-*"]처럼',
    ):  # fmt: skip
        assert any(mistake in line for line in said), mistake
    assert len(said) == 10


def test_a_settings_file_that_is_not_there_is_told_in_korean_too(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(str(tmp_path / "none.toml"), {})

    assert caught.value.said("ko").startswith(f"설정 파일 {tmp_path}/none.toml: 읽을 수 없습니다")


def test_what_is_declared_of_a_node_is_the_first_pattern_that_says_it(tmp_path: Path) -> None:
    config = written(
        tmp_path,
        '[nodes."gpu-9"]\nexpected_gpus = 4\n[nodes."gpu-*"]\nexpected_gpus = 8\nworkloads = ["vllm"]\n',
    )

    settings = load(config, {})

    assert (settings.declared("gpu-9").expected_gpus, settings.declared("gpu-9").workloads) == (4, ("vllm",))
    assert settings.declared("gpu-1").expected_gpus == 8
    assert (settings.declared("cpu-1").expected_gpus, settings.declared("cpu-1").workloads) == (None, None)


@pytest.mark.parametrize("section", ["serve", "agent", "bot"])
def test_every_option_has_a_flag_a_variable_and_a_key(section: str) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, section)
    chosen = [option for option in OPTIONS if section in option.sections]

    settings = from_options(parser.parse_args([]), section)

    assert isinstance(settings, Settings)
    assert {option.name for option in chosen} == set(type(getattr(settings, section)).__slots__)


TELL_THEIR_DEFAULT = [
    pytest.param(option, section, found[1], id=f"{section} {option.flag}")
    for option in OPTIONS
    for section in option.sections
    if (found := re.search(r" \((\d\S*( \w+)?)\)$", option.help))
]


@pytest.mark.parametrize(("option", "section", "told"), TELL_THEIR_DEFAULT)
def test_the_help_of_an_option_tells_the_default_that_holds(option: Option, section: str, told: str) -> None:
    holds = getattr(getattr(load(environ={}), section), option.name)

    if option.name.endswith("_bytes"):
        assert told == exactly(option.name, holds)
    else:
        assert option.read(told) == holds
