"""What a page tells to be typed works for who is woken: with the rights it needs, and looking first."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from gpudiag.examine import all_rules, examine
from gpudiag.explain import explain
from gpudiag.rule import Rule
from gpudiag.rules.clocks.stuck_job.cases import SPIN
from gpudiag.rules.situations import GIB, Situation
from gpudiag.smi import window_of
from gpudiag.words import LANGUAGES, Language
from gpudiag.words.pages import Step, page_of

RULES = all_rules()
NAMES = [rule.id for rule in RULES]
ROOTS_OWN = re.compile(r"(?<!sudo )(?:dmesg\b|py-spy |gpudiag agent release|journalctl -u nvidia|fuser )")
BREAKS = re.compile(r"--gpu-reset|poweroff|power cycle|\breboot\b|\bkill |rmmod|modprobe -r|\brestart\b")


def lists_of_steps(rule: Rule, language: Language) -> Iterator[list[Step]]:
    """The steps of every wording of a rule's page."""
    page = page_of(rule.module, rule.id, language)
    yield from (page.steps(variant) for name, variant in page.sections if name == "next")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_command_that_is_for_root_says_sudo(rule: Rule, language: Language) -> None:
    commands = [step.command or "" for steps in lists_of_steps(rule, language) for step in steps]

    assert [command for command in commands if ROOTS_OWN.search(command)] == []


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_no_page_begins_with_what_stops_work(rule: Rule, language: Language) -> None:
    first = [steps[0].command or "" for steps in lists_of_steps(rule, language)]

    assert [command for command in first if BREAKS.search(command)] == []


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_both_languages_have_the_same_steps(rule: Rule) -> None:
    english, korean = (page_of(rule.module, rule.id, language) for language in LANGUAGES)

    assert english.sections.keys() == korean.sections.keys()
    for variant in (variant for name, variant in english.sections if name == "next"):
        assert [s.command for s in english.steps(variant)] == [s.command for s in korean.steps(variant)]


@pytest.mark.parametrize(("limit", "lower"), [(700.0, "560"), (72.0, "58"), (None, "WATTS")])
def test_a_lower_power_limit_is_one_that_the_card_can_take(limit: float | None, lower: str) -> None:
    s = Situation()
    s.gpu(0).shows(
        power_limit_watts=limit, temperature_memory_celsius=104.0, temperature_memory_max_celsius=105.0
    )
    (gpu,) = explain(examine(s.passes(minutes=6).window)).gpus
    steps = next(f["next_steps"] for f in gpu["findings"] if f["rule"] == "hbm-hot")

    assert f"sudo nvidia-smi -i 0 -pl {lower}" in [step["command"] for step in steps]


@pytest.mark.parametrize(
    ("owner", "command"),
    [
        ({"pod": "llm-0", "namespace": "serving"}, "kubectl cordon node-1"),
        ({"slurm_job": "48213"}, 'scontrol update nodename=node-1 state=drain reason="GPU fan"'),
        ({}, 'scontrol update nodename=node-1 state=drain reason="GPU fan"'),
    ],
    ids=["pods", "Slurm jobs", "neither"],
)
def test_new_work_is_kept_off_a_node_by_the_scheduler_that_it_has(
    owner: dict[str, str], command: str
) -> None:
    s = Situation()
    s.gpu(0).shows(fan_count=2, fan_percent=0.0, temperature_celsius=81.0)
    s.runs({0: 8 * GIB}, name="python3", **owner)
    (gpu,) = explain(examine(s.passes(minutes=6).window)).gpus
    steps = next(f["next_steps"] for f in gpu["findings"] if f["rule"] == "fan-failure")

    assert command in [step["command"] for step in steps]


@pytest.mark.parametrize(
    ("owner", "command"),
    [
        ({"slurm_job": "48213"}, "scancel 48213"),
        ({"pod": "train-0", "namespace": "vision"}, "kubectl -n vision delete pod train-0"),
        ({}, "kill 7200"),
    ],
    ids=["Slurm job", "pod", "neither"],
)
def test_a_job_that_hangs_is_cancelled_as_a_whole_after_its_stack_was_taken(
    owner: dict[str, str], command: str
) -> None:
    s = Situation(gpus=4)
    for rank in s.gpus:
        s.runs({rank: 59 * GIB}, pid=7200 + rank, parent_pid=7190, name="python3", **owner)
    s.all_gpus(**SPIN)
    s.gpu(3).shows(utilization_percent=0.0, power_watts=112.0)
    gpus = explain(examine(s.passes(minutes=20).window)).gpus
    steps = next(f["next_steps"] for f in gpus[0]["findings"] if f["rule"] == "stuck-job")
    typed = [step["command"] for step in steps]

    assert command in typed
    assert typed[0].startswith("sudo py-spy dump --pid 720")


@pytest.mark.parametrize(
    ("line", "asked"), [("0000:4e:00", "DCGM_ID"), (None, "1")], ids=["address", "number"]
)
def test_dcgm_is_told_a_number_and_never_an_address(line: str | None, asked: str) -> None:
    if line is not None:
        window = window_of(f"NVRM: Xid (PCI:{line}): 64, Row Remapper: Error, remapping failed.")
    else:
        s = Situation(gpus=2)
        s.gpu(1).shows(row_remap_failed=True)
        window = s.passes(minutes=6).window
    said = explain(examine(window))
    findings = said.findings + [finding for gpu in said.gpus for finding in gpu["findings"]]
    steps = next(f["next_steps"] for f in findings if f["rule"] == "row-remap-failed")

    assert f"dcgmi diag -r 4 -i {asked}" in [step["command"] for step in steps]


@pytest.mark.parametrize(("now", "kept"), [(True, "1"), (False, "0")], ids=["on", "off"])
def test_a_change_of_ecc_is_taken_back_to_what_it_is_now(now: bool, kept: str) -> None:
    s = Situation()
    s.gpu(0).shows(ecc_mode=now, ecc_mode_pending=not now)
    (gpu,) = explain(examine(s.passes(minutes=6).window)).gpus
    steps = next(f["next_steps"] for f in gpu["findings"] if f["rule"] == "ecc-mode-unexpected")

    assert f"sudo nvidia-smi -i 0 -e {kept}" in [step["command"] for step in steps]


@pytest.mark.parametrize(("there", "pid"), [(True, "4711"), (False, "PID")], ids=["seen", "nobody seen"])
def test_a_stack_is_taken_of_the_program_that_holds_the_gpu(there: bool, pid: str) -> None:
    s = Situation()
    s.gpu(0).shows(
        utilization_percent=100.0, power_watts=200.0, sm_active_ratio=0.05, memory_used_bytes=30 * GIB
    )
    if there:
        s.runs({0: 29 * GIB}, pid=4711, name="python3", command="python3 simulate.py")
        s.runs({0: 1 * GIB}, pid=900, name="Xorg", command="/usr/lib/xorg/Xorg")
    (gpu,) = explain(examine(s.passes(minutes=20).window)).gpus
    steps = next(f["next_steps"] for f in gpu["findings"] if f["rule"] == "busy-but-inefficient")

    assert f"sudo py-spy dump --pid {pid}" in [step["command"] for step in steps]
