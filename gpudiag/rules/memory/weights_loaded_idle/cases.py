"""Situations of weights-loaded-idle and its look-alikes."""

from typing import Any

from gpudiag.rule import Case
from gpudiag.rules.situations import GIB, Situation, vllm_idle
from gpudiag.window import Window


def _llama(**engine: Any) -> Situation:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=9 * GIB)
    s.runs({0: 9 * GIB}, pid=6000, name="llama-server", command="llama-server -m m.gguf")
    s.serves("llama.cpp", name="llama.cpp:8080", pid=6000, gpus=[0], model="m.gguf", **engine)
    return s


def _ollama(connections: int | None = 0, unloads_in: float = 600, **engine: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=6 * GIB)
    s.runs({0: 6 * GIB}, pid=6100, name="ollama", command="ollama runner --model m")
    s.serves(
        "ollama",
        name="ollama:11434",
        pid=6100,
        gpus=[0],
        model="llama3",
        unloads_at=s.now + unloads_in,
        connections=connections,
        requests_running=None,
        requests_waiting=None,
        kv_used_ratio=None,
        generation_tokens_total=None,
        **engine,
    )
    return s.passes(minutes=6).window


def _without_metrics(connections: int | None) -> Window:
    unsaid = dict.fromkeys(["requests_running", "requests_waiting", "generation_tokens_total"])
    return (
        _llama(metrics_ok=False, kv_used_ratio=None, connections=connections, **unsaid)
        .passes(minutes=6)
        .window
    )


def _probed(engine: str, **told: Any) -> Window:
    """A server whose health check generates a token every few seconds."""
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=9 * GIB, utilization_percent=[0.0, 0.0, 0.0, 0.0, 8.0])
    s.runs({0: 9 * GIB}, pid=6000, name="server", command="sglang serve")
    s.serves(engine, pid=6000, gpus=[0], **told)
    return s.passes(minutes=6).window


def _busy() -> Window:
    s = _llama(rates={"generation_tokens_total": 40.0}, requests_running=1.0)
    return s.passes(minutes=6).window


def _asked_a_while_ago() -> Window:
    s = _llama(rates={"generation_tokens_total": 40.0}, requests_running=1.0)
    s.gpu(0).shows(utilization_percent=80.0)
    s.passes(minutes=30)
    s.gpu(0).shows(utilization_percent=0.0)
    s.serves("llama.cpp", {"generation_tokens_total": 0.0}, name="llama.cpp:8080", requests_running=0.0)
    return s.passes(minutes=6).window


def _unread() -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=9 * GIB)
    s.runs({0: 9 * GIB}, pid=6000, name="llama-server", command="llama-server -m m.gguf")
    return s.passes(minutes=6).window


def _no_total() -> Window:
    s = _llama()
    s.gpu(0).hides("memory_total_bytes")
    return s.passes(minutes=6).window


def _triton(waiting: float, **engine: Any) -> Window:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=6 * GIB)
    s.runs({0: 6 * GIB}, pid=6200, name="tritonserver", command="tritonserver --model-repository=/models")
    s.serves("triton", pid=6200, gpus=[0], requests_running=None, requests_waiting=waiting,
             kv_used_ratio=None, generation_tokens_total=None, **{"connections": 0, **engine})  # fmt: skip
    return s.passes(minutes=6).window


CASES = [
    Case("a llama.cpp server waits", lambda: _llama().passes(minutes=6).window, "fires", severity="ok"),
    Case("the last request ended six minutes ago", _asked_a_while_ago, "fires", severity="ok"),
    Case("Ollama will unload by itself", _ollama, "fires", severity="ok", variant="unloads"),
    Case(
        "Ollama was told to keep the model for ever",
        lambda: _ollama(unloads_in=1e9),
        "fires",
        severity="ok",
        variant=None,
    ),
    Case(
        "clients are connected to Ollama, which does not say whether one of them waits",
        lambda: _ollama(connections=2),
        "fires",
        severity="info",
        confidence="possible",
        variant="may-be-asked",
    ),
    Case(
        "the connections to Ollama cannot be seen",
        lambda: _ollama(connections=None),
        "fires",
        severity="info",
        variant="may-be-asked",
    ),
    Case(
        "Ollama should have unloaded two minutes ago: a request holds the model",
        lambda: _ollama(unloads_in=240),
        "fires",
        severity="info",
        variant="may-be-asked",
    ),
    Case(
        "a llama.cpp server whose metrics are off, and nobody is connected",
        lambda: _without_metrics(0),
        "fires",
        severity="ok",
    ),
    Case(
        "clients are connected to a llama.cpp server whose metrics are off",
        lambda: _without_metrics(1),
        "fires",
        severity="info",
        variant="may-be-asked",
    ),
    Case(
        "its health check generates a token now and then", lambda: _probed("sglang"), "fires", severity="ok"
    ),
    Case(
        "something runs now and then on a server that does not count its requests",
        lambda: _probed("triton", requests_running=None, connections=0),
        "clear",
    ),
    Case("its metrics cannot be read", _unread, "fires", severity="info", variant="looks-like"),
    Case(
        "its numbers can be read, and its health check says no",
        lambda: _llama(health_ok=False).passes(minutes=6).window,
        "fires",
        severity="info",
        variant="looks-like",
    ),
    Case("requests come in", _busy, "clear"),
    Case("a Triton server waits", lambda: _triton(0.0), "fires", severity="ok"),
    Case(
        "clients are connected to a Triton server, and none of its requests waits in the queue",
        lambda: _triton(0.0, connections=1),
        "fires",
        severity="info",
        variant="may-be-asked",
    ),
    Case("requests wait at a Triton server", lambda: _triton(3.0), "clear"),
    Case(
        "the numbers of a Triton server cannot be read",
        lambda: _triton(0.0, metrics_ok=False, connections=None),
        "unjudged",
    ),
    Case("a reserved pool is another thing", lambda: vllm_idle().window, "clear"),
    Case("an empty GPU", lambda: Situation().passes(minutes=6).window, "clear"),
    Case("the size of the memory is not known", _no_total, "unjudged"),
]
