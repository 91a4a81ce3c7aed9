"""Bytes per token and per sequence by architecture class, before any engine rounds them."""

import pytest

from gpudiag.kv.cache import window_of
from gpudiag.kv.errors import KvError, UnknownLayer
from tests.kv import configs
from tests.kv.ask import GIB, MIB, ask
from tests.kv.counted import GEMMA_4


def test_llama_3_8b_keeps_128_kib_per_token():
    answer = ask("llama-3-8b", tokens=8192, requests=32)

    assert answer.bytes_per_token == 131_072
    assert answer.bytes_per_request == GIB
    assert answer.total_bytes == 32 * GIB
    assert answer.bytes_per_token_if_mha == 524_288
    assert answer.alternatives.mha_total_bytes == 128 * GIB
    assert 14.9 < answer.weights_bytes / GIB < 15.1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(configs.LLAMA_8B, 131_072, id="gqa"),
        pytest.param({**configs.LLAMA_8B, "num_key_value_heads": None}, 524_288, id="mha when no kv heads"),
        pytest.param(configs.NEMO, 163_840, id="explicit head size is not hidden / heads"),
        pytest.param({**configs.NEMO, "head_dim": 0}, 204_800, id="head size 0 means not given"),
        pytest.param(configs.MPT, 32 * 2 * 32 * 128 * 2, id="mpt"),
        pytest.param(configs.mpt("multiquery_attention"), 32 * 2 * 128 * 2, id="mpt that shares one head"),
        pytest.param(configs.mpt("grouped_query_attention", kv_n_heads=8), 131_072, id="mpt in groups"),
        pytest.param(
            {**configs.DEEPSEEK_V3, "kv_lora_rank": None},
            61 * 128 * (192 + 128) * 2,
            id="a latent model's heads, kept expanded",
        ),
        pytest.param(configs.FALCON_7B, 2 * 32 * 1 * 64 * 2, id="old falcon shares one head"),
        pytest.param(configs.FALCON_40B, 2 * 32 * 8 * 64 * 2, id="new falcon n_head_kv"),
        pytest.param(configs.GPT_2, 2 * 12 * 12 * 64 * 2, id="gpt-2 keys"),
        pytest.param(configs.CHATGLM, 2 * 28 * 2 * 128 * 2, id="chatglm groups"),
        pytest.param(configs.DBRX, 2 * 40 * 8 * 128 * 2, id="dbrx nested kv heads"),
        pytest.param(configs.OPENELM, 2 * (3 + 3 + 3 + 4) * 64 * 2, id="a list of heads per layer"),
        pytest.param(configs.NEMOTRON_NAS, 2 * (8 + 4) * 128 * 2, id="no-op and linear blocks keep nothing"),
        pytest.param(configs.DEEPSEEK_V3, 70_272, id="mla: one latent row, not doubled"),
        pytest.param({**configs.DEEPSEEK_V3, "head_dim": 64}, 70_272, id="mla ignores head_dim"),
        pytest.param(configs.DEEPSEEK_V32, 61 * (656 + 132), id="mla with indexer, fp8 by default"),
    ],
)
def test_bytes_per_token_by_class(config, expected):
    assert expected == ask(config).bytes_per_token


def test_a_shared_indexer_is_kept_only_where_it_is_computed():
    answer = ask(configs.GLM_52, kv_dtype="fp8")

    assert answer.bytes_per_token == 78 * 576 + 21 * 132


def test_a_draft_layer_has_an_indexer_of_its_own_where_its_turn_comes():
    """GLM-5.2 with its MTP layer: 54,728 B/token over all layers."""
    answer = ask("glm-5.2-fp8", engine="vllm", kv_dtype="fp8_ds_mla", num_speculative_tokens=1)

    assert answer.bytes_per_token == 79 * 656 + 22 * 132 == 54_728


def test_mla_is_the_same_on_every_gpu():
    assert ask(configs.DEEPSEEK_V3).bytes_per_token == ask(configs.DEEPSEEK_V3, tp=8).bytes_per_token


def test_kv_heads_are_divided_and_then_replicated():
    per_gpu = [ask(configs.LLAMA_8B, tp=tp).bytes_per_token for tp in (1, 2, 8, 16, 32)]

    assert per_gpu == [131_072, 65_536, 16_384, 16_384, 16_384]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bf16", 131_072),
        ("fp8", 65_536),
        ("fp8_e4m3", 65_536),
        ("f32", 262_144),
        ("q8_0", 131_072 * 34 // 64),
        ("q4_0", 131_072 * 18 // 64),
        ("q8_0/f16", 131_072 * (34 + 64) // 128),
        ("nvfp4", 131_072 * 9 // 32),
        ("int4", 32 * 2 * 8 * (64 + 4)),
    ],
)
def test_kv_dtypes_change_the_bytes_per_token(dtype, expected):
    assert expected == ask(configs.LLAMA_8B, kv_dtype=dtype).bytes_per_token


def test_weights_in_fp8_do_not_make_the_cache_fp8():
    answer = ask(configs.DEEPSEEK_V3)

    assert (answer.weights_format.name, answer.engine.setup.dtype.name) == ("fp8", "bf16")


def test_a_checkpoint_can_ask_for_an_fp8_cache():
    scheme = {"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}

    assert ask({**configs.LLAMA_8B, "quantization_config": scheme}).bytes_per_token == 65_536


def test_window_layers_stop_growing_at_their_window():
    short, long = (ask(configs.GEMMA_3_27B, tokens=tokens) for tokens in (1024, 131_072))

    assert short.bytes_per_token == 62 * 8192
    assert long.bytes_per_token == 10 * 8192
    assert long.fixed_bytes_per_request == 52 * 8192 * 1024


def test_a_window_that_is_switched_off_does_not_count():
    qwen = {**configs.LLAMA_8B, "model_type": "qwen2", "sliding_window": 1024, "use_sliding_window": False}

    assert ask(qwen, tokens=8192).bytes_per_token == 131_072


def test_gemma_2_alternates_although_its_config_does_not_say_so():
    gemma = {**configs.MISTRAL_WINDOW, "model_type": "gemma2", "head_dim": 128}

    assert ask(gemma, tokens=32_768).bytes_per_token == 65_536


def test_a_chunk_is_kept_like_a_window():
    answer = ask(configs.LLAMA_4, tokens=100_000)

    assert (answer.bytes_per_token, answer.fixed_bytes_per_request) == (2 * 4096, 6 * 4096 * 8192)


def test_key_and_value_widths_and_heads_may_differ_between_layers():
    answer = ask(configs.MIMO_V2, tokens=4096)

    assert answer.bytes_per_token == 2 * 4 * (192 + 128) * 2
    assert answer.fixed_bytes_per_request == 4 * 8 * (192 + 128) * 2 * 128


def test_layers_that_share_kv_keep_none():
    answer = ask(configs.GEMMA_4_E4B, tokens=32_768)

    assert answer.bytes_per_token == 4 * 2 * (512 + 512) * 2
    assert answer.fixed_bytes_per_request == 20 * 2 * (256 + 256) * 2 * 512


def test_linear_attention_keeps_a_matrix_per_head_in_the_dtype_of_the_config():
    answer = ask(configs.QWEN35_27B, tokens=4096)

    conv, matrix = 3 * (2 * 16 * 128 + 48 * 128) * 2, 48 * 128 * 128 * 4
    assert (65_536, 48 * (conv + matrix)) == (answer.bytes_per_token, answer.fixed_bytes_per_request)


@pytest.mark.parametrize(
    ("config", "growing", "fixed"),
    [
        pytest.param(
            configs.NEMOTRON_NANO,
            8 * 256 * 2,
            2 * (3 * (10_240 + 2 * 8 * 128) + 128 * 80 * 128) * 2,
            id="mamba 2 by pattern letters",
        ),
        pytest.param(configs.JAMBA, 8 * 256 * 2, 7 * (3 * 8192 + 8192 * 16) * 2, id="mamba 1 by period"),
        pytest.param(
            configs.KIMI_LINEAR, 576 * 2, 3 * (3 * 3 * 4096 * 2 + 32 * 128 * 128 * 4), id="kda beside mla"
        ),
    ],
)
def test_hybrids_keep_a_state_beside_a_growing_part(config, growing, fixed):
    answer = ask(config, tokens=4096)

    assert (growing, fixed) == (answer.bytes_per_token, answer.fixed_bytes_per_request)


def test_mamba_groups_are_repeated_until_every_gpu_has_one():
    split = ask({**configs.NEMOTRON_NANO, "n_groups": 1, "num_attention_heads": 32}, tokens=1, tp=4)

    assert split.fixed_bytes_per_request == 2 * (3 * (10_240 + 4 * 256) // 4 + 128 * 80 * 128 // 4) * 2


def test_cross_attention_is_constant_per_request():
    answer = ask(configs.WHISPER, tokens=448)

    assert answer.bytes_per_token == 163_840
    assert answer.fixed_bytes_per_request / MIB == 234.375


def test_pipeline_stages_share_the_layers_and_the_fullest_counts():
    assert ask(configs.LLAMA_8B, pp=3).bytes_per_token == 131_072 * 11 // 32


def test_an_unknown_layer_type_is_named_not_guessed():
    config = {**configs.LLAMA_8B, "layer_types": ["full_attention"] * 31 + ["telepathy"]}

    with pytest.raises(UnknownLayer, match="layer 31 is of the unknown type 'telepathy'"):
        ask(config)


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({**configs.LLAMA_8B, "num_key_value_heads": 7}, "32 attention heads do not divide"),
        ({**configs.LLAMA_8B, "num_attention_heads": 33, "num_key_value_heads": 33}, "does not divide by 33"),
        ({**configs.LLAMA_8B, "num_hidden_layers": 0}, "num_hidden_layers is 0"),
        ({**configs.LLAMA_8B, "num_hidden_layers": "many"}, "num_hidden_layers must be a number"),
        ({**configs.GPT_OSS_120B, "layer_types": ["full_attention"]}, "1 entries for 36 layers"),
        ({**configs.NEMOTRON_NANO, "hybrid_override_pattern": "M?"}, "unknown layer letter '\\?'"),
    ],
)
def test_a_config_that_contradicts_itself_is_refused_in_one_sentence(config, sentence):
    with pytest.raises(KvError, match=sentence):
        ask(config)


@pytest.mark.parametrize(("used", "window"), [(None, None), (False, None), (True, 4096)])
def test_qwen_has_no_window_unless_its_config_switches_it_on(used, window):
    qwen = {**configs.LLAMA_8B, "model_type": "qwen2", "sliding_window": 4096, "max_window_layers": 0}
    shape = ask({**qwen, "use_sliding_window": used}).model.shape

    assert {window} == {window_of(part) for part in shape.parts()}


def test_every_hybrid_layer_of_zamba_keeps_its_own_keys_although_it_shares_weights():
    zamba, second = ask(configs.ZAMBA), ask(configs.ZAMBA_2)

    assert zamba.bytes_per_token == 13 * 2 * 16 * 464 * 2
    assert second.bytes_per_token == 9 * 2 * 32 * 160 * 2


def test_what_a_layer_has_of_its_own_is_read_from_where_transformers_5_keeps_it():
    shared = {**GEMMA_4, "per_layer_config": None, "global_head_dim": 512}
    full, window = 5 * 2 * 4 * 512 * 2, 25 * 2 * 4 * 256 * 2

    assert ask(GEMMA_4, tokens=100).bytes_per_token == full + window
    assert ask(shared, tokens=100).bytes_per_token == full + window


@pytest.mark.parametrize("own", [{"05": 7}, {"fifth": {}}, {"05": {"head_dim": "wide"}}])
def test_a_layer_of_its_own_that_cannot_be_read_is_refused(own):
    with pytest.raises(KvError, match="config: "):
        ask({**GEMMA_4, "per_layer_config": own})


def test_the_key_of_a_block_index_stays_at_16_bits():
    config = {**configs.LLAMA_8B, "sparse_attention_config": {"sparse_attention_freq": [1] * 32}}
    config["sparse_attention_config"] |= {"sparse_index_dim": 128}
    wide, narrow = (ask(config, kv_dtype=dtype).bytes_per_token for dtype in ("bf16", "fp8"))

    assert (wide, narrow) == (131_072 + 32 * 256, 65_536 + 32 * 256)
