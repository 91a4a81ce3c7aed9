"""Inference servers as the agent meets them: a port on loopback, a metrics page that goes on with time."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Load:
    """What a server says of its work; `tokens`, `prompt`, `finished` … are rates per second."""

    model: str = "meta-llama/Llama-3.1-8B-Instruct"
    running: float = 0.0
    waiting: float = 0.0
    kv_used: float = 0.0
    tokens: float = 0.0
    prompt: float = 0.0
    finished: float = 0.0
    preemptions: float = 0.0
    prefix_queries: float = 0.0
    prefix_hits: float = 0.0
    first_token_seconds: float = 0.2
    sleeping: bool = False
    waiting_reason: str | None = None
    utilization: float = 0.92
    pool_bytes: int | None = None
    pool_tokens: int = 476_016
    totals: dict[str, float] = field(default_factory=dict)

    def goes_on(self, seconds: float) -> None:
        """Adds what was done in so long."""
        done = {
            "tokens": self.tokens, "prompt": self.prompt, "finished": self.finished,
            "preemptions": self.preemptions, "queries": self.prefix_queries, "hits": self.prefix_hits,
        }  # fmt: skip
        for name, rate in done.items():
            self.totals[name] = self.totals.get(name, 1000.0) + rate * seconds
        slow = "slow" if self.first_token_seconds > 2.5 else "quick"
        self.totals[slow] = self.totals.get(slow, 0.0) + self.finished * seconds


def vllm(load: Load, *, old: bool = False) -> str:
    """A vLLM page; `old` with the names of its versions before 0.8."""
    at, t = f'engine="0",model_name="{load.model}"', load.totals
    kv = "gpu_cache_usage_perc" if old else "kv_cache_usage_perc"
    quick, every = t.get("quick", 0.0), t.get("quick", 0.0) + t.get("slow", 0.0)
    bytes_told = "None" if load.pool_bytes is None else load.pool_bytes
    lines = [
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{{{at}}} {load.running}",
        f"vllm:num_requests_waiting{{{at}}} {load.waiting}",
        f"vllm:{kv}{{{at}}} {load.kv_used}",
        f"vllm:num_preemptions_total{{{at}}} {t.get('preemptions', 0)}",
        f"vllm:prompt_tokens_total{{{at}}} {t.get('prompt', 0)}",
        f"vllm:generation_tokens_total{{{at}}} {t.get('tokens', 0)}",
        f'vllm:request_success_total{{finished_reason="stop",{at}}} {t.get("finished", 0)}',
        f"vllm:prefix_cache_queries_total{{{at}}} {t.get('queries', 0)}",
        f"vllm:prefix_cache_hits_total{{{at}}} {t.get('hits', 0)}",
        f'vllm:time_to_first_token_seconds_bucket{{{at},le="0.5"}} {quick}',
        f'vllm:time_to_first_token_seconds_bucket{{{at},le="2.5"}} {quick}',
        f'vllm:time_to_first_token_seconds_bucket{{{at},le="10.0"}} {every}',
        f'vllm:time_to_first_token_seconds_bucket{{{at},le="+Inf"}} {every}',
    ]
    if not old:
        lines += [
            f'vllm:engine_sleep_state{{{at},sleep_state="awake"}} {int(not load.sleeping)}',
            f'vllm:engine_sleep_state{{{at},sleep_state="weights_offloaded"}} {int(load.sleeping)}',
            'vllm:cache_config_info{block_size="16",cache_dtype="auto",'
            f'gpu_memory_utilization="{load.utilization}",kv_cache_memory_bytes="{bytes_told}",'
            f'kv_cache_size_tokens="{load.pool_tokens}",num_gpu_blocks="{load.pool_tokens // 16}"}} 1',
        ]
    if load.waiting_reason:
        lines.append(
            f'vllm:num_requests_waiting_by_reason{{{at},reason="{load.waiting_reason}"}} {load.waiting}'
        )
    return "\n".join(lines) + "\n"


def sglang(load: Load) -> str:
    """An SGLang page."""
    at, t = f'model_name="{load.model}",tp_rank="0"', load.totals
    return (
        f"sglang:num_running_reqs{{{at}}} {load.running}\n"
        f"sglang:num_queue_reqs{{{at}}} {load.waiting}\n"
        f"sglang:token_usage{{{at}}} {load.kv_used}\n"
        f"sglang:max_total_num_tokens{{{at}}} {load.pool_tokens}\n"
        f"sglang:prompt_tokens_total{{{at}}} {t.get('prompt', 0)}\n"
        f"sglang:generation_tokens_total{{{at}}} {t.get('tokens', 0)}\n"
        f"sglang:num_requests_total{{{at}}} {t.get('finished', 0)}\n"
    )


def llama_cpp(load: Load) -> str:
    """A llama.cpp page."""
    return (
        f"llamacpp:requests_processing {load.running}\nllamacpp:requests_deferred {load.waiting}\n"
        f"llamacpp:prompt_tokens_total {load.totals.get('prompt', 0)}\n"
        f"llamacpp:tokens_predicted_total {load.totals.get('tokens', 0)}\n"
    )


def ollama(load: Load) -> str:
    """What Ollama says of its loaded models."""
    model = (
        f'{{"name":"{load.model}","expires_at":"2099-01-01T00:00:00.000000000+00:00","context_length":4096}}'
    )
    return f'{{"models":[{model}]}}'


def tgi(load: Load) -> str:
    """A page of text-generation-inference: no gauge of the KV cache, sums of histograms as counters."""
    t = load.totals
    return (
        f"tgi_batch_current_size {load.running}\ntgi_queue_size {load.waiting}\n"
        f"tgi_batch_current_max_tokens 16384\ntgi_request_input_length_sum {t.get('prompt', 0)}\n"
        f"tgi_request_generated_tokens_sum {t.get('tokens', 0)}\n"
        f"tgi_request_success {t.get('finished', 0)}\n"
    )


def lmdeploy(load: Load) -> str:
    """An LMDeploy page."""
    at, t = f'engine="0",model_name="{load.model}"', load.totals
    return (
        f"lmdeploy:num_requests_running{{{at}}} {load.running}\n"
        f"lmdeploy:num_requests_waiting{{{at}}} {load.waiting}\n"
        f"lmdeploy:gpu_cache_usage_perc{{{at}}} {load.kv_used}\n"
        f"lmdeploy:prompt_tokens_total{{{at}}} {t.get('prompt', 0)}\n"
        f"lmdeploy:generation_tokens_total{{{at}}} {t.get('tokens', 0)}\n"
    )


def tensorrt_llm(load: Load) -> str:
    """A TensorRT-LLM page: it counts requests, and no tokens."""
    at = f'engine_type="trtllm",model_name="{load.model}"'
    return (
        f"trtllm_num_requests_running{{{at}}} {load.running}\n"
        f"trtllm_num_requests_waiting{{{at}}} {load.waiting}\n"
        f"trtllm_kv_cache_utilization{{{at}}} {load.kv_used}\n"
        f"trtllm_kv_cache_max_blocks{{{at}}} 4144.0\ntrtllm_kv_cache_tokens_per_block{{{at}}} 32.0\n"
        f'trtllm_request_success_total{{finished_reason="stop",{at}}} {load.totals.get("finished", 0)}\n'
    )


PAGES: dict[str, Callable[[Load], str]] = {
    "vllm": vllm,
    "sglang": sglang,
    "llama.cpp": llama_cpp,
    "ollama": ollama,
    "tgi": tgi,
    "lmdeploy": lmdeploy,
    "tensorrt-llm": tensorrt_llm,
}


class Engine:
    """A server: answers with the page of its load."""

    def __init__(
        self, engine: str, load: Load | None = None, page: Callable[[Load], str] | None = None
    ) -> None:
        self.engine, self.load = engine, load or Load()
        self.page = page or PAGES[engine]
        self.body: bytes | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._answer(self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self._closed = False

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    def asks(self, **values: object) -> Engine:
        """Changes its load: running=12, tokens=900 …"""
        for name, value in values.items():
            if not hasattr(self.load, name):
                raise AttributeError(f"an engine's load has no {name}")
            setattr(self.load, name, value)
        return self

    def nobody_asks(self) -> Engine:
        """No request is inside and none comes."""
        return self.asks(running=0, waiting=0, kv_used=0.0, tokens=0, prompt=0, finished=0)

    def makes_nothing(self) -> Engine:
        """The requests inside stay there, and not one token comes out."""
        return self.asks(tokens=0, prompt=0, finished=0)

    def answers_with(self, body: bytes) -> Engine:
        """This, whatever is asked."""
        self.body = body
        return self

    def closes(self) -> None:
        """Its port is shut."""
        if not self._closed:
            self._closed = True
            self.server.shutdown()
            self._thread.join()
            self.server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        is_health = request.path in ("/health", "/") and self.body is None
        body = self.body if self.body is not None else b"" if is_health else self.page(self.load).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(OSError):  # whoever asked had enough
            request.wfile.write(body)
