"""The answer as programs get it: keys, kinds of numbers, both directions, remarks."""

import json

import pytest

from gpudiag.kv.engines import ENGINES
from tests.kv import configs
from tests.kv.ask import GIB, ask

KEYS = {
    "model",
    "bytes_per_token",
    "fixed_bytes_per_request",
    "bytes_per_request",
    "requests",
    "tokens",
    "total_bytes",
    "bytes_per_token_if_mha",
    "weights_bytes",
    "budget",
    "fits",
    "over_capacity_bytes",
    "largest_batch",
    "longest_context",
    "formula",
    "assumptions",
    "kinds",
    "sources",
}
BUDGET_KEYS = {
    "total_bytes",
    "requested_bytes",
    "weights_bytes",
    "activation_bytes",
    "non_torch_bytes",
    "cuda_graph_bytes",
    "pool_bytes",
    "pool_blocks",
    "pool_tokens",
    "max_concurrency",
}


@pytest.fixture
def on_h100():
    return ask("llama-3-8b", tokens=8192, requests=32, gpu="H100")


def test_the_json_has_the_keys_of_the_interface(on_h100):
    answer = json.loads(json.dumps(on_h100.as_json(), allow_nan=False))

    assert set(answer) >= KEYS
    assert set(answer["budget"]) >= BUDGET_KEYS


def test_what_is_not_known_is_null_and_never_0():
    answer = ask("llama-3-8b", tokens=8192).as_json()

    assert [answer[key] for key in ("fits", "over_capacity_bytes", "largest_batch", "longest_context")] == [
        None
    ] * 4
    assert {None} == set(answer["budget"].values())


def test_the_formula_has_the_numbers_in_it(on_h100):
    expected = "2 × 32 layers × 8 KV heads × 128 × 2 B = 131,072 B per token; × 8,192 tokens × 32 = 32.00 GiB"

    assert expected == on_h100.formula()


def test_every_number_says_what_kind_it_is(on_h100):
    kinds = on_h100.as_json()["kinds"]

    assert {"measured", "calculated", "inferred", "declared"} == set(kinds.values())
    assert (
        kinds["bytes_per_token"],
        kinds["budget.total_bytes"],
        kinds["budget.activation_bytes"],
    ) == ("calculated", "measured", "inferred")


def numbers(said, path=""):
    """Addresses of all numbers and verdicts of an answer; a list of numbers is one of them."""
    for key, value in said.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{path}{key}.")
        elif isinstance(value, (bool, int, float)) or (
            isinstance(value, list) and value and not isinstance(value[0], str)
        ):
            yield path + key


@pytest.mark.parametrize("engine", [None, *ENGINES])
@pytest.mark.parametrize(
    "options",
    [{}, {"gpu": "H100"}, {"gpu": 24}, {"kv_cache_memory_bytes": GIB}, {"gpu": "H100", "tokens": 1}],
)
@pytest.mark.parametrize("model", ["llama-3-8b", "deepseek-v4-flash", "mistral-7b", "jamba"])
def test_every_number_of_the_json_has_a_kind_and_nothing_else_has(model, options, engine):
    said = ask(model, engine=engine, **options).as_json()
    named = {"alternatives.smallest_gpu"} if said["alternatives"]["smallest_gpu"] else set()

    assert {*numbers(said), *named} == said["kinds"].keys()


def test_numbers_of_an_unconfirmed_architecture_are_inferred_and_say_beta():
    answer = ask("deepseek-v4-flash").as_json()

    assert answer["kinds"]["bytes_per_token"] == "inferred"
    assert any("beta" in line for line in answer["assumptions"])


def test_a_pool_that_was_given_is_declared():
    answer = ask(configs.LLAMA_8B, kv_cache_memory_bytes=GIB).as_json()

    assert (answer["kinds"]["budget.pool_bytes"], answer["budget"]["pool_blocks"]) == ("declared", 512)


def test_what_does_not_fit_is_told_by_how_much():
    answer = ask("llama-3-8b", tokens=8192, requests=32, gpu="RTX-4090")

    assert not answer.fits
    assert answer.total_bytes - answer.budget.pool_bytes == answer.over_capacity_bytes > 0


def test_room_that_is_left_is_a_negative_overflow(on_h100):
    assert on_h100.fits
    assert on_h100.over_capacity_bytes < 0


def test_weights_that_do_not_fit_leave_a_negative_pool():
    answer = ask("llama-3.1-70b", gpu="RTX-4090")

    assert answer.budget.pool_bytes < 0
    assert (answer.largest_batch, answer.longest_context, answer.fits) == (0, 0, False)


def test_the_smallest_tp_and_gpu_hold_it_and_smaller_ones_do_not():
    answer = ask("llama-3.1-70b", tokens=8192, requests=8, gpu="H100")
    tp = answer.alternatives.smallest_tp

    assert ask("llama-3.1-70b", tokens=8192, requests=8, gpu="H100", tp=tp).fits
    assert not ask("llama-3.1-70b", tokens=8192, requests=8, gpu="H100", tp=tp // 2).fits
    assert ask("llama-3.1-70b", tokens=8192, requests=8, gpu=answer.alternatives.smallest_gpu).fits


def test_fp8_would_halve_the_cache(on_h100):
    assert on_h100.alternatives.fp8_total_bytes == 16 * GIB
    assert (
        2 * on_h100.largest_batch <= on_h100.alternatives.fp8_largest_batch <= 2 * on_h100.largest_batch + 1
    )


def test_more_tokens_than_the_model_was_made_for_are_answered_with_a_remark():
    answer = ask("llama-3-8b", tokens=9000)

    assert answer.bytes_per_request == 9000 * 131_072
    assert "above-limit" in [note.key for note in answer.notes]


@pytest.mark.parametrize(
    ("options", "remark"),
    [
        ({"tokens": 8192, "max_model_len": 4096}, "above-max-len"),
        ({"requests": 32, "max_num_seqs": 4}, "requests-wait"),
        ({"engine": "vllm", "kv_dtype": "q8_0"}, "dtype-elsewhere"),
        ({"gpu": 24, "kv_cache_memory_bytes": 16 * GIB}, "pool-beside-weights"),
        ({"engine": "llama.cpp", "kv_dtype": "fp8"}, "dtype-elsewhere"),
    ],
)
def test_what_the_engine_would_not_do_is_remarked(options, remark):
    assert remark in [note.key for note in ask("llama-3-8b", **options).notes]


@pytest.mark.parametrize(
    "options",
    [
        {"tokens": 4096, "max_model_len": 4096, "requests": 4, "max_num_seqs": 4},
        {"engine": "llama.cpp", "kv_dtype": "q8_0/f16"},
        {"engine": "ollama", "kv_dtype": "q4_0"},
        {"engine": "vllm", "kv_dtype": "fp8"},
        {"kv_dtype": "q8_0"},
        {"gpu": 24, "kv_cache_memory_bytes": 8 * GIB},
    ],
)
def test_what_the_engine_does_is_not_remarked(options):
    remarks = {"above-max-len", "requests-wait", "dtype-elsewhere", "pool-beside-weights"}

    assert set() == remarks & {note.key for note in ask("llama-3-8b", **options).notes}


def test_the_longest_context_ends_at_the_models_limit():
    assert ask("llama-3-8b", gpu="H100").longest_context == 8192


def test_gpus_alone_means_tensor_parallelism():
    assert ask("llama-3-8b", gpus=4).bytes_per_token == ask("llama-3-8b", tp=4).bytes_per_token


def test_the_model_named_by_an_engine_spelling_is_the_same_question():
    plain = ask(
        "llama-3-8b", tp=2, kv_dtype="fp8", gpu_memory_utilization=0.8, gpu="H100", engine="tensorrt-llm"
    )
    spelled = ask(
        "llama-3-8b",
        gpu="H100",
        engine="trt-llm",
        **{"tensor-parallel-size": "2", "kv_cache_dtype": "fp8_e4m3", "free_gpu_memory_fraction": "0.8"},
    )

    assert plain.as_json() == spelled.as_json()


def test_the_weights_of_a_checkpoint_are_its_own_total():
    from gpudiag.kv import Question, calculate

    question = Question.from_mapping({}, config=configs.LLAMA_8B, checkpoint_bytes=16_060_522_496)
    answer = calculate(question)

    assert (answer.weights_bytes, answer.kinds["weights_bytes"]) == (16_060_522_496, "measured")


@pytest.mark.parametrize(
    ("name", "gib", "options"),
    [
        ("llama-3.1-8b", 14.99, {}),
        ("llama-3.1-8b", 8.49, {"weights_dtype": "fp8"}),
        ("llama-3.1-8b", 3.77, {"tp": 4}),
        ("llama-3.1-70b", 33.88, {"tp": 2, "weights_dtype": "int8"}),
        ("mixtral-8x7b", 43.51, {"tp": 2}),
        ("qwen3-30b-a3b", 56.88, {}),
        ("qwen3-14b", 27.52, {}),
        ("granite-3.1-2b", 4.74, {}),
        ("deepseek-v2-lite", 29.43, {}),
        ("gemma-2-9b", 17.22, {}),
        ("phi-4", 27.39, {}),
        ("qwen1.5-moe", 26.67, {}),
        ("mistral-small-3.1", 44.76, {}),
        ("kimi-vl", 30.74, {}),
        ("llama-4-scout", 53.12, {"tp": 4}),
        ("qwen2.5-72b", 67.80, {"tp": 2}),
    ],
)
def test_weights_are_within_1_percent_of_what_vllm_loads(name, gib, options):
    assert ask(name, engine="vllm", **options).weights_bytes / GIB == pytest.approx(gib, rel=0.01)
