"""Command lines leave the host without their secrets, and are still worth reading."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudiag.agent.masking import LONGEST, masked

SECRET = "s3cr3tValue99"


@pytest.mark.parametrize(
    "command",
    [
        ["serve", "--api-key", SECRET],
        ["serve", f"--api-key={SECRET}"],
        ["serve", f"--apiKey={SECRET}"],
        ["serve", "--hf-token", SECRET],
        ["serve", "-token", SECRET],
        ["serve", f"--wandb_api_key={SECRET}"],
        ["train.py", f"db.password={SECRET}"],
        ["train.py", f"AWS_SECRET_ACCESS_KEY={SECRET}"],
        ["env", f"HUGGING_FACE_HUB_TOKEN={SECRET}", "python", "x.py"],
        ["curl", "-H", f"Authorization: Bearer {SECRET}"],
        ["curl", "-u", f"user:{SECRET}"],
        ["curl", f"https://user:{SECRET}@example.com/model"],
        ["curl", f"https://bucket.example.com/x?X-Amz-Signature={SECRET}&b=1"],
        ["curl", f"https://example.com/?access_token={SECRET}"],
        ["env", f"PGPASSWORD={SECRET}", "psql"],
        ["serve", f"--hftoken={SECRET}"],
        ["mysql", f"-p{SECRET}"],
        ["sshpass", "-p", SECRET, "ssh", "host"],
        ["redis-cli", "-a", SECRET],
        ["python", "-c", f"login(token='x'); r = 'Bearer {SECRET}'"],
        ["serve", "hf_" + SECRET],
        ["serve", "sk-" + SECRET],
        ["serve", "xoxb-" + SECRET],
        ["serve", f"postgresql://u:{SECRET}@db/x"],
    ],
)
def test_a_secret_is_hidden(command: list[str]) -> None:
    assert SECRET not in masked(command)


@pytest.mark.parametrize(
    "command",
    [
        ["vllm", "serve", "meta-llama/Llama-3-8B", "--max-num-batched-tokens", "8192"],
        ["vllm", "serve", "m", "--tokenizer", "hf/tok", "--tokenizer-mode", "auto"],
        ["python", "-m", "sglang.launch_server", "--model-path", "/m", "--tp", "8", "--port", "30000"],
        ["vllm", "serve", "m", "--gpu-memory-utilization=0.9", "--ssl-keyfile", "/etc/tls/key.pem"],
        ["train.py", "--num-key-value-heads", "8", "--bos-token-id", "1", "--pad-token", "<pad>"],
        ["train.py", "lr=0.1", "path=/data/x:y", "url=http://127.0.0.1:8000/v1"],
        ["torchrun", "--rdzv-endpoint=node-1:29500", "--nproc-per-node", "8", "train.py"],
    ],
)
def test_what_is_no_secret_stays_readable(command: list[str]) -> None:
    assert masked(command) == " ".join(command)


def test_the_option_before_a_secret_stays() -> None:
    assert masked(["vllm", "serve", "m", "--api-key", SECRET, "--port", "1"]) == (
        "vllm serve m --api-key *** --port 1"
    )


def test_a_switch_that_sounds_secret_does_not_hide_the_next_option() -> None:
    assert masked(["serve", "--no-password", "--port", "1"]) == "serve --no-password --port 1"


def test_a_private_key_is_hidden_whole() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIabc\ndef\n-----END RSA PRIVATE KEY-----"

    assert "MIIabc" not in masked(["tool", key])


@given(st.lists(st.text(max_size=200), max_size=30))
def test_any_command_line_becomes_one_short_printable_line(command: list[str]) -> None:
    line = masked(command)

    assert line.isprintable()
    assert len(line) <= LONGEST


@given(
    st.sampled_from(["--token", "--api-key", "--password", "--client-secret"]),
    st.text("abcXYZ019", min_size=1),
)
def test_a_value_after_a_secret_option_never_shows(option: str, value: str) -> None:
    words = masked(["tool", option, f"Q{value}Q", f"{option}=Q{value}Q"]).split()

    assert words == ["tool", option, "***", f"{option}=***"]


@pytest.mark.parametrize("piece", ["x-", "?token", "a.", "-eyJ", "token "])
def test_a_command_line_that_is_made_to_be_long_costs_little(piece: str) -> None:
    start = time.process_time()
    masked(["tool", piece * 60_000, *[piece * 500] * 1_000])

    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("length", range(1_960, 2_001, 5))
def test_half_a_secret_at_the_end_of_what_is_looked_at_does_not_show(length: int) -> None:
    line = masked(
        ["tool", "-----BEGIN A PRIVATE KEY-----", f"?token={'a' * (length - 50)}&key=sk-hunter2hunter2"]
    )

    assert "hunter" not in line
