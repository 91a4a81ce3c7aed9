"""Why a rule did not fire: clear, not asked, not judged, or accounted for by another."""

from __future__ import annotations

from gpudiag.examine import Ruleset, default_rules
from gpudiag.rules.situations import GIB, Situation, vllm_busy, vllm_idle
from gpudiag.why_not import account_of
from gpudiag.window import Window


def account(rule: str, window: Window, rules: Ruleset | None = None) -> str:
    rules = rules or default_rules()
    return "\n".join(account_of(rules.by_id[rule], window, rules))


def test_a_rule_that_fires_says_with_what() -> None:
    said = account("kv-pool-reserved-idle", vllm_idle().window)

    assert "GPU 0: fires as ok; memory_used_bytes = " in said
    assert "accounts for it" not in said


def test_a_rule_that_is_clear_says_so() -> None:
    assert "GPU 0: clear" in account("kv-pool-reserved-idle", vllm_busy().window)


def test_what_was_not_measured_is_named() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB, utilization_percent=100.0, power_watts=141.0)
    s.gpu(0).hides("memory_utilization_percent")
    said = account("stuck-job", s.passes(minutes=20).window)

    assert "GPU 0: cannot judge, missing memory_utilization_percent" in said


def test_thresholds_in_force_are_shown() -> None:
    strict = Ruleset(thresholds={"kv-pool-reserved-idle": {"min_quiet_share": 0.5}})

    assert "min_quiet_share = 50 %" in account("kv-pool-reserved-idle", vllm_idle().window, strict)


def test_what_another_finding_accounts_for_is_told() -> None:
    s = Situation()
    s.all_gpus(memory_used_bytes=60 * GIB, power_watts=70.0)
    s.runs({0: 59 * GIB}, pid=4121, name="VLLM::EngineCore", command="VLLM::EngineCore",
           parent_pid=1, parent_name="systemd")  # fmt: skip
    said = account("memory-held-idle", s.passes(minutes=6).window)

    assert "fires as" in said
    assert "GPU 0: not told by itself, since orphaned-engine accounts for it" in said


def test_it_is_told_in_korean_with_the_same_names() -> None:
    rules = default_rules()

    def told(rule: str, window: Window) -> str:
        return "\n".join(account_of(rules.by_id[rule], window, rules, "ko"))

    idle, busy = vllm_idle().window, vllm_busy().window
    assert "GPU 0: 진단 있음(ok). memory_used_bytes = " in told("kv-pool-reserved-idle", idle)
    assert "적용 중인 임계값: min_used_share = " in told("kv-pool-reserved-idle", idle)
    assert "GPU 0: 해당 없음." in told("kv-pool-reserved-idle", busy)
    assert "서버에 물어보십시오" in told("hang-suspect-rank", idle)
    assert "노드에 GPU가 보이지 않아" in told("gpu-free", Situation(gpus=0).passes(minutes=1).window)


def test_a_fleet_rule_says_whom_to_ask() -> None:
    rule = next(rule for rule in default_rules().rules if rule.subject == "fleet")

    assert "ask the server" in account(rule.id, vllm_idle().window)
