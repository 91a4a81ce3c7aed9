"""Families of models whose layers all attend in the ordinary way, and the keys their configs may leave out.

A multimodal config keeps of its text part only what differs from the family's defaults: Gemma 3 12B names
no head size, LLaVA 1.5 no layer count. The defaults are those of the released wheel of transformers 5.24;
families whose code lives elsewhere are listed without any.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

DATA = os.path.join(os.path.dirname(__file__), "data", "families.json")
# What a config at the top level may leave out; more than that is a broken file, not a default.
ALONE = ("head_dim",)
GEOMETRY = (
    "num_hidden_layers",
    "hidden_size",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "sliding_window",
)
BESIDE_TEXT = "tie_word_embeddings"  # may stand in either part, so it is no default of the text part alone


@cache
def families() -> dict[str, dict[str, Any]]:
    with open(DATA, encoding="utf-8") as handle:
        rows: dict[str, dict[str, Any]] = json.load(handle)
    return rows


def ties_embeddings(family: str) -> bool:
    """Whether a model of this family reuses its embedding as output head when its config does not say."""
    return bool(families().get(family, {}).get(BESIDE_TEXT))


def left_out(family: str, text: Mapping[str, Any], nested: bool) -> dict[str, Any]:
    """The family's defaults for keys that are absent; a key that says null is not absent."""
    row = families().get(family, {})
    return {
        name: value
        for name, value in row.items()
        if name not in text and name != BESIDE_TEXT and (nested or name in ALONE)
    }
