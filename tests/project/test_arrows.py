"""The arrows: a module looks down, never up. The table is the design; the imports are read and compared."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# part → what of ours it may import, beside itself. The first matching prefix counts.
# fmt: off
NOUNS = {"gpudiag.errors", "gpudiag.model", "gpudiag.kv"}
VERBS = NOUNS | {f"gpudiag.{name}" for name in (
    "window", "workloads", "gates", "rule", "rules", "examine", "verdict", "explain", "changes", "ledger",
    "fleet", "words", "smi", "pasted", "plaintext", "why_not", "runbook", "rule_search", "owners", "xid",
    "resets", "kernel_lines", "charts", "simulator",
)}
EDGES = VERBS | {f"gpudiag.{name}" for name in ("client", "engines", "settings", "agent", "hub")}
ALLOWED: list[tuple[str, set[str]]] = [
    ("gpudiag.errors", set()),
    ("gpudiag.model", {"gpudiag.errors"}),
    ("gpudiag.kv", {"gpudiag.errors"}),
    ("gpudiag.hub", {"gpudiag.errors", "gpudiag.kv"}),
    ("gpudiag.engines", {"gpudiag.errors", "gpudiag.model"}),
    ("gpudiag.client", {"gpudiag", "gpudiag.errors", "gpudiag.model", "gpudiag.words"}),
    ("gpudiag.settings", VERBS),
    ("gpudiag.agent", {"gpudiag", "gpudiag.errors", "gpudiag.model", "gpudiag.workloads", "gpudiag.xid",
                       "gpudiag.kernel_lines", "gpudiag.engines", "gpudiag.client", "gpudiag.words"}),
    ("gpudiag.cli", EDGES | {"gpudiag"}),
    ("gpudiag", VERBS),
    ("api", EDGES | {"gpudiag"}),
    ("bot", NOUNS | {"gpudiag", "gpudiag.client", "gpudiag.settings", "gpudiag.words", "gpudiag.plaintext",
                     "gpudiag.charts", "gpudiag.cli"}),
]
# Within the server: what a folder may import of it, beside itself.
SERVER = {
    "api.words": set(),
    "api.store": {"api.words"},
    "api.judging": {"api.store", "api.words"},
    "api.reports": {"api.judging", "api.store", "api.words", "api.problems"},
}
# fmt: on


def modules() -> dict[str, Path]:
    found = {}
    for top in ("gpudiag", "api", "bot"):
        for path in (ROOT / top).rglob("*.py"):
            parts = list(path.relative_to(ROOT).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Modules of ours that a file imports, anywhere in it."""
    wanted = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [
                f"{node.module}.{a.name}" if f"{node.module}.{a.name}" in MODULES else node.module
                for a in node.names
            ]
        wanted |= {name for name in names if name.split(".")[0] in ("gpudiag", "api", "bot")}
    return wanted


def within(module: str, part: str) -> bool:
    return module == part or module.startswith(part + ".")


def part_of(module: str) -> str:
    return ".".join(module.split(".")[:2]) if module.startswith("gpudiag.") else module.split(".")[0]


def circle(needs: dict[str, set[str]]) -> list[str]:
    """Parts that need each other in a circle; none where there is no such circle."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_import_runs_upwards() -> None:
    wrong = []
    for module, path in sorted(MODULES.items()):
        part, allowed = next((part, allowed) for part, allowed in ALLOWED if within(module, part))
        for target in imports(path):
            if within(target, part_of(module)) or (part != "gpudiag" and within(target, part)):
                continue
            if target != "gpudiag" and not any(within(target, a) for a in allowed if a != "gpudiag"):
                wrong.append(f"{module} imports {target}")

    assert wrong == []


def test_no_two_parts_need_each_other() -> None:
    needs: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        parts = {".".join(target.split(".")[:2]) for target in imports(path)}
        one = ".".join(module.split(".")[:2])
        needs[one] = needs.get(one, set()) | parts - {one}

    assert circle(needs) == []


def test_what_the_server_remembers_knows_nothing_of_requests() -> None:
    wrong = [
        f"{module} imports {target}"
        for folder, allowed in SERVER.items()
        for module, path in MODULES.items()
        if within(module, folder)
        for target in imports(path)
        if within(target, "api") and not any(within(target, part) for part in {folder, *allowed})
    ]

    assert wrong == []


def test_a_rule_imports_no_other_rule() -> None:
    wrong = []
    for module, path in MODULES.items():
        parts = module.split(".")
        if parts[:2] != ["gpudiag", "rules"] or len(parts) < 4:
            continue
        for target in imports(path):
            other = target.split(".")
            is_rule = (
                other[:2] == ["gpudiag", "rules"]
                and len(other) > 3
                and (ROOT.joinpath(*other[:4]) / "en.md").exists()
            )
            if is_rule and other[:4] != parts[:4]:
                wrong.append(f"{module} imports {target}")

    assert wrong == []


def test_pynvml_and_slack_have_one_home_each() -> None:
    text = {module: path.read_text(encoding="utf-8") for module, path in MODULES.items()}

    def users(name: str) -> set[str]:
        return {m for m, t in text.items() if f"import {name}" in t or f"from {name}" in t}

    assert all(within(module, "gpudiag.agent.nvml") for module in users("pynvml"))
    assert users("slack_bolt") <= {"bot.slack", "bot.http"}
