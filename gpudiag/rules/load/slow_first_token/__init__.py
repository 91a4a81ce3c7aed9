"""Users wait longer than usual for the first token."""

from gpudiag.rule import CAPACITY, Fires, measured, rule
from gpudiag.rules.engines import each, gpus_of, only_gpu, readable
from gpudiag.window import W5, W6H, W7D, EngineWindow, Window


@rule(severity="info", rank=CAPACITY, maturity="experimental", given=("engine",))
def slow_first_token(
    node: Window,
    *,
    min_times_usual: float = 2.0,
    max_inter_token_times: float = 1.3,
    min_requests: float = 30.0,
    min_seconds: float = 0.5,
    warn_seconds: float = 5.0,
) -> list[Fires]:
    """Users wait for the first token: prefill or queue, not decoding."""

    def judged(engine: EngineWindow) -> Fires | None:
        reading = engine.reading
        if not reading.first_token_seconds_p95 or reading.first_token_seconds_p95 < min_seconds:
            return None
        finished = (
            0.0 if reading.requests_finished_total is None else engine.rise("requests_finished_total", W5)
        )
        if finished < min_requests:
            return None
        recent = engine.over("first_token_seconds_p95", W5).mean
        if recent < min_seconds:
            return None
        engine.require(W6H)
        usual = engine.over("first_token_seconds_p95", W7D).mean
        if recent <= min_times_usual * usual:
            return None
        name = reading.name
        prompts = 0.0 if reading.prompt_tokens_total is None else engine.rise("prompt_tokens_total", W5)
        return Fires(
            (
                measured("first_token_seconds", round(recent, 2), of=round(usual, 2), window=W5, source=name),
                measured("prompt_tokens_each", round(prompts / finished), window=W5, source=name),
                measured("requests_waiting", reading.requests_waiting or 0, source=name),
            ),
            severity="warning" if recent >= warn_seconds else "info",
            key=name,
            gpu=only_gpu(engine),
            words={"engine": name, "gpus": gpus_of(node, engine)},
        )

    return each(readable(node), judged)
