"""The node's clock differs from the server's."""

from gpudiag.rule import HINT, Fires, measured, rule
from gpudiag.window import Window


@rule(severity="info", rank=HINT, maturity="experimental", confidence="proven")
def clock_skew(
    node: Window, *, max_skew_seconds: float = 5.0, warn_skew_seconds: float = 60.0
) -> Fires | None:
    """This node's clock is off."""
    offset = node.clock_offset_seconds
    if offset is None or abs(offset) <= max_skew_seconds:
        return None
    return Fires(
        (measured("skew_seconds", round(abs(offset), 1), source="server"),),
        severity="warning" if abs(offset) > warn_skew_seconds else "info",
        variant="ahead" if offset < 0 else None,
    )
