"""The calculation as one line with its numbers in it."""

from __future__ import annotations

from gpudiag.kv.cache import Storage, indexer_rate, rate, state_bytes, window_of
from gpudiag.kv.dtypes import Format
from gpudiag.kv.engines.base import Engine
from gpudiag.kv.layers import Attention, CompressedLatent, Latent, Part


def formula(engine: Engine, tokens: int, requests: int, per_replica: int) -> str:
    """Per token, what is fixed, the whole: `2 × 32 layers × 8 KV heads × 128 × 2 B = 131,072 B …`"""
    storage, parts = engine.storage, engine.stage(tokens).parts
    growing = [(part, count) for part, count in parts if _grows(part, storage, tokens)]
    line = []
    if growing:
        terms = " + ".join(_term(part, count, storage) for part, count in growing)
        line.append(f"{terms} = {engine.bytes_per_token(tokens):,} B per token")
    fixed = [_fixed_term(part, count, storage, tokens) for part, count in parts]
    kept = [term for term in fixed if term]
    if kept:
        line.append(f"fixed per request {' + '.join(kept)}")
    line.append(_whole(engine, tokens, per_replica, bool(kept)))
    if per_replica != requests:
        line.append(f"{requests:,} requests over {engine.setup.dp} replicas")
    return "; ".join(line)


def _whole(engine: Engine, tokens: int, requests: int, fixed: bool) -> str:
    total = engine.total_bytes(tokens, requests)
    exact = engine.bytes_per_token(tokens) * tokens
    if engine.unit == "block" and engine.unit_bytes > 1 and engine.request_bytes(tokens) != exact:
        blocks = f"{engine.units(tokens):,} blocks × {engine.unit_bytes:,} B"
        return f"{blocks} × {requests:,} = {size(total)}"
    each = f"({tokens:,} tokens + fixed)" if fixed else f"{tokens:,} tokens"
    return f"× {each} × {requests:,} = {size(total)}"


def size(count: int) -> str:
    """Bytes for people: GiB with two decimals from 1 GiB on, else MiB or KiB or B."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if abs(count) >= unit:
            return f"{count / unit:,.2f} {name}"
    return f"{count:,} B"


def _grows(part: Part, storage: Storage, tokens: int) -> bool:
    window = window_of(part)
    return bool(rate(part, storage)) and (window is None or tokens <= window)


def _term(part: Part, count: int, storage: Storage) -> str:
    layers = f"{count} layers"
    if isinstance(part, Latent):
        own = rate(part, storage) - indexer_rate(part.index_dim)
        if own == storage.dtype.key.bytes_of(part.rank + part.rope_dim):
            row = f"({part.rank} + {part.rope_dim}) × {_element(storage.dtype.key)}"
        else:
            row = f"{own} B row"
        return (
            f"{layers} × {row}"
            if not part.index_dim
            else f"{layers} × ({row} + {indexer_rate(part.index_dim)} B index)"
        )
    if isinstance(part, CompressedLatent):
        return f"{layers} × {rate(part, storage)} B (1 row per {part.ratio} tokens)"
    assert isinstance(part, Attention)
    heads = max(1, part.kv_heads // storage.tp)
    key, value = storage.dtype.key, storage.dtype.value
    index = " (+ index key)" if part.index_dim else ""
    if storage.window_float16 and part.window is not None:
        return f"{layers} × {heads} KV heads × ({part.key_dim} + {part.value_dim}) × 2 B"
    if key == value and part.key_dim == part.value_dim:
        return f"2 × {layers} × {heads} KV heads × {part.key_dim} × {_element(key, part.key_dim)}{index}"
    keys, values = (
        f"{part.key_dim} × {_element(key, part.key_dim)}",
        f"{part.value_dim} × {_element(value, part.value_dim)}",
    )
    return f"{layers} × {heads} KV heads × ({keys} + {values}){index}"


def _element(form: Format, dim: int = 1) -> str:
    ratio = f"{form.numerator} B" if form.denominator == 1 else f"{form.numerator}/{form.denominator} B"
    return ratio if not form.per_vector else f"({ratio} + {form.per_vector}/{dim} B)"


def _fixed_term(part: Part, count: int, storage: Storage, tokens: int) -> str:
    window = window_of(part)
    if window is not None and tokens > window:
        return f"{count} window layers × {window:,} tokens × {rate(part, storage):,} B"
    kept = state_bytes(part, storage)
    return f"{count} states × {size(kept)}" if kept else ""
