"""Configs by their family's defaults, and the parameters that transformers 5.24 allocates for them.

Counted by building each model without memory for its weights; only keys that change the count are kept.
"""

from typing import Any

WINDOWS_AND_FULL = (["sliding_attention"] * 3 + ["full_attention"]) * 8
FIVE_WINDOWS = ["sliding_attention"] * 5 + ["full_attention"]

GEMMA_4: dict[
    str, Any
] = {  # as transformers 5 writes it: what full layers have of their own stands per layer
    "model_type": "gemma4_text",
    "hidden_size": 2304,
    "hidden_size_per_layer_input": 256,
    "layer_types": FIVE_WINDOWS * 5,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "per_layer_config": {f"{layer:02}": {"head_dim": 512} for layer in range(5, 30, 6)},
    "sliding_window": 512,
    "vocab_size": 262144,
}

# name, config, parameters in millions
COUNTED: list[tuple[str, dict[str, Any], float]] = [
    (
        "an MLP without a gate",
        {"model_type": "arcee", "hidden_size": 2560, "intermediate_size": 18432}
        | {"num_attention_heads": 32, "num_hidden_layers": 32},
        4022.8,
    ),
    (
        "an MLP without a gate, of an encoder and its decoder",
        {"model_type": "marian", "d_model": 1024, "decoder_attention_heads": 16, "decoder_ffn_dim": 4096}
        | {"decoder_layers": 12, "encoder_layers": 12, "is_encoder_decoder": True, "vocab_size": 58101},
        414.3,
    ),
    (
        "a width narrowed to two thirds",
        {"model_type": "lfm2", "block_auto_adjust_ff_dim": True, "hidden_size": 2560}
        | {"intermediate_size": 12288, "num_attention_heads": 32, "num_hidden_layers": 32}
        | {"num_key_value_heads": 8, "vocab_size": 65536},
        2705.5,
    ),
    (
        "experts that a dense model does not have",
        {"model_type": "doge", "hidden_size": 1024, "intermediate_size": 2048, "is_moe": False}
        | {"num_attention_heads": 8, "num_hidden_layers": 32, "num_experts": 16384, "vocab_size": 32768},
        403.1,
    ),
    (
        "attention that ends in a gate",
        {"model_type": "afmoe", "hidden_size": 2048, "intermediate_size": 6144}
        | {"layer_types": WINDOWS_AND_FULL, "moe_intermediate_size": 1408, "num_attention_heads": 16}
        | {"num_dense_layers": 1, "num_experts": 64, "num_shared_experts": 2, "sliding_window": 1024}
        | {"vocab_size": 200192},
        19232.6,
    ),
    (
        "experts narrower than the model, and a tower",
        {
            "model_type": "muse_spark",
            "text_config": {"model_type": "muse_spark_text", "hidden_size": 8192, "num_hidden_layers": 62}
            | {"moe_hidden_size": 4096, "moe_intermediate_size": 4096, "num_attention_heads": 128}
            | {"num_key_value_heads": 16, "num_local_experts": 256, "vocab_size": 202048, "head_dim": 64},
            "vision_config": {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 50},
        },
        822036.5,
    ),
    (
        "a gate that the config does not name, and Qwen's merger",
        {
            "model_type": "qwen3_5",
            "text_config": {"model_type": "qwen3_5_text", "hidden_size": 4096, "intermediate_size": 12288}
            | {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 8, "head_dim": 256}
            | {"linear_key_head_dim": 128, "linear_num_key_heads": 16, "linear_num_value_heads": 32}
            | {"linear_value_head_dim": 128, "num_attention_heads": 16, "num_key_value_heads": 4}
            | {"vocab_size": 248320},
            "vision_config": {"depth": 27, "hidden_size": 1152, "intermediate_size": 4304}
            | {"out_hidden_size": 3584, "spatial_merge_size": 2},
        },
        9407.5,
    ),
    (
        "mergers from within the tower: Qwen3-VL 8B",
        {
            "model_type": "qwen3_vl",
            "text_config": {"model_type": "qwen3_vl_text", "intermediate_size": 12288}
            | {"num_hidden_layers": 36, "num_key_value_heads": 8},
            "vision_config": {"deepstack_visual_indexes": [8, 16, 24], "depth": 27, "hidden_size": 1152}
            | {"intermediate_size": 4304, "spatial_merge_size": 2},
        },
        8767.1,
    ),
    (
        "a tower whose hidden size is the model's: Qwen2-VL",
        {
            "model_type": "qwen2_vl",
            "text_config": {"model_type": "qwen2_vl_text", "num_hidden_layers": 8},
            "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "mlp_ratio": 4}
            | {"spatial_merge_size": 2},
        },
        10190.1,
    ),
    (
        "a tower with shared heads and a gate",
        {
            "model_type": "exaone4_5",
            "text_config": {"model_type": "exaone4", "hidden_size": 4096, "num_attention_heads": 32}
            | {"num_hidden_layers": 32, "intermediate_size": 16384, "vocab_size": 102400},
            "vision_config": {"model_type": "exaone4_5_vision", "depth": 32, "hidden_size": 3584}
            | {"intermediate_size": 3420, "num_heads": 16, "num_key_value_heads": 8}
            | {"out_hidden_size": 3584, "spatial_merge_size": 2},
        },
        12100.9,
    ),
    (
        "the tower of GLM-4V",
        {
            "model_type": "glm4v",
            "text_config": {"model_type": "glm4v_text"},
            "vision_config": {"model_type": "glm4v_vision", "depth": 24, "hidden_size": 1536}
            | {"intermediate_size": 13696, "out_hidden_size": 4096},
        },
        10292.8,
    ),
    (
        "experts of their own for pictures: ERNIE 4.5 VL",
        {"model_type": "ernie4_5_vl_moe_text", "hidden_size": 2560, "intermediate_size": 12288}
        | {"moe_intermediate_size": [1536, 512], "moe_num_experts": 64, "moe_num_shared_experts": 2}
        | {"mlp_layer_types": ["dense"] + ["sparse"] * 27, "num_hidden_layers": 28}
        | {"num_attention_heads": 20, "num_key_value_heads": 4, "vocab_size": 103424},
        28_624.6,
    ),
    ("what Gemma 4 adds to each layer", GEMMA_4, 5077.2),
    (
        "learned positions: OPT",
        {"model_type": "opt", "hidden_size": 768, "max_position_embeddings": 2048}
        | {"num_attention_heads": 12, "num_hidden_layers": 12, "ffn_dim": 3072, "vocab_size": 50272},
        125.2,
    ),
    (
        "learned positions: GPT-2",
        {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024}
        | {"vocab_size": 50257},
        124.4,
    ),
]
