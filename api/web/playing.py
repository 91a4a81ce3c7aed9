"""The calculator as a form, and the simulator: all arithmetic is done here, the page's script only draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from flask import Blueprint, Response, jsonify, render_template, request, url_for
from markupsafe import Markup

from api.calculating import question_of
from api.web import language
from api.web.words import SENTENCES
from gpudiag.charts import Series, memory_bar_svg, timeline_svg
from gpudiag.errors import GpudiagError
from gpudiag.examine import default_rules
from gpudiag.explain import ledger_json
from gpudiag.kv import KvError, calculate
from gpudiag.model import LedgerPart, MemoryLedger
from gpudiag.simulator.playground import (
    SHOWN_SECONDS,
    WORKERS,
    Play,
    PlayedMachine,
    Scene,
    scene_of,
    verdict_of,
)
from gpudiag.words import Language

FIELDS = (
    "model",
    "tokens",
    "requests",
    "gpu",
    "engine",
    "gpu_memory_utilization",
    "kv_dtype",
    "weights_dtype",
    "tp",
)
NO_OPTIONS = ("config", "lang", "format")
AROUND_THE_PLAY = ("lang", "full")
SHOWN = (  # numbers of the answer that the page lists, in order; a dot leads into the budget
    "bytes_per_token", "fixed_bytes_per_request", "bytes_per_request", "total_bytes",
    "bytes_per_token_if_mha", "weights_bytes", "budget.total_bytes", "budget.requested_bytes",
    "budget.activation_bytes", "budget.non_torch_bytes", "budget.cuda_graph_bytes", "budget.pool_bytes",
    "budget.pool_blocks",
    "budget.pool_tokens", "budget.max_concurrency", "largest_batch", "longest_context",
)  # fmt: skip
SUGGESTED_MODELS = (
    "llama-3-8b", "llama-3-70b", "llama-2-7b", "qwen2.5-7b", "qwen3-8b", "qwen3-32b", "qwen3-30b-a3b",
    "mistral-7b", "mixtral-8x7b", "gemma-3-27b", "gpt-oss-20b", "gpt-oss-120b", "deepseek-r1", "deepseek-v3",
)  # fmt: skip


def add_calculator(web: Blueprint) -> None:
    """Add /kv, /simulator and the address that the simulator's script asks."""

    @web.get("/kv")
    def kv() -> tuple[str, int]:
        return _kv_page(request.args.to_dict())

    @web.post("/kv")
    def kv_of_config() -> tuple[str, int]:
        return _kv_page(request.form.to_dict(), request.form.get("config", "").strip())

    @web.get("/simulator")
    def simulator() -> tuple[str, int]:
        lang = language.chosen()
        problem = None
        try:
            scene = scene_of(Play.from_mapping(_played()), lang)
        except GpudiagError as error:
            problem, scene = error.said(lang), scene_of(Play(), lang)
        page = render_template(
            "web/simulator.html",
            problem=problem,
            scene=scene,
            shown=drawn(scene, lang),
            full=request.args.get("full") == "1",
            **_choices(),
        )
        return page, 422 if problem else 200

    @web.get("/simulator/state")
    def simulator_state() -> tuple[Response, int]:
        lang = language.chosen()
        try:
            return jsonify(drawn(scene_of(Play.from_mapping(_played()), lang), lang)), 200
        except GpudiagError as error:
            return jsonify({"problem": error.said(lang)}), 422


def _kv_page(asked: dict[str, str], config: str = "") -> tuple[str, int]:
    options = {name: value.strip() for name, value in asked.items() if name not in NO_OPTIONS}
    given = {**dict.fromkeys(FIELDS, ""), **options}
    answer, problem = _answered({name: value for name, value in given.items() if value}, config)
    page = render_template(
        "web/kv.html",
        given=given,
        more=[name for name in options if name not in FIELDS],
        config=config,
        answer=answer,
        problem=problem,
        ledger=ledger_json(plan_of(answer)) if answer and answer["budget"]["total_bytes"] else None,
        bar=_plan_bar(answer, language.chosen()),
        numbers=_numbers(answer) if answer else [],
        **_choices(),
    )
    return page, 422 if problem else 200


def _played() -> dict[str, Any]:
    """The state that the address names; a pressed button changes it."""
    values: dict[str, Any] = {
        name: value for name, value in request.args.to_dict().items() if name not in AROUND_THE_PLAY
    }
    press = values.pop("press", None)
    if press == "send":
        values["sent"] = values.get("requests") or Play().requests
    elif press == "finish":
        values["sent"] = 0
    elif press in ("load", "unload"):
        values |= {"loaded": int(press == "load"), "sent": 0}
    elif press in ("reserve", "release"):
        values |= {"reserved": int(press == "reserve"), "sent": 0}
    return values


def _choices() -> dict[str, Any]:
    from gpudiag.kv.catalogue import all_gpus, all_models
    from gpudiag.kv.engines import ENGINES

    return {
        "models": [*SUGGESTED_MODELS, *sorted(model.name for model in all_models())],
        "gpu_names": [gpu.name for gpu in all_gpus()],
        "engines": [*ENGINES],
        "pooling": list(WORKERS),
    }


# ----------------------------------------------------------------------------------- calculator


def _answered(given: dict[str, Any], config: str) -> tuple[dict[str, Any] | None, str | None]:
    if "model" not in given and not config:
        return None, None
    try:
        question = question_of(given, _json(config) if config else None)
        return calculate(question).as_json(language.chosen()), None
    except GpudiagError as error:
        return None, error.said(language.chosen())


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise KvError("refused-copy", why=error) from None


def plan_of(answer: dict[str, Any]) -> MemoryLedger:
    """The memory that an answer asks for, as a ledger: weights, runtime and the cache the requests need.

    Where the engine reserves a pool, the pool is the part and the requests' share lies inside it.
    """
    budget = answer["budget"]
    runtime = sum(budget[name] or 0 for name in ("non_torch_bytes", "activation_bytes", "cuda_graph_bytes"))
    need, pool = answer["total_bytes"], budget["pool_bytes"] or 0
    parts = [LedgerPart(part="weights", bytes=answer["weights_bytes"] or 0, kind="calculated")]
    if runtime:
        parts.append(LedgerPart(part="runtime", bytes=runtime, kind="inferred"))
    slot = LedgerPart(part="kv_pool", bytes=max(need, pool), kind="calculated", filled_bytes=need)
    parts.append(slot)
    total, held = budget["total_bytes"], sum(part.bytes for part in parts)
    return MemoryLedger(
        total_bytes=total,
        used_bytes=held,
        free_bytes=None if total is None else max(0, total - held),
        parts=parts,
        over_capacity_bytes=0 if total is None else max(0, held - total),
    )


def _plan_bar(answer: dict[str, Any] | None, lang: Language) -> Markup:
    if answer is None or answer["budget"]["total_bytes"] is None:
        return Markup("")
    plan = ledger_json(plan_of(answer)) or {}
    return Markup(_both(lambda width: memory_bar_svg(plan, language=lang, width=width)))


def _numbers(answer: dict[str, Any]) -> list[tuple[str, Any, str | None]]:
    """(key, value, kind of number) of what is known."""
    found = []
    for key in SHOWN:
        value: Any = answer
        for step in key.split("."):
            value = value.get(step) if value else None
        if value is not None:
            found.append((key, value, answer["kinds"].get(key)))
    return found


# ------------------------------------------------------------------------------------ simulator


def drawn(scene: Scene, lang: Language) -> dict[str, Any]:
    """A scene as the page draws it: pictures, numbers, and what gpudiag says of it."""
    shown = PlayedMachine(scene).shown()
    play, ledger = scene.play, ledger_json(scene.ledger) or {}
    verdict = verdict_of(scene, default_rules(), lang)
    return {
        "state": play.as_query(),
        "link": url_for("web.simulator", **play.as_query(), _external=False),
        "bar": _both(lambda width: memory_bar_svg(ledger, language=lang, width=width)),
        "timeline": _both(lambda width: _minute(shown, lang, width)),
        "samples": shown,
        "utilization_percent": scene.utilization_percent,
        "memory_used_bytes": scene.ledger.used_bytes,
        "memory_total_bytes": scene.ledger.total_bytes,
        "memory_share": round((scene.ledger.used_bytes or 0) / (scene.ledger.total_bytes or 1), 4),
        "running": scene.running,
        "waiting": scene.waiting,
        "fits": scene.fits,
        "over_bytes": scene.over_bytes,
        "formula": scene.answer["formula"],
        "bytes_per_token": scene.answer["bytes_per_token"],
        "bytes_per_request": scene.answer["bytes_per_request"],
        "ledger": ledger,
        "assumptions": scene.answer["assumptions"],
        "verdict": verdict,
        "parts": render_template("web/scene_parts.html", scene=scene, ledger=ledger),
        "page": render_template("web/scene.html", scene=scene, ledger=ledger, verdict=verdict),
    }


def _both(draw: Callable[[float], str]) -> str:
    """A picture for wide screens and one for phones; the style sheet shows one of them."""
    return f'<div class="on-wide">{draw(720)}</div><div class="on-phone">{draw(360)}</div>'


def _minute(shown: list[tuple[float, float]], lang: Language, width: float) -> str:
    utilization, memory = SENTENCES[lang]["utilization_example"], SENTENCES[lang]["memory_now"]
    return timeline_svg(
        [
            Series(utilization, [(float(at), row[0]) for at, row in enumerate(shown)]),
            Series(memory, [(float(at), row[1]) for at, row in enumerate(shown)], "area"),
        ],
        start=0.0,
        end=float(SHOWN_SECONDS - 1),
        title=f"{utilization}, {memory}",
        language=lang,
        width=width,
        height=158,
    )
