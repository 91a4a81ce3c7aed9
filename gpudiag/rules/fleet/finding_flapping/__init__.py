"""A warning opens and closes again and again."""

from collections import defaultdict
from collections.abc import Iterator

from gpudiag.fleet import Fleet
from gpudiag.model import TROUBLE
from gpudiag.rule import HINT, Fires, calculated, rule


@rule(severity="info", rank=HINT, confidence="proven")
def finding_flapping(fleet: Fleet, *, min_times: int = 3, within_seconds: float = 3600.0) -> Iterator[Fires]:
    """This finding comes and goes.

    Normal states do so all day: a GPU works, and rests.
    """
    times: dict[tuple[str, str, int | None, str], int] = defaultdict(int)
    for at, node, finding, what in fleet.changes:
        alarms = what == "opened" and finding.severity in TROUBLE
        if alarms and at >= fleet.now - within_seconds:
            times[node, finding.rule, finding.gpu, finding.key] += 1
    for (node, rule_id, gpu, key), count in times.items():
        if count >= min_times and node in fleet.windows:
            yield Fires(
                (calculated("times", count, window=within_seconds, source="findings"),),
                key=f"node:{node}:{rule_id}:{gpu}:{key}",
                words={"host": node, "fault": rule_id, "where": "-" if gpu is None else f"GPU {gpu}"},
            )
