"""Situations of process-list-hidden and its look-alikes."""

from gpudiag.rule import Case
from gpudiag.rules.pastes import runs, sample, shown
from gpudiag.rules.situations import GIB
from gpudiag.window import Window


def _busy() -> Window:
    return sample(shown(memory_used_bytes=8 * GIB, utilization_percent=65.0), process_list="empty")


def _nearly_full() -> Window:
    return sample(shown(memory_used_bytes=23 * GIB), process_list="empty")


def _in_a_container() -> Window:
    return sample(shown(memory_used_bytes=7 * GIB), process_list="none", hints=["container"])


def _vgpu_guest() -> Window:
    return sample(shown(memory_used_bytes=GIB, virtualization="vgpu"), process_list="empty")


def _named() -> Window:
    return sample(shown(memory_used_bytes=7 * GIB), processes=(runs(memory_used_bytes=7 * GIB),))


def _cut() -> Window:
    return sample(shown(memory_used_bytes=7 * GIB), process_list="cut")


CASES = [
    Case("load and memory, and an empty process part", _busy, "fires", severity="info"),
    Case("nearly full, and an empty process part", _nearly_full, "fires", severity="warning"),
    Case("in a container the list cannot name anybody", _in_a_container, "fires", variant="container"),
    Case("a vGPU guest keeps a reservation of its own", _vgpu_guest, "clear"),
    Case("the process is named", _named, "clear"),
    Case("the process part is cut: paste-incomplete", _cut, "clear"),
    Case("nothing is held and nothing runs", lambda: sample(shown(), process_list="empty"), "clear"),
]
