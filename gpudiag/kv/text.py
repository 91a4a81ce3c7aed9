"""An answer as text for a terminal: headline, table, memory bar, verdict, what else would do, assumptions."""

from __future__ import annotations

import unicodedata

from gpudiag.kv.answer import Answer
from gpudiag.kv.formula import counted, size
from gpudiag.kv.words import sentences, words

Words = dict[str, str]
Row = tuple[str, str, str]

NO_BREAK = "\u00a0"

# What fills the bar, in the order it is stacked.
MARKS = (("weights", "#"), ("activation", "a"), ("runtime", "r"), ("kv", "="), ("reserved", "-"))


def render(answer: Answer, language: str = "en", width: int = 80) -> str:
    """The answer as text of at most `width` columns. The memory bar shows what overflows."""
    table, width = words(language), max(40, width)
    blocks = [
        _wrapped(_headline(answer, table), width),
        _wrapped(answer.formula(language), width),
        _table(_need(answer, table), table, width),
        _memory(answer, table, width),
        _verdict(answer, table),
        _table(_otherwise(answer, table), table, width),
        _list(table["assumptions"], sentences(answer.notes, language), width),
        _list(table["sources"], list(answer.sources), width, unbroken=True),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _headline(answer: Answer, words: Words) -> str:
    asked = words["requests"].format(requests=answer.question.requests, tokens=answer.tokens)
    parts = [answer.model.name, f"{size(answer.total_bytes)} {words['total']}", asked]
    setup = answer.engine.setup
    if answer.gpu_name:
        parts.append(f"{setup.tp * setup.pp * setup.dp} × {answer.gpu_name}")
    return " · ".join(part.replace(" ", NO_BREAK) for part in parts)


def _need(answer: Answer, words: Words) -> list[Row]:
    kinds = answer.kinds
    return [
        (words["per-token"], f"{answer.bytes_per_token:,} B", kinds["bytes_per_token"]),
        (words["per-request"], size(answer.bytes_per_request), kinds["bytes_per_request"]),
        (words["total"], size(answer.total_bytes), kinds["total_bytes"]),
        (
            f"{words['weights']} ({answer.weights_format.name})",
            size(answer.weights_bytes),
            kinds["weights_bytes"],
        ),
    ]


def _otherwise(answer: Answer, words: Words) -> list[Row]:
    kinds, other, rows = answer.kinds, answer.alternatives, []
    if answer.pool_tokens is not None:
        text = words["tokens"].format(count=answer.pool_tokens)
        rows.append((words["pool-holds"], text, kinds["budget.pool_tokens"]))
    if answer.largest_batch is not None:
        label = words["largest-batch"].format(tokens=answer.tokens)
        rows.append((label, counted(answer.largest_batch, words), kinds["largest_batch"]))
    if answer.longest_context is not None:
        label = words["longest-context"].format(requests=counted(answer.question.requests, words))
        text = words["tokens"].format(count=answer.longest_context)
        limited = answer.longest_context == answer.model.shape.max_positions
        rows.append(
            (label, text + (f" ({words['model-limit']})" if limited else ""), kinds["longest_context"])
        )
    if answer.gpu_name and answer.question.kv_cache_memory_bytes is None:
        found = str(other.smallest_tp) if other.smallest_tp else words["none"]
        rows.append((words["smallest-tp"], found, kinds["alternatives.smallest_tp"]))
    if answer.question.kv_cache_memory_bytes is None:
        text = other.smallest_gpu or words["none"]
        rows.append((words["smallest-gpu"], text, kinds["alternatives.smallest_gpu"]))
    if other.fp8_total_bytes is not None:
        rows.append(
            (words["fp8"], size(other.fp8_total_bytes), kinds["alternatives.with_fp8_kv.total_bytes"])
        )
    if other.mha_total_bytes is not None:
        rows.append((words["mha"], size(other.mha_total_bytes), kinds["alternatives.if_mha.total_bytes"]))
    return rows


def _memory(answer: Answer, words: Words, width: int) -> str:
    """The bar of one GPU: the pool is one slot, filled (=) and reserved (-). What does not fit stands
    right of the card's edge, `|`, in full.
    """
    total = answer.engine.setup.gpu_bytes
    if total is None:
        return ""
    parts = _bar_parts(answer)
    used = sum(count for _, _, count in parts)
    cells = width - 4
    scale = max(total, used) / cells
    bar, filled, edge = "", 0.0, round(total / scale)
    for _, mark, count in parts:
        filled += count
        bar += mark * (round(filled / scale) - len(bar))
    bar = bar.ljust(edge, ".")
    drawn = f"[{bar[:edge]}|{bar[edge:]}" if len(bar) > edge else f"[{bar}]"
    over = f"  {words['over'].format(amount=size(used - total))}" if used > total else ""
    lines = [f"{words['budget']}: {answer.gpu_name}, {size(total)}{over}", drawn]
    legend = [f"{mark} {words[name]} {size(count)}" for name, mark, count in parts if count]
    return "\n".join([*lines, *_filled([part.replace(" ", NO_BREAK) for part in legend], width, "  ")])


def _bar_parts(answer: Answer) -> list[tuple[str, str, int]]:
    budget = answer.budget
    runtime = (budget.non_torch_bytes or 0) + (budget.cuda_graph_bytes or 0)
    unused = max(0, (budget.pool_bytes or 0) + (budget.state_pool_bytes or 0) - answer.total_bytes)
    counts = (answer.weights_bytes, budget.activation_bytes or 0, runtime, answer.total_bytes, unused)
    return [(name, mark, count) for (name, mark), count in zip(MARKS, counts, strict=True)]


def _verdict(answer: Answer, words: Words) -> str:
    if answer.fits is None or answer.over_capacity_bytes is None:
        return words["unknown-fit"]
    key = "fits" if answer.fits else "fits-not"
    return words[key].format(amount=size(abs(answer.over_capacity_bytes)))


def _table(rows: list[Row], words: Words, width: int) -> str:
    """Label, value and kind in columns; the kind says where the number comes from."""
    if not rows:
        return ""
    labels = max(columns(label) for label, _, _ in rows) + 2
    values = max(columns(value) for _, value, _ in rows) + 2
    return "\n".join(
        f"{_padded(label, labels)}{_padded(value, values)}{words[kind]}" for label, value, kind in rows
    )


def _list(title: str, items: list[str], width: int, unbroken: bool = False) -> str:
    if not items:
        return ""
    lines = [title]
    for item in items:
        lines += [f"- {item}"] if unbroken else _filled(f"- {item}".split(), width)
    return "\n".join(lines)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(_filled(text.split(" "), width))


def _filled(words: list[str], width: int, gap: str = "") -> list[str]:
    """Words on lines of at most `width` columns; later lines are indented by two."""
    lines, line = [], ""
    for word in words:
        if line and columns(line) + len(gap) + 1 + columns(word) > width:
            lines.append(line)
            line = f"  {word}"
        else:
            line += f"{gap if line else ''} {word}" if line else word
    return [one.replace(NO_BREAK, " ") for one in (*lines, line)]


def columns(text: str) -> int:
    """Columns that a terminal needs; Hangul and Hanja take two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - columns(text))
