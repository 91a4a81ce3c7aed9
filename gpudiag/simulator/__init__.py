"""Machines that do not exist, reported exactly as an agent would report them.

fleet.py has eight nodes, each in another situation; playground.py one node that people load and unload by
hand. A node is a function of time: the same seed and second give the same snapshot, in any order, and
nothing here reads a clock. Every snapshot says `source="simulated"`. To add a node: one class in fleet.py.
"""

from gpudiag.simulator.fleet import FLEET, fleet
from gpudiag.simulator.machine import Machine

__all__ = ["FLEET", "Machine", "fleet"]
