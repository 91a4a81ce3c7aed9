"""What the kernel log tells, through the whole judge: roots, consequences, boots, every number."""

from __future__ import annotations

import pytest

from gpudiag.changes import reconcile
from gpudiag.examine import default_rules, examine, judge
from gpudiag.explain import explain
from gpudiag.rules.faults.asked import asked
from gpudiag.rules.pastes import kernel_lines
from gpudiag.rules.situations import Situation
from gpudiag.verdict import verdict_of_node
from gpudiag.window import Window
from gpudiag.xid import catalogue, has_a_rule

LINE = "[{at}.0] NVRM: Xid (PCI:0000:19:00): {number}, pid=4242, name=python3, some text"
EVENT_RULES = frozenset(
    {
        "gpu-lost-bus", "xid-hardware", "xid-application", "ecc-uncorrectable-new", "ecc-corrected-rate",
        "gpu-needs-reset", "gsp-timeout", "xid-nvlink", "xid-unknown", "row-remap-pending",
        "row-remap-failed",
        "power-connector-missing",
    }
)  # fmt: skip


def line(number: int, at: int = 100, text: str = "some text") -> str:
    return LINE.format(number=number, at=at).replace("some text", text)


def found(window: Window) -> dict[str, str]:
    return {finding.rule: finding.severity for finding in examine(window).findings}


@pytest.mark.parametrize("number", [*range(1, 190), 999, 123_456])
def test_every_number_has_exactly_one_rule(number: int) -> None:
    text = "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset)" if number == 154 else "text"
    spoke = EVENT_RULES & found(kernel_lines(line(number, text=text))).keys()

    assert len(spoke) == 1
    assert ("xid-unknown" in spoke) == (number not in has_a_rule())


def test_the_catalogue_has_its_numbers() -> None:
    assert len(catalogue()) > 100
    assert catalogue()[79].immediate == "RESTART_BM"
    assert 50 not in catalogue()


def test_a_contained_error_is_one_finding() -> None:
    findings = examine(kernel_lines(line(48), line(63, 100), line(94, 101), line(45, 102))).findings

    assert [f.rule for f in findings] == ["ecc-uncorrectable-new"]
    assert any(e.name == "followed_by" and "45" in str(e.value) for e in findings[0].evidence)


@pytest.mark.parametrize("root", [48, 64, 79, 94, 95, 119, 120, 140])
@pytest.mark.parametrize("follower", [13, 31, 43, 45])
def test_a_consequence_is_attached_to_its_root(root: int, follower: int) -> None:
    assert "xid-application" not in found(kernel_lines(line(root), line(follower, 130)))


@pytest.mark.parametrize("follower", [13, 31, 43, 45])
def test_two_minutes_later_it_stands_for_itself(follower: int) -> None:
    assert "xid-application" in found(kernel_lines(line(119), line(follower, 230)))


def test_what_came_before_the_fault_is_no_consequence() -> None:
    assert "xid-application" in found(kernel_lines(line(31), line(79, 110)))


def test_the_same_minute_on_another_card_is_no_consequence() -> None:
    other = line(31, 110).replace("0000:19", "0000:1a")

    assert "xid-application" in found(kernel_lines(line(79), other))


def test_hundreds_of_lines_are_one_finding() -> None:
    lines = [line(119, 100 + 45 * i) for i in range(200)]

    assert [f.rule for f in examine(kernel_lines(*lines)).findings] == ["gsp-timeout"]


def test_a_reset_command_never_names_a_guessed_card() -> None:
    diagnosis = explain(examine(kernel_lines(line(62).replace("0000:19", "0000:c3"))))
    commands = [step["command"] or "" for finding in diagnosis.findings for step in finding["next_steps"]]

    assert any("--gpu-reset -i 0000:c3:00.0" in command for command in commands)


def test_every_reset_lets_our_own_agent_go_first() -> None:
    for rule in default_rules().rules:
        from gpudiag.words.pages import page_of

        for language in ("en", "ko"):
            page = page_of(rule.module, rule.id, language)
            for command in page.markdown.splitlines():
                if "--gpu-reset" in command and "`" in command:
                    assert "gpudiag agent release" in command, (rule.id, command)


def test_the_agents_event_is_blamed_on_its_gpu() -> None:
    s = Situation(gpus=4).passes(minutes=5)
    s.logs("xid", line(79), number=79, bus_id="0000:1b:00")
    window = s.passes(minutes=1).window
    verdict = verdict_of_node(examine(window), default_rules())

    assert (verdict.severity, verdict.rule, verdict.gpu) == ("critical", "gpu-lost-bus", 2)


def test_a_fault_stays_while_the_node_goes_on_reporting() -> None:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", line(62), number=62, bus_id="0000:19:00")
    window = s.passes(minutes=40).window

    assert found(window)["xid-hardware"] == "critical"


def test_a_reboot_ends_the_faults_of_the_boot_before() -> None:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", line(62), number=62, bus_id="0000:19:00").passes(minutes=1)
    s.is_silent(600)
    s.machine(boot_id="boot-2", booted_at=s.now - 300)
    window = s.passes(minutes=1).window

    assert "xid-hardware" not in found(window)


@pytest.mark.parametrize(
    ("asked_for", "left"),
    [(1, []), (4, []), (6, []), (0, ["ecc-uncorrectable-new"]), (2, ["ecc-uncorrectable-new"])],
)
def test_only_a_reset_that_the_driver_confirms_ends_a_fault(asked_for: int, left: list[str]) -> None:
    """Counters at zero are no proof: root can clear them, and a node that is to be rebooted was not."""
    s = Situation(gpus=2).passes(minutes=1)
    s.gpu(0).shows(ecc_uncorrected_volatile=1)
    s.logs("xid", line(95), number=95, bus_id="0000:19:00").passes(minutes=1)
    opened = reconcile({}, judge(s.window), default_rules(), s.window).open
    window = asked(s, asked_for).passes(minutes=10).window
    after = reconcile(opened, judge(window), default_rules(), window)

    assert left == sorted({rule for rule, _, _ in after.open} & {"ecc-uncorrectable-new"})


def test_a_single_odd_reading_is_no_reset() -> None:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", line(62), number=62, bus_id="0000:19:00").passes(minutes=1)
    s.gpu(0).shows(recovery_action=1)
    s.reports()
    s.gpu(0).shows(recovery_action=0)

    assert found(s.passes(minutes=1).window)["xid-hardware"] == "critical"


def test_a_reset_of_one_gpu_ends_no_fault_of_another() -> None:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", line(62), number=62, bus_id="0000:1a:00").passes(minutes=1)

    assert found(asked(s).window)["xid-hardware"] == "critical"


def test_a_lost_gpu_says_nothing_else() -> None:
    s = Situation(gpus=2).passes(minutes=5)
    s.logs("xid", line(79), number=79, bus_id="0000:19:00").logs(
        "xid", line(62), number=62, bus_id="0000:19:00"
    )
    checkup = examine(s.passes(minutes=1).window)

    assert [f.rule for f in checkup.findings if f.gpu == 0] == ["gpu-lost-bus"]


def test_a_fault_outweighs_a_busy_neighbour() -> None:
    s = Situation(gpus=2)
    s.gpu(1).shows(utilization_percent=98.0, power_watts=650.0, clocks_event_reasons=0x4)
    s.passes(minutes=5)
    s.logs("xid", line(31), number=31, bus_id="0000:19:00", pid=4242, process="python3")
    verdict = verdict_of_node(examine(s.passes(minutes=1).window), default_rules())

    assert verdict.rule == "xid-application" and verdict.severity == "info"


def test_without_the_log_an_xid_of_nvml_speaks_and_the_rest_is_not_called_clear() -> None:
    s = Situation(gpus=1).passes(minutes=1)
    s.agent.kernel_log_readable = False
    s.logs("xid", "NVML event: Xid 62 on GPU 0", number=62, gpu=0, bus_id="00000000:19:00.0")
    checkup = examine(s.passes(minutes=1).window)

    assert "xid-hardware" in {finding.rule for finding in checkup.findings}
    assert {"gsp-timeout", "xid-nvlink", "gpu-init-failed"} <= {entry.rule for entry in checkup.unjudged}


def test_a_flood_of_clean_up_does_not_push_out_the_fault() -> None:
    s = Situation(gpus=2).passes(minutes=1)
    s.logs("xid", line(62), number=62, bus_id="0000:19:00")
    for minute in range(30):
        for pid in range(20):
            s.logs("xid", line(45), number=45, bus_id="0000:1a:00", pid=100 * minute + pid)
        s.passes(minutes=1)

    assert "xid-hardware" in found(s.window)
