"""Situations of peermem-missing and its look-alikes."""

from gpudiag.model import NetworkPort
from gpudiag.rule import Case
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _node(modules: list[str] | None, state: str = "active", gpus: int = 8) -> Window:
    s = Situation(gpus=gpus)
    s.machine(modules=modules, ports=[NetworkPort(name="mlx5_0:1", kind="infiniband", state=state)])
    return s.passes(minutes=1).window


CASES = [
    Case(
        "active ports, and the module is not loaded",
        lambda: _node(["nvidia", "nvidia_uvm"]),
        "fires",
        severity="info",
        confidence="possible",
        gpu=None,
    ),
    Case("the module is loaded", lambda: _node(["nvidia", "nvidia_peermem"]), "clear", gpu=None),
    Case("the port is not in use", lambda: _node(["nvidia"], state="down"), "clear", gpu=None),
    Case("one GPU alone", lambda: _node(["nvidia"], gpus=1), "clear", gpu=None),
    Case("a node without InfiniBand", lambda: Situation(gpus=8).passes(minutes=1).window, "clear", gpu=None),
    Case("the modules cannot be read", lambda: _node(None), "unjudged", gpu=None),
]
