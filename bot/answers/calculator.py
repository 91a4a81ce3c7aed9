"""`kv`: will this model fit, as a bar, in numbers, and with the next question one press away."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from bot.answer import Action, Answer, Bar, Figure, Slice, code
from bot.answers.asking import Asking
from bot.numbers import size
from bot.questions import Json
from bot.request import Request
from gpudiag.errors import GpudiagError

LAID_OUT = {"kv_dtype", "weights_dtype", "tp", "pp", "dp", "engine"}


def kv(request: Request, asking: Asking) -> Answer:
    options = dict(request.options)
    node = options.pop("gpu", None)
    card: str | None = node
    beside: tuple[str, ...] = ()
    if node and node.lower() in known_nodes(node, asking):
        card, beside = card_of(node, asking)
    found = asking.api.kv(
        model=request.words[0], **({"gpu": card} if card else {}), **options, lang=asking.lang
    )
    answer = lay_out(found, request, card, asking)
    return replace(answer, paragraphs=(*answer.paragraphs, *beside))


def known_nodes(word: str, asking: Asking) -> set[str]:
    """The names of nodes, asked for only when `on WORD` may be one."""
    if not any(letter in word for letter in "-.") or " " in word:
        return set()
    return {str(node["node"]).lower() for node in asking.api.nodes(limit=500, lang=asking.lang)["items"]}


def card_of(node: str, asking: Asking) -> tuple[str, tuple[str, ...]]:
    """The card of a node's first GPU (as GiB it really has), and what is in use and measured there.

    The answer is of the whole card: that a model fits on it does not say that it fits beside what runs.
    """
    gpus = asking.api.diagnosis(node, lang=asking.lang).get("gpus") or []
    reading = (gpus[0].get("readings") or {}) if gpus else {}
    total, used = reading.get("memory_total_bytes"), reading.get("memory_used_bytes")
    parts = ((gpus[0].get("memory") or {}).get("parts") or []) if gpus else []
    pool = next((part for part in parts if part.get("part") == "kv_pool" and part.get("bytes")), None)
    beside = []
    if total and used is not None:
        beside.append(asking.say("kv.in.use", node=code(node), used=size(used), total=size(total)))
    if pool:
        beside.append(asking.say("kv.compared", node=code(node), pool=size(pool["bytes"])))
    card = f"{total / 2**30:.4f}" if total else str(gpus[0].get("name", "")) if gpus else ""
    return card, tuple(beside)


def lay_out(found: Json, request: Request, card: str | None, asking: Asking) -> Answer:
    return Answer(
        headline=headline(found, request, card, asking),
        lang=asking.lang,
        facts=tuple(f"{name}={value}" for name, value in request.options.items() if name in LAID_OUT),
        bar=memory_bar(found, asking),
        figures=figures(found, asking),
        notes=(assumed(found, asking),),
        actions=actions(request, found, asking),
    )


def what(found: Json, asking: Asking) -> str:
    model = str(found.get("model"))
    if found.get("tokens") and found.get("requests"):
        return asking.say("kv.what", model=model, tokens=found["tokens"], requests=found["requests"])
    return asking.say("kv.what.model", model=model)


def headline(found: Json, request: Request, card: str | None, asking: Asking) -> str:
    """What it takes, and whether it fits. On several GPUs all bytes are of each of them."""
    name, total = what(found, asking), found.get("total_bytes")
    if total is None:
        return asking.say("kv.token", what=name, token=size(found.get("bytes_per_token")))
    fits, on, many = found.get("fits"), card_name(found, card), gpus(request)
    taken, over = size(total), size(found.get("over_capacity_bytes"))
    if many > 1:
        on = f"{many} × {on}" if on else ""
        taken, over = (asking.say("kv.each", total=one) for one in (taken, over))
    if fits is None or not on:
        return asking.say("kv.plain", what=name, total=taken)
    if fits:
        return asking.say("kv.fits", what=name, total=taken, card=on)
    return asking.say("kv.over", what=name, total=taken, card=on, over=over)


def gpus(request: Request) -> int:
    """How many GPUs the question is about; 1 where it does not say, or not in numbers."""
    options = request.options
    if options.get("gpus", "").isdigit():
        return int(options["gpus"])
    degrees = [options.get(name, "") for name in ("tp", "pp", "dp")]
    return prod(int(degree) for degree in degrees if degree.isdigit())


def card_name(found: Json, card: str | None) -> str:
    if card and not card.replace(".", "").isdigit():
        return card
    total = (found.get("budget") or {}).get("total_bytes")
    return size(total) if total else ""


def memory_bar(found: Json, asking: Asking) -> Bar | None:
    """Weights, the asked KV cache, the engine's overhead, what its pool has left, and the card beyond that.

    Only the pool's rest can hold more requests: the engine leaves a share of the card alone.
    """
    budget = found.get("budget") or {}
    total, cache = budget.get("total_bytes"), found.get("total_bytes")
    weights = budget.get("weights_bytes", found.get("weights_bytes"))
    if not total or cache is None or weights is None:
        return None
    names = ("activation_bytes", "non_torch_bytes", "cuda_graph_bytes")
    overhead = sum(budget.get(name) or 0 for name in names)
    slices = [
        Slice(asking.say("p.weights"), weights, "weights"),
        Slice(asking.say("p.kv_pool"), cache, "kv_pool"),
    ]
    if overhead:
        slices.append(Slice(asking.say("p.runtime"), overhead, "overhead"))
    left, over = max(0, total - weights - cache - overhead), found.get("over_capacity_bytes")
    free = left if over is None else min(left, max(0, -over))
    if free:
        slices.append(Slice(asking.say("p.free"), free, "free"))
    if left > free:
        slices.append(Slice(asking.say("p.outside"), left - free, "outside"))
    return Bar(tuple(slices), total)


def figures(found: Json, asking: Asking) -> tuple[Figure, ...]:
    kinds = found.get("kinds") or {}

    def kind(key: str) -> str:
        return str(kinds.get(key) or "calculated")

    rows = [Figure(asking.say("kv.pertoken"), size(found.get("bytes_per_token")), kind("bytes_per_token"))]
    if found.get("bytes_per_request") is not None:
        rows.append(
            Figure(asking.say("kv.perrequest"), size(found["bytes_per_request"]), kind("bytes_per_request"))
        )
    if found.get("largest_batch") is not None and found.get("tokens"):
        value = asking.say("kv.requests", count=found["largest_batch"])
        rows.append(Figure(asking.say("kv.batch", tokens=found["tokens"]), value, kind("largest_batch")))
    if found.get("longest_context") is not None and found.get("requests"):
        value = asking.say("kv.tokens", count=found["longest_context"])
        rows.append(
            Figure(asking.say("kv.context", requests=found["requests"]), value, kind("longest_context"))
        )
    if found.get("formula"):
        rows.append(Figure(asking.say("kv.formula"), str(found["formula"])))
    other = found.get("bytes_per_token_if_mha")
    if other and other != found.get("bytes_per_token"):
        rows.append(Figure(asking.say("kv.mha"), f"{size(other)}", kind("bytes_per_token_if_mha")))
    return tuple(rows)


def assumed(found: Json, asking: Asking) -> str:
    assumptions = [str(item).rstrip(".") for item in found.get("assumptions") or []]
    if not assumptions:
        return asking.say("kv.note.plain")
    return asking.say("kv.note", assumptions="; ".join(assumptions) + ".")


def actions(request: Request, found: Json, asking: Asking) -> tuple[Action, ...]:
    def variant(**changed: str) -> str:
        return replace(request, options={**request.options, **changed}, problem=None).text

    buttons = []
    if request.options.get("kv_dtype") != "fp8":
        buttons.append(Action(asking.say("b.fp8"), "ask", variant(kv_dtype="fp8")))
    if found.get("tokens"):
        buttons.append(Action(asking.say("b.double"), "ask", variant(tokens=str(int(found["tokens"]) * 2))))
    if node := a_serving_node(asking):
        buttons.append(Action(asking.say("b.compare", node=node), "ask", variant(gpu=node)))
    buttons.append(Action(asking.say("b.share"), "share", request.text))
    return tuple(buttons)


def a_serving_node(asking: Asking) -> str:
    """A node worth comparing with; the calculator answers also when the fleet cannot be read."""
    try:
        nodes = asking.api.nodes(limit=20, lang=asking.lang)["items"]
    except GpudiagError:
        return ""
    serving = [node for node in nodes if "kv-pool" in str(node["verdict"].get("rule"))]
    return str((serving or nodes)[0]["node"]) if nodes else ""
