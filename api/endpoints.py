"""Every endpoint of the API in one table, from which /openapi.json is made.

A test compares it with the routes and their roles, so that none is missing and none is made up.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import msgspec

from api.access import Needs
from gpudiag import __version__
from gpudiag.client.failures import SERVICE
from gpudiag.explain import READINGS
from gpudiag.model import Snapshot
from gpudiag.words import LANGUAGES

Body = Literal["snapshots", "text", "object", None]


class Endpoint(NamedTuple):
    """One method of one path; `query` are names of PARAMETERS: with another one it is refused."""

    method: str
    path: str
    summary: str
    needs: Needs
    tag: str
    answer: str  # a name of ANSWERS
    query: tuple[str, ...] = ()
    body: str | None = None  # a name of BODIES
    status: int = 200
    errors: tuple[int, ...] = (401, 403)


PARAMETERS: dict[str, tuple[str, dict[str, Any]]] = {
    "severity": (
        "only nodes whose verdict has it",
        {"enum": ["ok", "info", "unknown", "warning", "critical"]},
    ),
    "limit": ("at most so many items", {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100}),
    "cursor": ("the `next` of the page before", {"type": "string"}),
    "after": ("the last `next` that was not null", {"type": "string"}),
    "gpu": ("only this GPU, by index", {"type": "integer", "minimum": 0}),
    "at": ("a moment of the past: ISO 8601, 14:05 (UTC), Unix seconds, or 10m (ago)", {"type": "string"}),
    "window": ("over so long, such as 5m", {"type": "string"}),
    "span": ("how far back, such as 30m", {"type": "string"}),
    "metrics": ("names, separated by commas", {"type": "string"}),
    "lang": ("language of the words", {"enum": [*LANGUAGES]}),
    "format": ("instead of an Accept header", {"enum": ["text", "json"]}),
    "color": ("1: text in colours, for a terminal", {"type": "string"}),
    "colour": ("the same", {"type": "string"}),
    "node": ("a node, a pod, job:ID or pid:N", {"type": "string"}),
    "by": ("who decides", {"type": "string"}),
    "why": ("why", {"type": "string"}),
    "id": ("the mute's number", {"type": "string"}),
    "model": ("a catalogue name or a Hugging Face id", {"type": "string"}),
    "tokens": ("tokens per request", {"type": "integer", "minimum": 1}),
    "requests": ("requests at the same time", {"type": "integer", "minimum": 1}),
    "kv_dtype": ("data type of the KV cache", {"type": "string"}),
    "weights_dtype": ("data type of the weights", {"type": "string"}),
    "tp": ("tensor-parallel size", {"type": "integer", "minimum": 1}),
    "pp": ("pipeline-parallel size", {"type": "integer", "minimum": 1}),
    "dp": ("data-parallel size", {"type": "integer", "minimum": 1}),
    "dcp": ("decode-context-parallel size, within tp", {"type": "integer", "minimum": 1}),
    "attn_dp": ("data-parallel groups of attention, within tp", {"type": "integer", "minimum": 1}),
    "gpu_name": ("a GPU of the catalogue, or GiB", {"type": "string"}),
    "gpus": ("number of GPUs", {"type": "integer", "minimum": 1}),
    "engine": ("inference engine", {"type": "string"}),
    "engine_version": ("its version", {"type": "string"}),
    "gpu_memory_utilization": ("share of the memory the engine takes", {"type": "number"}),
    "max_model_len": ("longest context the engine admits", {"type": "integer"}),
    "max_num_seqs": ("most sequences at a time", {"type": "integer"}),
    "max_num_batched_tokens": ("most tokens of one step", {"type": "integer"}),
    "block_size": ("tokens of one KV block", {"type": "integer"}),
    "num_speculative_tokens": ("drafted tokens per step", {"type": "integer"}),
    "enable_prefix_caching": ("yes or no, where states are kept (vLLM)", {"type": "string"}),
    "enable_dp_attention": ("SGLang's older spelling: dp counts the groups of attn_dp", {"type": "string"}),
    "mamba_ssm_cache_dtype": ("data type of recurrent states (vLLM, SGLang)", {"type": "string"}),
    "kv_unified": ("yes or no: slots share their cells (llama.cpp)", {"type": "string"}),
    "kv_cache_memory_bytes": ("the pool per GPU, given instead of derived", {"type": "integer"}),
}
_KV = (
    "model", "tokens", "requests", "kv_dtype", "weights_dtype", "tp", "pp", "dp", "dcp", "attn_dp",
    "gpu_name", "gpus",
    "engine", "engine_version", "gpu_memory_utilization", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens",
    "block_size", "num_speculative_tokens", "enable_prefix_caching", "enable_dp_attention",
    "mamba_ssm_cache_dtype", "kv_unified", "kv_cache_memory_bytes",
)  # fmt: skip
_TEXT_QUERY = ("lang", "format", "color", "colour")

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("POST", "/v1/snapshots", "Report snapshots. The answer means that they survive a crash.",
             "agent", "report", "Stored", body="Snapshots", errors=(400, 401, 403, 413, 415, 422, 503)),
    Endpoint("GET", "/v1/nodes", "The fleet, worst first.", "reader", "ask", "Nodes",
             ("severity", "limit", "cursor", "lang"), errors=(400, 401, 403)),
    Endpoint("GET", "/v1/nodes/{node}", "The diagnosis of a node, or of where a pod, job:ID or pid:N runs.",
             "reader", "ask", "Diagnosis", ("gpu", "at", "window", "lang"), errors=(400, 401, 403, 404, 409)),
    Endpoint("GET", "/v1/nodes/{namespace}/{pod}", "The diagnosis of where a pod runs.",
             "reader", "ask", "Diagnosis", ("gpu", "at", "window", "lang"), errors=(400, 401, 403, 404, 409)),
    Endpoint("GET", "/v1/nodes/{node}/history", "Series for charts.", "reader", "ask", "History",
             ("span", "window", "at", "metrics", "lang"), errors=(400, 401, 403, 404, 409)),
    Endpoint("GET", "/v1/nodes/{namespace}/{pod}/history", "Series of where a pod runs, for charts.",
             "reader", "ask", "History", ("span", "window", "at", "metrics", "lang"),
             errors=(400, 401, 403, 404, 409)),
    Endpoint("POST", "/v1/nodes/{node}/maintenance", "Expect disturbances for a while; 0 seconds ends it.",
             "admin", "decide", "Object", ("by", "lang"), body="Span", errors=(400, 401, 403, 404, 422)),
    Endpoint("DELETE", "/v1/nodes/{node}", "Forget a node, with all that is stored of it.", "admin", "decide",
             "Object", ("by", "why", "lang"), errors=(400, 401, 403, 404)),
    Endpoint("GET", "/v1/findings", "What opened, changed, resolved, in order.", "reader", "ask", "Changes",
             ("after", "limit", "node", "lang"), errors=(400, 401, 403)),
    Endpoint("GET", "/v1/findings/{finding_id}", "One finding with its history.", "reader", "ask", "Finding",
             ("lang",), errors=(400, 401, 403, 404)),
    Endpoint("POST", "/v1/findings/{finding_id}/ack", "Somebody takes care; it stays open.", "admin",
             "decide", "Finding", ("by", "lang"), body="Decision", errors=(400, 401, 403, 404, 422)),
    Endpoint("GET", "/v1/mutes", "Mutes that still hold.", "reader", "decide", "Mutes",
             ("lang",), errors=(400, 401, 403)),
    Endpoint("POST", "/v1/mutes", "Keep a node, or a rule on it, quiet for a while.", "admin", "decide",
             "Mute", ("by", "lang"), body="Mute", status=201, errors=(400, 401, 403, 404, 422)),
    Endpoint("DELETE", "/v1/mutes", "End a mute now.", "admin", "decide", "Object",
             ("id", "by", "lang"), errors=(400, 401, 403, 404)),
    Endpoint("DELETE", "/v1/mutes/{mute_id}", "End a mute now.", "admin", "decide", "Object",
             ("by", "lang"), errors=(400, 401, 403, 404)),
    Endpoint("GET", "/diagnose", "The fleet, or one node, for people.", "reader", "ask", "Text",
             ("node", "gpu", "at", "window", *_TEXT_QUERY), errors=(400, 401, 403, 404, 409)),
    Endpoint("GET", "/diagnose/{node}", "One node, pod, job:ID or pid:N, for people.", "reader", "ask",
             "Text", ("gpu", "at", "window", *_TEXT_QUERY), errors=(400, 401, 403, 404, 409)),
    Endpoint("GET", "/diagnose/{namespace}/{pod}", "Where a pod runs, for people.", "reader", "ask", "Text",
             ("gpu", "at", "window", *_TEXT_QUERY), errors=(400, 401, 403, 404, 409)),
    Endpoint("POST", "/diagnose", "The diagnosis of pasted tool output; nothing is stored.", "reader", "ask",
             "Text", _TEXT_QUERY, body="Pasted", errors=(400, 401, 403, 413, 415, 422)),
    Endpoint("GET", "/v1/kv", "The calculator.", "reader", "calculate", "Calculation",
             (*_KV, "lang", "format"), errors=(400, 401, 403, 404, 422)),
    Endpoint("POST", "/v1/kv", "The calculator for a raw config.json.", "reader", "calculate", "Calculation",
             ("lang", "format"), body="Question", errors=(400, 401, 403, 404, 413, 422)),
    Endpoint("GET", "/v1/rules", "The rules in force.", "reader", "ask", "Rules", ("lang",),
             errors=(400, 401, 403)),
    Endpoint("GET", "/runbooks/{rule}", "A rule's page, as HTML, Markdown or text.", "public", "ask", "Page",
             ("lang",), errors=(400, 404)),
    Endpoint("GET", "/healthz", "The process runs.", "public", "operate", "Object", errors=()),
    Endpoint("GET", "/readyz", "Reports are taken and questions answered.", "public", "operate", "Object",
             errors=(503,)),
    Endpoint("GET", "/metrics", "Prometheus exposition.", "reader", "operate", "Exposition", ("lang",),
             errors=(400, 401, 403)),
    Endpoint("GET", "/openapi.json", "This description.", "reader", "operate", "Object", ("lang",),
             errors=(400, 401, 403)),
)  # fmt: skip

ANY_QUERY = frozenset({"/v1/snapshots", "/v1/kv", "/healthz", "/readyz"})
"""Where other names are no matter of this table: reports are taken in front of Flask, the calculator refuses
by itself, and probes add what they like."""

OPTIONS = {(e.method, e.path): e.query for e in ENDPOINTS if e.path not in ANY_QUERY}
"""What each question may be asked with."""

_OBJECT: dict[str, Any] = {"type": "object"}
_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE_TEXT: dict[str, Any] = {"type": ["string", "null"]}
_MAYBE_WHOLE: dict[str, Any] = {"type": ["integer", "null"]}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": sorted(properties)}


def _page(of: str) -> dict[str, Any]:
    return _record(items={"type": "array", "items": _ref(of)}, next=_MAYBE_TEXT)


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


ANSWERS: dict[str, dict[str, Any]] = {
    "Stored": _json(
        _record(stored={"type": "integer"}, duplicates={"type": "integer"}, time={"type": "number"})
    ),
    "Nodes": _json(_page("ListedNode")),
    "Diagnosis": _json(_ref("Diagnosis")),
    "History": _json(_ref("History")),
    "Changes": _json(_page("Change")),
    "Finding": _json(_ref("Finding")),
    "Mutes": _json(_page("Mute")),
    "Mute": _json(_ref("Mute")),
    "Calculation": _json(_OBJECT),
    "Rules": _json(_page("Rule")),
    "Object": _json(_OBJECT),
    "Text": {"text/plain": {"schema": _TEXT}, **_json({"anyOf": [_ref("Diagnosis"), _page("ListedNode")]})},
    "Page": {"text/html": {"schema": _TEXT}, "text/markdown": {"schema": _TEXT}},
    "Exposition": {"text/plain": {"schema": _TEXT}},
}

_SPAN: dict[str, Any] = {"type": ["number", "string"], "description": "seconds, or a span such as 2h"}

BODIES: dict[str, dict[str, Any]] = {
    "Snapshots": _json({"anyOf": [_ref("Snapshot"), {"type": "array", "items": _ref("Snapshot")}]}),
    "Decision": _json({"type": "object", "properties": {"by": _TEXT, "why": _TEXT}}),
    "Span": _json(
        {
            "type": "object",
            "properties": {"seconds": _SPAN, "by": _TEXT, "why": _TEXT},
            "required": ["seconds"],
        }
    ),
    "Mute": _json(
        {
            "type": "object",
            "properties": {"node": _TEXT, "rule": _MAYBE_TEXT, "seconds": _SPAN, "by": _TEXT, "why": _TEXT},
            "required": ["node", "seconds"],
        }
    ),
    "Pasted": {"text/plain": {"schema": _TEXT}, **_json(_ref("Snapshot"))},
    "Question": _json(
        {
            "type": "object",
            "properties": {"config": _OBJECT, **{n: PARAMETERS[n][1] for n in _KV if n != "gpu_name"}},
        }
    ),
}


def _schemas() -> dict[str, Any]:
    _, ours = msgspec.json.schema_components([Snapshot], ref_template="#/components/schemas/{name}")
    verdict = _record(
        severity=_TEXT, rule=_TEXT, headline=_TEXT, confidence=_MAYBE_TEXT, gpu={"type": ["integer", "null"]}
    )
    evidence = _record(
        text=_TEXT, name=_TEXT, value={}, unit=_MAYBE_TEXT, kind=_TEXT, source=_MAYBE_TEXT,
        window_seconds={"type": ["number", "null"]},
    )  # fmt: skip
    finding = _record(
        id=_MAYBE_TEXT, state=_TEXT, rule=_TEXT, severity=_TEXT, confidence=_TEXT, maturity=_TEXT,
        headline=_TEXT,
        means=_TEXT, does_not_mean=_TEXT, evidence={"type": "array", "items": _ref("Evidence")},
        next_steps={"type": "array", "items": _record(text=_TEXT, command=_MAYBE_TEXT)}, runbook_url=_TEXT,
        explains={"type": "array", "items": _TEXT}, since=_MAYBE_TEXT,
    )  # fmt: skip
    several = {"type": "array", "items": _ref("Finding")}
    unjudged = {
        "type": "array",
        "items": _record(rule=_TEXT, missing={"type": "array", "items": _TEXT}, enable=_TEXT),
    }
    gpu = _record(
        index={"type": "integer"}, uuid=_MAYBE_TEXT, name=_MAYBE_TEXT, verdict=_ref("Verdict"),
        readings=_record(**{name: {} for name in READINGS}), processes={"type": "array", "items": _OBJECT},
        memory={"type": ["object", "null"]}, findings=several, unjudged=unjudged,
    )  # fmt: skip
    return {
        **ours,
        "Problem": _record(
            type=_TEXT,
            title=_TEXT,
            status={"type": "integer"},
            detail=_TEXT,
            instance=_TEXT,
            service={"const": SERVICE},
        ),
        "Verdict": verdict,
        "Evidence": evidence,
        "Finding": finding,
        "Diagnosis": _record(
            schema={"type": "integer"}, node=_TEXT, source=_TEXT, driver_version=_MAYBE_TEXT,
            observed=_OBJECT, verdict=_ref("Verdict"), findings=several,
            gpus={"type": "array", "items": gpu}, unjudged=unjudged,
            notes={"type": "array", "items": _TEXT}, changed={"type": ["object", "null"]},
        ),
        "ListedNode": _record(
            node=_TEXT, verdict=_ref("Verdict"), gpus=_MAYBE_WHOLE, memory_used_bytes=_MAYBE_WHOLE,
            memory_total_bytes=_MAYBE_WHOLE, utilization_percent={"type": ["number", "null"]},
            age_seconds={"type": "number"}, changed_at=_MAYBE_TEXT, source=_MAYBE_TEXT,
        ),
        "Change": _record(
            cursor=_TEXT, at=_TEXT, what={"enum": ["opened", "changed", "acknowledged", "resolved", "gone"]},
            node=_TEXT, quiet=_MAYBE_TEXT, finding=_ref("Finding"),
        ),
        "History": _record(node=_TEXT, gpus={"type": "array", "items": _OBJECT}),
        "Mute": _record(
            id={"type": "integer"}, node=_TEXT, rule=_MAYBE_TEXT, since=_TEXT, until=_TEXT, by=_TEXT,
            why=_TEXT,
        ),
        "Rule": _record(rule=_TEXT, severity=_TEXT, headline=_TEXT, thresholds=_OBJECT, runbook_url=_TEXT),
    }  # fmt: skip


def openapi(server: str) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gpudiag",
            "version": __version__,
            "summary": "Why is this GPU full, idle, slow or gone?",
        },
        "servers": [{"url": server}],
        "paths": paths,
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "From gpudiag token create. Really local requests need none.",
                }
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    name = re.sub(r"[^a-z0-9]+", "_", f"{endpoint.method.lower()}{endpoint.path.lower()}").strip("_")
    parameters = [
        {"name": part, "in": "path", "required": True, "schema": _TEXT}
        for part in re.findall(r"\{(\w+)\}", endpoint.path)
    ]
    for wanted in endpoint.query:
        text, schema = PARAMETERS[wanted]
        said = "gpu" if wanted == "gpu_name" else wanted
        parameters.append({"name": said, "in": "query", "description": text, "schema": schema})
    operation: dict[str, Any] = {
        "operationId": name,
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {"description": "done", "content": ANSWERS[endpoint.answer]},
            **{
                str(status): {
                    "description": "what happened, where, and what to do",
                    "content": {"application/problem+json": {"schema": _ref("Problem")}},
                }
                for status in endpoint.errors
            },
        },
        "security": [] if endpoint.needs == "public" else [{"token": []}],
        "x-role": endpoint.needs,
    }
    if endpoint.body is not None:
        operation["requestBody"] = {"required": endpoint.body != "Decision", "content": BODIES[endpoint.body]}
    return operation
