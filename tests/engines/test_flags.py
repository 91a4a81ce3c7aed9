"""What a server's command line declares, in each engine's own spelling."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.engines import TABLES, put_flags
from gpudiag.model import EngineReading


def read(engine: str, command: str, **told: Any) -> EngineReading:
    reading = EngineReading(name=f"{engine}:1", engine=engine, **told)
    put_flags(reading, TABLES[engine].flags, command)
    return reading


@pytest.mark.parametrize(
    ("engine", "command", "expected"),
    [
        (
            "vllm",
            "/usr/bin/python3 /usr/bin/vllm serve meta-llama/Llama-3.1-8B-Instruct --served-model-name chat "
            "-tp 2 --max_num_seqs 128 --max-model-len 8k --gpu-memory-utilization=0.85 --kv-cache-dtype fp8",
            {"model_path": "meta-llama/Llama-3.1-8B-Instruct", "tensor_parallel": 2, "max_num_seqs": 128,
             "max_model_len": 8000, "gpu_memory_utilization": 0.85, "kv_dtype": "fp8"},
        ),
        (
            "vllm",
            "python3 -m vllm.entrypoints.openai.api_server --model /models/qwen3-8b --max-model-len=32K",
            {"model_path": "/models/qwen3-8b", "max_model_len": 32768, "tensor_parallel": None},
        ),
        (
            "sglang",
            "python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 4 --mem-fraction-static 0.8 "
            "--context-length 16384 --max-running-requests 64",
            {"model_path": "Qwen/Qwen3-32B", "tensor_parallel": 4, "gpu_memory_utilization": 0.8,
             "max_model_len": 16384, "max_num_seqs": 64},
        ),
        (
            "tensorrt-llm",
            "/usr/local/bin/trtllm-serve serve meta-llama/Llama-3.1-8B --tp_size 2 --max_batch_size 32",
            {"model_path": "meta-llama/Llama-3.1-8B", "tensor_parallel": 2, "max_num_seqs": 32},
        ),
        (
            "tgi",
            "text-generation-launcher --model-id mistralai/Mistral-7B-v0.1 --num-shard 2",
            {"model_path": "mistralai/Mistral-7B-v0.1", "tensor_parallel": 2},
        ),
        (
            "lmdeploy",
            "python3 lmdeploy serve api_server internlm/internlm2_5-7b-chat --tp 2 --session-len 8192",
            {"model_path": "internlm/internlm2_5-7b-chat", "tensor_parallel": 2, "max_model_len": 8192},
        ),
        (
            "llama.cpp",
            "./llama-server -m /m/llama-3-8b.gguf -c 16384 -np 4",
            {"model_path": "/m/llama-3-8b.gguf", "max_model_len": 16384, "max_num_seqs": 4},
        ),
    ],
)  # fmt: skip
def test_each_engine_s_own_flags(engine: str, command: str, expected: dict[str, Any]) -> None:
    reading = read(engine, command)

    assert expected == {name: getattr(reading, name) for name in expected}


def test_the_engine_s_own_page_comes_first() -> None:
    reading = read("vllm", "vllm serve m --gpu-memory-utilization 0.85", gpu_memory_utilization=0.9)

    assert reading.gpu_memory_utilization == 0.9


@pytest.mark.parametrize("value", ["many", "-1", "0", "nan", "1e9", "", "99999999999999999999"])
def test_what_is_no_number_is_not_known(value: str) -> None:
    assert read("vllm", f"vllm serve m --max-num-seqs {value}").max_num_seqs is None


@pytest.mark.parametrize("command", ["", "vllm", "vllm serve", "vllm serve --port 8000", "serve"])
def test_no_model_is_made_up(command: str) -> None:
    assert read("vllm", command).model_path is None
