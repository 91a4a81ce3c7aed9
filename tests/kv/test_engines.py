"""What engines really allocate, against numbers that they printed in public logs."""

import math

import pytest

from gpudiag.kv import Answer
from gpudiag.kv.engines.plan import Group
from gpudiag.kv.engines.sglang import Sglang
from gpudiag.kv.engines.vllm import Vllm
from tests.kv import configs
from tests.kv.ask import GIB, MIB, ask

H100 = {"gpu": 79.19, "gpu_memory_utilization": 0.95, "max_num_seqs": 1024, "max_num_batched_tokens": 8192}


def groups(answer: Answer) -> tuple[Group, ...]:
    """How vLLM dealt the layers."""
    assert isinstance(answer.engine, Vllm)
    return answer.engine.plan.groups


def test_vllm_cuts_a_plain_model_into_blocks_of_16():
    # llm-d-planner log: 58.11 GiB, 29,751 blocks, 58.11 requests of 8,192 tokens
    answer = ask(configs.LLAMA_8B, engine="vllm", max_model_len=8192, kv_cache_memory_bytes=62_395_137_392)

    assert (answer.pool_blocks, answer.pool_tokens) == (29_752, 476_032)
    assert round(answer.max_concurrency, 2) == 58.11


def test_vllm_rounds_a_request_up_to_whole_blocks():
    assert ask(configs.LLAMA_8B, tokens=1000, engine="vllm").bytes_per_request == 131_072 * 1008


def test_vllm_deals_window_layers_into_groups_that_share_blocks():
    # Gemma-3-27B on vLLM 0.19: 19.53 GiB, 15,997 blocks in 7 groups, concurrency 4.46
    answer = ask(
        configs.GEMMA_3_27B,
        engine="vllm",
        engine_version="0.19.0",
        max_model_len=8192,
        max_num_batched_tokens=8192,
        kv_cache_memory_bytes=20_970_177_822,
    )

    assert len(groups(answer)) == 7
    assert answer.pool_blocks == pytest.approx(15_997, rel=1e-3)
    assert round(answer.max_concurrency, 2) == 4.46


@pytest.mark.parametrize(
    ("config", "tokens", "expected"),
    [
        (configs.GEMMA_3_27B, 131_072, 14.23),
        (configs.GPT_OSS_120B, 131_072, 4.79),
        (configs.QWEN35_27B, 131_072, 8.33),
        (configs.QWEN35_27B, 1_024, 0.383),
    ],
)
def test_a_long_request_on_vllm_costs_its_window_and_what_is_in_flight(config, tokens, expected):
    answer = ask(
        config,
        tokens=tokens,
        engine="vllm",
        engine_version="0.19.0",
        kv_dtype="bf16",
        max_num_batched_tokens=8192,
    )

    assert answer.bytes_per_request / GIB == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("version", "gib"), [("0.25.1", 45.79), ("0.26.0", 70.79)])
def test_one_request_of_gemma_4_needs_what_vllm_said_it_does(version, gib):
    """gemma-4-31b, 262,144 tokens, max_num_batched_tokens 32,768: the update doubled what is in flight."""
    options = {"max_model_len": 262_144, "max_num_batched_tokens": 32_768, "kv_dtype": "bf16"}
    answer = ask("gemma-4-31b", engine="vllm", engine_version=version, tokens=262_144, **options)

    assert answer.bytes_per_request / GIB == pytest.approx(gib, abs=0.005)


@pytest.mark.parametrize(
    ("version", "tp", "gib", "tokens", "printed"),
    [("0.22.0", 8, 37.93, 256_000, 9.76), ("0.25.0", 2, 32.08, 262_144, 8.30)],
)
def test_concurrency_of_deepseek_v4_is_what_its_version_prints(version, tp, gib, tokens, printed):
    """V4-Flash: before 0.27 the line counts what groups fill of their blocks; 0.23 lays them out closer."""
    options = {"max_model_len": tokens, "max_num_batched_tokens": 8192, "tp": tp}
    pool = round(gib * GIB)
    answer = ask(
        "deepseek-v4-flash", engine="vllm", engine_version=version, kv_cache_memory_bytes=pool, **options
    )

    assert round(answer.max_concurrency, 2) == printed
    assert answer.largest_batch <= answer.max_concurrency


def test_concurrency_of_deepseek_v4_on_eight_gpus():
    """vLLM 0.25.0, eight B200: 20.43 requests of 1M tokens with --tp 8, 156.9 over the replicas of --dp 8.

    The pools are foreseen, without the workspaces of its kernels.
    """
    options = {
        "gpu": "B200",
        "gpu_memory_utilization": 0.95,
        "max_model_len": 1_048_576,
        "max_num_batched_tokens": 8192,
        "max_num_seqs": 256,
        "kv_dtype": "fp8",
    }
    together, apart = (
        ask("deepseek-v4-flash", engine="vllm", engine_version="0.25.0", **way, **options).max_concurrency
        for way in ({"tp": 8}, {"dp": 8})
    )

    assert together == pytest.approx(20.43, rel=0.07)
    assert 8 * apart / together == pytest.approx(156.9 / 20.43, rel=0.02)


@pytest.mark.parametrize(
    ("model", "version", "pp", "batches"),
    [
        ("gemma-3-27b", "0.25.1", 4, 1),
        ("gemma-3-27b", "0.26.0", 1, 2),
        ("gemma-3-27b", "0.26.0", 4, 5),
        ("gpt-oss-120b", "0.28.0", 4, 4),
        ("gpt-oss-120b", "0.29.0", 4, 5),
    ],
)
def test_a_pipeline_has_more_batches_in_flight(model, version, pp, batches):
    """Dense models run by vLLM's second runner since 0.26, those with experts since 0.29."""
    options = {"engine": "vllm", "engine_version": version, "max_num_batched_tokens": 2048}
    answer = ask(model, pp=pp, tokens=131_072, **options)
    (told,) = [note.values["tokens"] for note in answer.notes if note.key == "vllm-in-flight"]

    assert told == 2048 * batches


def test_newer_vllm_keeps_two_batches_in_flight():
    old, new = (
        ask(
            configs.GEMMA_3_27B, tokens=131_072, engine="vllm", engine_version=version
        ).fixed_bytes_per_request
        for version in ("0.19.0", "0.33.0")
    )

    assert old < new < 2 * old


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"kv_dtype": "bf16"}, 784, id="bf16"),
        pytest.param({"kv_dtype": "fp8"}, 1568, id="halving the dtype doubles the block"),
        pytest.param(
            {"kv_dtype": "fp8", "tp": 2, "num_speculative_tokens": 3}, 1600, id="draft tokens widen"
        ),
    ],
)
def test_a_state_page_decides_the_attention_block_of_a_hybrid(options, expected):
    answer = ask(configs.QWEN35_27B, engine="vllm", **options)

    assert expected == groups(answer)[-1].tokens


@pytest.mark.parametrize(("dtype", "tokens"), [("bf16", 528), ("fp8", 1056)])
def test_the_blocks_of_a_smaller_hybrid_as_logged(dtype, tokens):
    """Qwen3.5 9B and 4B: "Setting attention block size to 528 tokens", and twice that with fp8."""
    assert {tokens} == {group.tokens for group in groups(ask("qwen3.5-9b", engine="vllm", kv_dtype=dtype))}


@pytest.mark.parametrize(("tokens", "gib"), [(30_000, 6.66), (13_528, 5.44)])
def test_vllm_needs_as_much_for_deepseek_v4_as_it_says_when_it_refuses(tokens, gib):
    """V4-Flash, vLLM 0.22, offline: "6.66 GiB KV cache is needed"; 5.44 GiB would hold 13,528 tokens."""
    options = {"engine_version": "0.22.0", "max_num_batched_tokens": 16_384, "tp": 2}
    answer = ask("deepseek-v4-flash", tokens=tokens, engine="vllm", **options)

    assert answer.bytes_per_request / GIB == pytest.approx(gib, abs=0.005)


def test_newer_vllm_packs_the_pages_of_deepseek_v4_without_padding():
    """V4-Pro in the planner of 0.33: 30 and 31 compressed layers, 3,745 blocks for 100,000 tokens."""
    answer = ask("deepseek-v4-pro", tokens=100_000, engine="vllm", max_num_batched_tokens=8192)

    assert (answer.engine.unit_bytes, answer.engine.units(100_000)) == (1_435_968, 3745)


def test_blocks_of_a_hybrid_are_multiples_of_the_block_size_that_is_asked_for():
    answer = ask(configs.QWEN35_27B, engine="vllm", kv_dtype="bf16", block_size=64)

    assert {13 * 64} == {group.tokens for group in groups(answer)}


@pytest.mark.parametrize(
    ("heads", "tokens"),
    [pytest.param(4, 32, id="half as wide"), pytest.param(6, 16, id="does not divide: padded")],
)
def test_a_narrower_layer_fills_the_common_page_where_it_divides(heads, tokens):
    config = {**configs.LLAMA_8B, "layer_types": ["full_attention", "sliding_attention"] * 16}
    config |= {"sliding_window": 512, "swa_num_key_value_heads": heads, "num_attention_heads": 24}
    answer = ask({**config, "head_dim": 128}, engine="vllm", kv_dtype="bf16")

    assert [16, tokens] == [group.tokens for group in groups(answer)]


@pytest.mark.parametrize(
    ("config", "version", "kept"),
    [
        pytest.param(configs.NEMOTRON_NANO, "0.31.0", 2, id="Mamba 2 before"),
        pytest.param(configs.NEMOTRON_NANO, "0.32.0", 3, id="Mamba 2"),
        pytest.param(configs.QWEN35_27B, "0.32.0", 2, id="DeltaNet before"),
        pytest.param(configs.QWEN35_27B, "0.33.0", 3, id="DeltaNet"),
        pytest.param("kimi-k3", "0.32.0", 3, id="Kimi K3"),
        pytest.param("kimi-linear-48b", "0.33.0", 2, id="Kimi Linear has no such kernel"),
    ],
)
def test_a_prefill_hands_out_a_state_more_in_newer_versions(config, version, kept):
    answer = ask(config, engine="vllm", engine_version=version)

    assert {kept} == {group.state for group in groups(answer) if group.state}


def test_a_hybrid_with_draft_tokens_needs_their_states_and_one_more_layer():
    # club-3090: 11.05 GiB, 426 blocks, 2.38 requests of 262,144 tokens
    answer = ask(
        configs.QWEN35_27B,
        engine="vllm",
        kv_dtype="fp8",
        tp=2,
        num_speculative_tokens=3,
        max_model_len=262_144,
        kv_cache_memory_bytes=426 * 17 * 1600 * 1024,
    )

    assert answer.pool_blocks == 426
    assert answer.engine.units(262_144) == 164 + 3 * 5
    assert round(answer.max_concurrency, 2) == 2.38


def test_without_prefix_caching_a_state_takes_one_block():
    """Qwen3.5 2B, 24 layers of which 6 attend: 5.95 GiB, 1.97 requests of 262,144 tokens."""
    text = {**configs.QWEN35_27B["text_config"], "num_hidden_layers": 24, "hidden_size": 2048}
    text |= {"num_attention_heads": 8, "num_key_value_heads": 2, "linear_num_value_heads": 16}
    text |= {"layer_types": (["linear_attention"] * 3 + ["full_attention"]) * 6}
    options = {"engine": "vllm", "kv_dtype": "bf16", "max_model_len": 262_144}
    on, off = (
        ask(text, enable_prefix_caching=said, kv_cache_memory_bytes=round(5.95 * GIB), **options)
        for said in ("yes", "no")
    )

    assert [round(one.max_concurrency, 2) for one in (on, off)] == [1.96, 1.97]
    assert off.engine.units(262_144) == 482 + 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"engine_version": "0.27.1"}, "vllm-state-asked"),
        ({"engine_version": "0.28.0"}, "vllm-state-blocks"),
        ({"engine_version": "0.27.1", "enable_prefix_caching": True}, "vllm-state-blocks"),
        ({"enable_prefix_caching": False}, "vllm-state-alone"),
    ],
)
def test_what_prefix_caching_is_taken_for_is_said(options, said):
    keys = {note.key for note in ask(configs.QWEN35_27B, engine="vllm", **options).notes}

    assert {said} == {key for key in keys if key.startswith("vllm-state")}


def test_qwen_4_on_vllm_packs_index_keys_beside_its_pages():
    """Eight GPUs: "attention block size to 400", 37.37 GiB for 3,046,184 tokens at 262,144 a request."""
    options = {"engine": "vllm", "tp": 8, "kv_dtype": "bf16", "enable_prefix_caching": False}
    pool = round(37.37 * GIB)
    answer = ask(configs.QWEN_4, max_model_len=262_144, kv_cache_memory_bytes=pool, **options)
    tail, pooling = groups(answer)[3], groups(answer)[-1]

    assert {400} == {group.tokens for group in groups(answer)}
    assert answer.pool_tokens == pytest.approx(3_046_184, rel=0.0005)
    assert (len(groups(answer)), tail.state, pooling.positions) == (6, 1, 1)


def test_a_draft_layer_of_qwen_4_widens_its_blocks():
    """One GB10 with two draft tokens: 1,600."""
    answer = ask(configs.QWEN_4, engine="vllm", kv_dtype="bf16", num_speculative_tokens=2)

    assert groups(answer)[0].tokens == 1600


def test_every_gpu_keeps_the_whole_tail_of_n_grams():
    """llama.cpp: 112.57 MiB of recurrent state over 48 layers."""
    alone = ask(configs.QWEN_4, engine="llama.cpp").fixed_bytes_per_request
    one, four = (ask(configs.QWEN_4, tp=tp).fixed_bytes_per_request for tp in (1, 4))
    tail = 9 * 4 * 2560 * 2

    assert alone / MIB == pytest.approx(112.57, abs=0.005)
    assert one - tail == 4 * (four - tail)


@pytest.mark.parametrize(
    ("model", "options", "tokens"),
    [
        ("qwen3.5-122b-a10b", {"kv_dtype": "fp8", "mamba_ssm_cache_dtype": "float16"}, 2128),
        ("qwen3.5-122b-a10b", {"kv_dtype": "bf16", "mamba_ssm_cache_dtype": "float16"}, 1072),
        ("qwen3.5-122b-a10b", {"kv_dtype": "fp8", "mamba_ssm_cache_dtype": "auto"}, 4176),
        ("qwen3.8-27b", {"mamba_ssm_dtype": "bfloat16", "num_speculative_tokens": 7}, 448),
    ],
)
def test_a_narrower_state_halves_the_blocks_of_a_hybrid_as_logged(model, options, tokens):
    assert {tokens} == {group.tokens for group in groups(ask(model, engine="vllm", **options))}


def test_latent_blocks_beside_states_were_multiples_of_64_as_logged():
    """Kimi Linear, vLLM 0.11.1 on two GPUs: blocks of 960 tokens, 2.48 requests of 120,000 in 2.30 GiB."""
    options = {"tp": 2, "max_model_len": 120_000, "kv_cache_memory_bytes": round(2.30 * GIB)}
    old = ask(
        "kimi-linear-48b", engine="vllm", engine_version="0.11.1", enable_prefix_caching=False, **options
    )

    assert {group.tokens for group in groups(old)} == {960}
    assert old.max_concurrency == pytest.approx(2.48, abs=0.015)
    assert {group.tokens for group in groups(ask("kimi-linear-48b", engine="vllm", **options))} == {1024}


def test_kda_keeps_its_matrix_in_f32_whatever_is_asked():
    asked, plain = (
        ask(configs.KIMI_LINEAR, engine="vllm", mamba_ssm_cache_dtype=dtype).fixed_bytes_per_request
        for dtype in ("bf16", "auto")
    )

    assert asked == plain


def test_an_older_gguf_of_a_latent_model_is_told_apart():
    """deepseek-coder-v2:16b of Ollama: 4320.00 MiB for 8 × 2,048 cells."""
    notes = {note.key: note.values for note in ask("deepseek-v2-lite", engine="ollama", tokens=2048).notes}

    assert notes["llama-expanded"] == {"bytes": 4320 * MIB // (8 * 2048)}


def test_decode_context_parallelism_divides_the_tokens_of_a_latent():
    options = {"engine": "vllm", "tp": 8, "max_model_len": 131_072, "kv_cache_memory_bytes": 20 * GIB}
    whole, shared = (ask(configs.DEEPSEEK_V3, dcp=dcp, **options) for dcp in (1, 8))

    assert (whole.bytes_per_token, shared.bytes_per_token) == (70_272, 70_272 // 8)
    assert 8 * whole.pool_tokens == shared.pool_tokens
    assert 8 * whole.max_concurrency == pytest.approx(shared.max_concurrency)
    assert "÷ 8 = 8,784 B per token" in shared.formula()


def test_recurrent_states_are_not_divided_by_decode_context_parallelism():
    options = {"engine": "vllm", "tp": 8, "kv_dtype": "bf16"}
    whole, shared = (ask(configs.QWEN35_27B, dcp=dcp, **options) for dcp in (1, 2))

    assert whole.fixed_bytes_per_request == shared.fixed_bytes_per_request
    assert whole.engine.units(131_072) - shared.engine.units(131_072) > 0


def test_sglang_divides_latent_rows_over_dcp_and_keeps_index_keys_whole():
    options = {"engine": "sglang", "tp": 4, "kv_dtype": "fp8", "kv_cache_memory_bytes": 100 * GIB}
    rows, index = 78 * 576, 21 * 132

    for dcp in (1, 2, 4):
        answer = ask(configs.GLM_52, dcp=dcp, **options)
        assert answer.pool_tokens == 100 * GIB // (rows + dcp * index) * dcp


def test_sglang_holds_the_heads_of_a_dcp_group_on_each_of_its_gpus():
    """With four KV heads on eight GPUs each head is kept twice, unless two GPUs share its tokens."""
    rates = [
        ask("qwen3-235b", engine="sglang", kv_dtype="bf16", tp=8, dcp=dcp).bytes_per_token for dcp in (1, 2)
    ]

    assert rates == [48_128, 24_064]


def test_attention_groups_of_sglang_hold_their_own_requests_and_all_of_the_attention():
    """SGLang with --tp 8 --dp 8 --enable-dp-attention, which is --attn-dp-size 8 by now."""
    together = ask(configs.DEEPSEEK_V3, engine="sglang", tp=8, gpu="H200")
    apart = ask(configs.DEEPSEEK_V3, engine="sglang", tp=8, attn_dp=8, gpu="H200", requests=16)
    attention = 61 * (1536 * 128 * 192 + 2 * 128 * 512 * 256 + 128 * 128 * 7168)
    embedding = 2 * 129_280 * 7168

    assert apart.weights_bytes - together.weights_bytes == (attention + embedding) * 7 // 8
    assert apart.total_bytes == 2 * apart.bytes_per_request
    assert apart.largest_batch % 8 == 0


def test_the_older_spelling_of_attention_groups_counts_them_by_dp():
    old = ask(configs.DEEPSEEK_V3, engine="sglang", tp=8, dp=4, enable_dp_attention=True, gpus=8)

    assert (old.question.dp, old.question.attn_dp) == (1, 4)


def test_vllm_divides_experts_over_its_replicas_too():
    one, eight = (ask(configs.DEEPSEEK_V3, engine="vllm", dp=dp).weights_bytes for dp in (1, 8))
    experts = 58 * 256 * 3 * 7168 * 2048

    assert one - eight == experts * 7 // 8


@pytest.mark.parametrize(
    ("config", "options", "mib"),
    [
        pytest.param(
            "gpt-oss-120b", {"tokens": 16_384, "requests": 4}, 2304 + 36, id="gpt-oss-120b, 1,024 cells"
        ),
        pytest.param("gpt-oss-20b", {"tokens": 131_072}, 3072 + 18, id="one slot"),
    ],
)
def test_slots_of_a_unified_cache_share_the_cells_of_a_window(config, options, mib):
    """llama-server without -np: "4/1 seqs" stands in its log."""
    answer = ask(config, engine="llama.cpp", kv_unified=True, **options)

    assert answer.total_bytes / MIB == mib


def test_a_unified_cache_holds_more_slots_than_one_for_each():
    batches = [
        ask("gpt-oss-20b", engine="llama.cpp", tokens=1024, kv_unified=said, gpu=24).largest_batch
        for said in ("yes", "no")
    ]

    assert batches[0] > batches[1]


def test_a_pool_below_one_request_is_what_vllm_refuses_to_start_with():
    answer = ask(configs.LLAMA_8B, engine="vllm", max_model_len=29_000, kv_cache_memory_bytes=3_103_113_871)

    assert "vllm-refuses" in [note.key for note in answer.notes]


def test_the_vllm_pool_is_what_utilization_leaves_after_everything_else():
    # Llama-3.1-8B on one H100 of 79.19 GiB: 58.11 GiB
    llama_31 = {**configs.LLAMA_8B, "max_position_embeddings": 131_072}
    answer = ask(llama_31, engine="vllm", engine_version="0.19.0", max_model_len=8192, **H100)
    budget = answer.budget
    spent = answer.weights_bytes + budget.activation_bytes + budget.non_torch_bytes + budget.pool_bytes

    assert budget.requested_bytes == spent
    assert budget.pool_bytes / GIB == pytest.approx(58.11, rel=5e-3)


def test_from_021_on_vllm_also_sets_cuda_graphs_aside():
    old, new = (
        ask(configs.LLAMA_8B, engine="vllm", engine_version=version, **H100).budget
        for version in ("0.20.0", "0.21.0")
    )

    assert old.pool_bytes - new.pool_bytes == new.cuda_graph_bytes


@pytest.mark.parametrize(("version", "gib"), [("0.15.0", 41.94), ("0.17.0", 45.34), ("0.18.0", 45.23)])
def test_vllm_before_017_sorts_logits_and_has_a_smaller_pool(version, gib):
    """Qwen3-14B on one H100 of 79.19 GiB, as logged."""
    options = {"gpu": 79.19, "gpu_memory_utilization": 0.95, "max_model_len": 8192}
    budget = ask("qwen3-14b", engine="vllm", engine_version=version, **options).budget

    assert budget.pool_bytes / GIB == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(
    ("model", "options", "gib"),
    [
        ("Qwen/Qwen3-235B-A22B-FP8", {"engine_version": "0.9.2", "tp": 4, "gpu": "H100"}, 8.11),
        ("kimi-k2-thinking", {"engine_version": "0.11.0", "tp": 8, "gpu": "H200"}, 46.80),
    ],
)
def test_pools_of_older_vllm_are_foreseen(model, options, gib):
    budget = ask(model, engine="vllm", **options).budget

    assert budget.pool_bytes / GIB == pytest.approx(gib, rel=0.04)


def test_the_sampler_of_flashinfer_is_told_of_where_old_versions_prefer_it():
    """Mistral Small 3.2 on 0.11.0, H100: 28.20 GiB, more than a sorting sampler leaves."""
    options = {"gpu": 79.19, "gpu_memory_utilization": 0.95, "max_model_len": 16_000}
    old, new = (
        ask("mistral-small-3.1", engine="vllm", engine_version=version, **options)
        for version in ("0.11.0", "0.12.0")
    )
    (saved,) = [one.values["saved"] for one in old.notes if one.key == "vllm-sampler"]
    least, _ = old.budget.activation_range
    assert isinstance(saved, float)

    assert old.budget.pool_bytes / GIB + saved == pytest.approx(28.20, rel=0.005)
    assert least < old.budget.activation_bytes - saved * GIB < old.budget.activation_bytes
    assert "vllm-sampler" not in {one.key for one in new.notes}


@pytest.mark.parametrize(("version", "share"), [("0.19.1", 0.9), ("0.20.0", 0.92), (None, 0.92)])
def test_the_share_that_vllm_takes_unless_told(version, share):
    answer = ask(configs.LLAMA_8B, engine="vllm", engine_version=version, gpu="H100")

    assert answer.budget.requested_bytes == math.ceil(answer.engine.setup.shown_bytes * share)


@pytest.mark.parametrize(
    ("gpu", "gib"),
    [("RTX-4090", 23.55), ("RTX-5090", 31.36), ("H100", 79.19), ("A100", 79.25), ("H200", 139.81)],
)
def test_vllm_takes_its_share_of_what_cuda_shows_of_a_card(gpu, gib):
    """Totals as vLLM and PyTorch print them; nvidia-smi counts what the driver keeps."""
    answer = ask(configs.LLAMA_8B, engine="vllm", gpu=gpu)

    assert answer.engine.setup.shown_bytes / GIB == pytest.approx(gib, abs=0.25)
    assert answer.engine.setup.shown_bytes < answer.engine.setup.gpu_bytes


@pytest.mark.parametrize(("gpu", "gib"), [(79.19, 79.19), ("GB10", 121.69), ("MI300X", 191.98)])
def test_memory_that_is_given_or_read_from_cuda_has_nothing_taken_off(gpu, gib):
    answer = ask(configs.LLAMA_8B, engine="vllm", gpu=gpu)

    assert answer.engine.setup.shown_bytes / GIB == pytest.approx(gib, abs=0.005)


@pytest.mark.parametrize(("tp", "gib"), [(2, 11.06), (4, 15.72)])
def test_cards_without_nvlink_give_nccl_little(tp, gib):
    """vLLM 0.20.2 and 0.21, RTX 3090 at 0.92, AutoRound int4 with three draft tokens, as logged."""
    card = {"gpu": "RTX-3090", "gpu_memory_utilization": 0.92, "weights_dtype": "int4", "kv_dtype": "fp8"}
    load = {"max_num_seqs": 2, "max_num_batched_tokens": 8192, "num_speculative_tokens": 3}
    budget = ask("qwen3.6-27b", engine="vllm", engine_version="0.21.0", tp=tp, **card, **load).budget

    assert budget.pool_bytes / GIB == pytest.approx(gib, rel=0.025)


@pytest.mark.parametrize(
    ("model", "options", "gib"),
    [
        ("gpt-oss-20b", {"gpu_memory_utilization": 0.65}, 36.56),
        ("gemma-4-26b-a4b", {"gpu_memory_utilization": 0.9}, 21.5),
    ],
)
def test_pools_on_an_a100_are_foreseen(model, options, gib):
    """One A100 of 80 GB, vLLM 0.19, as logged."""
    asked = {"engine": "vllm", "engine_version": "0.19.0", "gpu": "A100", "max_model_len": 131_072}

    assert ask(model, **asked, **options).budget.pool_bytes / GIB == pytest.approx(gib, rel=0.005)


@pytest.mark.parametrize(("version", "tokens"), [("0.26.0", 960), ("0.27.0", 1024)])
def test_blocks_of_latent_rows_beside_states_are_multiples_of_128_since_027(version, tokens):
    answer = ask("kimi-linear-48b", engine="vllm", engine_version=version, kv_dtype="bf16", tp=2)

    assert {tokens} == {group.tokens for group in groups(answer)}


def test_sglang_counts_tokens_and_not_blocks():
    # DeepSeek-V3 with fp8 latent rows: 17.16 GiB, 524,288 tokens
    answer = ask(configs.DEEPSEEK_V3, engine="sglang", kv_dtype="fp8", kv_cache_memory_bytes=18_425_409_700)

    assert answer.pool_blocks is None
    assert answer.pool_tokens == pytest.approx(524_288, rel=1e-3)


def test_sglang_gives_window_layers_of_known_architectures_a_smaller_pool():
    answer = ask(configs.GPT_OSS_120B, engine="sglang", kv_cache_memory_bytes=GIB)

    assert GIB // (18 * 2048 + round(0.8 * 18 * 2048)) == answer.pool_tokens


@pytest.mark.parametrize(
    ("model", "engine", "layers"),
    [("gemma-4-e4b", "vllm", 24), ("gemma-4-e4b", "sglang", 42), ("gemma-3n-e4b", "sglang", 35)],
)
def test_sglang_keeps_rows_for_layers_that_share_keys(model, engine, layers):
    shape = ask(model, engine=engine).model.shape

    assert sum(1 for parts in shape.layers if parts) == layers


def test_sglang_pools_of_shared_layers_as_logged():
    """gemma-4-E4B-it: "SWAKVPool mem usage: 79.94 GB, swa size: 798276, full size: 997846"."""
    answer = ask("gemma-4-e4b", engine="sglang", kv_cache_memory_bytes=round(79.94 * GIB))

    assert answer.pool_tokens == pytest.approx(997_846, rel=0.0001)


def test_the_scarcer_pool_of_sglang_decides_a_hybrid():
    answer = ask(configs.QWEN35_27B, tokens=131_072, requests=2, engine="sglang", tp=2, gpu="L40S")

    assert (answer.fits, answer.over_capacity_bytes > 0) == (False, True)


@pytest.mark.parametrize(
    ("config", "options", "expected"),
    [
        pytest.param(configs.GEMMA_4_E4B, {"tokens": 32_768}, 552 * MIB, id="ollama log: 512 + 40 MiB"),
        pytest.param(
            "gemma-4-12b",
            {"tokens": 2048, "requests": 4, "kv_unified": True, "max_num_batched_tokens": 2048},
            2048 * MIB,
            id="128 MiB for 8,192 cells, 1,920 MiB for 6,144 of the windows",
        ),
        pytest.param(
            configs.QWEN35_27B,
            {"tokens": 65_536, "requests": 4},
            round(16_982.5 * MIB),
            id="slots share cells, states do not",
        ),
        pytest.param("trinity-nano", {"tokens": 131_072}, 1897 * MIB, id="14 full layers, 42 windows"),
        pytest.param(configs.LLAMA_8B, {"tokens": 1000}, 1024 * 131_072, id="cells come in steps of 256"),
        pytest.param(
            configs.DEEPSEEK_V3, {"tokens": 32_768, "kv_dtype": "q8_0"}, 32_768 * 61 * 612, id="q8_0 latent"
        ),
    ],
)
def test_llama_cpp_allocates_cells_for_the_whole_context(config, options, expected):
    assert expected == ask(config, engine="llama.cpp", **options).total_bytes


def test_llama_cpp_keeps_states_in_f32_and_one_more_per_draft_token():
    once, thrice = (
        ask(configs.QWEN35_27B, engine="llama.cpp", num_speculative_tokens=drafts).fixed_bytes_per_request
        for drafts in (0, 2)
    )

    assert once / MIB == 149.625
    assert 3 * once == thrice


def test_llama_cpp_quantises_window_layers_like_the_rest():
    """Laguna at 1,048,576 cells: 13824.00 MiB for 12 full layers, 40.50 MiB for 36 windows of 1,024 cells."""
    answer = ask(configs.LAGUNA, tokens=1_048_576, engine="llama.cpp", kv_dtype="q4_0")

    assert answer.total_bytes / MIB == 13_824 + 40.5


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(configs.MISTRAL_WINDOW, 4096, id="mistral 0.1"),
        pytest.param({**configs.MISTRAL_WINDOW, "model_type": "phi3"}, 4096, id="phi-3"),
    ],
)
def test_llama_cpp_keeps_every_token_where_all_layers_have_a_window(config, expected):
    answer = ask(config, tokens=32_768, engine="llama.cpp")

    assert answer.total_bytes / MIB == expected
    assert "llama-window-off" in {note.key for note in answer.notes}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"tokens": 131_072}, 3072 + 18, id="one slot of 131,072"),
        pytest.param({"tokens": 2048, "requests": 8, "ubatch_size": 256}, 384 + 96, id="smaller micro batch"),
    ],
)
def test_llama_cpp_gives_a_window_room_for_one_micro_batch(options, expected):
    answer = ask(configs.GPT_OSS_20B, engine="llama.cpp", **options)

    assert answer.total_bytes / MIB == expected


def test_tensorrt_llm_keeps_window_layers_at_full_length():
    """Allocated 0.56 GiB for max tokens in paged KV cache (8224): gpt-oss-120b, 36 layers."""
    pool = 8224 * 36 * 2 * 8 * 64 * 2
    answer = ask("gpt-oss-120b", engine="tensorrt-llm", max_model_len=8224, kv_cache_memory_bytes=pool)

    assert answer.pool_tokens == 8224


def test_tensorrt_llm_takes_its_share_of_what_is_free_as_logged():
    """Llama 3.1 8B fp8 on 31.84 GiB: 17.83 GiB available, 16.05 allocated for 263,008 tokens."""
    answer = ask("llama-3.1-8b", engine="tensorrt-llm", kv_dtype="fp8", weights_dtype="fp8", gpu=31.84)
    budget = answer.budget
    free = answer.engine.setup.gpu_bytes - answer.weights_bytes - budget.non_torch_bytes

    assert budget.pool_bytes / free == pytest.approx(16.05 / 17.83, rel=1e-3)
    assert "free-share" in {note.key for note in answer.notes}


@pytest.mark.parametrize(
    ("config", "said"),
    [(configs.GPT_OSS_20B, True), (configs.QWEN35_27B, True), (configs.LLAMA_8B, False)],
)
def test_llama_cpp_is_said_to_keep_windows_and_states_per_slot(config, said):
    keys = {note.key for note in ask(config, engine="llama.cpp").notes}

    assert said == ("llama-slots" in keys)


@pytest.mark.parametrize(
    "engine", ["tensorrt-llm", "lmdeploy", "tgi", "ollama", "llama.cpp", "sglang", "vllm"]
)
def test_every_engine_says_what_a_gpu_holds(engine):
    answer = ask(configs.LLAMA_8B, tokens=4096, requests=2, engine=engine, gpu="A100")

    assert answer.fits
    assert answer.largest_batch >= 2
    assert 0 < answer.budget.pool_bytes < 80 * GIB


def test_lmdeploy_keeps_scale_and_zero_for_every_quantised_vector():
    assert ask(configs.LLAMA_8B, engine="lmdeploy", kv_dtype="int8").bytes_per_token == 2 * 32 * 8 * (128 + 4)


def test_data_parallel_replicas_share_the_requests():
    answer = ask(configs.LLAMA_8B, tokens=8192, requests=33, dp=4, gpu="H100")

    assert answer.total_bytes == 9 * GIB
    assert answer.largest_batch % 4 == 0


def test_a_small_gpu_and_an_a100_get_smaller_defaults_from_vllm():
    peaks = [
        ask(configs.LLAMA_8B, engine="vllm", gpu=gpu).budget.activation_bytes for gpu in ("A100", "H100")
    ]

    assert peaks[0] < peaks[1]


@pytest.mark.parametrize(
    ("name", "tp", "gib"),
    [
        ("codellama-7b", 1, 61.66),
        ("deepseek-v2-lite", 1, 43.61),
        ("gemma-2-27b", 1, 20.59),
        ("gemma-7b", 1, 55.44),
        ("granite-3.1-8b", 1, 58.66),
        ("llama-3.1-8b", 4, 67.44),
        ("mistral-small-3.1", 1, 28.19),
        ("mixtral-8x7b", 2, 28.44),
        ("phi-4", 1, 46.08),
        ("qwen2.5-7b", 1, 58.53),
        ("qwen3-30b-a3b", 1, 15.41),
    ],
)
def test_vllm_pools_are_foreseen_from_the_config_alone(name, tp, gib):
    # "Available KV cache memory" in the start logs of llm-d-planner: vLLM 0.19, H100
    answer = ask(name, tp=tp, engine="vllm", engine_version="0.19.0", max_model_len=8192, **H100)

    assert answer.budget.pool_bytes / GIB == pytest.approx(gib, rel=0.01)


def test_a_card_too_small_for_sglangs_own_reserve_leaves_no_room_and_no_negative_share():
    budget = ask("llama-3-8b", engine="sglang", gpu=0.5).budget

    assert (budget.requested_bytes, budget.activation_bytes) == (0, 0)
    assert budget.pool_bytes < 0


def test_sglang_keeps_recurrent_matrices_in_f32_where_the_config_names_no_dtype():
    unnamed = {**configs.QWEN35_27B["text_config"], "mamba_ssm_dtype": None}
    convolution, matrix = 3 * 10_240, 48 * 128 * 128

    assert ask(unnamed, engine="sglang").fixed_bytes_per_request == 48 * (convolution * 2 + matrix * 4)
    assert ask(unnamed).fixed_bytes_per_request == 48 * (convolution * 2 + matrix * 2)


def test_sglang_pools_as_logged():
    """Nemotron 3 Nano, tp 4, fp8: 19,644,177 tokens in 28.10 GB, 2,212 states in 25.28 GB."""
    pool = round(28.10 * GIB)
    answer = ask("nemotron-3-nano", engine="sglang", tp=4, kv_dtype="fp8", kv_cache_memory_bytes=pool)

    assert answer.pool_tokens == pytest.approx(19_644_177, rel=0.0005)
    assert answer.fixed_bytes_per_request * 2212 / GIB == pytest.approx(25.28, abs=0.01)


@pytest.mark.parametrize(
    ("config", "gib", "options", "concurrency"),
    [
        pytest.param(
            "gemma-3-1b",
            25.39,
            {"max_num_batched_tokens": 8192, "max_model_len": 2048},
            461.21,
            id="22 windows padded to 24",
        ),
        pytest.param(
            "nvidia/Qwen3.6-35B-A3B-NVFP4",
            66.37,
            {"kv_dtype": "fp8", "num_speculative_tokens": 2, "max_model_len": 262_144},
            21.86,
            id="10 full layers and a draft, 30 states padded to 33",
        ),
        pytest.param(
            "google/gemma-4-26B-A4B",
            51.62,
            {"kv_dtype": "fp8", "max_num_batched_tokens": 2048, "max_model_len": 131_072},
            33.42,
            id="two widths of heads",
        ),
        pytest.param(
            "gemma-4-e2b",
            0.93,
            {"max_num_batched_tokens": 8192, "max_model_len": 32_768},
            3.235,
            id="20 of 35 layers share (the log says 3.25 of 0.93 GiB, both rounded)",
        ),
    ],
)
def test_vllm_concurrency_as_logged(config, gib, options, concurrency):
    pool = round(gib * GIB)
    answer = ask(config, engine="vllm", engine_version="0.19.0", kv_cache_memory_bytes=pool, **options)

    assert answer.max_concurrency == pytest.approx(concurrency, rel=0.0005)


@pytest.mark.parametrize(
    ("model", "gib", "options", "tokens"),
    [
        pytest.param(
            "glm-5.3-flash",
            6,
            {"engine_version": "0.31", "tp": 4, "num_speculative_tokens": 3, "max_model_len": 131_072},
            443_628,
            id="states, pooled index keys and a draft layer",
        ),
        pytest.param(
            "gemma-4-31b",
            16,
            {"engine_version": "0.31", "tp": 2, "kv_dtype": "fp8", "max_model_len": 32_768}
            | {"max_num_batched_tokens": 8192},
            132_784,
            id="windows with two batches in flight",
        ),
        pytest.param(
            "qwen3.8-27b",
            6,
            {"kv_dtype": "nvfp4", "num_speculative_tokens": 3, "max_model_len": 131_072},
            243_117,
            id="states beside a cache of 4 bits",
        ),
        pytest.param(
            "nvidia/Qwen3.6-35B-A3B-NVFP4",
            5.98,
            {"engine_version": "0.24", "kv_dtype": "fp8", "max_model_len": 131_072},
            567_978,
            id="ten layers that attend",
        ),
        pytest.param(
            "qwen3.6-27b",
            8.82,
            {"enable_prefix_caching": False, "max_model_len": 131_072},
            141_036,
            id="one state for each request",
        ),
        pytest.param("qwen3-4b", 36.88, {}, 268_560, id="36 layers of 8 heads"),
    ],
)
def test_tokens_of_a_pool_as_vllm_prints_them(model, gib, options, tokens):
    pool = round(gib * GIB)
    answer = ask(model, engine="vllm", **{"kv_dtype": "bf16", **options}, kv_cache_memory_bytes=pool)

    assert answer.pool_tokens == pytest.approx(tokens, rel=0.0005)


def test_kanana_2_as_logged():
    """57.1 GiB of weights; a pool of 11.7 GiB, which is rounded, holds 6.91 requests of 32,768."""
    answer = ask("kanana-2-30b", engine="vllm", kv_cache_memory_bytes=round(11.7 * GIB))

    assert answer.max_concurrency == pytest.approx(6.91, rel=0.005)
    assert answer.weights_bytes / GIB == pytest.approx(57.1, rel=0.01)


@pytest.mark.parametrize(
    ("model", "gib", "options", "tokens"),
    [
        ("gemma-4-26b-a4b", 3.18, {"kv_dtype": "fp8"}, 37_081),
        ("kimi-k2.5", 160.63, {"kv_dtype": "bf16", "tp": 8}, 2_454_421),
    ],
)
def test_tokens_of_a_pool_as_sglang_prints_them(model, gib, options, tokens):
    pool = round(gib * GIB)
    answer = ask(model, engine="sglang", kv_cache_memory_bytes=pool, **options)

    assert answer.pool_tokens == pytest.approx(tokens, rel=0.002)


def test_both_kinds_of_rows_of_mimo_as_sglang_prints_them():
    """MiMo-V2-Flash on four GPUs, 1,496,958 tokens: 4.82 and 3.21 GB of full layers, 41.76 and 27.84."""
    engine = ask("mimo-v2-flash", engine="sglang", tp=4, kv_dtype="bf16").engine
    assert isinstance(engine, Sglang)
    full, window = (rate * 1_496_958 / GIB for rate in engine.cell())

    assert (full, window) == (pytest.approx(8.03, abs=0.01), pytest.approx(69.60, abs=0.01))


def test_whole_layers_go_to_each_gpu_of_llama_cpp():
    answer = ask(configs.LLAMA_8B, engine="llama.cpp", gpus=3, tokens=8192)

    assert answer.total_bytes == 11 * 4096 * 8192


def test_sglang_takes_its_share_of_what_is_free_before_loading():
    """Four H100 at 0.93: "KV Cache is allocated. #tokens: 367404" for Qwen3-235B-A22B-FP8."""
    options = {"tp": 4, "gpu": 79.19, "mem_fraction_static": 0.93, "kv_dtype": "bf16"}
    answer = ask("Qwen/Qwen3-235B-A22B-FP8", engine="sglang", **options)

    assert answer.pool_tokens == pytest.approx(367_404, rel=0.005)


def test_a_budget_of_sglang_adds_up_to_the_card():
    answer = ask("llama-3-8b", engine="sglang", gpu="H100")
    budget = answer.budget
    parts = (answer.weights_bytes, budget.pool_bytes, budget.activation_bytes, budget.non_torch_bytes)

    assert sum(parts) == answer.engine.setup.gpu_bytes
