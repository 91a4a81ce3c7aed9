"""gpudiag: why is this GPU full, idle, slow or gone?

The core: nouns (model), judging (window, rule, rules, examine), words, calculator, agent and command line.
Imports neither api nor bot, and importing it loads nothing else.
"""

__version__ = "0.1.0"
