"""The calculation as one line with its numbers in it, in the words of one language."""

from __future__ import annotations

from gpudiag.kv.cache import Storage, indexer_rate, rate, state_bytes, window_of
from gpudiag.kv.dtypes import Format
from gpudiag.kv.engines.base import Engine
from gpudiag.kv.layers import Attention, CompressedLatent, Latent, Part

Words = dict[str, str]


def formula(engine: Engine, tokens: int, requests: int, words: Words) -> str:
    """Per token, what is fixed, the whole: `2 × 32 layers × 8 KV heads × 128 × 2 B = 131,072 B …`"""
    storage, parts = engine.storage, engine.stage(tokens).parts
    line = []
    terms = [_term(part, count, storage, words) for part, count in parts if _grows(part, storage, tokens)]
    if terms:
        per_token = engine.bytes_per_token(tokens)
        added = " + ".join(terms)
        shared = f"({added}) ÷ {engine.setup.dcp}" if engine.setup.dcp > 1 else added
        line.append(words["f-per-token"].format(terms=shared, bytes=per_token))
    fixed = [_fixed_term(part, count, storage, tokens, words) for part, count in parts]
    kept = " + ".join(term for term in fixed if term)
    if kept:
        line.append(words["f-fixed"].format(terms=kept))
    replicas = engine.setup.replicas
    each = -(-requests // replicas)
    line.append(_whole(engine, tokens, each, bool(kept), words))
    if replicas > 1:
        line.append(words["f-replicas"].format(requests=counted(requests, words), replicas=replicas))
    return "; ".join(line)


def _whole(engine: Engine, tokens: int, requests: int, fixed: bool, words: Words) -> str:
    total = size(engine.total_bytes(tokens, requests))
    exact = engine.bytes_per_token(tokens) * tokens
    if engine.unit == "block" and engine.unit_bytes > 1 and engine.request_bytes(tokens) != exact:
        blocks, each = engine.units(tokens), engine.unit_bytes
        return words["f-blocks"].format(blocks=blocks, bytes=each, requests=requests, total=total)
    length = words["f-tokens-fixed" if fixed else "f-tokens"].format(tokens=tokens)
    return f"× {length} × {requests:,} = {total}"


def size(count: int) -> str:
    """Bytes for people: GiB with two decimals from 1 GiB on, else MiB or KiB or B."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:,.2f} {name}"
    return f"{count:,} B"


def counted(requests: int, words: Words) -> str:
    """`1 request`, `32 requests`."""
    return words["requests-one"] if requests == 1 else words["requests-count"].format(count=requests)


def _grows(part: Part, storage: Storage, tokens: int) -> bool:
    window = window_of(part)
    return bool(rate(part, storage)) and (window is None or tokens <= window)


def _term(part: Part, count: int, storage: Storage, words: Words) -> str:
    layers = words["f-layers"].format(count=count)
    if isinstance(part, Latent):
        return f"{layers} × {_latent_row(part, storage, words)}"
    if isinstance(part, CompressedLatent):
        row = words["f-compressed"].format(bytes=rate(part, storage), ratio=part.ratio)
        return f"{layers} × {row}"
    assert isinstance(part, Attention)
    return _attention_term(part, layers, storage, words)


def _latent_row(part: Latent, storage: Storage, words: Words) -> str:
    own = rate(part, storage) - indexer_rate(part.index_dim, part.index_pool)
    row = words["f-row"].format(bytes=own)
    if own == storage.dtype.key.bytes_of(part.rank + part.rope_dim):
        row = f"({part.rank} + {part.rope_dim}) × {_element(storage.dtype.key)}"
    if not part.index_dim:
        return row
    return f"({row} + {words['f-index'].format(bytes=indexer_rate(part.index_dim, part.index_pool))})"


def _attention_term(part: Attention, layers: str, storage: Storage, words: Words) -> str:
    heads = words["f-heads"].format(count=max(1, part.kv_heads // storage.tp))
    key, value = storage.dtype.key, storage.dtype.value
    index = words["f-index-key"] if part.index_dim else ""
    if key == value and part.key_dim == part.value_dim:
        return f"2 × {layers} × {heads} × {part.key_dim} × {_element(key, part.key_dim)}{index}"
    keys = f"{part.key_dim} × {_element(key, part.key_dim)}"
    values = f"{part.value_dim} × {_element(value, part.value_dim)}"
    return f"{layers} × {heads} × ({keys} + {values}){index}"


def _element(form: Format, dim: int = 1) -> str:
    ratio = f"{form.numerator} B" if form.denominator == 1 else f"{form.numerator}/{form.denominator} B"
    return ratio if not form.per_vector else f"({ratio} + {form.per_vector}/{dim} B)"


def _fixed_term(part: Part, count: int, storage: Storage, tokens: int, words: Words) -> str:
    window = window_of(part)
    if window is not None and tokens > window:
        return words["f-window"].format(count=count, window=window, rate=rate(part, storage))
    kept = state_bytes(part, storage)
    return words["f-state"].format(count=count, size=size(kept)) if kept else ""
