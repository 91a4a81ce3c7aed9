"""Through the real API over HTTP: silence, clocks, doubles, what stays open, what several nodes show."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.fleet import Fleet
from tests.scenarios.host import Host
from tests.scenarios.scenario import Outcome, scenario

TORCH = "/usr/lib/libtorch_cuda.so /usr/lib/libcudart.so.12"


def trains(host: Host, job: str = "4711", gpus: int = 1) -> None:
    for gpu in range(gpus):
        host.process(
            5400 + gpu,
            "torchrun train.py",
            on={gpu: 60 * GIB},
            libraries=TORCH,
            cpu=90,
            sm_percent=95,
            cgroup=f"0::/slurm/uid_1000/job_{job}/step_0",
            ranks={"RANK": str(gpu), "WORLD_SIZE": str(gpus)},
        )
        host.gpu(gpu).computes(97, watts=610, memory_percent=55)


@scenario("agent-stale", "warning", "An idle node goes silent for two minutes.", over_http=True)
def idle_node_goes_silent(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(6)
        fleet.reports().time_passes(120)
        fleet.asked_about("node-1")


@scenario("agent-stale", "critical", "A node that worked goes silent for six minutes.", over_http=True)
def busy_node_goes_silent(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            trains(host)
            host.for_minutes(6)
        fleet.reports().time_passes(360)
        fleet.asked_about("node-1")


@scenario(
    "healthy-busy", "ok", "Reports come ten seconds late: no silence.", never=("agent-stale",), over_http=True
)
def reports_come_late(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            trains(host)
            host.for_minutes(6)
        fleet.reports(late=10).time_passes(15)
        fleet.asked_about("node-1")


@scenario(
    "healthy-busy",
    "ok",
    "The network was away for two minutes; the agent catches up.",
    also=("agent-stale",),
    never=("agent-stale", "clock-skew"),
    over_http=True,
)
def agent_catches_up(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            trains(host)
            host.for_minutes(8)
        fleet.reports(per_request=12).time_passes(5)
        fleet.asked_about("node-1")


@scenario(
    "server-ingest-gap",
    "warning",
    "All of four nodes go silent at once: the server or the network.",
    over_http=True,
    also=("agent-stale",),
    never=("common-cause",),
)
def everybody_goes_silent(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(6)
        fleet.same_as("node-1", "node-2", "node-3", "node-4")
        fleet.reports().time_passes(180)
        fleet.asked_about_all()


@scenario(
    "agent-stale", "warning", "One of four nodes goes silent.", never=("server-ingest-gap",), over_http=True
)
def one_of_four_goes_silent(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(9)
        fleet.same_as("node-1", "node-2", "node-3", "node-4")
        fleet.drops("node-4", after=360)
        fleet.reports()
        fleet.asked_about("node-4")


@scenario(
    "clock-skew",
    "warning",
    "A node's clock is 90 s ahead: it is said, and its window is right.",
    finds=("gpu-free",),
    never=("agent-stale",),
    over_http=True,
)
def clock_is_ahead(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1", skew=90.0) as host:
            host.for_minutes(6)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "A batch of 90 s is sent in one request: late, and no skew.",
    never=("clock-skew", "agent-stale"),
    over_http=True,
)
def batch_of_ninety_seconds(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(6)
        fleet.reports(per_request=9)
        fleet.asked_about("node-1")


@scenario(
    "gpu-lost-bus",
    "critical",
    "A GPU fell off the bus; the node then goes silent: the fault stands.",
    over_http=True,
    also=("agent-stale", "xid-hardware", "gpu-count-changed"),
)
def fault_outlives_silence(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1", gpus=2) as host:
            host.for_minutes(2)
            host.gpu(1).double.is_lost()
            host.kernel_log("NVRM: Xid (PCI:0000:20:00): 79, pid=1, name=x, GPU has fallen off the bus.")
            host.for_minutes(3)
        fleet.reports().time_passes(120)
        fleet.asked_about("node-1")


@scenario(
    "xid-hardware",
    "critical",
    "Two hours after an Xid 62 nothing else happened: it stays open until somebody acts.",
    over_http=True,
    also=("gsp-timeout",),
)
def fault_does_not_heal_by_itself(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(2)
            host.kernel_log(
                "NVRM: Xid (PCI:0000:18:00): 62, pid=5400, name=python3, Internal micro-controller halt"
            )
            host.for_minutes(120)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "After a reboot the fault of before is closed.",
    over_http=True,
    never=("xid-hardware", "gpu-count-changed", "agent-stale"),
)
def reboot_closes_a_fault(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.for_minutes(2)
            host.kernel_log(
                "NVRM: Xid (PCI:0000:18:00): 62, pid=5400, name=python3, Internal micro-controller halt"
            )
            host.for_minutes(3)
            host.reboots()
            host.for_minutes(14)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "gpu-count-changed", "critical", "Eight GPUs are declared, seven answer from the start.", over_http=True
)
def fewer_gpus_than_declared(outcome: Outcome) -> None:
    with Fleet(outcome, config='[nodes."node-*"]\nexpected_gpus = 8\n') as fleet:
        with fleet.plays("node-1", gpus=7) as host:
            host.for_minutes(4)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "unknown-process",
    "info",
    "Only vLLM is allowed here, and a miner works.",
    over_http=True,
    finds=("unknown-process",),
)
def program_that_is_not_allowed(outcome: Outcome) -> None:
    with Fleet(outcome, config='[nodes."node-*"]\nworkloads = ["vllm*", "VLLM*"]\n') as fleet:
        with fleet.plays("node-1") as host:
            host.process(6600, "./ethminer --pool x", on={0: 5 * GIB}, cpu=5, sm_percent=99)
            host.gpu(0).computes(99, watts=400, memory_percent=90)
            host.for_minutes(6)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "common-cause",
    "info",
    "Four of four nodes lose their InfiniBand port within a minute.",
    over_http=True,
    also=("ib-link-problem",),
)
def everybody_has_the_same_fault(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.files.infiniband("mlx5_0")
            host.for_minutes(3)
            host.files.infiniband("mlx5_0", state="1: DOWN", downs=1)
            host.for_minutes(5)
        fleet.same_as("node-1", "node-2", "node-3", "node-4")
        fleet.reports()
        fleet.asked_about_all()


@scenario(
    "hang-suspect-rank",
    "critical",
    "Three of four ranks spin, one GPU is quiet: that one is the suspect.",
    over_http=True,
    also=("stuck-job", "low-util-under-load"),
)
def one_rank_does_not_take_part(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1", gpus=4) as host:
            trains(host, gpus=4)
            host.for_minutes(5)
            for gpu in range(3):
                host.gpu(gpu).computes(100, watts=130, memory_percent=0).units_work(sm=3)
            host.gpu(3).rests()
            host.for_minutes(18)
        fleet.reports()
        fleet.asked_about("node-1")


@scenario(
    "healthy-busy", "ok", "Snapshots that arrive twice change nothing.", over_http=True, never=("clock-skew",)
)
def reports_arrive_twice(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            trains(host)
            host.for_minutes(6)
        fleet.twice().reports()
        fleet.asked_about("node-1")


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "The API is killed and started again in the middle.",
    over_http=True,
    never=("agent-stale", "memory-held-idle"),
)
def server_starts_again(outcome: Outcome) -> None:
    with Fleet(outcome) as fleet:
        with fleet.plays("node-1") as host:
            host.serves_vllm()
            host.for_minutes(8)
        fleet.reports()
        fleet.api.restart()
        fleet.asked_about("node-1")
