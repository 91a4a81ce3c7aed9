"""How right and how quick the calculator is, on measured points.

    python -m benchmarks.kv CASES.json [MORE.json ...]      (or their paths in $KV_CASES; without any: speed)

A cases file is a list of {"arch_class", "request", "measured"}: the question as it is posted to the
calculator and the values an engine printed. Three columns answer the same cases in the same run: the naive
formula 2 · layers · KV heads · head size · bytes ÷ tp; hf-mem when it is installed (`pip install hf-mem`),
its number divided by tp, which it does not know; and gpudiag. Weights are compared with neither: the naive
formula has none, and hf-mem reads them from the hub.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpudiag.kv import Question, calculate
from gpudiag.kv.catalogue import all_models

Case = dict[str, Any]
Predict = Callable[[Case], Mapping[str, float | None]]

IN_BUDGET = ("pool_tokens", "pool_blocks", "max_concurrency")
BYTES = {"bf16": 2.0, "f16": 2.0, "f32": 4.0, "fp8": 1.0, "q8_0": 34 / 32}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", help="files of measured points; by default those in $KV_CASES")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    cases: list[Case] = []
    for name in options.cases or os.environ.get("KV_CASES", "").split():
        with open(name, encoding="utf-8") as handle:
            cases += json.load(handle)
    columns: dict[str, Predict] = {"naive": naive}
    hf_mem = hf_mem_prediction()
    if hf_mem:
        columns["hf-mem"] = hf_mem
    columns["gpudiag"] = ours
    table = accuracy(cases, columns)
    speed = {
        "calculate_milliseconds": milliseconds(cases or catalogue()),
        "cold_start_ratio": cold_start_ratio(),
    }
    if options.json:
        print(json.dumps({"classes": table, **speed}, indent=2))
    else:
        show(table, list(columns), speed)
    return 0


def accuracy(cases: list[Case], columns: Mapping[str, Predict]) -> list[dict[str, Any]]:
    """Median and largest absolute error per architecture class and column."""
    errors: dict[str, dict[str, list[float]]] = {}
    counts: dict[str, int] = {}
    for case in cases:
        name = case["arch_class"]
        counts[name] = counts.get(name, 0) + 1
        for column, predict in columns.items():
            found = predict(case)
            for key, measured in case["measured"].items():
                value = found.get(key)
                if key != "tolerance_ratio" and value is not None:
                    errors.setdefault(name, {}).setdefault(column, []).append(abs(value / measured - 1))
    rows = []
    for name in sorted(counts):
        of = errors.get(name, {})
        rows.append(
            {"class": name, "cases": counts[name], **{column: _spread(of.get(column)) for column in columns}}
        )
    return rows


def _spread(found: list[float] | None) -> dict[str, float] | None:
    return {"median_ratio": statistics.median(found), "max_ratio": max(found)} if found else None


def catalogue() -> list[Case]:
    """A question about every model of the catalogue, to time when no cases are given."""
    asked = {"gpu": "H100", "tokens": 8192, "requests": 32}
    return [{"request": {"model": model.name, **asked}, "measured": {}} for model in all_models()]


def ours(case: Case) -> Mapping[str, float | None]:
    request = dict(case["request"])
    answer = calculate(Question.from_mapping(request, config=request.pop("config", None))).as_json()
    return {key: (answer["budget"] if key in IN_BUDGET else answer).get(key) for key in case["measured"]}


def naive(case: Case) -> Mapping[str, float | None]:
    """The formula of most blog posts: every layer full, one head count, nothing fixed."""
    config, request = _text(case), case["request"]
    heads = config["num_attention_heads"]
    dim = config.get("head_dim") or config["hidden_size"] // heads
    kv_heads = config.get("num_key_value_heads") or heads
    rate = 2 * config["num_hidden_layers"] * kv_heads * dim * BYTES[request.get("kv_dtype", "bf16")]
    return _from_size(case, lambda tokens: rate * tokens / request.get("tp", 1))


def hf_mem_prediction() -> Predict | None:
    """hf-mem's own function for a config, or None when it is not installed."""
    try:
        from hf_mem.safetensors.kv_cache import compute_safetensors_kv_cache_size as size
    except ImportError:
        return None
    names = {"fp8": "F8_E4M3", "f32": "F32", "f16": "F16", "q8_0": "F8_E4M3"}

    def predict(case: Case) -> Mapping[str, float | None]:
        config, dtype = _text(case), names.get(case["request"].get("kv_dtype", ""), "BF16")
        tp = case["request"].get("tp", 1)
        return _from_size(case, lambda tokens: size(config, dtype, max(1, round(tokens)), 1) / tp)

    return predict


def _text(case: Case) -> dict[str, Any]:
    config: dict[str, Any] = case["request"]["config"]
    text: dict[str, Any] = config.get("text_config", config)
    return text


def _from_size(case: Case, size: Callable[[float], float]) -> Mapping[str, float | None]:
    """What a function tokens → bytes says about each measured key."""
    request = case["request"]
    pool, tokens = request.get("kv_cache_memory_bytes", 0), request.get("tokens", 0)
    length = request.get("max_model_len") or 8192
    per_token = size(length) / length
    return {
        "bytes_per_token": size(tokens) / tokens if tokens else None,
        "total_bytes": size(tokens) * request.get("requests", 1),
        "fixed_bytes_per_request": 0.0,
        "pool_tokens": pool / per_token,
        "pool_blocks": pool / per_token / (request.get("block_size") or 16),
        "max_concurrency": pool / size(length),
        "weights_bytes": None,
    }


def milliseconds(cases: list[Case]) -> dict[str, float]:
    """Median and largest time of reading a question, calculating and writing the answer, best of 5 each."""
    times = sorted(min(_timed(partial(ours, case)) for _ in range(5)) for case in cases)
    return {"median": statistics.median(times) * 1000, "max": times[-1] * 1000}


def cold_start_ratio(rounds: int = 15) -> float:
    """`gpudiag kv llama-3-8b 8192 x32` against `python -c pass`, alternating on this machine."""
    program = "from gpudiag.cli import main; main(['kv', 'llama-3-8b', '8192', 'x32'])"
    commands = {"pass": "pass", "kv": program}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, code in commands.items():
            call = [sys.executable, "-c", code]
            times[name].append(
                _timed(lambda call=call: subprocess.run(call, stdout=subprocess.DEVNULL, check=True))
            )
    return statistics.median(times["kv"]) / statistics.median(times["pass"])


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(table: list[dict[str, Any]], columns: list[str], speed: Mapping[str, Any]) -> None:
    """A Markdown table of errors, then the times."""
    if table:
        print("| class | cases | " + " | ".join(f"{name} median / max error" for name in columns) + " |")
        print("|---|---|" + "---|" * len(columns))
    else:
        print("no cases given: errors are not measured")
    for row in table:
        cells = [_cell(row[name]) for name in columns]
        print(f"| {row['class']} | {row['cases']} | " + " | ".join(cells) + " |")
    took = speed["calculate_milliseconds"]
    print(f"\ncalculate: median {took['median']:.2f} ms, largest {took['max']:.2f} ms")
    print(f"cold start: {speed['cold_start_ratio']:.1f} × python -c pass")


def _cell(spread: dict[str, float] | None) -> str:
    if spread is None:
        return "-"
    return f"{spread['median_ratio'] * 100:.3f} % / {spread['max_ratio'] * 100:.2f} %"


if __name__ == "__main__":
    sys.exit(main())
