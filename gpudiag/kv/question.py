"""A checked question: every option has its type and range, or there is one clear sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from gpudiag.kv.dtypes import CACHE_ALIASES, check_cache_dtype, check_weights_dtype
from gpudiag.kv.engines import ENGINES
from gpudiag.kv.errors import KvError

GIB = 2**30
LONGEST_TEXT = 200
MOST_BYTES = 2**50
LONGEST_WHOLE = 10**18  # longer numbers are said as powers of ten
# Powers of 1024, as engines count; with a B and no i they are powers of 1000.
BYTE_UNITS = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
SEVERAL = re.compile(r"(\d{1,5})\s*[x×]\s*(?=\D)(.+)", re.IGNORECASE)  # 2xH100, 8x A100
STATE_DTYPES = ("bf16", "f16", "f32")
FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
CARD_SIZES = {"gib": 1.0, "gb": 1.0, "g": 1.0, "mib": 1 / 1024, "mb": 1 / 1024}  # nvidia-smi shows MiB

ENGINE_ALIASES = {
    "trt-llm": "tensorrt-llm",
    "tensorrt": "tensorrt-llm",
    "tensorrtllm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
    "llamacpp": "llama.cpp",
    "llama-cpp": "llama.cpp",
    "llama_cpp": "llama.cpp",
    "llama-server": "llama.cpp",
    "ik_llama.cpp": "llama.cpp",
    "lmstudio": "llama.cpp",
    "lm-studio": "llama.cpp",
    "sgl": "sglang",
    "text-generation-inference": "tgi",
    "turbomind": "lmdeploy",
}

# Engines that give each GPU whole layers unless told otherwise; the others cut every layer.
BY_LAYERS = ("llama.cpp", "ollama")

# Options that only some engines have.
OF_ENGINES = {
    "dcp": ("vllm", "sglang"),
    "attn_dp": ("sglang",),
    "enable_prefix_caching": ("vllm",),
    "mamba_ssm_cache_dtype": ("vllm", "sglang"),
    "kv_unified": BY_LAYERS,
}

# What the engines call our options.
NAME_ALIASES = {
    "tensor_parallel_size": "tp",
    "tp_size": "tp",
    "pipeline_parallel_size": "pp",
    "pp_size": "pp",
    "data_parallel_size": "dp",
    "dp_size": "dp",
    "decode_context_parallel_size": "dcp",
    "dcp_size": "dcp",
    "attn_dp_size": "attn_dp",
    "dp_attention": "enable_dp_attention",
    "prefix_caching": "enable_prefix_caching",
    "mamba_ssm_dtype": "mamba_ssm_cache_dtype",
    "kvu": "kv_unified",
    "kv_cache_dtype": "kv_dtype",
    "cache_type": "kv_dtype",
    "quantization": "weights_dtype",
    "dtype": "weights_dtype",
    "mem_fraction_static": "gpu_memory_utilization",
    "free_gpu_memory_fraction": "gpu_memory_utilization",
    "cache_max_entry_count": "gpu_memory_utilization",
    "cuda_memory_fraction": "gpu_memory_utilization",
    "page_size": "block_size",
    "ubatch_size": "max_num_batched_tokens",
    "context_length": "max_model_len",
    "context": "tokens",
    "batch": "requests",
    "version": "engine_version",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked. Names and values as the calculator's interface has them; None: not said.

    `config` is a raw config.json; `checkpoint_bytes` the total that a safetensors index states.
    `dcp` and `attn_dp` part the tp GPUs: by tokens of a sequence, and in groups that attend to requests of
    their own.
    """

    model: str | None = None
    config: Any = None
    tokens: int | None = None
    requests: int = 1
    kv_dtype: str = "auto"
    weights_dtype: str = "auto"
    tp: int = 1
    pp: int = 1
    dp: int = 1
    dcp: int = 1
    attn_dp: int = 1
    gpu: str | float | None = None
    gpus: int | None = None
    engine: str | None = None
    engine_version: str | None = None
    gpu_memory_utilization: float | None = None
    max_model_len: int | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    block_size: int | None = None
    num_speculative_tokens: int = 0
    enable_prefix_caching: bool | None = None
    mamba_ssm_cache_dtype: str | None = None
    kv_unified: bool | None = None
    kv_cache_memory_bytes: int | None = None
    checkpoint_bytes: int | None = None

    @classmethod
    def from_mapping(
        cls, options: Mapping[str, Any], config: Any = None, checkpoint_bytes: int | None = None
    ) -> Question:
        """A question from option names and values, as they come from JSON, a query string or a shell.

        `config` (or the option of that name) is a raw config.json. None and "" count as not given.
        Raises KvError that names the option and what it accepts.
        """
        values: dict[str, Any] = {}
        for name, value in _counted(options):
            if value is None or (isinstance(value, str) and not value.strip() and name != "config"):
                continue
            checked = CHECKS[name](value, name)
            if checked is None:
                continue
            if values.setdefault(name, checked) != checked:
                raise KvError("refused-both", name=name, one=values[name], other=checked)
        if config is not None:
            values["config"] = config
        if "config" not in values and "model" not in values:
            raise KvError("refused-no-model")
        values = _within_tp(_divided(_grouped(_at_home(values))))
        return cls(**values, checkpoint_bytes=checkpoint_bytes)

    @property
    def replicas(self) -> int:
        """Groups of GPUs that share the requests: whole copies of the model, and those of its attention."""
        return self.dp * self.attn_dp


def _counted(options: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The options under our names; a number before the GPU's name is how many there are."""
    for raw, value in options.items():
        name = canonical_name(str(raw))
        several = SEVERAL.fullmatch(value.strip()) if name == "gpu" and isinstance(value, str) else None
        if several:
            yield "gpus", several[1]
        yield name, several[2] if several else value


def canonical_name(name: str) -> str:
    """Our name for an option, whether written with dashes or as an engine writes it."""
    name = name.strip().lower().replace("-", "_")
    name = NAME_ALIASES.get(name, name)
    if name not in CHECKS:
        raise KvError("refused-option", name=name, known=", ".join(CHECKS))
    return name


def _at_home(values: dict[str, Any]) -> dict[str, Any]:
    """Refuse options that the engine does not have; one that only vLLM has names it."""
    for name, engines in OF_ENGINES.items():
        value = values.get(name)
        if value is None or (value == 1 and not isinstance(value, bool)):
            continue
        engine = values.get("engine") or ("vllm" if "vllm" in engines else None)
        if engine not in engines:
            raise KvError("refused-of-engines", name=name, known=", ".join(engines))
    return values


def _grouped(values: dict[str, Any]) -> dict[str, Any]:
    """SGLang's older spelling: --enable-dp-attention makes groups of its dp, inside of tp."""
    asked = values.pop("enable_dp_attention", False)
    if asked and "attn_dp" not in values:
        if values.get("engine") != "sglang":
            raise KvError("refused-of-engines", name="enable_dp_attention", known="sglang")
        values["attn_dp"] = values.pop("dp", 1)
    return values


def _within_tp(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("dcp", "attn_dp"):
        if values.get("tp", 1) % values.get(name, 1):
            raise KvError("refused-within-tp", name=name, value=values[name], tp=values.get("tp", 1))
    return values


def _divided(values: dict[str, Any]) -> dict[str, Any]:
    """`gpus` alone splits the model over all of them; beside tp and pp, the rest are replicas."""
    gpus = values.get("gpus")
    if gpus is None:
        return values
    if not any(name in values for name in ("tp", "pp", "dp")):
        split = "pp" if values.get("engine") in BY_LAYERS else "tp"
        return {**values, split: gpus}
    group = values.get("tp", 1) * values.get("pp", 1)
    replicas = values.get("dp") or max(1, gpus // group)
    if group * replicas != gpus:
        raise KvError("refused-division", gpus=gpus, group=group, replicas=replicas)
    return {**values, "dp": replicas}


def whole(most: int, least: int = 1) -> Callable[[Any, str], int]:
    """A check for whole numbers in a range; understands "8,192", "8_192", "32k" (×1024) and a leading x."""

    def check(value: Any, name: str) -> int:
        number = _number(value, name)
        if number != int(number):
            raise KvError("refused-whole", name=name, value=value)
        if not least <= number <= most:
            shown = int(number) if abs(number) < LONGEST_WHOLE else float(number)
            raise KvError("refused-range", name=name, value=shown, least=least, most=most)
        return int(number)

    return check


def _bytes(value: Any, name: str) -> int:
    """Bytes, also as `40GiB`, `1.5 g` or `40GB`."""
    found = (
        re.fullmatch(r"(.*\d)\s*([kmgt])(i?b)?", value.strip().lower()) if isinstance(value, str) else None
    )
    if found is None:
        return whole(MOST_BYTES)(value, name)
    scale = BYTE_UNITS[found[2]]
    if found[3] == "b":
        scale = 1000 ** (list(BYTE_UNITS).index(found[2]) + 1)
    return whole(MOST_BYTES)(round(_number(found[1], name) * scale), name)


def _number(value: Any, name: str) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value if _is_finite(value) else _refuse_infinite(value, name)
    if isinstance(value, str):
        text = value.strip().lower().removeprefix("x").replace("_", "")
        scale = {"k": 1024, "m": 1024**2}.get(text[-1:], 1)
        try:
            number = float(_ungrouped(text[:-1] if scale > 1 else text))
        except ValueError:
            raise KvError("refused-number", name=name, value=value) from None
        if not math.isfinite(number):
            _refuse_infinite(value, name)
        return int(number * scale) if number * scale == int(number * scale) else number * scale
    raise KvError("refused-number", name=name, value=str(value))


def _ungrouped(text: str) -> str:
    """`8,192` without its comma. One that parts no thousands stays, to be refused: 8,5 is not 85."""
    groups = text.partition(".")[0].split(",")[1:]
    return text.replace(",", "") if all(len(group) == 3 for group in groups) else text


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def _refuse_infinite(value: Any, name: str) -> NoReturn:
    shown = value if isinstance(value, (str, float)) else math.inf if value > 0 else -math.inf
    raise KvError("refused-infinite", name=name, value=shown)


def _share(value: Any, name: str) -> float:
    """A share of 1, also as `90%`."""
    percent = isinstance(value, str) and value.strip().endswith("%")
    number = _number(value.strip()[:-1], name) / 100 if percent else _number(value, name)
    if not 0 < number <= 1:
        raise KvError("refused-share", name=name, value=number)
    return float(number)


def _state_dtype(value: Any, name: str) -> str | None:
    """A plain dtype; `auto` is what the config asks for."""
    text = _text(value, name).lower()
    text = CACHE_ALIASES.get(text, text)
    if text not in ("auto", *STATE_DTYPES):
        raise KvError("refused-state-dtype", name=name, value=value, known=", ".join(STATE_DTYPES))
    return None if text == "auto" else text


def _flag(value: Any, name: str) -> bool:
    """Yes or no, as JSON or people write it."""
    found = FLAGS.get(str(value).strip().lower())
    if found is None:
        raise KvError("refused-flag", name=name, value=str(value))
    return found


def _gpu(value: Any, name: str) -> str | float:
    """A catalogue name, or GiB or MiB as NVML shows them."""
    text = value.strip() if isinstance(value, str) else value
    if isinstance(text, str):
        unit = next((unit for unit in CARD_SIZES if text.lower().endswith(unit)), "")
        try:
            text = float(text[: len(text) - len(unit)]) * CARD_SIZES.get(unit, 1.0)
        except ValueError:
            return text
    number = _number(text, name)
    if not 0.5 <= number <= 4096:
        raise KvError("refused-gib", value=float(number))
    return float(number)


def _engine(value: Any, name: str) -> str:
    text = str(value).strip().lower()
    text = ENGINE_ALIASES.get(text, text)
    if text not in ENGINES:
        raise KvError("refused-engine", value=value, known=", ".join(ENGINES))
    return text


def _text(value: Any, name: str) -> str:
    if not isinstance(value, (str, int, float)) or isinstance(value, bool):
        raise KvError("refused-text", name=name, value=str(value))
    text = str(value).strip()
    if len(text) > LONGEST_TEXT:
        raise KvError("refused-long", name=name, length=len(text), most=LONGEST_TEXT)
    return text


def _version(value: Any, name: str) -> str:
    """A version with a number in it; what differs between versions is looked up by it."""
    text = _text(value, name)
    if not any(letter.isdigit() for letter in text):
        raise KvError("refused-version", value=text)
    return text


CHECKS: dict[str, Callable[[Any, str], Any]] = {
    "model": _text,
    "config": lambda value, name: value,
    "tokens": whole(100_000_000),
    "requests": whole(1_000_000),
    "kv_dtype": lambda value, name: check_cache_dtype(_text(value, name)),
    "weights_dtype": lambda value, name: check_weights_dtype(_text(value, name)),
    "tp": whole(1024),
    "pp": whole(1024),
    "dp": whole(4096),
    "dcp": whole(1024),
    "attn_dp": whole(1024),
    "gpu": _gpu,
    "gpus": whole(65_536),
    "engine": _engine,
    "engine_version": _version,
    "gpu_memory_utilization": _share,
    "max_model_len": whole(100_000_000),
    "max_num_seqs": whole(1_000_000),
    "max_num_batched_tokens": whole(100_000_000),
    "block_size": whole(65_536),
    "num_speculative_tokens": whole(64, least=0),
    "enable_prefix_caching": _flag,
    "enable_dp_attention": _flag,
    "mamba_ssm_cache_dtype": _state_dtype,
    "kv_unified": _flag,
    "kv_cache_memory_bytes": _bytes,
}
