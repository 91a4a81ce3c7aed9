"""Any value may be absent: judging goes on, and what is absent makes nothing healthy that was not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import EngineReading, GpuReading, HostReading, ProcessReading, ThreadReading
from gpudiag.rules.situations import (
    GIB,
    Situation,
    starved_server,
    starved_training,
    vllm_busy,
    vllm_idle,
)

WEDGED: dict[str, Any] = {"requests_running": 1.0, "requests_waiting": 14.0}


def busy_server() -> Situation:
    s = vllm_busy(minutes=0)
    s.serves(
        "vllm", first_token_seconds_p95=1.0, max_num_seqs=32, prefix_queries_total=1e6, prefix_hits_total=1.0
    )
    s.gpu(0).shows(sm_active_ratio=0.5, dram_active_ratio=0.5, tensor_active_ratio=0.2)
    return s


def wedged_server() -> Situation:
    s = vllm_idle(minutes=0)
    s.serves("vllm", **WEDGED)
    return s


def starving() -> Situation:
    s = starved_server(minutes=0)
    s.runs(pid=4121, threads=[ThreadReading(tid=1, cpu_percent=99.0)], cpus_allowed=[0], state="D")
    return s


def training() -> Situation:
    s = starved_training(minutes=0, io_pressure_full=30.0)
    s.runs(pid=5400, children=[], ranks={"RANK": "0"}, cpu_percent=90.0, slurm_job="1")
    return s


def hidden() -> Situation:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    return s


SITUATIONS = [
    pytest.param(busy_server, id="a busy server"),
    pytest.param(wedged_server, id="a wedged server"),
    pytest.param(starving, id="a starving server"),
    pytest.param(training, id="a starving training"),
    pytest.param(hidden, id="memory of nobody"),
    pytest.param(lambda: vllm_idle(minutes=0), id="a pool at rest"),
]
KEPT = {"index", "name", "engine", "pid", "samples", "tid", "uuid"}


def fields(record: type[msgspec.Struct]) -> list[str]:
    return [field.name for field in msgspec.structs.fields(record) if field.name not in KEPT]


@pytest.mark.parametrize("make", SITUATIONS)
def test_judging_goes_on_without_any_one_value(make: object) -> None:
    for owner, names in (
        ("gpu", fields(GpuReading)),
        ("host", fields(HostReading)),
        ("process", fields(ProcessReading)),
        ("engine", fields(EngineReading)),
    ):
        for name in names:
            s: Situation = make()  # type: ignore[operator]
            by_owner: dict[str, list[Any]] = {
                "gpu": [s.gpu(0).reading],
                "host": [s.host],
                "process": list(s.processes.values()),
                "engine": list(s.engines.values()),
            }
            s.gpu(0).waves.pop(name, None)
            for record in by_owner[owner]:
                setattr(record, name, None)
            s.rates = {key: rate for key, rate in s.rates.items() if key[1] != name}
            checkup = examine(s.passes(minutes=6).window)

            assert "unknown_error" not in {entry.reason for entry in checkup.unjudged}, (owner, name)
            assert explain(checkup).verdict["headline"], (owner, name)


@pytest.mark.parametrize("name", fields(EngineReading))
def test_a_wedged_server_is_never_normal_whatever_it_does_not_tell(name: str) -> None:
    s = wedged_server()
    setattr(s.engines["vllm:8000"], name, None)
    verdict = explain(examine(s.passes(minutes=6).window)).verdict

    assert verdict["severity"] != "ok"


def test_a_wedged_server_that_counts_no_prompts_is_found_all_the_same() -> None:
    s = wedged_server()
    s.serves("vllm", prompt_tokens_total=None)

    assert "serving-wedged" in [finding.rule for finding in examine(s.passes(minutes=6).window).findings]


@pytest.mark.parametrize("name", fields(GpuReading))
def test_hidden_memory_is_never_normal_whatever_is_not_read(name: str) -> None:
    s = hidden()
    setattr(s.gpu(0).reading, name, None)
    verdict = explain(examine(s.passes(minutes=6).window)).verdict

    assert verdict["severity"] != "ok"


@pytest.mark.parametrize("name", fields(ProcessReading))
def test_an_orphan_is_never_normal_whatever_is_not_known_of_it(name: str) -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB)
    process = s.runs({0: 74 * GIB}, pid=4121, name="VLLM::EngineCore", parent_pid=1, parent_name="systemd")
    setattr(process, name, None)
    verdict = explain(examine(s.passes(minutes=6).window)).verdict

    assert verdict["severity"] != "ok"
