"""What must hold for every model: more is never less, and the largest batch is the largest."""

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpudiag.kv.question import whole
from tests.kv import configs
from tests.kv.ask import GIB, ask

FAMILIES = st.sampled_from(
    [
        configs.LLAMA_8B,
        configs.DEEPSEEK_V3,
        configs.DEEPSEEK_V32,
        configs.GEMMA_3_27B,
        configs.GPT_OSS_120B,
        configs.GEMMA_4_E4B,
        configs.MIMO_V2,
        configs.QWEN35_27B,
        configs.JAMBA,
        configs.KIMI_LINEAR,
        configs.MISTRAL_WINDOW,
    ]
)
ENGINES = st.sampled_from([None, "vllm", "sglang", "llama.cpp", "ollama", "tensorrt-llm", "lmdeploy", "tgi"])
TOKENS = st.integers(1, 300_000)
MOST_REQUESTS = 1_000_000  # what a question may ask for
quick = settings(max_examples=60)


@quick
@given(FAMILIES, ENGINES, TOKENS, st.integers(1, 100_000))
def test_more_tokens_never_take_less(config, engine, tokens, more):
    fewer, longer = (
        ask(config, engine=engine, tokens=count).bytes_per_request for count in (tokens, tokens + more)
    )

    assert fewer <= longer


@quick
@given(FAMILIES, ENGINES, TOKENS, st.integers(1, 500), st.integers(1, 500))
def test_more_requests_take_more(config, engine, tokens, requests, more):
    few = ask(config, engine=engine, tokens=tokens, requests=requests).total_bytes

    assert few < ask(config, engine=engine, tokens=tokens, requests=requests + more).total_bytes


@quick
@given(st.integers(1, 100), st.integers(1, 20), TOKENS, ENGINES)
def test_more_layers_take_more(layers, more, tokens, engine):
    few, many = (
        ask({**configs.LLAMA_8B, "num_hidden_layers": count}, tokens=tokens, engine=engine).total_bytes
        for count in (layers, layers + more)
    )

    assert few < many


@quick
@given(FAMILIES, TOKENS, st.sampled_from([2, 4, 8]))
def test_tp_never_increases_a_gpus_share(config, tokens, tp):
    from gpudiag.kv import KvError

    try:
        split = ask(config, tokens=tokens, tp=tp).bytes_per_request
    except KvError:
        return  # the heads do not divide over so many GPUs

    assert split <= ask(config, tokens=tokens).bytes_per_request


@quick
@given(FAMILIES, ENGINES.filter(bool), st.integers(1, 60_000), st.integers(1, 200))
def test_the_largest_batch_fits_and_one_more_does_not(config, engine, tokens, pool_gib):
    options = {"engine": engine, "tokens": tokens, "kv_cache_memory_bytes": pool_gib * GIB}
    largest = ask(config, **options).largest_batch
    assume(largest < MOST_REQUESTS)

    assert largest == 0 or ask(config, requests=largest, **options).fits
    assert not ask(config, requests=largest + 1, **options).fits


@quick
@given(FAMILIES, ENGINES.filter(bool), st.integers(1, 64), st.integers(1, 200))
def test_the_longest_context_fits_and_one_token_more_does_not(config, engine, requests, pool_gib):
    options = {"engine": engine, "requests": requests, "kv_cache_memory_bytes": pool_gib * GIB}
    answer = ask(config, tokens=1, **options)
    longest = answer.longest_context

    if longest:
        assert ask(config, tokens=longest, **options).fits
    if longest != (answer.model.shape.max_positions or 100_000_000):
        assert not ask(config, tokens=longest + 1, **options).fits


@quick
@given(FAMILIES, ENGINES.filter(bool), TOKENS, st.integers(1, 300), st.integers(1, 200))
def test_it_fits_exactly_when_nothing_flows_over(config, engine, tokens, requests, pool_gib):
    answer = ask(
        config, engine=engine, tokens=tokens, requests=requests, kv_cache_memory_bytes=pool_gib * GIB
    )

    assert answer.fits == (answer.over_capacity_bytes <= 0)


ALL = [value for name, value in vars(configs).items() if name.isupper()]
KEYS = sorted({key for config in ALL for key in (*config, *config.get("text_config", ()))} - {"text_config"})
ODD = st.sampled_from(
    [None, 0, 1, 3, -1, 2.5, 10**30, True, "", "text", [], [0], [None], [1] * 99, {}, {"a": 1}]
)


def negative_or_broken(said):
    """Addresses of numbers that no answer may hold."""
    numbers = {name: value for name, value in said.items() if isinstance(value, (int, float))}
    numbers |= {f"budget.{name}": value for name, value in said["budget"].items() if isinstance(value, int)}
    may_be_negative = {"over_capacity_bytes", "budget.pool_bytes"}
    return {name for name, value in numbers.items() if value < 0 or value % 1} - may_be_negative


@settings(max_examples=400)
@given(st.sampled_from(ALL), st.sampled_from(ALL), st.sampled_from(KEYS), ODD, st.booleans(), ENGINES)
def test_a_config_with_a_foreign_or_odd_key_gets_an_answer_or_one_sentence(
    config, other, key, odd, foreign, engine
):
    from gpudiag.kv import KvError

    where = dict(config.get("text_config", config))
    where[key] = {**other, **other.get("text_config", {})}.get(key) if foreign else odd
    mixed = {**config, "text_config": where} if "text_config" in config else where
    try:
        said = ask(mixed, engine=engine, gpu="H100").as_json()
    except KvError as error:
        assert "\n" not in str(error)
    else:
        assert set() == negative_or_broken(said)
        assert said["bytes_per_request"] > 0


@given(st.integers(1, 10_000))
def test_units_round_trip(count):
    read = whole(100_000_000)

    assert (
        count == read(f"{count:,}", "tokens") == read(f"x{count}", "requests") == read(str(count), "tokens")
    )
    assert count * 1024 == read(f"{count}k", "tokens")
