"""A server that waits, one that is wedged, one that starts, one that died: the same table of nvidia-smi."""

from __future__ import annotations

from tests.scenarios.host import Host
from tests.scenarios.scenario import scenario


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "vLLM has reserved its pool, answers, and nobody asks.",
    never=("memory-held-idle", "oom-risk", "serving-wedged", "orphaned-engine", "low-util-under-load"),
    says=("vllm",),
)
def vllm_waits_for_requests(host: Host) -> None:
    host.serves_vllm()
    host.for_minutes(6)


@scenario(
    "serving-wedged",
    "critical",
    "Twelve requests are inside the engine for six minutes and not one token comes out.",
    never=("kv-pool-reserved-idle", "model-loading"),
    also=("low-util-under-load",),
)
def vllm_is_wedged(host: Host) -> None:
    engine = host.vllm_works(running=12, tokens=900)
    host.for_minutes(6)
    host.gpu(0).rests()
    engine.makes_nothing()
    host.for_minutes(6)


@scenario(
    "model-loading",
    "ok",
    "A vLLM server was started two minutes ago and reads its weights.",
    never=("serving-wedged", "low-util-under-load", "orphaned-engine", "engine-metrics-unreachable"),
)
def vllm_loads_its_model(host: Host) -> None:
    host.loads_vllm(150)


@scenario(
    "orphaned-engine",
    "critical",
    "The API server was killed; its engine core lives on under init and keeps the memory.",
    never=("kv-pool-reserved-idle",),
)
def vllm_worker_outlives_its_server(host: Host) -> None:
    engine = host.serves_vllm()
    host.for_minutes(3)
    engine.closes()
    host.ends(4100)
    host.changes(4121, parent=1)
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "A vLLM server under steady load makes tokens.",
    never=("kv-pool-reserved-idle", "low-util-under-load", "stuck-job", "oom-risk"),
)
def vllm_is_busy(host: Host) -> None:
    host.vllm_works()
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "Nothing holds the GPU.",
    never=("memory-held-idle", "healthy-busy"),
)
def nobody_is_there(host: Host) -> None:
    host.for_minutes(6)
