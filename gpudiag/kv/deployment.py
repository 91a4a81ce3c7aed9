"""What a question means: the model with its weights, the GPUs, and the engine that brings them together."""

from __future__ import annotations

import re
from functools import cached_property

from gpudiag.kv.cache import Stage, stages
from gpudiag.kv.catalogue import Gpu
from gpudiag.kv.dtypes import CacheDtype, cache_dtype
from gpudiag.kv.engines import engine_class
from gpudiag.kv.engines.base import Engine, Setup
from gpudiag.kv.model import (
    absorbed_copies,
    as_sglang_keeps,
    check_block,
    check_context_parallel,
    check_pool,
    check_sharding,
    check_stages,
    read_gpu,
    read_model,
    rotary_table,
)
from gpudiag.kv.quantization import weight_format
from gpudiag.kv.question import BY_LAYERS, Question
from gpudiag.kv.weights import Split

DEFAULT_TOKENS = 8192


class Deployment:
    """A model on GPUs, as a question has it. Raises KvError where they do not go together."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.known_weights: dict[int, int] = {}
        self.model = read_model(question)
        self.form = weight_format(self.model.config, self._weights_dtype())
        self.gpu = read_gpu(question.gpu)
        self.tokens = question.tokens or question.max_model_len or self._default_tokens()
        self.engine_name = question.engine
        of_vllm = question.dcp > 1 or question.enable_prefix_caching is not None
        if self.engine_name is None and (self.gpu or question.kv_cache_memory_bytes or of_vllm):
            self.engine_name = "vllm"
        if self.engine_name == "sglang":
            self.model = as_sglang_keeps(self.model)
        check_sharding(self.model.shape, question.tp // question.attn_dp)
        check_context_parallel(self.model.shape, question.tp, question.dcp, self.engine_name)
        check_stages(self.model.shape, question.pp)
        if self.engine_name == "vllm":
            check_block(self.model.shape, question.block_size)
        check_pool(question.kv_cache_memory_bytes, self.gpu_bytes)

    @property
    def gpu_bytes(self) -> int | None:
        return self.gpu.total_bytes if self.gpu else None

    @property
    def gpu_source(self) -> str | None:
        return self.gpu.source if self.gpu and self.gpu.verified else None

    @property
    def per_replica(self) -> int:
        """Requests on the data-parallel replica that has most."""
        return -(-self.question.requests // self.question.replicas)

    def engine(self, tp: int, gpu: Gpu | None, dtype: str | None = None, name: str | None = None) -> Engine:
        """The engine on such GPUs, with another cache or another engine where these are named."""
        question = self.question
        setup = Setup(
            dtype=self._dtype(dtype),
            version=_version(question.engine_version),
            tp=tp,
            pp=question.pp,
            dp=question.dp,
            dcp=question.dcp,
            attn_dp=question.attn_dp,
            gpu_bytes=gpu.total_bytes if gpu else None,
            gpu_reserved_bytes=gpu.reserved_bytes if gpu else 0,
            gpu_name=gpu.name if gpu and gpu is self.gpu else None,
            gpu_memory_utilization=question.gpu_memory_utilization,
            max_model_len=question.max_model_len,
            max_num_seqs=question.max_num_seqs,
            max_num_batched_tokens=question.max_num_batched_tokens,
            block_size=question.block_size,
            speculative=question.num_speculative_tokens,
            pool_bytes=question.kv_cache_memory_bytes,
            weights_bytes=self.weights(tp),
            experts=self.model.weights.has_experts,
            prefix_caching=question.enable_prefix_caching,
            matrix_dtype=question.mamba_ssm_cache_dtype,
            unified=question.kv_unified,
        )
        return engine_class(name or self.engine_name)(self.model.shape, setup, self.stages)

    @cached_property
    def stages(self) -> list[Stage]:
        return stages(self.model.shape, self.question.pp, draft=self.question.num_speculative_tokens > 0)

    def weights(self, tp: int) -> int:
        """Weights on the fullest GPU, with what vLLM and SGLang build of them while loading."""
        if tp not in self.known_weights:
            self.known_weights[tp] = self._weigh(tp)
        return self.known_weights[tp]

    @property
    def pads_experts(self) -> bool:
        """Whether the engine's kernels pad MXFP4 experts; llama.cpp keeps them as the file has them."""
        mxfp4 = self.form.name == "mxfp4" and self.model.weights.pads_experts
        return mxfp4 and self.engine_name not in BY_LAYERS

    def _weigh(self, tp: int) -> int:
        question, count = self.question, self.model.weights
        draft = question.num_speculative_tokens > 0 and bool(self.model.shape.draft)
        if question.checkpoint_bytes is not None and question.weights_dtype == "auto":
            return -(-question.checkpoint_bytes // (tp * question.pp))
        split = Split(tp, tp // question.attn_dp, tp * question.dp if self.engine_name == "vllm" else tp)
        found = count.bytes(self.form, split, question.pp, draft, padded=self.pads_experts)
        if self.engine_name == "sglang":
            attention = self.form.bits_of("attention", linear=True)
            return found + int(absorbed_copies(self.stages, split.attention) * attention / 16)
        if self.engine_name != "vllm":
            return found
        return found + rotary_table(self.model) + absorbed_copies(self.stages, tp)

    def _dtype(self, asked: str | None) -> CacheDtype:
        name = asked or self.question.kv_dtype
        if name == "auto":
            name = self.model.shape.cache_dtype
            if self.engine_name in BY_LAYERS:
                name = "f16"
            elif name == "auto":
                name = "bf16" if self.model.shape.dtype == "f32" else self.model.shape.dtype
        if self.engine_name == "lmdeploy":  # its quant_policy keeps scale and zero per vector
            name = {"int8": "int8_per_token_head"}.get(name, name)
        return cache_dtype(name)

    def _weights_dtype(self) -> str:
        """What was asked, else what the model's name says, else `auto`: what its config says."""
        if self.question.weights_dtype != "auto":
            return self.question.weights_dtype
        return self.model.named_weights or "auto"

    def _default_tokens(self) -> int:
        return min(DEFAULT_TOKENS, self.model.shape.max_positions or DEFAULT_TOKENS)


def _version(text: str | None) -> tuple[int, ...] | None:
    """(0, 19, 0) of "v0.19.0rc1"; None when there is no number in it."""
    found = re.match(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", text or "")
    return tuple(int(group or 0) for group in found.groups()) if found else None
