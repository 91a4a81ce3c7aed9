"""The answer: every number with its kind, as JSON under the interface's keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from gpudiag.kv.engines.base import Budget, Engine
from gpudiag.kv.formula import formula
from gpudiag.kv.model import Model
from gpudiag.kv.note import Note
from gpudiag.kv.quantization import Format
from gpudiag.kv.question import Question
from gpudiag.kv.words import sentences, words


class Alternatives(NamedTuple):
    """What would change the answer; None where it does not apply."""

    smallest_tp: int | None
    smallest_gpu: str | None
    fp8_total_bytes: int | None
    fp8_largest_batch: int | None
    mha_total_bytes: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The numbers, all bytes per GPU. `budget` is None when neither GPU nor pool is known."""

    question: Question
    model: Model
    engine: Engine
    weights_format: Format
    tokens: int
    bytes_per_token: int
    fixed_bytes_per_request: int
    bytes_per_request: int
    total_bytes: int
    bytes_per_token_if_mha: int
    weights_bytes: int
    length: int
    budget: Budget
    gpu_name: str | None
    pool_blocks: int | None
    pool_tokens: int | None
    max_concurrency: float | None
    fits: bool | None
    over_capacity_bytes: int | None
    largest_batch: int | None
    longest_context: int | None
    alternatives: Alternatives
    notes: tuple[Note, ...]
    sources: tuple[str, ...]
    kinds: dict[str, str]

    def formula(self, language: str = "en") -> str:
        """The calculation as one line with its numbers in it."""
        return formula(self.engine, self.tokens, self.question.requests, words(language))

    def as_json(self, language: str = "en") -> dict[str, Any]:
        """The answer under the interface's keys; what is not known is None, and has no kind."""
        said = self._numbers(language)
        known = {key: kind for key, kind in self.kinds.items() if _found(said, key) is not None}
        return {**said, "kinds": known, "sources": list(self.sources)}

    def _numbers(self, language: str) -> dict[str, Any]:
        return {
            "model": self.model.name,
            "engine": self.question.engine or (self.engine.name if self.engine.name != "none" else None),
            "bytes_per_token": self.bytes_per_token,
            "fixed_bytes_per_request": self.fixed_bytes_per_request,
            "bytes_per_request": self.bytes_per_request,
            "requests": self.question.requests,
            "tokens": self.tokens,
            "total_bytes": self.total_bytes,
            "bytes_per_token_if_mha": self.bytes_per_token_if_mha,
            "weights_bytes": self.weights_bytes,
            "kv_dtype": self.engine.setup.dtype.name,
            "weights_dtype": self.weights_format.name,
            "gpu": self.gpu_name,
            "budget": self._budget_json(),
            "fits": self.fits,
            "over_capacity_bytes": self.over_capacity_bytes,
            "largest_batch": self.largest_batch,
            "longest_context": self.longest_context,
            "model_limit_tokens": self.model.shape.max_positions,
            "alternatives": {
                "smallest_tp": self.alternatives.smallest_tp,
                "smallest_gpu": self.alternatives.smallest_gpu,
                "with_fp8_kv": {
                    "total_bytes": self.alternatives.fp8_total_bytes,
                    "largest_batch": self.alternatives.fp8_largest_batch,
                },
                "if_mha": {"total_bytes": self.alternatives.mha_total_bytes},
            },
            "formula": self.formula(language),
            "assumptions": sentences(self.notes, language),
        }

    def _budget_json(self) -> dict[str, Any]:
        budget, setup = self.budget, self.engine.setup
        return {
            "total_bytes": setup.gpu_bytes,
            "requested_bytes": budget.requested_bytes,
            "weights_bytes": self.weights_bytes if setup.gpu_bytes is not None else None,
            "activation_bytes": budget.activation_bytes,
            "activation_range_bytes": list(budget.activation_range) if budget.activation_range else None,
            "non_torch_bytes": budget.non_torch_bytes,
            "cuda_graph_bytes": budget.cuda_graph_bytes,
            "pool_bytes": budget.pool_bytes,
            "pool_blocks": self.pool_blocks,
            "pool_tokens": self.pool_tokens,
            "max_concurrency": self.max_concurrency,
        }


def _found(said: dict[str, Any], key: str) -> Any:
    """What stands at `budget.pool_bytes` and the like."""
    place: Any = said
    for step in key.split("."):
        place = place[step]
    return place
