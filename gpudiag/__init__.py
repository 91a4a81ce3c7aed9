"""gpudiag: why is this GPU full, idle, slow or gone?

Nouns: model (a snapshot, what is made of it), window (a node's past), fleet, rule. Known of the world:
workloads (what program a process is), owners, xid, kernel_lines, resets, and kv, the calculator, a leaf.
Judging: gates → rules → examine → verdict, changes; beside it ledger (who holds memory), pasted, why_not.
In words: explain, runbook, rule_search, words; laid out by plaintext and charts.
At the edges: agent, engines, smi (pasted text), hub, client, settings, cli; simulator makes machines up.
Imports neither api nor bot, and importing it loads nothing else.
"""

__version__ = "0.1.0"
