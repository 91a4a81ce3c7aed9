"""What a config leaves out, which half of a model generates, and designs that nobody here can read."""

from typing import Any

import pytest

from gpudiag.kv.engines.vllm import Vllm
from gpudiag.kv.errors import KvError, UnknownLayer
from gpudiag.kv.words import sentences
from tests.kv import configs
from tests.kv.ask import ask

# As published: transformers writes of a text part only what differs from the family's defaults.
GEMMA_3_12B: dict[str, Any] = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 3840,
        "intermediate_size": 15360,
        "model_type": "gemma3_text",
        "num_attention_heads": 16,
        "num_hidden_layers": 48,
        "num_key_value_heads": 8,
        "sliding_window": 1024,
    },
}
GEMMA_3_4B = {
    "model_type": "gemma3",
    "text_config": {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "sliding_window": 1024,
    },
}
LLAVA_7B = {
    "model_type": "llava",
    "text_config": {"model_type": "llama", "torch_dtype": "float16", "vocab_size": 32064},
}
LLAVA_MISTRAL = {
    "model_type": "llava_next",
    "text_config": {
        "model_type": "mistral",
        "num_key_value_heads": 8,
        "sliding_window": None,
        "vocab_size": 32064,
    },
}
WHISPER_TURBO = {
    "model_type": "whisper",
    "is_encoder_decoder": True,
    "d_model": 1280,
    "decoder_attention_heads": 20,
    "decoder_layers": 4,
    "encoder_attention_heads": 20,
    "encoder_layers": 32,
    "num_hidden_layers": 32,
    "max_source_positions": 1500,
    "max_target_positions": 448,
    "vocab_size": 51866,
}
BYT5_SMALL = {
    "model_type": "t5",
    "is_encoder_decoder": True,
    "d_kv": 64,
    "d_model": 1472,
    "num_heads": 6,
    "num_layers": 12,
    "num_decoder_layers": 4,
    "vocab_size": 384,
}
T5_GEMMA = {
    "model_type": "t5gemma",
    "is_encoder_decoder": True,
    "decoder": {
        "model_type": "t5_gemma_module",
        "is_encoder_decoder": False,
        "head_dim": 256,
        "hidden_size": 2304,
        "layer_types": ["sliding_attention", "full_attention"] * 13,
        "max_position_embeddings": 8192,
        "num_attention_heads": 8,
        "num_hidden_layers": 26,
        "num_key_value_heads": 4,
        "sliding_window": 4096,
    },
}
FALCON_MAMBA = {
    "model_type": "falcon_mamba",
    "conv_kernel": 4,
    "expand": 16,
    "hidden_size": 4096,
    "intermediate_size": 8192,
    "num_hidden_layers": 64,
    "state_size": 16,
}
GRANITE_HYBRID = {
    "model_type": "granitemoehybrid",
    "hidden_size": 1536,
    "layer_types": ["linear_attention"] * 5 + ["full_attention"],
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_n_heads": 48,
    "num_attention_heads": 12,
    "num_hidden_layers": 6,
    "num_key_value_heads": 4,
}
KIMI_LINEAR = {
    "model_type": "kimi_linear",
    "hidden_size": 2304,
    "kv_lora_rank": 512,
    "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"],
    "linear_head_dim": 128,
    "linear_num_heads": 32,
    "num_attention_heads": 32,
    "num_hidden_layers": 4,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
}


def said(answer: Any) -> str:
    return " ".join(sentences(answer.notes, "en"))


@pytest.mark.parametrize(
    ("config", "per_token"),
    [
        pytest.param(GEMMA_3_12B, 8 * 2 * 8 * 256 * 2, id="gemma 3 12b names no head size"),
        pytest.param(GEMMA_3_4B, 5 * 2 * 4 * 256 * 2, id="gemma 3 4b names no heads"),
        pytest.param(LLAVA_7B, 32 * 2 * 32 * 128 * 2, id="llava 1.5 names no layers"),
        pytest.param(LLAVA_MISTRAL, 32 * 2 * 8 * 128 * 2, id="llava-next on mistral"),
    ],
)
def test_a_text_part_leaves_out_what_its_family_takes_for_granted(config, per_token):
    assert per_token == ask(config, tokens=32_768).bytes_per_token


def test_an_answer_names_the_keys_it_filled_in():
    assert "leaves out head_dim 256" in said(ask(GEMMA_3_12B))


def test_a_window_left_out_is_still_a_window():
    text = {key: value for key, value in GEMMA_3_12B["text_config"].items() if key != "sliding_window"}
    row = 2 * 8 * 256 * 2

    assert ask({**GEMMA_3_12B, "text_config": text}, tokens=8192).fixed_bytes_per_request == 40 * row * 4096


def test_an_explicit_head_size_is_never_replaced():
    text = {**GEMMA_3_12B["text_config"], "head_dim": 128}

    assert ask({**GEMMA_3_12B, "text_config": text}, tokens=32_768).bytes_per_token == 8 * 2 * 8 * 128 * 2


def test_a_config_of_its_own_is_not_filled_up_to_some_default_model():
    with pytest.raises(KvError, match="num_hidden_layers is missing"):
        ask({"model_type": "llama"})


@pytest.mark.parametrize(
    ("config", "per_token", "of_encoder"),
    [
        pytest.param(WHISPER_TURBO, 4 * 2 * 20 * 64 * 2, 4 * 2 * 20 * 64 * 2 * 1500, id="whisper turbo"),
        pytest.param(BYT5_SMALL, 4 * 2 * 6 * 64 * 2, 4 * 2 * 6 * 64 * 2 * 512, id="byt5"),
    ],
)
def test_only_the_layers_of_the_decoder_keep_something(config, per_token, of_encoder):
    answer = ask({"n_positions": 512, **config}, tokens=448)

    assert answer.bytes_per_token == per_token
    assert answer.fixed_bytes_per_request == of_encoder


def test_a_decoder_with_windows_also_keeps_its_encoders_output():
    row = 2 * 4 * 256 * 2
    answer = ask(T5_GEMMA, tokens=8192)

    assert answer.bytes_per_token == 13 * row
    assert answer.fixed_bytes_per_request == 13 * row * 4096 + 26 * row * 8192


def test_a_pure_state_space_model_is_as_wide_as_its_intermediate_size():
    assert ask(FALCON_MAMBA).fixed_bytes_per_request == 64 * (3 * 8192 + 8192 * 16) * 2


def test_linear_attention_is_read_by_the_keys_beside_it():
    assert ask(GRANITE_HYBRID).fixed_bytes_per_request == 5 * (3 * (3072 + 256) + 48 * 64 * 128) * 2
    assert ask(KIMI_LINEAR).fixed_bytes_per_request == 3 * (3 * 3 * 32 * 128 * 2 + 32 * 128 * 128 * 4)
    assert ask(KIMI_LINEAR).bytes_per_token == 576 * 2


def test_indexed_attention_is_read_where_its_indexer_is_known():
    saved = {**configs.DEEPSEEK_V32, "layer_types": ["indexed_attention"] * 61}

    assert ask(saved).bytes_per_token == 61 * (656 + 132)
    with pytest.raises(UnknownLayer, match="unknown type 'indexed_attention'"):
        ask({**configs.LLAMA_8B, "layer_types": ["indexed_attention"] * 32})


@pytest.mark.parametrize("name", ["full_attention", "qwen_sparse_attention", "indexed_attention"])
def test_qwen_4_keeps_an_index_key_for_four_tokens_whatever_its_layers_are_called(name):
    text = {**configs.QWEN_4["text_config"], "layer_types": (["linear_attention"] * 3 + [name]) * 12}
    answer = ask({**configs.QWEN_4, "text_config": text})

    assert answer.bytes_per_token == 12 * (2 * 2 * 256 * 2 + 128 * 2 // 4)
    assert "beta-index-pool" in {note.key for note in answer.notes}


@pytest.mark.parametrize(
    "config",
    [
        pytest.param({"model_type": "camembert", "type_vocab_size": 1}, id="segment types"),
        pytest.param({"model_type": "eurobert", "architectures": ["EuroBertForMaskedLM"]}, id="fills masks"),
        pytest.param({"model_type": "siglip2"}, id="vision tower"),
        pytest.param(
            {
                "model_type": "gemma3_text",
                "architectures": ["Gemma3TextModel"],
                "use_bidirectional_attention": True,
            },
            id="embedding model that looks both ways",
        ),
    ],
)
def test_what_only_encodes_is_said_to_keep_nothing(config):
    with pytest.raises(KvError, match="keeps no KV cache"):
        ask({**configs.LLAMA_8B, **config})


@pytest.mark.parametrize(
    "marks",
    [
        {"model_type": "recurrent_gemma", "block_types": ["recurrent", "attention"], "lru_width": 2560},
        {"model_type": "phi4flash", "mb_per_layer": 2},
        {"model_type": "retnet", "expand_k": 1.0},
        {"model_type": "groups", "layer_group_size": 5},
        {"model_type": "deepseek_v41", "compress_ratios": [2] * 32, "kv_source_layer_ids": [2, 8]},
    ],
)
def test_a_design_nobody_looked_into_is_refused_by_the_key_that_shows_it(marks):
    with pytest.raises(UnknownLayer, match="this design is not known"):
        ask({**configs.LLAMA_8B, **marks})


def test_a_compression_nobody_looked_into_is_refused_with_its_ratio():
    config = {**configs.LLAMA_8B, "model_type": "deepseek_v4", "compress_ratios": [0, 4, 2] + [128] * 29}

    with pytest.raises(UnknownLayer, match="layer 2 is of the unknown type 'compress ratio 2'; known: 0, 4"):
        ask(config)


def test_an_unknown_family_of_ordinary_looks_is_called_assumed():
    answer = ask({**configs.LLAMA_8B, "model_type": "brand_new"})

    assert answer.bytes_per_token == 131_072
    assert answer.kinds["bytes_per_token"] == "inferred"
    assert "assumed: brand_new is no family that was looked into" in said(answer)


def test_an_empty_text_part_is_no_text_part():
    assert ask({**configs.LLAMA_8B, "text_config": {}}).bytes_per_token == 131_072


def test_a_known_family_is_not_called_assumed():
    answer = ask(configs.LLAMA_8B)

    assert answer.kinds["bytes_per_token"] == "calculated"
    assert "assumed:" not in said(answer)


def test_a_tower_may_have_numbers_per_side_or_stage():
    vision = {"image_size": [448, 448], "patch_size": [14, 14], "num_heads": [4, 8], "hidden_size": 1024}

    assert ask({**configs.LLAMA_8B, "vision_config": vision}).bytes_per_token == 131_072


@pytest.mark.parametrize(
    ("scaling", "expected"),
    [
        pytest.param({"type": "linear", "factor": 4.0}, 32_768, id="linear"),
        pytest.param({"rope_type": "dynamic", "factor": 2}, 16_384, id="dynamic"),
        pytest.param(
            {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}, 32_768, id="yarn added"
        ),
        pytest.param(
            {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 4096}, 8192, id="yarn stated"
        ),
        pytest.param({"rope_type": "llama3", "factor": 8.0}, 8192, id="llama 3 states it"),
        pytest.param({"rope_type": "default"}, 8192, id="no scaling"),
    ],
)
def test_the_models_limit_follows_its_rotary_scaling(scaling, expected):
    answer = ask({**configs.LLAMA_8B, "rope_scaling": scaling})

    assert answer.model.shape.max_positions == expected


def test_ring_attends_once_in_each_group_and_is_as_large_as_its_card_says():
    ring = ask(configs.RING_MINI)

    assert ring.bytes_per_token == 4 * 2 * 4 * 128 * 2
    assert ring.fixed_bytes_per_request == 16 * 16 * 128 * 128 * 2
    assert ring.weights_bytes / 2e9 == pytest.approx(16.4, rel=0.005)


def test_the_newer_ring_has_kda_between_latent_layers_and_attends_in_what_fills_no_group():
    config = {**configs.RING_MINI, "short_conv_kernel_size": 4, "num_hidden_layers": 22}
    config |= {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    answer = ask(config)

    assert answer.bytes_per_token == (4 + 2) * 576 * 2
    assert answer.fixed_bytes_per_request == 16 * (3 * 3 * 2048 * 2 + 16 * 128 * 128 * 4)


@pytest.mark.parametrize(
    ("options", "tokens"),
    [
        ({"tp": 1, "kv_dtype": "fp8"}, 7808),
        ({"tp": 8, "kv_dtype": "fp8"}, 1024),
        ({"tp": 4, "kv_dtype": "bf16"}, 1152),
        ({"tp": 8, "kv_dtype": "bf16"}, 640),
    ],
)
def test_the_blocks_of_glm_53_as_logged(options, tokens):
    """As published it pools four tokens. One more group holds the keys that are not pooled yet."""
    config = {
        **configs.GLM_53_FLASH,
        "text_config": {**configs.GLM_53_FLASH["text_config"], "index_kpool": 4},
    }
    answer = ask(config, engine="vllm", **options)

    assert isinstance(answer.engine, Vllm)
    assert [tokens] * 6 == [group.tokens for group in answer.engine.plan.groups]


def test_glm_53_keeps_no_rotary_part_and_one_index_key_for_sixteen_tokens():
    """An LMCache server beside vLLM with tp 4 shows blocks of 1,152 tokens."""
    answer = ask(configs.GLM_53_FLASH, engine="vllm", tp=4, kv_dtype="bf16")

    assert answer.bytes_per_token == 11 * (512 * 2 + 9)
    assert answer.weights_bytes / 2e9 * 4 == pytest.approx(313.3, rel=0.03)
    assert isinstance(answer.engine, Vllm)
    assert {1152} == {group.tokens for group in answer.engine.plan.groups}
    assert "beta-pool" in {note.key for note in answer.notes}
