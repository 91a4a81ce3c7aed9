"""The data files: enough models and GPUs, each with a source, each answerable."""

import pytest

from gpudiag.kv import catalogue
from tests.kv.ask import ask


def test_there_are_enough_models_and_gpus():
    assert len(catalogue.all_models()) >= 90
    assert len([gpu for gpu in catalogue.all_gpus() if gpu.verified]) >= 40


@pytest.mark.parametrize("model", catalogue.all_models(), ids=lambda model: model.name)
def test_every_model_is_answered_and_found_by_each_of_its_names(model):
    found = {catalogue.find_model(name).model.name for name in (model.name, *model.aliases)}

    assert {model.name} == found
    assert ask(model.name).bytes_per_request > 0
    assert model.source


@pytest.mark.parametrize("gpu", catalogue.all_gpus(), ids=lambda gpu: gpu.name)
def test_every_gpu_is_found_by_each_of_its_names(gpu):
    found = {catalogue.find_gpu(name).name for name in (gpu.name, f"NVIDIA {gpu.name}", *gpu.aliases)}

    assert {gpu.name} == found
    assert gpu.verified != gpu.source.startswith("UNVERIFIED")


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("llama-3-8b", "meta-llama/Meta-Llama-3-8B"),
        ("llama3:8b", "meta-llama/Meta-Llama-3-8B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B"),
        ("Qwen3 32B", "Qwen/Qwen3-32B"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-R1"),
        ("gpt-oss:120b", "openai/gpt-oss-120b"),
        ("gemma-3-27b-it", "google/gemma-3-27b-it"),
        ("mistral-7b", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("deepseek-r1:70b", "deepseek-ai/DeepSeek-R1-Distill-Llama-70B"),
        ("unsloth/Qwen3-32B-GGUF", "Qwen/Qwen3-32B"),
    ],
)
def test_what_people_type_is_understood(typed, expected):
    assert expected == catalogue.find_model(typed).model.name


def test_a_quantised_copy_has_the_geometry_of_its_base_and_its_own_weights():
    base, copy = ask("qwen3-32b"), ask("Qwen/Qwen3-32B-AWQ")

    assert base.bytes_per_token == copy.bytes_per_token
    assert copy.weights_format.name == "int4"
    assert "weights-from-name" in [note.key for note in copy.notes]


@pytest.mark.parametrize(
    ("typed", "weights"),
    [
        ("Llama-3.1-8B-Instruct-Q4_K_M.gguf", "q4_k_m"),
        ("llama3.1:8b-instruct-q8_0", "q8_0"),
        ("Meta-Llama-3.1-8B-Instruct-IQ4_XS", "iq4_xs"),
        ("nvidia/Llama-3.1-8B-Instruct-FP4", "nvfp4"),
        ("llama-3.1-8b-f16", "f16"),
        ("unsloth/Llama-3.1-8B-Instruct-GGUF:UD-Q4_K_XL", "q4_k_xl"),
        ("Llama-3.1-8B-Instruct-AWQ-4bit", "int4"),
    ],
)
def test_a_file_or_tag_name_says_its_weight_format(typed, weights):
    answer = ask(typed)

    assert answer.model.name == "meta-llama/Meta-Llama-3.1-8B"
    assert answer.weights_format.name == weights


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA GeForce RTX 4090", "RTX-4090"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX-PRO-6000"),
    ],
)
def test_names_that_nvml_prints_are_understood(printed, expected):
    assert expected == catalogue.find_gpu(printed).name


def test_a_gpu_has_what_nvml_shows_and_not_the_number_on_the_box():
    assert catalogue.find_gpu("H100").total_bytes == 81_559 * 2**20


def test_a_model_without_a_read_source_is_answered_as_beta():
    answer = ask("mistral-large")

    assert "unverified-geometry" in [note.key for note in answer.notes]
    assert answer.kinds["bytes_per_token"] == "inferred"


def test_memory_that_the_host_shares_is_said_and_not_proposed():
    """GB10: "Free memory on device (102/121.69 GiB) on startup is less than desired"."""
    spark = ask("llama-3-8b", gpu="DGX Spark")

    assert spark.gpu_name == "GB10" and "gpu-shared" in [note.key for note in spark.notes]
    scout = ask("llama-4-scout", weights_dtype="fp8", engine="vllm", tokens=1024)
    assert 100 < scout.weights_bytes / 2**30 < 110 and scout.alternatives.smallest_gpu == "H200"


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("solar-open-100b", 102.65),
        ("k-exaone-236b", 236.6),
        ("exaone-4.0-1.2b", 1.28),
        ("exaone-3.5-32b", 32.0),
        ("a.x-4.0-light", 7.26),
        ("hyperclovax-seed-think-14b", 14.74),
        ("devstral-2", 125.0),
        ("mistral-large-3", 673.0),
        ("glm-4-32b", 32.57),
        ("glm-4.6v", 107.7),
        ("hunyuan-a13b", 80.4),
        ("dots.llm1", 142.8),
        ("ling-1t", 1000.0),
        ("ling-flash-2.0", 102.9),
        ("ernie-4.5-300b", 299.5),
        ("longcat-flash", 561.0),
        ("lfm2-8b-a1b", 8.34),
        ("minicpm4-8b", 8.18),
        ("apertus-70b", 70.6),
        ("command-r-plus", 103.8),
        ("granite-4.0-h-small", 32.2),
        ("mamba-2.8b", 2.77),
    ],
)
def test_a_model_counts_to_the_parameters_that_its_makers_publish(name, billions):
    counted = ask(name).model.weights.parameters() / 1e9

    assert counted == pytest.approx(billions, rel=0.005)
