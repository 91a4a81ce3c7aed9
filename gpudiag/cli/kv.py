"""`gpudiag kv MODEL [TOKENS] [xREQUESTS] [on GPU]`: the KV cache and memory calculator.

MODEL is a catalogue name, a Hugging Face id, a path or URL of a config.json, or `-` for standard input.
A cold start counts here: what only some answers need is imported where it is needed.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gpudiag.words import LANGUAGES, language_at

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from gpudiag.kv.note import Note
    from gpudiag.kv.question import Question

SUMMARY = "how much memory a model's KV cache takes, and what fits on a GPU"
INTERMIXED = True  # words may follow options: MODEL --gpu H100 8192 x32

OPTIONS = {
    "kv-dtype": "auto, bf16, f16, fp8, int8, q8_0 …, or keys/values: q8_0/f16",
    "weights-dtype": "auto, bf16, fp8, int8, int4, nvfp4, mxfp4, q4_k_m …",
    "tp": "tensor parallel GPUs",
    "pp": "pipeline stages",
    "dp": "data parallel replicas",
    "dcp": "decode context parallel GPUs, within tp",
    "attn-dp": "data parallel groups of attention, within tp (SGLang)",
    "gpu": "a name (H100, rtx-4090), or its memory as CUDA shows it: 79.19 (GiB), 81090MiB",
    "gpus": "how many of them",
    "engine": "vllm, sglang, tensorrt-llm, tgi, lmdeploy, llama.cpp, ollama",
    "engine-version": "its version, such as 0.19.0",
    "gpu-memory-utilization": "the engine's share of the GPU, such as 0.9",
    "max-model-len": "the longest sequence the engine accepts",
    "max-num-seqs": "the most sequences it runs at the same time",
    "max-num-batched-tokens": "tokens per step",
    "block-size": "tokens per block or page",
    "num-speculative-tokens": "draft tokens of the model's own MTP layer",
    "enable-prefix-caching": "yes or no, where states are kept (vLLM)",
    "mamba-ssm-cache-dtype": "auto, bf16, f16, f32 of recurrent states (vLLM, SGLang)",
    "kv-unified": "yes or no: slots share their cells (llama.cpp)",
    "kv-cache-memory-bytes": "the pool per GPU, given instead of derived",
}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", help="name, Hugging Face id, path or URL of a config.json, or -"
    )
    parser.add_argument(
        "sizes",
        metavar="TOKENS xREQUESTS",
        nargs="*",
        default=[],
        help="such as 8192 x32, or 8k x32 on H100 tp=2",
    )
    for name, words in OPTIONS.items():
        parser.add_argument(f"--{name}", metavar="X", help=words)
    parser.add_argument(
        "--lang",
        metavar="|".join(LANGUAGES),
        choices=LANGUAGES,
        help="language of the answer (default: GPUDIAG_LANG, LANG)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")


def run(options: Namespace) -> int:
    """Print the answer; exit code 0 also when it does not fit, for the answer was given."""
    from gpudiag.kv.calculation import calculate

    language = language_at(os.environ, options.lang)
    answer = calculate(question(options))
    if options.json:
        import json

        print(json.dumps(answer.as_json(language), indent=2, ensure_ascii=False))
    else:
        from gpudiag.kv.text import render

        print(render(answer, language, width=_width()), end="")
    return 0


def question(options: Namespace) -> Question:
    """The question that the command line asks, with the config read from where MODEL points."""
    from gpudiag.kv.errors import KvError
    from gpudiag.kv.question import Question

    given: dict[str, Any] = {name: getattr(options, name.replace("-", "_")) for name in OPTIONS}
    given["model"] = None if options.model == "-" else options.model
    for name, value in _said(options.sizes):
        if given.get(name) is not None:
            raise KvError("refused-twice", name=name, one=given[name], other=value)
        given[name] = value
    for name, value in given.items():
        if value is not None and not value.strip():
            raise KvError("refused-blank", name=name)
    config, checkpoint = _config(options.model)
    return Question.from_mapping(given, config=config, checkpoint_bytes=checkpoint)


def _said(words: list[str]) -> Iterator[tuple[str, str]]:
    """`8192 x32 on H100 80GB tp=2`: x begins the requests, `on` the GPU; options go as in the chat."""
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "on":
            yield "gpu", _card(left) or word  # nothing after it: refused as a GPU of that name
        elif word.lower() in ("x", "×") and left:
            yield "requests", left.pop(0)
        elif word[:1].lower() in ("x", "×"):
            yield "requests", word.lstrip("x×X")
        elif "=" in word:
            name, _, value = word.partition("=")
            yield _spelt(name), value
        elif word.strip("+-.")[:1].isdigit():
            yield "tokens", word
        elif left and _is_option(word):
            yield _spelt(word), left.pop(0)
        else:
            from gpudiag.kv.errors import KvError

            raise KvError("refused-word", word=word)


def _spelt(name: str) -> str:
    return "kv-dtype" if name == "kv" else name.replace("_", "-")


def _is_option(word: str) -> bool:
    """Whether a word names an option, so that the next one is its value: `tp 2`."""
    from gpudiag.kv.errors import KvError
    from gpudiag.kv.question import canonical_name

    try:
        return bool(canonical_name(_spelt(word)))
    except KvError:
        return False


def _card(left: list[str]) -> str:
    """The words that name a GPU: `H100`, `2 x H100`, and its size or kind where one follows."""
    begin = 2 if [word.lower() for word in left[1:2]] in (["x"], ["×"]) else 1
    name = left[:begin]
    del left[:begin]
    while left and not _ends_card(left[0]):
        name.append(left.pop(0))
    return " ".join(name)


def _ends_card(word: str) -> bool:
    """Whether a word is no part of a GPU's name any more: `x32`, `32k`, `tp=2`, `tp`."""
    length = word[:1].isdigit() and word[-1:] in "kKmM"
    return word == "on" or word[:1] in "xX×" or length or "=" in word or _is_option(word)


def _config(model: str) -> tuple[Any, int | None]:
    """(config.json, bytes of the checkpoint) for a path, URL or hub id; (None, None) for the catalogue."""
    if model == "-":
        from gpudiag.kv.note import note

        return _parsed(sys.stdin.read(), note("standard-input")), None
    if model.startswith(("http://", "https://")):
        return _parsed(_fetched(model), model), None
    if os.path.isdir(model):
        return _from_folder(model)
    if os.path.isfile(model) or model.endswith(".json"):
        return _parsed(_read(model), model), None
    return _from_hub(model)


def _from_hub(model: str) -> tuple[Any, int | None]:
    from gpudiag.kv.catalogue import find_model
    from gpudiag.kv.errors import UnknownModel

    try:
        find_model(model)
        return None, None
    except UnknownModel:
        if model.count("/") != 1:
            raise
    from gpudiag.hub import read_model

    found = read_model(model)
    return found.config, found.weights_bytes


def _from_folder(folder: str) -> tuple[Any, int | None]:
    """A local checkpoint: its config and, from the index, what its weights take."""
    path = os.path.join(folder, "config.json")
    config = _parsed(_read(path), path)
    index = os.path.join(folder, "model.safetensors.index.json")
    if not os.path.isfile(index):
        return config, None
    from gpudiag.kv.weights import stated_bytes

    return config, stated_bytes(_parsed(_read(index), index))


def _read(path: str) -> str:
    from gpudiag.kv.errors import KvError
    from gpudiag.words.refusals import Refusal

    try:
        with open(path, encoding="utf-8-sig") as handle:
            return handle.read(64 << 20)
    except UnicodeDecodeError:
        raise KvError("refused-json", place=path) from None
    except OSError as error:
        raise Refusal("config-unreadable", file=path, reason=error) from None


def _fetched(url: str) -> str:
    """The page at a URL; a link to a file view on the hub is turned into the file itself."""
    import requests

    from gpudiag.kv.errors import KvError

    address = url.replace("/blob/", "/resolve/") if "huggingface.co/" in url else url
    address = address.replace("github.com/", "raw.githubusercontent.com/").replace("/blob/", "/")
    try:
        reply = requests.get(address, timeout=10)
        reply.raise_for_status()
    except (requests.RequestException, ValueError) as error:  # urllib3 refuses some addresses by itself
        raise KvError("refused-address", url=url, why=type(error).__name__) from None
    return reply.text


def _parsed(text: str, place: str | Note) -> Any:
    import json

    from gpudiag.kv.errors import KvError

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise KvError("refused-json", place=place) from None


def _width() -> int:
    """Columns of the terminal, at most 100; 80 when it is not one."""
    try:
        return min(100, os.get_terminal_size().columns)
    except OSError:
        return 80
