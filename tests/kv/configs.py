"""Small config.json texts, one per architecture class, with the key names that family uses."""

from typing import Any

Config = dict[str, Any]

LLAMA_8B: Config = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}

NEMO: Config = {**LLAMA_8B, "hidden_size": 5120, "num_hidden_layers": 40, "head_dim": 128}

FALCON_7B: Config = {
    "model_type": "falcon",
    "hidden_size": 4544,
    "num_hidden_layers": 32,
    "num_attention_heads": 71,
    "num_kv_heads": 71,
    "multi_query": True,
    "new_decoder_architecture": False,
    "vocab_size": 65024,
}

FALCON_40B: Config = {**FALCON_7B, "hidden_size": 8192, "num_attention_heads": 128, "n_head_kv": 8}
FALCON_40B |= {"new_decoder_architecture": True}

GPT_2: Config = {"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_positions": 1024}

CHATGLM: Config = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "num_layers": 28,
    "num_attention_heads": 32,
    "multi_query_attention": True,
    "multi_query_group_num": 2,
    "kv_channels": 128,
    "padded_vocab_size": 65024,
    "ffn_hidden_size": 13696,
    "seq_length": 32768,
}

DBRX: Config = {
    "model_type": "dbrx",
    "d_model": 6144,
    "n_heads": 48,
    "n_layers": 40,
    "max_seq_len": 32768,
    "attn_config": {"kv_n_heads": 8},
    "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16},
    "vocab_size": 100352,
}

MPT: Config = {
    "model_type": "mpt",
    "d_model": 4096,
    "n_heads": 32,
    "n_layers": 32,
    "max_seq_len": 2048,
    "attn_config": {"attn_type": "multihead_attention"},
    "vocab_size": 50432,
}


def mpt(attention: str, **more: Any) -> Config:
    return {**MPT, "attn_config": {"attn_type": attention, **more}}


OPENELM: Config = {
    "model_type": "openelm",
    "model_dim": 1280,
    "head_dim": 64,
    "num_transformer_layers": 4,
    "num_query_heads": [12, 12, 12, 16],
    "num_kv_heads": [3, 3, 3, 4],
}

NEMOTRON_NAS: Config = {
    **LLAMA_8B,
    "model_type": "nemotron-nas",
    "num_hidden_layers": 4,
    "num_key_value_heads": None,
    "block_configs": [
        {"attention": {"n_heads_in_group": 4}, "ffn": {"ffn_mult": 2.625}},
        {"attention": {"no_op": True, "n_heads_in_group": None}, "ffn": {"ffn_mult": 2.625}},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
        {"attention": {"n_heads_in_group": 8}, "ffn": {"ffn_mult": 5.25}},
    ],
}

DEEPSEEK_V3: Config = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "first_k_dense_replace": 3,
    "num_nextn_predict_layers": 1,
    "vocab_size": 129280,
    "max_position_embeddings": 163840,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}

DEEPSEEK_V32: Config = {
    **DEEPSEEK_V3,
    "architectures": ["DeepseekV32ForCausalLM"],
    "model_type": "deepseek_v32",
    "index_head_dim": 128,
    "index_n_heads": 64,
}

GLM_52: Config = {
    **DEEPSEEK_V3,
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "head_dim": 192,
    "num_hidden_layers": 78,
    "num_attention_heads": 64,
    "num_key_value_heads": 64,
    "index_head_dim": 128,
    "index_n_heads": 32,
    "index_topk_freq": 4,
    "index_skip_topk_offset": 3,
}

MISTRAL_WINDOW: Config = {**LLAMA_8B, "model_type": "mistral", "sliding_window": 4096}
MISTRAL_WINDOW |= {"max_position_embeddings": 32768}

LAGUNA: Config = {
    "architectures": ["LagunaForCausalLM"],
    "model_type": "laguna",
    "hidden_size": 3072,
    "num_hidden_layers": 48,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "layer_types": (["full_attention"] + ["sliding_attention"] * 3) * 12,
    "sliding_window": 512,
    "vocab_size": 100352,
}

GEMMA_3_27B: Config = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "torch_dtype": "bfloat16",
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_hidden_layers": 62,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "head_dim": 128,
        "sliding_window": 1024,
        "sliding_window_pattern": 6,
        "vocab_size": 262208,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": True,
    },
}

GPT_OSS_120B: Config = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "num_hidden_layers": 36,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
    "sliding_window": 128,
    "num_local_experts": 128,
    "vocab_size": 201088,
    "max_position_embeddings": 131072,
    "attention_bias": True,
    "tie_word_embeddings": False,
    "quantization_config": {
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.embed_tokens", "lm_head"],
    },
}

GPT_OSS_20B: Config = {
    **GPT_OSS_120B,
    "num_hidden_layers": 24,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
    "num_local_experts": 32,
}

GEMMA_4_E4B: Config = {
    "architectures": ["Gemma4ForConditionalGeneration"],
    "model_type": "gemma4",
    "text_config": {
        "model_type": "gemma4_text",
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 42,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "global_head_dim": 512,
        "num_kv_shared_layers": 18,
        "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 7,
        "sliding_window": 512,
        "vocab_size": 262144,
        "max_position_embeddings": 131072,
    },
}

MIMO_V2: Config = {
    "architectures": ["MiMoV2FlashForCausalLM"],
    "model_type": "mimo_v2_flash",
    "hidden_size": 4096,
    "intermediate_size": 16384,
    "num_hidden_layers": 6,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 192,
    "v_head_dim": 128,
    "swa_num_key_value_heads": 8,
    "swa_num_attention_heads": 64,
    "swa_head_dim": 192,
    "swa_v_head_dim": 128,
    "sliding_window": 128,
    "attention_chunk_size": 128,
    "hybrid_layer_pattern": [0, 1, 1, 1, 1, 0],
    "vocab_size": 152576,
}

LLAMA_4: Config = {
    "model_type": "llama4",
    "text_config": {
        **LLAMA_8B,
        "model_type": "llama4_text",
        "num_hidden_layers": 8,
        "attention_chunk_size": 8192,
        "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0],
        "max_position_embeddings": 1048576,
    },
}

QWEN35_27B: Config = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "text_config": {
        "model_type": "qwen3_5_text",
        "dtype": "bfloat16",
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "num_hidden_layers": 64,
        "num_attention_heads": 24,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "full_attention_interval": 4,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 16,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "mtp_num_hidden_layers": 1,
        "vocab_size": 248320,
        "max_position_embeddings": 262144,
    },
}

QWEN_4: Config = {  # the geometry of Qwen3.8-Flash-Next, as far as start logs and loaders tell it
    "architectures": ["Qwen4ExpForConditionalGeneration"],
    "model_type": "qwen4_exp",
    "text_config": {
        **QWEN35_27B["text_config"],
        "model_type": "qwen4_exp_text",
        "hidden_size": 2560,
        "num_hidden_layers": 48,
        "num_key_value_heads": 2,
        "layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 12,
        "num_experts": 512,
        "moe_intermediate_size": 640,
        "shared_expert_intermediate_size": 640,
        "hc_count": 4,
        "hc_lowrank": 320,
        "ple_layer_ids": [2],
        "ple_embed_dim": 2560,
        "ple_conv_kernel_size": 4,
        "ngram_size": 3,
        "indexer_n_heads": 24,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 128,
        "indexer_compress_ratio": 4,
        "tie_word_embeddings": False,
    },
}

NEMOTRON_NANO: Config = {
    "model_type": "nemotron_h",
    "hidden_size": 4480,
    "intermediate_size": 15680,
    "num_hidden_layers": 5,
    "hybrid_override_pattern": "M-M*-",
    "num_attention_heads": 40,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "mamba_num_heads": 128,
    "mamba_head_dim": 80,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
    "vocab_size": 131072,
    "torch_dtype": "bfloat16",
}

JAMBA: Config = {
    "model_type": "jamba",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 8,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "vocab_size": 65536,
    "torch_dtype": "bfloat16",
}

KIMI_LINEAR: Config = {
    **DEEPSEEK_V3,
    "model_type": "kimi_linear",
    "num_hidden_layers": 4,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "linear_attn_config": {
        "full_attn_layers": [4],
        "kda_layers": [1, 2, 3],
        "num_heads": 32,
        "head_dim": 128,
        "short_conv_kernel_size": 4,
    },
}

WHISPER: Config = {
    "model_type": "whisper",
    "is_encoder_decoder": True,
    "d_model": 1280,
    "decoder_layers": 32,
    "decoder_attention_heads": 20,
    "decoder_ffn_dim": 5120,
    "max_source_positions": 1500,
    "max_target_positions": 448,
    "vocab_size": 51866,
}

ZAMBA_2: Config = {  # the defaults of Zamba2Config, with the heads and blocks of the 2.7B model
    "model_type": "zamba2",
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_hidden_layers": 54,
    "layers_block_type": (["mamba"] + (["mamba"] * 5 + ["hybrid"]) * 7)
    + ["mamba"] * 4
    + ["hybrid"]
    + ["mamba"] * 3
    + ["hybrid"]
    + ["mamba"] * 2,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "attention_head_dim": 160,
    "num_mem_blocks": 2,
    "adapter_rank": 128,
    "mamba_d_state": 64,
    "mamba_ngroups": 1,
    "n_mamba_heads": 80,
    "mamba_headdim": 64,
    "vocab_size": 32000,
}

ZAMBA: Config = {  # the defaults of ZambaConfig, which are those of Zamba-7B-v1
    "model_type": "zamba",
    "hidden_size": 3712,
    "intermediate_size": 14848,
    "num_hidden_layers": 76,
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
    "attention_head_dim": 464,
    "n_mamba_heads": 2,
    "mamba_dt_rank": "auto",
    "attn_layer_period": 6,
    "attn_layer_offset": 4,
    "vocab_size": 32000,
}

MINICPM_3: Config = {  # the defaults of MiniCPM3Config, which are those of MiniCPM3-4B
    "model_type": "minicpm3",
    "hidden_size": 2560,
    "intermediate_size": 6400,
    "num_hidden_layers": 62,
    "num_attention_heads": 40,
    "num_key_value_heads": 40,
    "q_lora_rank": 768,
    "kv_lora_rank": 256,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 32,
    "vocab_size": 73448,
}

RING_MINI: Config = {
    "architectures": ["BailingMoeLinearV2ForCausalLM"],
    "model_type": "bailing_moe_linear",
    "first_k_dense_replace": 1,
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 5120,
    "layer_group_size": 5,
    "moe_intermediate_size": 512,
    "moe_shared_expert_intermediate_size": 512,
    "num_attention_heads": 16,
    "num_experts": 256,
    "num_hidden_layers": 20,
    "num_key_value_heads": 4,
    "num_shared_experts": 1,
    "vocab_size": 157184,
}

GLM_53_FLASH: Config = {  # the defaults of Glm5NextConfig
    "model_type": "glm5_next",
    "text_config": {
        "model_type": "glm5_next_text",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 256,
        "qk_rope_head_dim": 0,
        "v_head_dim": 256,
        "index_head_dim": 128,
        "index_n_heads": 32,
        "index_kpool": 16,
        "layer_types": (["linear_attention"] * 3 + ["indexed_attention"]) * 11 + ["linear_attention"],
        "linear_conv_kernel_dim": 4,
        "linear_head_dim": 128,
        "linear_num_heads": 64,
        "mlp_layer_types": ["dense"] * 3 + ["sparse"] * 42,
        "moe_intermediate_size": 2048,
        "n_routed_experts": 288,
        "n_shared_experts": 1,
        "num_attention_heads": 64,
        "vocab_size": 154880,
    },
}
