"""Weights by how a checkpoint stores them, and the parts of models that only their own keys tell."""

import pytest

from tests.kv import configs
from tests.kv.ask import ask
from tests.kv.counted import COUNTED

LINEAR = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336)  # of Llama 3 8B


def in_linear_layers(quantization):
    """Bytes of the linear layers alone: what is left when the 16-bit parts are taken away."""
    plain = ask(configs.LLAMA_8B).weights_bytes - 2 * LINEAR
    return ask({**configs.LLAMA_8B, "quantization_config": quantization}).weights_bytes - plain


def packed(bits, group, **more):
    weights = {"num_bits": bits, "group_size": group, "symmetric": True, "type": "int", **more}
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


def quark(weight):
    return {"quant_method": "quark", "global_quant_config": {"weight": weight}, "exclude": ["lm_head"]}


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        pytest.param({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4 + 20 / 128, id="gptq"),
        pytest.param({"quant_method": "gptq", "bits": 3, "group_size": 128}, 3 + 19 / 128, id="3 bits"),
        pytest.param({"quant_method": "awq", "bits": 4, "group_size": 32}, 4 + 20 / 32, id="small groups"),
        pytest.param({"quant_method": "auto-round", "bits": 2, "group_size": 64}, 2 + 18 / 64, id="2 bits"),
        pytest.param({"quant_method": "exl2", "bits": 4.25}, 4.25, id="an average"),
        pytest.param({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8, id="fp8"),
        pytest.param({"quant_method": "fbgemm_fp8"}, 8, id="fbgemm fp8"),
        pytest.param({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, 4.125, id="W4A8"),
        pytest.param({"quant_method": "modelopt", "quant_algo": "W8A8_SQ_PER_CHANNEL"}, 8, id="W8A8"),
        pytest.param({"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}, 8, id="FP8 in blocks"),
        pytest.param({"quant_method": "modelopt", "quant_algo": "W4A8_MXFP4_FP8"}, 4.25, id="MXFP4"),
        pytest.param({"quant_method": "compressed-tensors", "format": "float-quantized"}, 8, id="float"),
        pytest.param({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5, id="nf4"),
        pytest.param({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8, id="llm.int8"),
        pytest.param(packed(4, 32), 4.5, id="compressed-tensors in groups of 32"),
        pytest.param(packed(4, 128, symmetric=False), 4 + 20 / 128, id="compressed-tensors with zero points"),
        pytest.param(packed(8, None), 8, id="compressed-tensors per channel"),
        pytest.param(
            {
                "quant_method": "hqq",
                "quant_config": {"weight_quant_params": {"nbits": 4, "group_size": 64}},
                "skip_modules": ["lm_head"],
            },
            4.5,
            id="hqq",
        ),
        pytest.param({"quant_method": "torchao", "quant_type": "int8_weight_only"}, 8, id="torchao"),
        pytest.param(
            {
                "quant_method": "torchao",
                "quant_type": "int4_weight_only",
                "quant_type_kwargs": {"group_size": 64},
            },
            4.5,
            id="torchao in groups",
        ),
        pytest.param(
            {
                "quant_method": "torchao",
                "quant_type": {
                    "default": {
                        "_type": "Int8DynamicActivationInt4WeightConfig",
                        "_data": {"group_size": 32},
                    }
                },
            },
            5,
            id="torchao with activations",
        ),
        pytest.param(
            {"quant_method": "torchao", "quant_type": {"default": {"_type": "Float8WeightOnlyConfig"}}},
            8,
            id="torchao fp8",
        ),
        pytest.param(quark({"dtype": "fp8_e4m3", "qscheme": "per_tensor"}), 8, id="quark fp8"),
        pytest.param(quark({"dtype": "fp4", "group_size": 32}), 4.25, id="quark mxfp4"),
        pytest.param(quark([{"dtype": "uint4", "group_size": 128}]), 4.125, id="quark int4"),
        pytest.param(
            {"quant_method": "aqlm", "in_group_size": 8, "num_codebooks": 1, "nbits_per_codebook": 16},
            2,
            id="aqlm",
        ),
    ],
)
def test_bits_are_read_from_the_checkpoint(quantization, bits):
    assert in_linear_layers(quantization) == pytest.approx(LINEAR * bits / 8, abs=1)


def test_the_key_of_early_compressed_checkpoints_is_read():
    weights = {"num_bits": 8, "type": "float"}
    how = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}

    assert ask({**configs.LLAMA_8B, "compression_config": how}).weights_format.name == "fp8"


@pytest.mark.parametrize(
    "how",
    [
        {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
        {
            "quant_method": "compressed-tensors",
            "config_groups": {
                "attention": {"weights": {"num_bits": 8, "type": "float"}},
                "experts": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}},
            },
        },
    ],
)
def test_mixed_precisions_are_said_and_no_certain_number(how):
    answer = ask({**configs.LLAMA_8B, "quantization_config": how})

    assert answer.kinds["weights_bytes"] == "inferred"
    assert "weights-mixed" in {note.key for note in answer.notes}


@pytest.mark.parametrize(
    "quantization",
    [
        {"quant_method": "brand_new"},
        {"quant_method": "modelopt"},
        {"quant_method": "modelopt", "quant_algo": "BRAND_NEW"},
        {"quant_method": "compressed-tensors", "format": "pack-quantized"},
        {"quant_method": "hqq"},
        {"quant_method": "torchao", "quant_type": "autoquant"},
        {"quant_method": "torchao", "quant_type": {"default": {"_type": "FPXWeightOnlyConfig"}}},
        {"quant_method": "quark", "global_quant_config": {"weight": None}},
        {"quant_method": "aqlm", "num_codebooks": 2},
    ],
)
def test_an_unknown_method_is_named_and_its_weights_are_no_certain_number(quantization):
    answer = ask({**configs.LLAMA_8B, "quantization_config": quantization})

    assert answer.weights_bytes == ask(configs.LLAMA_8B).weights_bytes
    assert answer.kinds["weights_bytes"] == "inferred"
    assert "weights-unread" in {note.key for note in answer.notes}


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("openai/whisper-large-v3-turbo", 809e6),
        ("LiquidAI/LFM2-1.2B", 1.17e9),
        ("ibm-granite/granite-4.0-h-tiny", 6.94e9),
        ("baidu/ERNIE-4.5-21B-A3B-PT", 21.83e9),
        ("google/gemma-3n-E4B-it", 6.87e9),
        ("moonshotai/Kimi-Linear-48B-A3B-Instruct", 49.1e9),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", 8.89e9),
        ("MiniMaxAI/MiniMax-Text-01", 456e9),
        ("tiiuae/Falcon-H1-7B-Instruct", 7.59e9),
        ("EleutherAI/gpt-neox-20b", 20.55e9),
        ("arcee-ai/Trinity-Nano-Preview", 6.12e9),
        ("arcee-ai/Trinity-Mini", 26.1e9),
        ("arcee-ai/Trinity-Large-Preview", 398e9),
        ("stepfun-ai/Step-3.5-Flash", 196e9),
        ("XiaomiMiMo/MiMo-V2.5", 310e9),
        ("kakaocorp/kanana-2-30b-a3b-instruct", 30.66e9),
    ],
)
def test_parameters_are_near_what_the_model_card_says(model, parameters):
    assert ask(model, weights_dtype="bf16").weights_bytes / 2 == pytest.approx(parameters, rel=0.02)


@pytest.mark.parametrize(
    ("config", "millions"), [pytest.param(config, millions, id=name) for name, config, millions in COUNTED]
)
def test_parameters_are_those_that_transformers_allocates(config, millions):
    assert ask(config).weights_bytes / 2e6 == pytest.approx(millions, rel=0.007)


@pytest.mark.parametrize(
    ("model", "millions"),
    [
        ("gemma-4-e2b", 4628.6),
        ("gemma-4-e4b", 7463.0),
        ("gemma-3n-e4b", 6835.2),
        ("qwen3-vl-30b-a3b", 31_071),
    ],
)
def test_parameters_of_the_catalogue_are_those_that_transformers_allocates(model, millions):
    assert ask(model, weights_dtype="bf16").weights_bytes / 2e6 == pytest.approx(millions, rel=0.001)


def test_the_tower_of_kimi_is_counted_as_transformers_allocates_it():
    """471.1 million parameters with their positions, whole on every GPU."""
    named = {"vt_hidden_size": 1152, "vt_intermediate_size": 4304, "vt_num_hidden_layers": 27}
    tower = {**named, "merge_kernel_size": [2, 2]}
    text = {**configs.DEEPSEEK_V3, "model_type": "kimi_k2", "quantization_config": None}
    config = {"model_type": "kimi_k25", "text_config": text, "vision_config": {}}
    without, beside = (ask({**config, "vision_config": vision}, tp=8).weights_bytes for vision in ({}, tower))

    assert (beside - without) / 2e6 == pytest.approx(471.1, rel=0.015)


@pytest.mark.parametrize("kernel", [None, [], [2], [2, 0], [2, "2"], {"height": 2}])
def test_a_tower_that_does_not_say_how_it_joins_patches_is_joined_as_others_are(kernel):
    tower = {"vt_hidden_size": 1152, "vt_intermediate_size": 4304, "vt_num_hidden_layers": 27}
    config = {"model_type": "kimi_k25", "text_config": configs.DEEPSEEK_V3}
    plain, odd = (
        ask({**config, "vision_config": vision}).weights_bytes
        for vision in (tower, {**tower, "merge_kernel_size": kernel})
    )

    assert plain == odd


def test_sglang_keeps_the_parted_projection_beside_the_whole_one():
    """`w_kc` and `w_vc` of `deepseek_weight_loader.py`, as wide as the attention they are of."""
    parted = 61 * 16 * 512 * 256
    config = {**configs.DEEPSEEK_V3, "quantization_config": {"quant_method": "fp8"}}
    plain, sglang = (ask(config, engine=engine, tp=8).weights_bytes for engine in ("lmdeploy", "sglang"))

    assert sglang - plain == parted


def test_longcat_has_two_mlps_and_its_experts_in_each_layer():
    """560 billion, says its model card; a token may also go to one of 256 experts that do nothing."""
    config = {"model_type": "longcat_flash", "expert_ffn_hidden_size": 2048, "ffn_hidden_size": 12288}
    config |= {"hidden_size": 6144, "kv_lora_rank": 512, "n_routed_experts": 512, "num_attention_heads": 64}
    config |= {"num_layers": 28, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "v_head_dim": 128}

    assert ask({**config, "vocab_size": 131072, "zero_expert_num": 256}).weights_bytes / 2e9 == pytest.approx(
        560, rel=0.003
    )


@pytest.mark.parametrize(
    ("config", "parameters"),
    [(configs.ZAMBA_2, 2.66e9), (configs.ZAMBA, 7.23e9), (configs.MINICPM_3, 4.07e9)],
)
def test_what_layers_share_or_compress_is_counted_as_it_is_stored(config, parameters):
    assert ask(config).weights_bytes / 2 == pytest.approx(parameters, rel=0.002)


def test_a_shared_block_more_is_one_block_more_whatever_the_layers_that_run_it():
    one, two = (ask({**configs.ZAMBA_2, "num_mem_blocks": count}).weights_bytes for count in (1, 2))
    attention = 3 * 5120 * 5120 + 5120 * 2560
    mlp, norms = 3 * 2560 * 10240, 5120 + 2560

    assert 2 * (attention + mlp + norms) == two - one


def test_each_pipeline_stage_holds_the_shared_blocks():
    whole, half = (ask(configs.ZAMBA_2, pp=pp).weights_bytes for pp in (1, 2))

    assert half > whole / 2 + 2 * 100e6


def test_minicpm_3_is_stored_as_a_latent_and_kept_expanded():
    answer = ask(configs.MINICPM_3)

    assert answer.bytes_per_token == 62 * 40 * 2 * (64 + 32) * 2


def test_minicpm_3_stays_a_latent_in_sglang_alone():
    vllm, sglang = (ask(configs.MINICPM_3, engine=engine) for engine in ("vllm", "sglang"))
    rank, rope = configs.MINICPM_3["kv_lora_rank"], configs.MINICPM_3["qk_rope_head_dim"]

    assert sglang.bytes_per_token == configs.MINICPM_3["num_hidden_layers"] * (rank + rope) * 2
    assert vllm.bytes_per_token > 10 * sglang.bytes_per_token


def test_a_head_that_may_be_the_embedding_is_said_to_be_a_guess():
    config = {**configs.LLAMA_8B, "model_type": "minicpm"}
    said, unsaid = config, {**config, "tie_word_embeddings": None}

    assert [ask(one).kinds["weights_bytes"] for one in (said, unsaid)] == ["calculated", "inferred"]
    assert "beta-head" in [note.key for note in ask(unsaid).notes]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nvidia/Some-Model-8B-NVFP4", "nvfp4"),
        ("RedHatAI/Some-Model-8B-quantized.w4a16", "int4"),
        ("someone/Some-Model-8B-Instruct", "bf16"),
    ],
)
def test_a_config_that_does_not_say_how_its_weights_are_stored_is_believed_its_name(name, expected):
    """ModelOpt's first checkpoints say it in a file of its own, hf_quant_config.json."""
    answer = ask(configs.LLAMA_8B, model=name)

    assert expected == answer.weights_format.name
    assert (expected != "bf16") == ("weights-from-name" in {note.key for note in answer.notes})


def test_what_the_config_says_of_its_weights_beats_its_name():
    config = {**configs.LLAMA_8B, "quantization_config": {"quant_method": "fp8"}}

    assert ask(config, model="someone/Some-Model-8B-NVFP4").weights_format.name == "fp8"


@pytest.mark.parametrize(("model", "gigabytes"), [("kimi-k2-thinking", 594), ("kimi-k2", 1029)])
def test_kimi_weighs_what_its_card_says(model, gigabytes):
    assert ask(model).weights_bytes / 1e9 == pytest.approx(gigabytes, rel=0.001)


def test_kimi_25_is_kimi_k2_thinking_with_a_tower():
    seeing, thinking = (ask(model).weights_bytes for model in ("kimi-k2.5", "kimi-k2-thinking"))

    assert (seeing - thinking) / 2e6 == pytest.approx(471.1, rel=0.015)


def test_the_kda_of_kimi_is_spared_with_its_attention():
    how = {
        "quant_method": "compressed-tensors",
        "format": "mxfp4-pack-quantized",
        "ignore": ["re:.*self_attn.*"],
    }
    spared = ask({**configs.KIMI_LINEAR, "quantization_config": how}).weights_format.spared

    assert "linear attention" in spared


def test_mlx_converts_the_embedding_too():
    answer = ask({**configs.LLAMA_8B, "quantization": {"bits": 4, "group_size": 64}})

    assert answer.weights_bytes == pytest.approx(ask(configs.LLAMA_8B).weights_bytes * 4.5 / 16, rel=1e-3)


def test_experts_that_are_stored_narrower_than_the_rest_count_less():
    """DeepSeek V4: fp8, but its experts are MXFP4."""
    plain, narrow = configs.DEEPSEEK_V3, {**configs.DEEPSEEK_V3, "expert_dtype": "fp4"}
    experts = 58 * 256 * 3 * 7168 * 2048
    answer = ask(narrow)

    assert ask(plain).weights_bytes - answer.weights_bytes == pytest.approx(experts * (8 - 4.25) / 8, abs=1)
    assert "weights-experts" in {note.key for note in answer.notes}


def test_deepseek_v4_weighs_what_its_start_log_says():
    """V4-Flash on two GPUs: "Model loading took 74.08 GiB memory"."""
    answer = ask("deepseek-v4-flash", engine="vllm", tp=2)

    assert answer.weights_bytes / 2**30 == pytest.approx(74.08, rel=0.015)


def test_vllm_keeps_the_expanding_projection_of_a_latent_twice():
    """GLM-5 in fp8 on eight GPUs: "Model loading took 89.34 GiB memory"."""
    plain, absorbed = (ask("glm-5-fp8", engine=engine, tp=8).weights_bytes for engine in ("lmdeploy", "vllm"))
    rotary = 202_752 * 64 * 2

    assert absorbed - plain == rotary + 78 * 512 * 8 * (192 + 256) * 2
    assert absorbed / 2**30 == pytest.approx(89.34, rel=0.005)


def test_llama_cpp_keeps_mxfp4_experts_as_the_file_has_them():
    kernels, file = (ask("gpt-oss-20b", engine=engine) for engine in ("vllm", "llama.cpp"))

    assert kernels.weights_bytes > 1.04 * file.weights_bytes
    assert [kernels.kinds["weights_bytes"], file.kinds["weights_bytes"]] == ["inferred", "calculated"]
    assert "mxfp4-padding" not in {note.key for note in file.notes}


def test_modules_that_are_listed_one_by_one_have_bits_of_their_own():
    listed = {f"model.layers.{layer}.mlp.up_proj": {"quant_algo": "W4A16_NVFP4"} for layer in range(32)}
    listed |= {f"model.layers.{layer}.self_attn.q_proj": {"quant_algo": "FP8"} for layer in range(32)}
    how = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": listed}
    mlp, attention = 32 * 3 * 4096 * 14336, 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024)
    answer = ask({**configs.LLAMA_8B, "quantization_config": how})
    saved = ask(configs.LLAMA_8B).weights_bytes - answer.weights_bytes

    assert saved == pytest.approx(mlp * (16 - 4.5) / 8 + attention * (16 - 8) / 8, abs=1)
    assert answer.kinds["weights_bytes"] == "calculated"


def test_one_algorithm_that_is_not_known_leaves_the_list_unread():
    listed = {"model.layers.0.mlp.up_proj": {"quant_algo": "BRAND_NEW"}}
    how = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": listed}

    assert "weights-mixed" in {
        note.key for note in ask({**configs.LLAMA_8B, "quantization_config": how}).notes
    }


def test_a_draft_layer_that_is_not_converted_keeps_16_bits():
    """nvidia/Qwen3.6-35B-A3B-NVFP4 with its MTP layer: "Model loading took 21.93 GiB memory"."""
    answer = ask("nvidia/Qwen3.6-35B-A3B-NVFP4", engine="vllm", num_speculative_tokens=2)

    assert answer.weights_bytes / 2**30 == pytest.approx(21.93, rel=0.003)
