"""`gpudiag explain`: the same diagnosis on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.smi import writers
from tests.smi.tables import gpu, machine

PROGRAM = [sys.executable, "-c", "import sys; from gpudiag.cli import main; sys.exit(main())", "explain"]


def explained(*options: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *options], input=text, capture_output=True, text=True, timeout=60, check=False
    )


def test_one_json_document_of_piped_output() -> None:
    done = explained("-", "--json", text=writers.table(machine(gpu(0), gpu(1))))
    diagnosis = json.loads(done.stdout)

    assert (0, "pasted", 2) == (done.returncode, diagnosis["source"], len(diagnosis["gpus"]))
    assert 4 << 20 == diagnosis["gpus"][0]["readings"]["memory_used_bytes"]


def test_a_file_in_korean(tmp_path: Path) -> None:
    file = tmp_path / "smi.txt"
    file.write_text(writers.table(machine(gpu(0))), encoding="utf-8")
    done = explained(str(file), "--lang", "ko")

    assert 0 == done.returncode
    assert "다음에 할 일" in done.stdout


def test_a_failure_is_one_line_without_a_traceback(tmp_path: Path) -> None:
    for done in (explained(str(tmp_path / "none.txt")), explained("-", text="my GPU is slow")):
        assert done.returncode != 0
        assert 1 == len(done.stderr.strip().splitlines())
        assert "Traceback" not in done.stderr


def test_a_pipe_that_brought_nothing_is_told_how_errors_pass_it() -> None:
    done = explained("-", text="\n")

    assert done.returncode == 2
    assert "`nvidia-smi 2>&1 | gpudiag explain -`" in done.stderr


def test_a_refusal_is_said_in_the_language_that_was_asked_for() -> None:
    nothing, missing = (
        explained("-", "--lang", "ko", text="GPU가 느립니다"),
        explained("none", "--lang", "ko"),
    )

    assert nothing.stderr.startswith("gpudiag: 이 텍스트에서 읽을 수 있는 GPU 정보가 없습니다.")
    assert missing.stderr.startswith("gpudiag: explain: none 파일을 읽을 수 없습니다:")


@pytest.mark.parametrize(
    ("language", "remedy"),
    [("en", "- paste `nvidia-smi -q`, or install the agent. This settles "),
     ("ko", "- `nvidia-smi -q` 출력을 붙여넣거나 에이전트를 설치하십시오. 그러면 판단할 수 있는 규칙: ")],
)  # fmt: skip
def test_a_remedy_is_told_once_with_all_that_it_would_settle(language: str, remedy: str) -> None:
    done = explained("-", "--lang", language, text=writers.table(machine(gpu(0), gpu(1))))
    text = " ".join(done.stdout.split())

    assert 1 == text.count(remedy)
    assert "thermal-hw-slowdown" in text.split(remedy)[1]


def test_gpus_in_the_same_state_share_a_line() -> None:
    alike, differs = gpu(0), {"memory_used_bytes": 96 << 20}
    together = explained("-", text=writers.table(machine(alike, gpu(1), gpu(2)))).stdout
    apart = explained("-", text=writers.table(machine(alike, gpu(1, **differs), gpu(2, **differs)))).stdout

    assert "Also seen" not in together
    assert 1 == sum(line.startswith("  - GPU 1-2: ") for line in apart.splitlines())


@pytest.mark.parametrize(
    ("language", "remedy"),
    [("en", "paste samples that cover 3 min 59 s more (`nvidia-smi -l 1`), or install the agent"),
     ("ko", "3분 59초 더 이어지는 샘플을 붙여넣거나(`nvidia-smi -l 1`) 에이전트를 설치하십시오")],
)  # fmt: skip
def test_nobody_is_told_to_wait_for_more_samples_of_a_text(language: str, remedy: str) -> None:
    done = explained("-", "--lang", language, text=writers.table(machine(gpu(0))))

    assert remedy in " ".join(done.stdout.split())
