"""Make `blocks.schema.json` from Slack's own types, limits included.

Slack publishes Block Kit as TypeScript (npm `@slack/types`, MIT); the limits stand in its doc comments
("Maximum length for the text in this field is 150 characters"). Here both become one JSON Schema, so that
no limit is typed by hand. Needs node and npm once; the result is committed:

    python tests/doubles/slack/published/generate.py
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

TYPES = "@slack/types@3.2.0"
GENERATOR = "ts-json-schema-generator@2.4.0"
OPTIONS = ("--no-type-check", "-o", "all.json")
ROOTS = ("KnownBlock", "HomeView", "ModalView")
HERE = Path(__file__).parent

LENGTH = re.compile(r"(?:max(?:imum)? length(?: for [^.]*?)? (?:is|of)|limit) (\d[\d,]*)", re.I)
ITEM_LENGTH = re.compile(r"maximum length for the text in each item is (\d[\d,]*)", re.I)
ITEMS = re.compile(r"max(?:imum)?(?: number of [a-z ]+ is| of)? (\d[\d,]*)", re.I)
CELLS = re.compile(r"max of (\d+) table cells", re.I)


def main() -> None:
    schema = slack_types_as_schema()
    definitions = schema["definitions"]
    kept = {name: with_limits(definitions[name]) for name in reachable(definitions, ROOTS)}
    (HERE / "blocks.schema.json").write_text(
        json.dumps({"source": TYPES, "generator": GENERATOR, "definitions": kept}, indent=1, sort_keys=True)
        + "\n"
    )


def slack_types_as_schema() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        run = {"cwd": folder, "check": True, "capture_output": True}
        Path(folder, "package.json").write_text("{}")
        subprocess.run(["npm", "install", "--ignore-scripts", TYPES, GENERATOR], **run)  # type: ignore[call-overload]
        Path(folder, "all.ts").write_text(
            "import { KnownBlock, HomeView, ModalView } from '@slack/types';\n"
            "export type Blocks = KnownBlock[];\n"
            "export type Home = HomeView;\nexport type Modal = ModalView;\n"
        )
        subprocess.run(
            ["npx", "ts-json-schema-generator", "--path", "all.ts", "--type", "*", *OPTIONS],
            **run,  # type: ignore[call-overload]
        )
        licence = Path(folder, "node_modules/@slack/types/LICENSE").read_text()
        (HERE / "LICENSE.slack-types").write_text(licence)
        result: dict[str, Any] = json.loads(Path(folder, "all.json").read_text())
        return result


def reachable(definitions: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    seen: set[str] = set()
    queue = list(names)
    while queue:
        name = queue.pop()
        if name not in seen:
            seen.add(name)
            queue += re.findall(r'"#/definitions/([^"]+)"', json.dumps(definitions[name]))
    return sorted(seen)


def with_limits(node: Any) -> Any:
    """The same schema without its prose, the limits of the prose as keywords.

    `textMaxLength` is ours: the longest `text` that the text object at this place may hold.
    """
    if isinstance(node, list):
        return [with_limits(item) for item in node]
    if not isinstance(node, dict):
        return node
    out = {key: with_limits(value) for key, value in node.items() if key != "description"}
    prose = node.get("description")
    if isinstance(prose, str):
        prose = " ".join(prose.split())
        out.update(limits(prose, node))
        if cells := CELLS.search(prose):
            out["items"]["maxItems"] = number(cells[1])
        if each := ITEM_LENGTH.search(prose):
            out["items"]["textMaxLength"] = number(each[1])
    return out


def limits(prose: str, node: dict[str, Any]) -> dict[str, int]:
    if node.get("type") == "array":
        found = ITEMS.search(prose)
        return {"maxItems": number(found[1])} if found else {}
    found = LENGTH.search(ITEM_LENGTH.sub("", prose))
    if not found:
        return {}
    return {"maxLength" if node.get("type") == "string" else "textMaxLength": number(found[1])}


def number(text: str) -> int:
    return int(text.replace(",", ""))


if __name__ == "__main__":
    main()
