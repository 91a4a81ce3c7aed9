"""The agent lacks the rights to see part of the node."""

from gpudiag.rule import HINT, Fires, declared, rule
from gpudiag.window import Window


@rule(severity="info", rank=HINT, confidence="proven")
def agent_blind(node: Window) -> Fires | None:
    """The agent lacks rights to see part of this node."""
    snapshot = node.latest
    agent = snapshot.agent if snapshot else None
    if snapshot is None or agent is None or node.snapshots < 3:
        return None
    hidden = [p for p in node.processes.values() if p.reading.hidden and p.track.covered(60.0).rows >= 3]
    blind = agent.sees_all_processes is False or bool(hidden)
    deaf = agent.kernel_log_readable is False
    if not blind and not deaf:
        return None
    evidence = []
    if blind:
        evidence.append(declared("sees_all_processes", False, source="agent"))
    if deaf:
        evidence.append(declared("kernel_log_readable", False, source="agent"))
    variant = None if blind and deaf else "processes" if blind else "kernel-log"
    return Fires(tuple(evidence), variant=variant, words={"hidden": str(len(hidden))})
