"""One clear sentence for everything that cannot be answered."""

import pytest

from gpudiag.errors import GpudiagError
from gpudiag.kv import KvError, Question, calculate
from tests.kv import configs
from tests.kv.ask import ask


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ([], "expected a JSON object, got a list"),
        ("hidden_size", "expected a JSON object, got a string"),
        (7, "expected a JSON object, got a number"),
        ({}, "the object is empty"),
        ({"hello": "world"}, "num_hidden_layers is missing"),
        (
            {"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen3-8B"},
            "adapter.*ask about Qwen/Qwen3-8B",
        ),
        ({"_class_name": "FluxPipeline", "_diffusers_version": "0.30"}, "diffusion pipeline"),
        ({"producer": {"name": "modelopt"}, "quantization": {}}, "post the config.json next to it"),
        ({"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8}, "this is params.json"),
        ({"num_hidden_layers": 12}, "num_attention_heads is missing"),
        ({"model_type": "bert", "num_hidden_layers": 12}, "bert is an encoder, which keeps no KV cache"),
        ({"model_type": "rwkv7", "num_hidden_layers": 12}, "unknown type 'rwkv7'"),
        ({"model_type": "llama", "hidden_size": "big"}, "hidden_size must be a number from 0"),
    ],
)
def test_what_is_no_model_config_is_named_for_what_it_is(config, sentence):
    with pytest.raises(KvError, match=sentence):
        calculate(Question.from_mapping({}, config=config))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tokens": 0}, "tokens: 0 is out of range"),
        ({"tokens": -5}, "tokens: -5 is out of range"),
        ({"tokens": 10**12}, "tokens: 1,000,000,000,000 is out of range"),
        ({"tokens": "many"}, "tokens: expected a number, got 'many'"),
        ({"tokens": 1.5}, "tokens: 1.5 is not a whole number"),
        ({"tokens": "nan"}, "tokens: 'nan' is not a number"),
        ({"tokens": True}, "tokens: expected a number"),
        ({"requests": 0}, "requests: 0 is out of range"),
        ({"tp": 3}, "tp: 32 attention heads do not divide over 3 GPUs; this model takes tp 1, 2, 4"),
        ({"pp": 100}, "pp: 100 stages are more than the model's 32 layers"),
        ({"gpus": 6, "tp": 4}, "gpus: 6 GPUs do not divide"),
        ({"kv_dtype": "fp3"}, "kv_dtype: unknown 'fp3'; known: auto, bf16, f16, f32, fp8"),
        ({"kv_dtype": "q8_0/f16/f16"}, "kv_dtype: unknown"),
        ({"weights_dtype": "tiny"}, "weights_dtype: unknown 'tiny'; known: auto"),
        ({"engine": "magic"}, "engine: unknown 'magic'; known: vllm, sglang"),
        ({"gpu": "H1000"}, "gpu: 'H1000' is not in the catalogue; near names: H100"),
        ({"gpu": 0.001}, "gpu: 0.001 GiB is out of range"),
        ({"gpu_memory_utilization": 90}, "gpu_memory_utilization: 90 is out of range"),
        ({"kv_cache_memory_bytes": 0}, "kv_cache_memory_bytes: 0 is out of range"),
        ({"kv_cache_memory_bytes": 2**40, "gpu": 24}, "a pool of 1,099,511,627,776 bytes is more than the G"),
        ({"model": "lama-3-8b"}, "model: 'lama-3-8b' is not in the catalogue; near names: llama-3-8b"),
        ({"model": ["a"]}, "model: expected text"),
        ({"tokens": "1e300"}, r"tokens: 1e\+300 is out of range"),
        ({"tokens": 10**400}, "tokens: inf is not a number to calculate with"),
        ({"tokens": "8,5"}, "tokens: expected a number, got '8,5'"),
        ({"gpu_memory_utilization": "0,9"}, "gpu_memory_utilization: expected a number, got '0,9'"),
        ({"gpu_memory_utilization": "190%"}, "gpu_memory_utilization: 1.9 is out of range"),
        ({"tp": 2, "tensor_parallel_size": 4}, "tp: given twice, 2 and 4; give it once"),
        (
            {"engine_version": "latest"},
            "engine_version: 'latest' has no number in it; give a version such as",
        ),
        ({"enable_prefix_caching": "maybe"}, "enable_prefix_caching: expected yes or no, got 'maybe'"),
        ({"mamba_ssm_cache_dtype": "q8_0"}, "mamba_ssm_cache_dtype: 'q8_0' is no dtype of a recurrent state"),
        (
            {"gpus": 8, "pp": 2, "attn_dp": 2, "engine": "sglang"},
            "attn_dp: tp 1 does not divide evenly into 2 groups",
        ),
        ({"tp": 8, "dcp": 3}, "dcp: tp 8 does not divide evenly into 3 groups"),
        ({"tp": 8, "dcp": 2}, "dcp: with 8 KV heads on tp 8, vLLM divides tokens over no more"),
        ({"tp": 8, "dcp": 2, "engine": "llama.cpp"}, "dcp: this is an option of vllm, sglang"),
        ({"kv_unified": "yes"}, "kv_unified: this is an option of llama.cpp, ollama"),
        ({"tp": 4, "dp": 4, "enable_dp_attention": 1}, "enable_dp_attention: this is an option of sglang"),
        ({"tp": 4, "attn_dp": 2, "engine": "vllm"}, "attn_dp: this is an option of sglang"),
        ({"model": "gpt-oss-20b", "tp": 16, "dcp": 2}, "dcp: no engine divides the tokens of window"),
        (
            {"model": "deepseek-v4-flash", "engine": "vllm", "block_size": 1},
            "block_size: a row of this model stands for 128 tokens, of which 1 is no multiple",
        ),
        ({"colour": "red"}, "'colour' is no option of the calculator; it has: model"),
    ],
)
def test_a_wrong_option_is_named_with_what_it_takes(options, sentence):
    with pytest.raises(KvError, match=sentence):
        calculate(Question.from_mapping({"model": "llama-3-8b", **options}))


@pytest.mark.parametrize(
    ("option", "spellings"),
    [
        ("gpu", ["79.6474609375", "81559MiB", "81559 MiB", "79.6474609375 GiB", "79.6474609375G"]),
        ("gpu_memory_utilization", [0.9, "0.9", "90%", "90 %"]),
        ("tokens", [8192, "8192", "8,192", "8_192", "8k", "8K"]),
    ],
)
def test_a_number_is_read_in_the_units_people_copy(option, spellings):
    read = [getattr(Question.from_mapping({"model": "m", option: one}), option) for one in spellings]

    assert [float(spellings[0])] * len(spellings) == read


def test_the_same_value_under_two_names_is_one_value():
    assert Question.from_mapping({"model": "m", "tp": 2, "tensor_parallel_size": "2"}).tp == 2


def test_a_question_without_a_model_says_what_to_name():
    with pytest.raises(KvError, match="model: missing"):
        Question.from_mapping({"tokens": 8192})


def test_kv_heads_that_neither_divide_nor_repeat_are_refused():
    phi = {**configs.LLAMA_8B, "num_attention_heads": 40, "hidden_size": 5120, "num_key_value_heads": 10}

    with pytest.raises(KvError, match="10 KV heads neither divide over 4 GPUs"):
        ask(phi, tp=4)


def test_heads_of_a_state_that_do_not_divide_are_refused():
    mamba = {"model_type": "mamba2", "hidden_size": 2560, "num_hidden_layers": 64, "num_heads": 80}

    with pytest.raises(KvError, match="the 80 heads of the recurrent state do not divide over 3 GPUs"):
        ask({**mamba, "head_dim": 64}, tp=3)


@pytest.mark.parametrize(
    ("config", "keys", "sentence"),
    [
        (configs.GPT_OSS_20B, {"layer_types": "full_attention"}, "layer_types must be a list, not a string"),
        (configs.LLAMA_8B, {"quantization_config": "fp8"}, "quantization_config must be an object, not a st"),
        (configs.LLAMA_8B, {"hidden_size": 4096.5}, "hidden_size must be a whole number, not 4096.5"),
        (configs.LLAMA_8B, {"sliding_window": 4096, "sliding_window_pattern": [1]}, "a string or a number"),
        (configs.NEMOTRON_NAS, {"block_configs": [None, 7, {}, {}]}, r"block_configs\[1\] must be an object"),
        (configs.NEMOTRON_NAS, {"num_hidden_layers": 5}, "block_configs has 4 entries for 5 layers"),
        (configs.NEMOTRON_NANO, {"num_hidden_layers": 6}, "hybrid_override_pattern has 5 entries for 6 lay"),
        (configs.LLAMA_8B, {"attn_type_list": [1, 0]}, "attn_type_list has 2 entries for 32 layers"),
        (
            configs.KIMI_LINEAR,
            {"linear_attn_config": {"kda_layers": [1]}},
            "linear_attn_config.num_heads is mi",
        ),
    ],
)
def test_a_key_of_another_form_is_named_and_not_passed_over(config, keys, sentence):
    with pytest.raises(KvError, match=sentence):
        ask({**config, **keys})


def test_no_rope_layers_that_are_too_few_are_refused():
    text = {**configs.LLAMA_4["text_config"], "no_rope_layers": [1, 0]}

    with pytest.raises(KvError, match="no_rope_layers has 2 entries for 8 layers"):
        ask({**configs.LLAMA_4, "text_config": text})


def test_a_name_as_long_as_a_book_is_cut():
    assert len(ask({**configs.LLAMA_8B, "_name_or_path": "x" * 100_000}).as_json()["model"]) == 200


def test_errors_are_what_every_surface_shows():
    assert issubclass(KvError, GpudiagError)
    assert KvError.status == 422


@pytest.mark.parametrize("value", [None, {}, [], "text", -1, 0, 10**30, 1.5, True])
@pytest.mark.parametrize("key", [*sorted(configs.GPT_OSS_120B), "kv_lora_rank", "n_layer", "block_configs"])
def test_any_value_in_a_config_gives_an_answer_or_one_sentence(key, value):
    try:
        answer = calculate(
            Question.from_mapping({"gpu": "H100"}, config={**configs.GPT_OSS_120B, key: value})
        )
    except KvError as error:
        assert "\n" not in str(error)
    else:
        assert answer.bytes_per_request > 0


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("40GiB", 40 * 2**30),
        ("1.5 g", 3 * 2**29),
        ("40GB", 40 * 10**9),
        ("512m", 512 * 2**20),
        ("42949672960", 40 * 2**30),
        (42949672960, 40 * 2**30),
    ],
)
def test_the_pool_may_be_given_in_bytes_or_larger_units(typed, expected):
    asked = Question.from_mapping({"model": "llama-3-8b", "kv_cache_memory_bytes": typed})

    assert expected == asked.kv_cache_memory_bytes


@pytest.mark.parametrize("typed", ["GiB", "-1GiB", "0GiB", "8,5GiB", "1e300GiB", "40 wide", "inf g"])
def test_a_pool_that_is_no_size_is_refused(typed):
    with pytest.raises(KvError, match="kv_cache_memory_bytes: "):
        Question.from_mapping({"model": "llama-3-8b", "kv_cache_memory_bytes": typed})


@pytest.mark.parametrize(
    ("typed", "gpus"), [("2xH100", 2), ("8 × A100 80GB", 8), ("H100", None), ("80", None)]
)
def test_a_number_before_the_gpu_counts_them(typed, gpus):
    asked = Question.from_mapping({"model": "llama-3-8b", "gpu": typed})

    assert (asked.gpus, asked.tp) == (gpus, gpus or 1)


def test_two_numbers_of_gpus_that_differ_are_refused():
    with pytest.raises(KvError, match="gpus: given twice, 4 and 2"):
        Question.from_mapping({"model": "llama-3-8b", "gpus": 4, "gpu": "2xH100"})


@pytest.mark.parametrize(
    "broken",
    [
        {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 1e-300}},
        {"quantization_config": {"quant_method": "aqlm", "num_codebooks": 1e300, "in_group_size": 1e-9}},
        {"quantization": {"bits": 4, "group_size": 1e-320}},
        {"vision_config": {"depth": 2, "hidden_size": 8, "mlp_ratio": float("inf")}},
        {"vision_config": {"depth": 2, "hidden_size": 8, "mlp_ratio": float("nan")}},
    ],
)
def test_a_number_that_no_file_means_is_passed_over(broken):
    assert ask({**configs.LLAMA_8B, **broken}).weights_bytes > 0
