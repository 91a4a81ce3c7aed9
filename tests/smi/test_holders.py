"""`fuser -v /dev/nvidia*`: who has a GPU open, which a list of the tool may hide."""

from __future__ import annotations

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import read, window_of
from tests.smi import writers
from tests.smi.tables import gpu, machine

HOLDERS = (
    "                     USER        PID ACCESS COMMAND\n"
    "/dev/nvidia0:        root       1870 F.... nvidia-persiste\n"
    "                     alice     41332 F...m python\n"
    "/dev/nvidia1:        alice     41332 F...m python\n"
    "/dev/nvidiactl:      bob       51332 F...m monitor\n"
    "/dev/nvidia-uvm:     alice     41332 F...m python\n"
)


def diagnosis(text: str) -> Diagnosis:
    return explain(examine(window_of(text, now=1.0)))


def test_who_has_a_gpu_mapped_is_on_it() -> None:
    (process,) = read(HOLDERS, now=1.0).snapshots[-1].processes

    assert (41332, "python", "alice") == (process.pid, process.name, process.user)
    assert [(0, None), (1, None)] == [(use.gpu, use.memory_used_bytes) for use in process.gpus or ()]


def test_holders_alone_do_not_tell_how_the_gpus_are() -> None:
    said = diagnosis(HOLDERS)

    assert "unknown" == said.verdict["severity"]
    assert "lists the programs" in said.verdict["headline"]


def test_a_holder_is_named_beside_a_table_that_hides_it() -> None:
    table = writers.table(machine(gpu(0, memory_used_bytes=60 << 30, utilization_percent=0.0)))

    assert "python (pid 41332)" in diagnosis(table + HOLDERS).verdict["headline"]
