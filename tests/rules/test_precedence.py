"""Whole situations through the judge: one headline that explains the most, the rest beside it."""

from __future__ import annotations

from typing import Any

import pytest

from gpudiag.changes import Changes, reconcile
from gpudiag.examine import default_rules, examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.model import MigDevice, NvmlReading, ThreadReading
from gpudiag.rules.pastes import pasted
from gpudiag.rules.situations import (
    GIB,
    Situation,
    starved_server,
    starved_training,
    vllm_busy,
    vllm_idle,
    vllm_processes,
)
from gpudiag.verdict import verdict_of_gpu, verdict_of_node
from gpudiag.window import Window


def diagnosis_of(subject: Situation | Window, now: float | None = None) -> Diagnosis:
    window = subject.window if isinstance(subject, Situation) else subject
    return explain(examine(window, now=now))


def found(diagnosis: Diagnosis) -> set[str]:
    """Every finding's rule, of the node and of its GPUs."""
    rules = {finding["rule"] for finding in diagnosis.findings}
    return rules | {finding["rule"] for gpu in diagnosis.gpus for finding in gpu["findings"]}


def verdict(subject: Situation | Window, now: float | None = None) -> tuple[str, str]:
    said = diagnosis_of(subject, now).verdict
    return said["severity"], said["rule"]


def orphan() -> Situation:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB)
    s.runs({0: 74 * GIB}, pid=4121, name="VLLM::EngineCore", parent_pid=1, parent_name="systemd")
    return s.passes(minutes=6)


def hot_thread(s: Situation) -> Situation:
    s.runs(pid=4121, threads=[ThreadReading(tid=1, cpu_percent=99.0), ThreadReading(tid=2, cpu_percent=5.0)])
    return s


# ---------------------------------------------------------------------------- normal states headline


def test_a_reserved_pool_is_normal_and_opens_with_the_known_sentence() -> None:
    said = diagnosis_of(vllm_idle()).verdict

    assert ("ok", "kv-pool-reserved-idle") == (said["severity"], said["rule"])
    assert said["headline"] == "memory full, util 0%: reserved KV pool, normal"


def test_a_hint_never_headlines_over_a_state() -> None:
    s = vllm_idle(minutes=0)
    s.gpu(0).shows(persistence_mode=False)

    assert verdict(s.passes(minutes=6)) == ("ok", "kv-pool-reserved-idle")


def test_a_polling_thread_of_an_idle_engine_stands_beside_the_pool() -> None:
    s = vllm_idle(minutes=0)
    s.runs(pid=4100, threads=[])
    diagnosis = diagnosis_of(hot_thread(s).passes(minutes=6))

    assert diagnosis.verdict["rule"] == "kv-pool-reserved-idle"
    assert "idle-cpu-spin" in found(diagnosis)
    assert "cpu-bound-single-core" not in found(diagnosis)


def test_a_pool_explains_the_held_and_the_nearly_full_memory() -> None:
    rules = found(diagnosis_of(vllm_idle()))

    assert not rules & {"memory-held-idle", "oom-risk", "weights-loaded-idle", "hidden-memory", "gpu-free"}


def test_a_busy_server_is_working_normally() -> None:
    assert verdict(vllm_busy()) == ("ok", "healthy-busy")


def test_a_server_that_loads_is_starting_not_held() -> None:
    s = Situation()
    process = s.runs({0: GIB}, pid=4121, name="VLLM::EngineCore", started_at=s.now, parent_name="vllm")
    for held in range(10, 70, 4):
        s.gpu(0).shows(memory_used_bytes=held * GIB)
        process.gpus[0].memory_used_bytes = held * GIB  # type: ignore[index]
        s.reports()

    assert verdict(s) == ("ok", "model-loading")


def test_mig_without_utilization_is_unknown_use_not_an_idle_gpu() -> None:
    s = Situation()
    slices = [MigDevice(index=0, gpu_instance=1, memory_used_bytes=20 * GIB, memory_total_bytes=40 * GIB)]
    s.gpu(0).shows(mig_mode=True, mig_devices=slices, utilization_percent=None, memory_used_bytes=20 * GIB)
    s.misses("gpu:0", "utilization_percent", "not_supported")
    rules = found(diagnosis_of(s.passes(minutes=6)))

    assert "mig-util-not-available" in rules
    assert not rules & {"gpu-free", "memory-held-idle", "low-util-under-load", "hidden-memory"}


# ------------------------------------------------------------------------ what must never be normal


def test_an_orphan_beats_the_pool_it_looks_like() -> None:
    diagnosis = diagnosis_of(orphan())

    assert ("critical", "orphaned-engine") == (diagnosis.verdict["severity"], diagnosis.verdict["rule"])
    assert "kv-pool-reserved-idle" not in found(diagnosis)


def test_the_metrics_of_a_dead_server_are_not_missed_beside_its_orphans() -> None:
    """Also where the server was on several GPUs, so that its metrics are the node's and no GPU's."""
    s = Situation(gpus=2)
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB)
    for gpu in (0, 1):
        s.runs({gpu: 74 * GIB}, pid=4121 + gpu, name="VLLM::Worker", parent_pid=1, parent_name="systemd")
    s.serves("vllm", pid=4100, worker_pids=[4121, 4122], health_ok=False, metrics_ok=False, port_open=False,
             parent_alive=False)  # fmt: skip
    dead = found(diagnosis_of(s.passes(minutes=20)))
    other = vllm_idle(minutes=0)
    other.serves("vllm", name="vllm:8001", pid=5100, gpus=[2, 3], metrics_ok=False)

    assert "orphaned-engine" in dead and "engine-metrics-unreachable" not in dead
    assert "engine-metrics-unreachable" in found(diagnosis_of(other.passes(minutes=6)))


def test_a_pool_whose_server_cannot_be_asked_only_looks_like_one() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB)
    vllm_processes(s)
    said = diagnosis_of(s.passes(minutes=6)).verdict

    assert ("info", "kv-pool-reserved-idle") == (said["severity"], said["rule"])
    assert "looks like" in said["headline"]


def test_a_wedged_server_is_not_a_pool_at_rest() -> None:
    s = vllm_idle(minutes=0)
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0)

    assert verdict(s.passes(minutes=6)) == ("critical", "serving-wedged")


def test_memory_that_nobody_claims_is_a_warning() -> None:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    s.agent.uid = 1000

    assert verdict(s.passes(minutes=6)) == ("warning", "hidden-memory")


def test_a_leak_explains_the_hidden_memory() -> None:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=30 * GIB)
    diagnosis = diagnosis_of(s.passes(minutes=18))

    assert diagnosis.verdict["rule"] == "leaked-memory-no-process"
    assert "hidden-memory" in diagnosis.gpus[0]["findings"][0]["explains"]
    assert "hidden-memory" not in found(diagnosis)


def test_a_quiet_gpu_that_cannot_be_read_is_unknown() -> None:
    s = Situation()
    s.gpu(0).hides("utilization_percent")
    s.misses("gpu:0", "utilization_percent", "no_permission")
    diagnosis = diagnosis_of(s.passes(minutes=6))

    assert ("unknown", "not-enough-evidence") == (diagnosis.verdict["severity"], diagnosis.verdict["rule"])
    assert "not-enough-evidence" in {entry["rule"] for entry in diagnosis.gpus[0]["unjudged"]}


def test_thirty_seconds_of_an_idle_engine_are_no_proof() -> None:
    severity, rule = verdict(vllm_idle(minutes=0.5))

    assert (severity, rule) == ("info", "kv-pool-reserved-idle")


# --------------------------------------------------------------------------------- load and causes


def test_a_proven_cause_headlines_and_its_umbrella_stays() -> None:
    diagnosis = diagnosis_of(hot_thread(starved_server(minutes=0)).passes(minutes=6))

    assert ("warning", "cpu-bound-single-core") == (diagnosis.verdict["severity"], diagnosis.verdict["rule"])
    assert "low-util-under-load" in found(diagnosis)


def test_without_a_visible_cause_the_umbrella_headlines() -> None:
    said = diagnosis_of(starved_server()).verdict

    assert said["headline"] == "util low under load: check batch/CPU preprocessing"


def test_a_quota_explains_a_saturated_cpu() -> None:
    s = starved_training(minutes=0, cpu_pressure_some=60.0)
    s.runs(pid=5400, pod="train-0", cpu_quota_throttled_ratio=0.4)
    diagnosis = diagnosis_of(s.passes(minutes=6))

    assert diagnosis.verdict["rule"] == "cpu-throttled"
    assert "cpu-saturated" not in found(diagnosis)


def test_low_utilization_without_load_is_never_called_low() -> None:
    for situation in (vllm_idle(), Situation().passes(minutes=6)):
        assert "low-util-under-load" not in found(diagnosis_of(situation))


def test_a_wedged_server_explains_the_low_utilization() -> None:
    s = starved_server(minutes=0)
    s.rates.clear()
    diagnosis = diagnosis_of(s.passes(minutes=6))

    assert diagnosis.verdict["rule"] == "serving-wedged"
    assert "low-util-under-load" not in found(diagnosis)


# -------------------------------------------------------------------------------- blindness first


def test_silence_beats_every_state() -> None:
    s = vllm_idle()

    assert verdict(s, now=s.now + 90) == ("warning", "agent-stale")


def test_silence_beats_a_wedged_server_of_before() -> None:
    s = vllm_idle(minutes=0)
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0)
    s.passes(minutes=6)

    assert verdict(s, now=s.now + 120) == ("warning", "agent-stale")


def test_a_node_that_was_busy_and_went_silent_is_critical() -> None:
    s = vllm_busy()

    assert verdict(s, now=s.now + 900) == ("critical", "agent-stale")


def test_a_missing_driver_says_so_and_nothing_of_gpus() -> None:
    s = Situation(gpus=8).passes(minutes=6)
    s.gpus.clear()
    s.nvml = NvmlReading(error="library_mismatch", error_code=18)
    diagnosis = diagnosis_of(s.passes(minutes=2))

    assert diagnosis.verdict["rule"] == "driver-library-mismatch"
    assert not found(diagnosis) & {"nvml-unavailable", "gpu-count-changed", "gpu-free", "gpu-lost-bus"}


def test_a_node_takes_the_worst_of_its_gpus() -> None:
    s = Situation(gpus=2)
    s.gpu(1).shows(memory_used_bytes=30 * GIB)
    s.agent.uid = 1000
    s.passes(minutes=6)
    checkup, rules = examine(s.window), default_rules()

    assert verdict_of_gpu(checkup, 0, rules).rule == "gpu-free"
    assert (verdict_of_node(checkup, rules).severity, verdict_of_node(checkup, rules).gpu) == ("warning", 1)


def test_eight_gpus_of_one_engine_share_one_headline() -> None:
    said = diagnosis_of(vllm_idle(gpus=8)).verdict

    assert said["headline"].startswith("memory full, util 0%")


# ------------------------------------------------------------------------------------- one sample


@pytest.mark.parametrize(
    ("shows", "allowed"),
    [
        ({"memory_used_bytes": 4 << 20, "process_list": "none"}, {"ok"}),
        ({"memory_used_bytes": 60 * GIB, "process_list": "cut"}, {"info", "warning", "unknown"}),
        ({"memory_used_bytes": 60 * GIB, "process_list": "empty"}, {"info", "warning", "unknown"}),
        ({"memory_used_bytes": 60 * GIB, "process_list": "none"}, {"info", "warning", "unknown"}),
        (
            {"memory_used_bytes": 60 * GIB, "utilization_percent": 98.0, "power_watts": 610.0},
            {"ok", "info", "warning"},
        ),
        (
            {"memory_used_bytes": GIB, "utilization_percent": 100.0, "power_watts": 90.0},
            {"info", "warning", "unknown"},
        ),
        ({"memory_used_bytes": None, "process_list": "none"}, {"info", "unknown"}),
        (
            {"utilization_percent": None, "memory_used_bytes": 60 * GIB, "process_list": "cut"},
            {"info", "unknown"},
        ),
    ],
)
def test_one_pasted_sample_says_what_is_visible(shows: dict[str, Any], allowed: set[str]) -> None:
    assert verdict(pasted(**shows))[0] in allowed


def test_one_sample_proves_no_pattern() -> None:
    looks: list[dict[str, Any]] = [
        {"memory_used_bytes": 4 << 20, "process_list": "none"},
        {"memory_used_bytes": 60 * GIB},
    ]
    for shows in looks:
        diagnosis = diagnosis_of(pasted(**shows))
        states = [f for gpu in diagnosis.gpus for f in gpu["findings"] if f["rule"] != "metric-not-supported"]

        assert all(finding["confidence"] == "possible" for finding in states)


# ---------------------------------------------------------------------------------- what ends, when


def followed(*situations: Situation) -> Changes:
    """What is open after each of these moments was judged in turn."""
    rules, changes = default_rules(), Changes(open={})
    for situation in situations:
        checkup = examine(situation.window, rules)
        changes = reconcile(changes.open, checkup, rules, situation.window)
    return changes


def open_rules(changes: Changes) -> set[str]:
    return {rule for rule, _, _ in changes.open}


def test_a_driver_that_does_not_answer_heals_no_gpu() -> None:
    s = Situation(gpus=2)
    s.gpu(1).shows(memory_used_bytes=30 * GIB)
    s.agent.uid = 1000
    before = followed(s.passes(minutes=6))
    s.gpus.clear()
    s.nvml = NvmlReading(error="driver_not_loaded")
    s.passes(minutes=2)
    rules = default_rules()
    changes = reconcile(before.open, examine(s.window, rules), rules, s.window)
    s.passes(minutes=8)
    changes = reconcile(changes.open, examine(s.window, rules), rules, s.window)

    assert {"hidden-memory", "nvml-unavailable"} <= open_rules(changes)
    assert {"gpu-free"} == {finding.rule for finding in changes.resolved}  # nobody knows whether it still is
    assert not changes.gone


def test_a_driver_that_answers_again_is_not_called_silent_for_minutes() -> None:
    s = Situation()
    s.passes(minutes=6)
    gpus, answers = s.gpus, s.nvml
    s.gpus, s.nvml = {}, NvmlReading(error="driver_not_loaded")
    before = followed(s.passes(minutes=2))
    s.gpus, s.nvml = gpus, answers
    rules, changes = default_rules(), before
    for seconds in (10, 70):
        changes = reconcile(changes.open, examine(s.passes(seconds=seconds).window, rules), rules, s.window)

    assert ("nvml-unavailable" in open_rules(before), "nvml-unavailable" in open_rules(changes)) == (
        True,
        False,
    )


def test_a_wedged_server_stays_open_while_its_metrics_do_not_answer() -> None:
    s = vllm_idle(minutes=0)
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0)
    before, rules = followed(s.passes(minutes=6)), default_rules()
    s.serves("vllm", metrics_ok=False)
    s.passes(minutes=1)
    changes = reconcile(before.open, examine(s.window, rules), rules, s.window)
    s.passes(minutes=9)
    changes = reconcile(changes.open, examine(s.window, rules), rules, s.window)

    assert "serving-wedged" in open_rules(changes)


def test_a_wedged_server_that_answers_again_is_resolved_after_five_clear_minutes() -> None:
    s = vllm_idle(minutes=0)
    s.serves("vllm", requests_running=1.0, requests_waiting=14.0)
    before, rules = followed(s.passes(minutes=6)), default_rules()
    s.serves("vllm", requests_waiting=0.0, rates={"generation_tokens_total": 300.0})
    s.passes(minutes=1)
    changes = reconcile(before.open, examine(s.window, rules), rules, s.window)

    assert "serving-wedged" in open_rules(changes)

    s.passes(minutes=6)
    changes = reconcile(changes.open, examine(s.window, rules), rules, s.window)

    assert ["serving-wedged"] == [finding.rule for finding in changes.resolved]


def test_an_orphan_that_was_ended_is_gone() -> None:
    s = orphan()
    before, rules = followed(s), default_rules()
    s.ends(4121)
    s.all_gpus(memory_used_bytes=4 << 20)
    s.reports()
    changes = reconcile(before.open, examine(s.window, rules), rules, s.window)

    assert "orphaned-engine" in [finding.rule for finding in changes.gone]


def test_a_gpu_that_fell_off_the_bus_is_said_once() -> None:
    s = Situation(gpus=8).passes(minutes=6)
    bus = s.gpus.pop(3).reading.bus_id
    s.logs("xid", f"NVRM: Xid (PCI:{bus}): 79, GPU has fallen off the bus.", number=79, bus_id=bus)
    diagnosis = diagnosis_of(s.passes(minutes=1))

    assert diagnosis.verdict["rule"] == "gpu-lost-bus"
    assert "gpu-count-changed" not in found(diagnosis)


def test_a_lost_gpu_on_a_busy_node_headlines_and_leaves_its_neighbours_alone() -> None:
    s = Situation(gpus=2)
    s.gpu(0).shows(
        utilization_percent=97.0, power_watts=600.0, memory_used_bytes=60 * GIB, sm_clock_megahertz=1755.0
    )
    s.gpu(1).shows(error="gpu_is_lost", utilization_percent=None, memory_used_bytes=None, power_watts=None)
    s.runs({0: 60 * GIB}, name="python3", command="torchrun train.py")
    checkup, rules = examine(s.passes(minutes=6).window), default_rules()

    assert verdict_of_node(checkup, rules).rule == "gpu-lost-bus"
    assert verdict_of_gpu(checkup, 0, rules).severity == "ok"


def test_an_out_of_memory_kill_says_which_memory_ran_out() -> None:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=20 * GIB)
    s.runs({0: 20 * GIB}, pid=5700, name="python3", command="torchrun train.py")
    s.passes(minutes=6).ends(5700)
    s.gpu(0).shows(memory_used_bytes=4 << 20)
    s.logs("oom_kill", "Out of memory: Killed process 5700 (python3)", pid=5700)
    said = diagnosis_of(s.passes(minutes=1)).verdict

    assert ("critical", "host-oom-kill") == (said["severity"], said["rule"])


def test_two_servers_are_judged_apart() -> None:
    s = Situation(gpus=2)
    s.all_gpus(memory_used_bytes=75 * GIB)
    for i in (0, 1):
        s.runs({i: 74 * GIB}, pid=4100 + i, name="VLLM::EngineCore", parent_pid=90 + i, parent_name="vllm")
        s.serves("vllm", name=f"vllm:{8000 + i}", worker_pids=[4100 + i], gpus=[i])
    s.serves("vllm", name="vllm:8001", requests_running=2.0)
    checkup, rules = examine(s.passes(minutes=6).window), default_rules()

    assert verdict_of_gpu(checkup, 0, rules).rule == "kv-pool-reserved-idle"
    assert verdict_of_gpu(checkup, 1, rules).rule == "serving-wedged"


def wedged_on_two_of_three() -> Situation:
    """A server on GPUs 0 and 1 makes no token; a program on GPU 2 holds memory and rests."""
    s = Situation(gpus=3)
    for gpu in (0, 1):
        s.gpu(gpu).shows(memory_used_bytes=75 * GIB)
        s.runs({gpu: 74 * GIB}, pid=4121 + gpu, name="VLLM::Worker_TP", parent_pid=4100, parent_name="vllm")
    s.serves("vllm", pid=4100, worker_pids=[4121, 4122], gpus=[0, 1], requests_running=3.0)
    s.gpu(2).shows(memory_used_bytes=20 * GIB)
    s.runs({2: 20 * GIB}, pid=5150, name="python3", command="python3 job.py")
    return s


def test_a_server_that_hangs_on_two_gpus_accounts_for_nothing_of_a_third() -> None:
    rules, s = default_rules(), wedged_on_two_of_three().passes(minutes=6)
    checkup = examine(s.window, rules)

    assert verdict_of_gpu(checkup, 2, rules).rule == "memory-held-idle"


def test_the_gpus_of_a_server_that_hangs_have_its_verdict() -> None:
    rules, s = default_rules(), wedged_on_two_of_three().passes(minutes=6)
    verdicts = [verdict_of_gpu(examine(s.window, rules), gpu, rules) for gpu in (0, 1)]

    assert [("serving-wedged", 0), ("serving-wedged", 1)] == [(v.rule, v.gpu) for v in verdicts]


def test_what_ended_on_a_third_gpu_is_resolved_while_the_server_hangs() -> None:
    s = wedged_on_two_of_three()
    s.gpu(2).shows(utilization_percent=95.0, power_watts=600.0)
    s.runs(pid=5150, command="torchrun train.py")
    s.passes(minutes=10)
    s.gpu(2).shows(utilization_percent=10.0, power_watts=100.0)
    before = followed(s.passes(minutes=5))
    s.gpu(2).shows(utilization_percent=95.0, power_watts=600.0)
    rules, changes = default_rules(), before
    for minutes in (5, 6):
        s.passes(minutes=minutes)
        changes = reconcile(changes.open, examine(s.window, rules), rules, s.window)

    assert "low-util-under-load" in open_rules(before)
    assert "serving-wedged" in open_rules(changes)
    assert "low-util-under-load" not in open_rules(changes)


def test_a_young_engine_does_not_hide_an_old_one_that_is_wedged() -> None:
    s = vllm_idle(minutes=0)
    s.serves("vllm", requests_running=1.0, requests_waiting=3.0)
    s.passes(minutes=6)
    s.serves("vllm", name="vllm:8001", requests_running=1.0, gpus=[0], worker_pids=[7])
    s.passes(seconds=20)

    assert verdict(s) == ("critical", "serving-wedged")


def test_a_server_whose_metrics_are_not_found_is_a_hint_beside_the_state() -> None:
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=9 * GIB)
    s.runs({0: 9 * GIB}, pid=6000, name="llama-server", command="llama-server -m m.gguf")
    diagnosis = diagnosis_of(s.passes(minutes=12))

    assert ("info", "weights-loaded-idle") == (diagnosis.verdict["severity"], diagnosis.verdict["rule"])
    assert "engine-metrics-unreachable" in found(diagnosis)


def test_metrics_that_stopped_answering_are_a_warning() -> None:
    s = vllm_busy(minutes=12)
    s.serves("vllm", metrics_ok=False, requests_running=None, requests_waiting=None)
    s.rates.clear()

    assert verdict(s.passes(minutes=6)) == ("warning", "engine-metrics-unreachable")


# ------------------------------------------------------------------------- one job on several GPUs


def job_on_four(**busy: Any) -> Situation:
    """One job holds four GPUs for 35 minutes; GPU 0 is busy as told, the others do nothing."""
    s = Situation(gpus=4)
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=0.0, power_watts=112.0)
    s.gpu(0).shows(**{"utilization_percent": 100.0, **busy})
    s.runs(dict.fromkeys(range(4), 59 * GIB), name="python3", command="python3 train.py", slurm_job="4711")
    return s


STILL = {"power_watts": 141.0, "memory_utilization_percent": 0.0, "sm_clock_megahertz": 1980.0}


def test_a_stuck_job_accounts_for_its_gpus_that_stand_still() -> None:
    diagnosis = diagnosis_of(job_on_four(**STILL).passes(minutes=35))
    stuck = next(f for f in diagnosis.gpus[0]["findings"] if f["rule"] == "stuck-job")

    assert "allocated-gpus-unused" not in found(diagnosis)
    assert "allocated-gpus-unused" in stuck["explains"]


def test_a_job_that_works_on_one_gpu_leaves_the_others_unused() -> None:
    busy = job_on_four(power_watts=560.0, memory_utilization_percent=40.0, sm_clock_megahertz=1755.0)

    assert "allocated-gpus-unused" in found(diagnosis_of(busy.passes(minutes=35)))


def test_another_job_that_is_stuck_accounts_for_nothing_of_this_one() -> None:
    s = Situation(gpus=4)
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=0.0, power_watts=112.0)
    s.gpu(0).shows(utilization_percent=100.0, power_watts=560.0, memory_utilization_percent=40.0)
    s.gpu(3).shows(utilization_percent=100.0, **STILL)
    s.runs(dict.fromkeys((0, 1), 59 * GIB), pid=71, name="python3", command="train.py", slurm_job="1")
    s.runs({3: 59 * GIB}, pid=72, name="python3", command="train.py", slurm_job="2")
    diagnosis = diagnosis_of(s.passes(minutes=35))

    assert {"stuck-job", "allocated-gpus-unused"} <= found(diagnosis)
