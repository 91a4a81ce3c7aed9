"""Situations of encoder-load and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import runs, sample, shown
from gpudiag.rules.situations import Situation
from gpudiag.window import Window


def _encoder() -> Window:
    return sample(shown(utilization_percent=7.0, encoder_percent=99.0, power_watts=97.0))


def _sessions() -> Window:
    return sample(shown(encoder_sessions=2))


def _pmon() -> Window:
    return sample(
        shown(utilization_percent=None, memory_used_bytes=None),
        processes=(runs(name="ffmpeg", encoder_percent=99.0),),
    )


def _ffmpeg() -> Window:
    return sample(
        shown(utilization_percent=8.0, power_watts=120.0), processes=(runs(name="/usr/bin/ffmpeg"),)
    )


def _ffmpeg_at_rest() -> Window:
    return sample(shown(encoder_percent=0.0, decoder_percent=0.0), processes=(runs(name="ffmpeg"),))


def _watched(**gpu: float) -> Window:
    s = Situation()
    s.gpu(0).shows(utilization_percent=[0.0, 3.0, 6.0], memory_used_bytes=400 << 20, **gpu)
    s.runs({0: 380 << 20}, name="ffmpeg", command="ffmpeg -hwaccel cuda -i in.mkv out.mkv")
    return s.passes(minutes=6).window


def _python() -> Window:
    return sample(shown(utilization_percent=8.0, power_watts=120.0), processes=(runs(name="python"),))


CASES = [
    Case("the encoder works at 99 %", _encoder, "fires", severity="ok", confidence="proven"),
    Case("encoder sessions are open", _sessions, "fires"),
    Case("pmon shows a process that encodes", _pmon, "fires"),
    Case("ffmpeg and power at little utilization", _ffmpeg, "fires", severity="info", variant="program"),
    Case("an agent sees the encoder work", lambda: _watched(encoder_percent=60.0), "fires", severity="ok"),
    Case("an agent sees both video units at rest", lambda: _watched(encoder_percent=0.0), "clear"),
    Case("the encoder columns read 0", _ffmpeg_at_rest, "clear"),
    Case("another program at little utilization", _python, "clear"),
]
