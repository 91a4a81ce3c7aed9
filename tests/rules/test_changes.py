"""What stays open, and what is not named twice."""

from __future__ import annotations

from gpudiag.changes import OpenFinding, key_of, reconcile, still_open
from gpudiag.examine import default_rules, judge
from gpudiag.model import Finding
from gpudiag.rules.situations import GIB, Situation, vllm_idle


def test_an_open_finding_is_not_named_beside_the_one_that_accounts_for_it() -> None:
    window, rules = vllm_idle().window, default_rules()
    checkup = judge(window, rules)
    gpu = window.gpus_in_order()[0].reading
    held = Finding(
        rule="memory-held-idle", severity="info", confidence="possible", gpu=0, gpu_uuid=gpu.uuid, since=1.0
    )
    pool = next(finding for finding in checkup.findings if finding.rule == "kv-pool-reserved-idle")
    pool.explains = ["memory-held-idle"]
    open_findings = {key_of(held): OpenFinding(finding=held, opened_at=1.0, last_seen_at=1.0)}
    changes = reconcile(open_findings, checkup, rules, window)

    assert "memory-held-idle" not in [finding.rule for finding in still_open(changes.open, checkup, rules)]


def test_metrics_that_were_missed_first_are_not_named_beside_the_orphans_that_explain_it() -> None:
    """The server was on two GPUs, so its metrics are the node's finding; its orphans are a GPU's each."""
    rules, s = default_rules(), Situation(gpus=2)
    for gpu in (0, 1):
        s.runs({gpu: 70 * GIB}, pid=4121 + gpu, name="VLLM::Worker", parent_pid=4100, parent_name="vllm")
    server = s.serves("vllm", pid=4100, worker_pids=[4121, 4122], health_ok=False, metrics_ok=False,
                      port_open=True)  # fmt: skip
    silent = judge(s.passes(minutes=20).window, rules)
    opened = reconcile({}, silent, rules, s.window).open
    server.port_open = server.parent_alive = False
    for pid in (4121, 4122):
        s.runs(pid=pid, parent_pid=1, parent_name="systemd")
    orphaned = judge(s.passes(minutes=2).window, rules)
    changes = reconcile(opened, orphaned, rules, s.window)

    assert "engine-metrics-unreachable" in {finding.rule for finding in silent.findings}
    named = {finding.rule for finding in still_open(changes.open, orphaned, rules)}
    assert {"orphaned-engine"} == {"orphaned-engine", "engine-metrics-unreachable"} & named


def test_an_open_finding_stays_named_until_it_has_been_clear_for_long_enough() -> None:
    window, rules = vllm_idle().window, default_rules()
    checkup = judge(window, rules)
    hot = Finding(rule="thermal-hw-slowdown", severity="critical", confidence="proven", gpu=0, since=1.0)
    hot.gpu_uuid = window.gpus_in_order()[0].reading.uuid
    open_findings = {key_of(hot): OpenFinding(finding=hot, opened_at=1.0, last_seen_at=1.0)}
    changes = reconcile(open_findings, checkup, rules, window)

    assert [] == changes.resolved
    assert "thermal-hw-slowdown" in [finding.rule for finding in still_open(changes.open, checkup, rules)]


def test_a_normal_state_ends_where_it_can_be_told_no_more() -> None:
    rules, s = default_rules(), vllm_idle()
    opened = reconcile({}, judge(s.window, rules), rules, s.window).open
    s.gpu(0).hides("utilization_percent", "memory_used_bytes")
    for seconds in (20, 400, 130):  # the last five minutes must be without a value, too
        checkup = judge(s.passes(seconds=seconds).window, rules)
        opened = reconcile(opened, checkup, rules, s.window).open

    assert "kv-pool-reserved-idle" in {entry.rule for entry in checkup.unjudged}
    assert [] == still_open(opened, checkup, rules)


def test_a_fault_outlasts_that_it_can_be_told_no_more() -> None:
    rules, s = default_rules(), Situation()
    s.gpu(0).shows(clocks_event_reasons=0x40, utilization_percent=95.0, temperature_celsius=91.0)
    opened = reconcile({}, judge(s.passes(minutes=6).window, rules), rules, s.window).open
    s.gpu(0).hides("clocks_event_reasons")
    for seconds in (20, 400, 130):
        checkup = judge(s.passes(seconds=seconds).window, rules)
        opened = reconcile(opened, checkup, rules, s.window).open

    assert "thermal-hw-slowdown" in {finding.rule for finding in still_open(opened, checkup, rules)}
