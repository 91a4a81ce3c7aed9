"""Through the real API over HTTP: silence, clocks, doubles, what stays open, what several nodes show."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.fleet import Fleet
from tests.scenarios.scenario import scenario


@scenario("agent-stale", "warning", "An idle node goes silent for two minutes.", over_http=True)
def idle_node_goes_silent(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(6)
    fleet.reports().time_passes(120).asked_about("node-1")


@scenario("agent-stale", "critical", "A node that worked goes silent for six minutes.", over_http=True)
def busy_node_goes_silent(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.trains()
        host.for_minutes(6)
    fleet.reports().time_passes(360).asked_about("node-1")


@scenario(
    "healthy-busy", "ok", "Reports come ten seconds late: no silence.", never=("agent-stale",), over_http=True
)
def reports_come_late(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.trains()
        host.for_minutes(6)
    fleet.reports(late=10).time_passes(15).asked_about("node-1")


@scenario(
    "healthy-busy",
    "ok",
    "The network was away for two minutes; the agent catches up.",
    also=("agent-stale",),
    never=("agent-stale", "clock-skew"),
    over_http=True,
)
def agent_catches_up(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.trains()
        host.for_minutes(8)
    fleet.reports(per_request=12).time_passes(5).asked_about("node-1")


@scenario(
    "server-ingest-gap",
    "warning",
    "All of four nodes go silent at once: the server or the network.",
    over_http=True,
    also=("agent-stale",),
    never=("common-cause",),
)
def everybody_goes_silent(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(6)
    fleet.same_as("node-1", "node-2", "node-3", "node-4")
    fleet.reports().time_passes(180).asked_about_all()


@scenario(
    "agent-stale", "warning", "One of four nodes goes silent.", never=("server-ingest-gap",), over_http=True
)
def one_of_four_goes_silent(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(9)
    fleet.same_as("node-1", "node-2", "node-3", "node-4")
    fleet.drops("node-4", after=360)
    fleet.reports().asked_about("node-4")


@scenario(
    "clock-skew",
    "warning",
    "A node's clock is 90 s ahead: it is said, and its window is right.",
    finds=("gpu-free",),
    never=("agent-stale",),
    over_http=True,
)
def clock_is_ahead(fleet: Fleet) -> None:
    with fleet.plays("node-1", skew=90.0) as host:
        host.for_minutes(6)
    fleet.reports().asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "A batch of 90 s is sent in one request: late, and no skew.",
    never=("clock-skew", "agent-stale"),
    over_http=True,
)
def batch_of_ninety_seconds(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(6)
    fleet.reports(per_request=9).asked_about("node-1")


@scenario(
    "gpu-lost-bus",
    "critical",
    "A GPU fell off the bus; the node then goes silent: the fault stands.",
    over_http=True,
    also=("agent-stale", "xid-hardware", "gpu-count-changed"),
)
def fault_outlives_silence(fleet: Fleet) -> None:
    with fleet.plays("node-1", gpus=2) as host:
        host.for_minutes(2)
        host.loses(1)
        host.for_minutes(3)
    fleet.reports().time_passes(120).asked_about("node-1")


@scenario(
    "xid-hardware",
    "critical",
    "Two hours after an Xid 62 nothing else happened: it stays open until somebody acts.",
    over_http=True,
    also=("gsp-timeout",),
)
def fault_does_not_heal_by_itself(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(2)
        host.logs_xid(62, "Internal micro-controller halt")
        host.for_minutes(120)
    fleet.reports().asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "After a reboot the fault of before is closed.",
    over_http=True,
    never=("xid-hardware", "gpu-count-changed", "agent-stale"),
)
def reboot_closes_a_fault(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(2)
        host.logs_xid(62, "Internal micro-controller halt")
        host.for_minutes(3)
        host.reboots()
        host.for_minutes(14)
    fleet.reports().asked_about("node-1")


@scenario(
    "gpu-count-changed",
    "critical",
    "Eight GPUs are declared, seven answer from the start.",
    over_http=True,
    config='[nodes."node-*"]\nexpected_gpus = 8\n',
)
def fewer_gpus_than_declared(fleet: Fleet) -> None:
    with fleet.plays("node-1", gpus=7) as host:
        host.for_minutes(4)
    fleet.reports().asked_about("node-1")


@scenario(
    "unknown-process",
    "info",
    "Only vLLM is allowed here, and a miner works.",
    over_http=True,
    config='[nodes."node-*"]\nworkloads = ["vllm*", "VLLM*"]\n',
    finds=("unknown-process",),
)
def program_that_is_not_allowed(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.process(6600, "./ethminer --pool x", on={0: 5 * GIB}, cpu=5, sm_percent=99)
        host.gpu(0).computes(99, watts=400, memory_percent=90)
        host.for_minutes(6)
    fleet.reports().asked_about("node-1")


@scenario(
    "common-cause",
    "info",
    "Four of four nodes lose their InfiniBand port within a minute.",
    over_http=True,
    also=("ib-link-problem",),
)
def everybody_has_the_same_fault(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.files.infiniband("mlx5_0")
        host.for_minutes(3)
        host.files.infiniband("mlx5_0", state="1: DOWN", downs=1)
        host.for_minutes(5)
    fleet.same_as("node-1", "node-2", "node-3", "node-4")
    fleet.reports().asked_about_all()


@scenario(
    "hang-suspect-rank",
    "critical",
    "Three of four ranks spin, one GPU is quiet: that one is the suspect.",
    over_http=True,
    also=("stuck-job", "low-util-under-load"),
)
def one_rank_does_not_take_part(fleet: Fleet) -> None:
    with fleet.plays("node-1", gpus=4) as host:
        host.trains()
        host.for_minutes(5)
        for gpu in host.gpus[:3]:
            gpu.spins()
        host.gpu(3).rests()
        host.for_minutes(18)
    fleet.reports().asked_about("node-1")


@scenario(
    "healthy-busy", "ok", "Snapshots that arrive twice change nothing.", over_http=True, never=("clock-skew",)
)
def reports_arrive_twice(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.trains()
        host.for_minutes(6)
    fleet.twice().reports().asked_about("node-1")


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "The API is killed and started again in the middle.",
    over_http=True,
    never=("agent-stale", "memory-held-idle"),
)
def server_starts_again(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.serves_vllm()
        host.for_minutes(8)
    fleet.reports()
    fleet.api.restart()
    fleet.asked_about("node-1")
