"""A small JSON Schema reader, as much of the standard as Slack's published manifest schema uses."""

from __future__ import annotations

import re
from typing import Any

TYPES: dict[str, Any] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def faults(value: Any, schema: Any, root: Any = None, at: str = "") -> list[str]:
    """What is wrong with `value`, each with its JSON pointer."""
    root = schema if root is None else root
    if isinstance(schema, bool):
        return [] if schema else [f"{at}: not allowed"]
    if "$ref" in schema:
        schema = {
            **root["definitions"][schema["$ref"].rpartition("/")[2]],
            **{k: v for k, v in schema.items() if k != "$ref"},
        }
    found = wrong_type(value, schema, at)
    if found:
        return found
    for kind in ("anyOf", "oneOf"):
        if kind in schema:
            fewest = min((faults(value, option, root, at) for option in schema[kind]), key=len)
            found += fewest
    for part in schema.get("allOf", []):
        found += faults(value, part, root, at)
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: not one of {schema['enum']}")
    if isinstance(value, str):
        found += wrong_text(value, schema, at)
    if isinstance(value, list):
        found += [
            f
            for index, item in enumerate(value)
            for f in faults(item, schema.get("items", True), root, f"{at}/{index}")
        ]
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{at}: {len(value)} items")
    if isinstance(value, dict):
        found += wrong_members(value, schema, root, at)
    return found


def wrong_type(value: Any, schema: Any, at: str) -> list[str]:
    wanted = schema.get("type")
    names = [wanted] if isinstance(wanted, str) else wanted or []
    numbers = {"number", "integer"} & set(names)
    if not names or any(isinstance(value, TYPES[name]) for name in names if name in TYPES):
        return []
    if numbers and isinstance(value, (int, float)) and not isinstance(value, bool):
        return []
    return [f"{at}: not {wanted}"]


def wrong_text(value: str, schema: Any, at: str) -> list[str]:
    found = []
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        found.append(f"{at}: {len(value)} characters")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{at}: does not match {schema['pattern']}")
    return found


def wrong_members(value: dict[str, Any], schema: Any, root: Any, at: str) -> list[str]:
    known = schema.get("properties", {})
    found = [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        if name in known:
            found += faults(item, known[name], root, f"{at}/{name}")
        elif any(re.search(pattern, name) for pattern in schema.get("patternProperties", {})):
            continue
        else:
            found += faults(item, schema.get("additionalProperties", True), root, f"{at}/{name}")
    return found
