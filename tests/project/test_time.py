"""Time is a parameter: the core asks the machine's clock nowhere but where the table says.

What is asked beside the clock that was given goes wrong when the two differ: in a story that plays in
seconds, and on a host whose clock was set back.
"""

from __future__ import annotations

import ast

from tests.project.test_arrows import MODULES, within

ASKS = {
    "gpudiag.agent.clock": "it is the agent's clock",
    "gpudiag.client": "when a report leaves",
    "gpudiag.cli.sources": "a command is asked now",
    "gpudiag.smi.reading": "pasted output without a moment of its own is from now",
}
MOMENTS = {"time.time", "time.time_ns", "datetime.now", "datetime.utcnow", "date.today"}


def asks_the_time(source: str) -> bool:
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    return any(ast.unparse(attribute) in MOMENTS for attribute in attributes)


def test_the_core_asks_for_the_time_of_day_where_the_table_says_and_nowhere_else() -> None:
    core = {name: path for name, path in MODULES.items() if within(name, "gpudiag")}

    assert set(ASKS) == {name for name, path in core.items() if asks_the_time(path.read_text("utf-8"))}
