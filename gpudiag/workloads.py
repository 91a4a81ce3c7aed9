"""What kind of program a process is, told from its name, command line and mapped libraries.

One table for the agent (which engine to ask), the rules (what may hold memory) and pasted text (names only).
A name proves nothing about health: it only says what to look for.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from gpudiag.model import GpuUse, ProcessReading


class Workload(NamedTuple):
    """`kind` is one of the kinds below; `engine` names the inference engine, `role` its part in it."""

    kind: str  # engine, notebook, framework, training, encoder, desktop, monitor, stress, python, other
    engine: str | None = None
    role: str | None = None  # server, worker


POOLING_ENGINES = frozenset({"vllm", "sglang", "tensorrt-llm", "tgi", "lmdeploy"})
"""Engines that reserve a KV pool at start, whether or not anybody asks."""

COUNT_AT_END = frozenset({"sglang", "tensorrt-llm", "tgi", "llama.cpp", "triton"})
"""Engines that count the tokens of a request when it ends: a long answer moves nothing until then."""

AT_REST = frozenset({"desktop", "monitor"})
"""Kinds that draw a little memory everywhere and are nobody's job."""

ADOPTERS = frozenset(
    ("systemd", "init", "bash", "sh", "zsh", "fish", "dash", "tini", "dumb-init", "docker-init", "catatonit",
     "containerd-shim", "containerd-shim-runc-v2", "conmon", "tmux", "screen", "supervisord", "sshd",
     "slurmstepd", "s6-supervise", "runsv", "pause", "raylet")
)  # fmt: skip
"""Programs that take over children whose parent died, or that started the server; none is a server."""

_TABLE: tuple[tuple[str, Workload], ...] = (
    # workers before servers: a worker's command line may name the server's module
    (
        r"VLLM::(EngineCor|Worker)|vllm.*multiproc_worker|EngineCore_?(DP)?\d*",
        Workload("engine", "vllm", "worker"),
    ),
    (r"sglang::(scheduler|detokenizer|data_parallel)", Workload("engine", "sglang", "worker")),
    (r"\bray::\w*(Worker|EngineCore|vLLM)|ray::RayWorkerWrapper", Workload("engine", "vllm", "worker")),
    (r"text-generation-server", Workload("engine", "tgi", "worker")),
    (
        r"ollama_llama_server|ollama(\.exe)? runner|/ollama/.*llama-server",
        Workload("engine", "ollama", "worker"),
    ),
    (
        r"vllm[. ](serve|entrypoints)|VLLM::APIServer|\bvllm\b.* serve\b|-m vllm\b|(^|/)vllm( |$)",
        Workload("engine", "vllm", "server"),
    ),
    (r"sglang\.launch_server|sglang serve|sglang_router|\bsglang\b", Workload("engine", "sglang", "server")),
    (r"trtllm-serve|trtllm-llmapi", Workload("engine", "tensorrt-llm", "server")),
    (r"tritonserver", Workload("engine", "triton", "server")),
    (r"text-generation-launcher|text-generation-router", Workload("engine", "tgi", "server")),
    (r"lmdeploy", Workload("engine", "lmdeploy", "server")),
    (
        r"llama-server|llama\.cpp.*server|llama_cpp\.server|koboldcpp|llama-box",
        Workload("engine", "llama.cpp", "server"),
    ),
    (r"\bollama\b", Workload("engine", "ollama", "server")),
    (
        r"torchserve|tensorflow_model_server|text-embeddings-router|infinity_emb",
        Workload("engine", "other", "server"),
    ),
    (r"ipykernel|jupyter|colab_kernel|notebook", Workload("notebook")),
    (r"gpu[-_]?burn|\bdcgmproftester|nccl-tests|all_reduce_perf|nvbandwidth|\bstress", Workload("stress")),
    (
        r"ffmpeg|\bobs(64)?\b|gst-launch|GStreamer|HandBrake|\bnvenc|jellyfin|plex.?transcod",
        Workload("encoder"),
    ),
    (
        r"torchrun|torch\.distributed|deepspeed|accelerate|\bmpirun|horovod|megatron|lightning|\btrain\w*\.py|pretrain|finetune|fine_tune",
        Workload("training"),
    ),
    (
        r"nv-hostengine|dcgm|nvidia-persistenced|nvidia-smi|nvitop|nvtop|gpustat|gpudiag|gpu_exporter|nvidia-cuda-mps",
        Workload("monitor"),
    ),
    (
        r"Xorg|Xwayland|gnome-shell|kwin|plasmashell|xfwm|compiz|mutter|cinnamon|sddm|gdm|firefox|chrome|chromium|"
        r"msedge|code(\.exe)?$|explorer\.exe|dwm\.exe|steam|discord|slack|teams|obsidian|nautilus|totem|xdg-|"
        r"StartMenu|SearchHost|ShellExperience|TextInputHost|Widgets|NVIDIA (Overlay|Share)|brave|electron",
        Workload("desktop"),
    ),
    (r"(^|/)python[\d.]*(\.exe)?\b|(^|/)pt_main_thread|(^|/)ipython", Workload("python")),
)
_COMPILED = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), workload) for pattern, workload in _TABLE
)

OTHER = Workload("other")
_CACHE: dict[str, Workload] = {}


def workload_of(process: ProcessReading) -> Workload:
    """The kind of program; a bare `python` with a preallocating library mapped is a `framework`."""
    found = workload_of_text(f"{process.command or ''}\n{process.name or ''}")
    if found.kind in ("python", "other", "training") and process.ranks:
        return Workload("training")
    preallocates = {"jax", "tensorflow"}.intersection(process.frameworks or ())
    if found.kind in ("python", "other") and preallocates:
        return Workload("framework")
    if found.kind == "other" and process.gpus and all(_draws(process, use) for use in process.gpus):
        return Workload("desktop")
    return found


def script_above(worker: ProcessReading) -> str | None:
    """The program that makes an engine of its own, and that this worker of it works for.

    None where above are only workers, a server, or programs that adopt children.
    """
    names = worker.parents or ([worker.parent_name] if worker.parent_name else [])
    for name in names:
        role = workload_of_text(name).role
        if role != "worker":
            above = name.rsplit("/", 1)[-1]
            return None if role == "server" or above in ADOPTERS else above
    return None


def _draws(process: ProcessReading, use: GpuUse) -> bool:
    """Whether it draws; on Windows every program with a window is listed as computing, too."""
    on_windows = (
        (process.name or "")
        .lower()
        .endswith((".exe", "insufficient permissions]", "insufficient permissions"))
    )
    return use.type == "G" or (use.type == "C+G" and on_windows)


def workload_of_text(text: str) -> Workload:
    """The kind of program that a name or a command line tells of."""
    found = _CACHE.get(text)
    if found is None:
        found = next((w for pattern, w in _COMPILED if pattern.search(text)), OTHER)
        if len(_CACHE) < 10_000:
            _CACHE[text] = found
    return found
