"""Would Slack accept these blocks? Judged by Slack's own published types, limits included, in Slack's words.

`published/blocks.schema.json` is made from npm @slack/types; rules that stand only in prose are below:
https://docs.slack.dev/reference/block-kit/blocks and chat.postMessage's error list.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = Any
SCHEMA = json.loads((Path(__file__).parent / "published" / "blocks.schema.json").read_text())["definitions"]
MOST_TEXT = 40_000
MOST_TOGETHER = 13_200  # "msg_blocks_too_long", seen by users of chat.postMessage, not of response_url


def faults(blocks: Json, most: int = 50) -> list[str]:
    """What Slack would say against a message's blocks; empty when it takes them."""
    if not isinstance(blocks, list):
        return ["must be an array [json-pointer:/blocks]"]
    found = [fault for at, block in enumerate(blocks) for fault in block_faults(block, f"/blocks/{at}")]
    if len(blocks) > most:
        found.append(f"no more than {most} items allowed [json-pointer:/blocks]")
    if sum(block.get("type") == "table" for block in blocks if isinstance(block, dict)) > 1:
        found.append("only_one_table_allowed [json-pointer:/blocks]")
    ids = [block["block_id"] for block in blocks if isinstance(block, dict) and "block_id" in block]
    if len(ids) != len(set(ids)):
        found.append("`block_id` must be unique [json-pointer:/blocks]")
    return found


def view_faults(view: Json) -> list[str]:
    name = {"home": "HomeView", "modal": "ModalView"}.get(view.get("type"), "")
    if not name:
        return ["must be a valid view type [json-pointer:/view/type]"]
    shell = {**view, "blocks": []}
    return check(shell, {"$ref": f"#/definitions/{name}"}, "/view") + faults(view.get("blocks"), 100)


def too_long_together(blocks: list[Json]) -> bool:
    return sum(len(text) for text in texts(blocks)) > MOST_TOGETHER


def texts(node: Json) -> list[str]:
    if isinstance(node, dict):
        own = [node["text"]] if isinstance(node.get("text"), str) else []
        return own + [text for value in node.values() for text in texts(value)]
    return [text for item in node for text in texts(item)] if isinstance(node, list) else []


def block_faults(block: Json, at: str) -> list[str]:
    if not isinstance(block, dict) or "type" not in block:
        return [f"missing required field: type [json-pointer:{at}]"]
    name = by_type("KnownBlock", block["type"])
    if name is None:
        return [f"unsupported type: {block['type']} [json-pointer:{at}/type]"]
    return check(block, {"$ref": f"#/definitions/{name}"}, at) + prose_faults(block, at)


def by_type(union: str, kind: str) -> str | None:
    for option in SCHEMA[union]["anyOf"]:
        name = option["$ref"].rpartition("/")[2]
        if kind in kinds(SCHEMA[name]):
            return str(name)
    return None


def kinds(schema: Json) -> list[str]:
    schema = resolved(schema)
    if "anyOf" in schema:
        return [kind for option in schema["anyOf"] for kind in kinds(option)]
    wanted = schema.get("properties", {}).get("type", {})
    return [wanted["const"]] if "const" in wanted else list(wanted.get("enum", []))


def resolved(schema: Json) -> Json:
    while "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**SCHEMA[schema["$ref"].rpartition("/")[2]], **rest}
    return schema


def check(value: Json, schema: Json, at: str) -> list[str]:
    """The JSON Schema of @slack/types, as far as it is used there, answered in Slack's words."""
    schema = resolved(schema)
    if "textMaxLength" in schema and isinstance(value, dict) and isinstance(value.get("text"), str):
        found = longest(value["text"], schema["textMaxLength"], f"{at}/text")
    else:
        found = []
    if "anyOf" in schema:
        return found + any_of(value, schema["anyOf"], at)
    if "const" in schema and value != schema["const"]:
        return [f"must be {schema['const']!r} [json-pointer:{at}]"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"must be one of {schema['enum']} [json-pointer:{at}]"]
    judge = {"object": check_object, "array": check_array, "string": check_string}.get(schema.get("type", ""))
    if judge:
        return found + judge(value, schema, at)
    if schema.get("type") == "boolean" and not isinstance(value, bool):
        return [f"must be a boolean [json-pointer:{at}]"]
    if schema.get("type") == "number" and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return [f"must be a number [json-pointer:{at}]"]
    return found


def any_of(value: Json, options: list[Json], at: str) -> list[str]:
    """The option with the same `type`, if there is one; otherwise the one with the fewest faults."""
    kind = value.get("type") if isinstance(value, dict) else None
    fitting = [option for option in options if kind in kinds(option)] if kind else options
    if not fitting:
        return [f"unsupported type: {kind} [json-pointer:{at}/type]"]
    return min((check(value, option, at) for option in fitting), key=len)


def check_object(value: Json, schema: Json, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"must be an object [json-pointer:{at}]"]
    known = schema.get("properties", {})
    found = [
        f"missing required field: {name} [json-pointer:{at}]"
        for name in schema.get("required", [])
        if name not in value
    ]
    for name, item in value.items():
        if name in known:
            found += check(item, known[name], f"{at}/{name}")
        elif schema.get("additionalProperties") is False:
            found.append(f"unexpected property: {name} [json-pointer:{at}/{name}]")
    return found


def check_array(value: Json, schema: Json, at: str) -> list[str]:
    if not isinstance(value, list):
        return [f"must be an array [json-pointer:{at}]"]
    found = [
        fault
        for index, item in enumerate(value)
        for fault in check(item, schema.get("items", {}), f"{at}/{index}")
    ]
    if len(value) > schema.get("maxItems", len(value)):
        found.append(f"no more than {schema['maxItems']} items allowed [json-pointer:{at}]")
    return found


def check_string(value: Json, schema: Json, at: str) -> list[str]:
    if not isinstance(value, str):
        return [f"must be a string [json-pointer:{at}]"]
    return longest(value, schema["maxLength"], at) if "maxLength" in schema else []


def longest(text: str, most: int, at: str) -> list[str]:
    return [f"must be less than {most + 1} characters [json-pointer:{at}]"] if len(text) > most else []


def prose_faults(block: Json, at: str) -> list[str]:
    """Rules that Slack states only in words."""
    found = []
    if block["type"] == "section" and not block.get("text") and not block.get("fields"):
        found.append(f"missing required field: text or fields [json-pointer:{at}]")
    if block["type"] in ("actions", "context") and not block.get("elements"):
        found.append(f"must have at least 1 item [json-pointer:{at}/elements]")
    ids = [element["action_id"] for element in block.get("elements") or [] if "action_id" in element]
    if len(ids) != len(set(ids)):
        found.append(f"`action_id` must be unique in a block [json-pointer:{at}/elements]")
    for where, text in text_objects(block, at):
        if not text["text"].strip() and text["type"] in ("mrkdwn", "plain_text", "raw_text"):
            found.append(f"must be more than 0 characters [json-pointer:{where}/text]")
    for index, element in enumerate(block.get("elements") or []):
        if element.get("type") == "static_select" and not (
            element.get("options") or element.get("option_groups")
        ):
            found.append(f"missing required field: options [json-pointer:{at}/elements/{index}]")
    return found


def text_objects(node: Json, at: str) -> list[tuple[str, Json]]:
    if isinstance(node, list):
        return [found for index, item in enumerate(node) for found in text_objects(item, f"{at}/{index}")]
    if not isinstance(node, dict):
        return []
    own = [(at, node)] if isinstance(node.get("text"), str) and "type" in node else []
    return own + [found for key, value in node.items() for found in text_objects(value, f"{at}/{key}")]
