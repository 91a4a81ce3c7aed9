"""Situations of paste-incomplete and its look-alikes."""

from gpudiag.model import ProcessReading
from gpudiag.rule import Case
from gpudiag.rules.pastes import runs, sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window


def _lacks(*missing: str) -> Window:
    return sample(shown(), missing=list(missing), gpus_announced=4)


def _two_of_eight() -> Window:
    return sample(shown(0), shown(1), missing=["gpus"], gpus_whole=2, gpus_cut=1)


def _only_processes() -> Window:
    return sample(processes=(runs(memory_used_bytes=GIB),), missing=["gpu_part"], gpus_whole=0)


def _programs(*processes: ProcessReading) -> Window:
    return sample(processes=processes, missing=["programs"], gpus_whole=0)


def _listing() -> Window:
    return _lacks("state")


def _two_machines() -> Window:
    return sample(shown(), missing=["other_machine"], machine="gpu02", machines=2)


def _ten_broken() -> Window:
    names = [f"gpu{number:02}" for number in range(1, 11)]
    return sample(shown(), missing=["other_machine"], machine="gpu12", machines=12, broken_machines=names)


def _three_lists() -> Window:
    return sample(shown(), missing=["other_list"], machine="#1", machines=3, broken_machines=["#2"])


def _no_process_part() -> Window:
    return sample(shown(), process_list="absent")


CASES = [
    Case("a row of the table ends in the middle", _two_of_eight, "fires", gpu=None, severity="info"),
    Case("XML without its end", lambda: _lacks("document"), "fires", gpu=None, variant="cut-short"),
    Case("a process list without its GPUs", _only_processes, "fires", gpu=None, variant="fragment"),
    Case("a list without its end", lambda: _lacks("processes"), "fires", gpu=None, variant="process-list"),
    Case("all lines run together", lambda: _lacks("joined"), "fires", gpu=None, variant="joined"),
    Case("two machines", _two_machines, "fires", gpu=None, variant="other-machine"),
    Case("twelve machines, ten look broken", _ten_broken, "fires", gpu=None, variant="others-broken"),
    Case("three lists that name no host and no time", _three_lists, "fires", gpu=None, variant="lists"),
    Case("a list of GPUs without their state", _listing, "fires", gpu=None, variant="no-state"),
    Case("a list of programs without the state of the GPUs", lambda: _programs(runs(memory_used_bytes=GIB)),
         "fires", gpu=None, variant="programs"),
    Case("an empty list of programs", lambda: _programs(), "fires", gpu=None, variant="no-programs"),
    Case("what the driver's accounting kept", lambda: _lacks("accounted"), "fires", gpu=None,
         variant="accounted"),
    Case("the versions alone", lambda: _lacks("version"), "fires", gpu=None, variant="version"),
    Case("one of four attached GPUs", lambda: _lacks("fewer"), "fires", gpu=None, variant="fewer"),
    Case("a whole table", lambda: sample(shown()), "clear", gpu=None),
    Case("no process part, and nothing claimed about processes", _no_process_part, "clear", gpu=None),
]  # fmt: skip
