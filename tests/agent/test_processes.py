"""Facts about processes, from a small /proc."""

from __future__ import annotations

import os
import threading
import time

import pytest

from gpudiag.agent.files import TICKS, stat_of
from gpudiag.agent.processes import Processes, belonging
from gpudiag.model import GpuUse, ProcessReading
from tests.agent.machine import FakeHost

BOOTED = 1_000.0


class Watching:
    """Looks at a host every ten seconds."""

    def __init__(self, host: FakeHost) -> None:
        self.processes = Processes(str(host.proc), str(host.sys))
        self.now = 0.0

    def look(self, *pids: int, after: float = 10.0) -> dict[int, ProcessReading]:
        self.now += after
        uses = {pid: [GpuUse(gpu=0, memory_used_bytes=1)] for pid in pids}
        found = self.processes.read(uses, {0: 0, 1: 1}, BOOTED + self.now, self.now, BOOTED)
        return {reading.pid: reading for reading in found}


def test_who_it_is_since_when_and_from_where(host: FakeHost) -> None:
    host.process(40, "bash")
    host.process(
        70, "python3", ["python3", "train.py", "--token", "s3cret"], parent=40, started=500, state="R"
    )
    process = Watching(host).look(70)[70]

    assert (process.name, process.command, process.state) == ("python3", "python3 train.py --token ***", "R")
    assert (process.started_at, process.parent_pid, process.parents) == (1_500.0, 40, ["bash"])
    assert process.user is not None
    assert process.cpus_allowed == [0, 1]


def test_its_hottest_threads(host: FakeHost) -> None:
    watching = Watching(host)
    threads = {70: ("python3", 0), 71: ("worker", 0), 72: ("io", 0), 73: ("quiet", 0), 74: ("log", 0)}
    host.process(70, "python3", threads=threads)
    watching.look(70)
    busy = {
        70: ("python3", 100),
        71: ("worker", 10 * TICKS),
        72: ("io", 300),
        73: ("quiet", 0),
        74: ("log", 5),
    }
    host.process(70, "python3", cpu=14 * TICKS, threads=busy)
    process = watching.look(70)[70]

    assert process.cpu_percent == 140.0
    assert process.threads is not None
    assert [(t.name, t.cpu_percent) for t in process.threads] == [
        ("worker", 100.0),
        ("io", 3000 / TICKS),
        ("python3", 1000 / TICKS),
    ]


def test_an_idle_process_has_no_hot_threads(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "python3")
    watching.look(70)
    process = watching.look(70)[70]

    assert (process.cpu_percent, process.threads) == (0.0, [])


def test_a_thread_that_becomes_hot_later_is_found(host: FakeHost) -> None:
    watching = Watching(host)
    names = {tid: (f"t{tid}", 0) for tid in range(70, 130)}
    host.process(70, "python3", cpu=0, threads=names)
    watching.look(70)
    for step in range(1, 5):
        names |= {129: ("late", step * 10 * TICKS)}
        host.process(70, "python3", cpu=step * 10 * TICKS, threads=names)
        process = watching.look(70)[70]

    assert process.threads is not None
    assert process.threads[0].name == "late"


def test_a_process_stuck_in_the_kernel_tells_where(host: FakeHost) -> None:
    host.process(70, "python3", state="D")
    host.file("70/wchan", "nv_wait_event")
    process = Watching(host).look(70)[70]

    assert (process.state, process.wait_channel) == ("D", "nv_wait_event")


def test_a_pid_that_this_view_does_not_know_is_hidden(host: FakeHost) -> None:
    host.ends(2)  # no kernel thread here: the agent's own pid namespace
    process = Watching(host).look(4711)[4711]

    assert (process.hidden, process.name) == (True, None)
    assert process.gpus is not None


def test_a_pid_of_the_host_is_not_taken_for_another_process_of_a_container(host: FakeHost) -> None:
    host.ends(2)
    host.process(70, "nginx", ["nginx"])
    host.process(71, "python3", ["python3", "serve.py"], opens=["/dev/nvidia0"])
    found = Watching(host).look(70, 71)

    assert (found[70].hidden, found[70].name, found[70].command) == (True, None, None)
    assert (found[71].hidden, found[71].name) == (None, "python3")


def test_a_process_that_ends_between_two_reads_is_gone_and_not_hidden(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "python3")
    watching.look(70)
    host.ends(70)
    process = watching.look(70)[70]

    assert (process.state, process.hidden) == ("gone", None)


def test_the_same_pid_with_another_start_is_another_process(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "first", ["first", "program"], cpu=50 * TICKS)
    watching.look(70)
    host.process(70, "second", ["second", "program"], cpu=1, started=900)
    process = watching.look(70)[70]

    assert (process.command, process.cpu_percent) == ("second program", None)


def test_who_holds_a_gpu_open_without_being_listed_is_found(host: FakeHost) -> None:
    host.process(80, "sleeper", opens=["/dev/null", "/dev/nvidia1", "/dev/nvidiactl"])
    host.process(81, "other", opens=["/dev/null"])
    found = Watching(host).look(70)

    assert set(found) == {70, 80}
    assert (found[80].open_devices, found[80].in_nvml, found[80].gpus) == ([1], False, None)


def test_a_holder_that_closes_its_gpu_is_no_longer_told(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(80, "sleeper", opens=["/dev/nvidia1"])
    assert 80 in watching.look()
    host.process(80, "sleeper", opens=["/dev/null"])

    assert 80 not in watching.look(after=61)


def test_the_server_above_a_worker_is_told_too(host: FakeHost) -> None:
    host.process(50, "vllm", ["python3", "/usr/bin/vllm", "serve", "m"])
    host.process(70, "VLLM::EngineCor", ["VLLM::EngineCore"], parent=50)
    found = Watching(host).look(70)

    assert set(found) == {50, 70}
    assert (found[50].in_nvml, found[50].gpus) == (None, None)


def test_mapped_libraries_tell_the_framework(host: FakeHost) -> None:
    host.process(70, "python3", maps="7f00 r-xp 0 0 0 /x/site-packages/jaxlib/xla_extension.so\n")

    assert Watching(host).look(70)[70].frameworks == ["jax"]


def test_libraries_are_found_beyond_the_first_page_of_a_map(host: FakeHost) -> None:
    """The kernel makes /proc/PID/maps line by line and gives a page at a time."""
    host.process(70, "python3")
    place = host.proc / "70" / "maps"
    place.unlink()
    os.mkfifo(place)
    pages = ("7f00 r-xp 0 0 0 /usr/lib/libc.so.6\n", "7f10 r-xp 0 0 0 /x/jaxlib/xla_extension.so\n")

    def give() -> None:
        with open(place, "w", encoding="utf-8") as maps:
            for page in pages:
                maps.write(page)
                maps.flush()
                time.sleep(0.2)

    giver = threading.Thread(target=give)
    giver.start()
    found = Watching(host).look(70)
    giver.join()

    assert found[70].frameworks == ["jax"]


def test_ranks_come_from_the_environment_and_nothing_else_does(host: FakeHost) -> None:
    host.process(70, "python3")
    host.file("70/environ", "RANK=3\0WORLD_SIZE=8\0HF_TOKEN=hf_secret\0")

    assert Watching(host).look(70)[70].ranks == {"RANK": "3", "WORLD_SIZE": "8"}


def test_its_busiest_children(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "python3")
    host.file("70/task/70/children", "71 72 ")
    for ticks in (0, 8 * TICKS):
        host.process(71, "pt_data_worker", parent=70, cpu=ticks)
        host.process(72, "pt_data_worker", parent=70, cpu=ticks // 2)
        process = watching.look(70)[70]

    assert process.children is not None
    assert [(child.tid, child.cpu_percent) for child in process.children] == [(71, 80.0), (72, 40.0)]


def test_bytes_read_per_second(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "python3")
    host.file("70/io", "rchar: 1\nread_bytes: 1000\nwrite_bytes: 0\n")
    watching.look(70)
    host.file("70/io", "rchar: 1\nread_bytes: 51000\nwrite_bytes: 100\n")
    process = watching.look(70)[70]

    assert (process.read_bytes_per_second, process.write_bytes_per_second) == (5000, 10)


def test_the_quota_of_its_control_group(host: FakeHost) -> None:
    watching = Watching(host)
    host.process(70, "python3", cgroup="0::/kubepods/podx/c1")
    for throttled in (0, 5_000_000):
        host.sys_file("fs/cgroup/kubepods/podx/c1/cpu.stat", f"usage_usec 1\nthrottled_usec {throttled}\n")
        host.sys_file("fs/cgroup/kubepods/podx/c1/memory.events", "low 0\noom_kill 2\n")
        process = watching.look(70)[70]

    assert (process.cpu_quota_throttled_ratio, process.oom_kills) == (0.5, 2)


CONTAINER = "ab" * 32
POD = "0a1b2c3d_0000_1111_2222_333344445555"


@pytest.mark.parametrize(
    ("cgroup", "found"),
    [
        (
            f"/kubepods.slice/kubepods-pod{POD}.slice/cri-containerd-{CONTAINER}.scope",
            {"container": CONTAINER[:12], "pod": POD.replace("_", "-")},
        ),
        (f"/system.slice/docker-{CONTAINER}.scope", {"container": CONTAINER[:12]}),
        (f"/docker/{CONTAINER}", {"container": CONTAINER[:12]}),
        ("/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", {"slurm_job": "4711"}),
        ("/slurm/uid_1000/job_4711/step_batch", {"slurm_job": "4711"}),
        ("/system.slice/vllm.service", {"unit": "vllm.service"}),
        ("/user.slice/user-1000.slice/session-3.scope", {"unit": "session-3.scope"}),
        ("/", {}),
    ],
)
def test_a_control_group_tells_where_a_process_belongs(cgroup: str, found: dict[str, str]) -> None:
    place = belonging(cgroup)
    if "slurm_job" in found:
        place.pop("unit", None)

    assert place == found


def test_a_name_with_parentheses_and_newlines(host: FakeHost) -> None:
    host.process(70, "a) R 1 (b\n\x1b[31m")
    stat = stat_of(str(host.proc / "70" / "stat"))
    name = Watching(host).look(70)[70].name

    assert stat is not None
    assert stat.state == "S"
    assert name is not None
    assert name.isprintable()


def test_the_real_proc_of_this_machine_is_understood() -> None:
    import os

    found = Processes().read({os.getpid(): []}, {}, 0.0, 0.0, 0.0)
    mine = next(reading for reading in found if reading.pid == os.getpid())

    assert mine.command is not None
    assert mine.thread_count is not None
    assert mine.parents
