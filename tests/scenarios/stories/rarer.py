"""What happens seldom, and the counters, settings and histories that need a longer look."""

from __future__ import annotations

from tests.doubles.nvml import GIB, MIB
from tests.scenarios.fleet import Fleet
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario

FABRIC_DEGRADED = 0x1


@scenario(
    "healthy-busy",
    "ok",
    "A busy vLLM server is restarted by its supervisor in place: its counters begin at zero again.",
    never=("serving-wedged", "kv-preemptions"),
)
def engine_counters_start_anew(host: Host) -> None:
    engine = host.vllm_works()
    host.for_minutes(6)
    engine.load.totals.clear()
    host.for_minutes(6)


@scenario(
    "memory-bandwidth-bound",
    "ok",
    "Decoding fills the memory's bandwidth and leaves the tensor cores mostly free.",
    never=("busy-but-inefficient", "low-util-under-load"),
)
def decoding_is_bound_by_memory(host: Host) -> None:
    host.serves_vllm(running=12, kv_used=0.3, tokens=900, prompt=500, finished=1)
    host.gpu(0).computes(97, watts=420, memory_percent=90).units_work(sm=80, tensor=12, memory=75)
    host.for_minutes(7)


@scenario(
    "slow-first-token",
    "warning",
    "After seven hours at a quarter of a second the first token takes ten.",
    also=("queue-building",),
)
def first_token_gets_slow(host: Host) -> None:
    engine = host.serves_vllm(running=12, kv_used=0.3, tokens=900, prompt=2500, finished=2)
    host.gpu(0).computes(85, watts=480, memory_percent=45)
    host.for_minutes(7 * 60)
    engine.asks(first_token_seconds=9.0)
    host.for_minutes(8)


@scenario(
    "healthy-busy",
    "ok",
    "Almost no prompt is reused: a hint, no trouble.",
    finds=("prefix-cache-cold",),
)
def prompts_are_all_new(host: Host) -> None:
    host.serves_vllm(
        running=24, kv_used=0.45, tokens=1500, prompt=4000, finished=4, prefix_queries=4000, prefix_hits=20
    )
    host.gpu(0).computes(92, watts=520, memory_percent=55)
    host.for_minutes(7)


@scenario(
    "thermal-margin-low",
    "warning",
    "Three degrees from the slowdown, for twenty minutes, and not slowed yet.",
    never=("thermal-hw-slowdown", "thermal-sw-slowdown"),
)
def little_margin(host: Host) -> None:
    host.trains()
    host.gpu(0).says(temperature_c=84, margin_c=3)
    host.for_minutes(20)


@scenario(
    "fabric-degraded",
    "warning",
    "The fabric works with less bandwidth than it should.",
    never=("fabric-not-ready",),
    host={"gpus": 2},
)
def fabric_is_degraded(host: Host) -> None:
    host.gpu(0).says(fabric_health=FABRIC_DEGRADED)
    host.trains()
    host.for_minutes(6)


@scenario(
    "ecc-corrected-rate",
    "info",
    "Two thousand corrected errors within an hour.",
    never=("ecc-uncorrectable-new",),
    finds=("ecc-corrected-rate",),
)
def many_corrected_errors(host: Host) -> None:
    for _ in range(60):
        host.gpu(0).double.counts_ecc(corrected=35)
        host.for_minutes(1)


@scenario(
    "healthy-busy",
    "ok",
    "An administrator's clock setting holds a busy GPU back: a hint.",
    finds=("app-clocks-locked",),
    never=("clocks-stuck-low",),
)
def clocks_are_set(host: Host) -> None:
    host.trains(watts=430)
    gpu = host.gpu(0).says(clocks_event_reasons=0x2).clocks(1200)
    gpu.double.state.application_clock_mhz[0] = 1200
    host.for_minutes(8)


@scenario(
    "gpu-free",
    "ok",
    "Exclusive mode, and MIG that waits for a reset: hints.",
    finds=("compute-mode-exclusive", "mig-mode-pending"),
)
def settings_wait_for_a_reset(host: Host) -> None:
    host.gpu(0).says(compute_mode=3, mig_pending=1)
    host.for_minutes(6)


@scenario(
    "xid-nvlink",
    "critical",
    "Xid 74: an NVLink reports a fatal error.",
    also=("nvlink-down", "nvlink-errors"),
    host={"gpus": 4},
)
def nvlink_reports_an_error(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    host.logs_xid(74, "NVLink: fatal error detected on link 3", gpu=2, pid=5402)
    host.for_minutes(4)


@scenario(
    "container-lost-gpu",
    "critical",
    "Inside a container the devices are gone after a reload of systemd, while the host works.",
    never=("nvml-unavailable", "gpu-count-changed"),
    host={"sees_all": False},
)
def container_loses_its_gpu(host: Host) -> None:
    host.files.file("1/cgroup", "0::/system.slice/docker-" + "e" * 64 + ".scope")
    host.for_minutes(4)
    host.nvml.fails_with(999)
    host.for_minutes(3)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "Two independent vLLM servers, each on a GPU of its own.",
    never=("two-engines-one-gpu", "allocated-gpus-unused"),
    host={"gpus": 2},
)
def a_server_on_each_gpu(host: Host) -> None:
    host.serves_vllm(0)
    host.serves_vllm(1, pid=4300)
    host.for_minutes(6)


@scenario(
    "serving-wedged",
    "critical",
    "Of two servers one works and the other is wedged: the good one hides nothing.",
    also=("low-util-under-load",),
    host={"gpus": 2},
)
def one_of_two_servers_is_wedged(host: Host) -> None:
    host.serves_vllm(0, running=24, kv_used=0.45, tokens=1500, prompt=4000, finished=4)
    wedged = host.serves_vllm(1, pid=4300, running=8, kv_used=0.3, tokens=700, prompt=2000, finished=2)
    for gpu in host.gpus:
        gpu.computes(92, watts=500, memory_percent=55)
    host.for_minutes(6)
    wedged.makes_nothing()
    host.gpu(1).rests()
    host.for_minutes(7)


@scenario(
    "memory-held-idle",
    "info",
    "Desktop programs and a python on a workstation: the python holds the memory.",
    never=("two-engines-one-gpu", "hidden-memory"),
    host={"model": "RTX 4090"},
)
def workstation_with_a_desktop(host: Host) -> None:
    host.process(900, "/usr/lib/xorg/Xorg :0", on={0: 300 * MIB}, kind="graphics")
    host.process(901, "/usr/bin/gnome-shell", on={0: 200 * MIB}, kind="graphics")
    host.python_holds(8 * GIB)
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "A workstation with nothing but its desktop.",
    never=("memory-held-idle", "persistence-off", "hidden-memory"),
    host={"model": "RTX 4090"},
)
def workstation_at_rest(host: Host) -> None:
    host.process(900, "/usr/lib/xorg/Xorg :0", on={0: 300 * MIB}, kind="graphics")
    host.process(901, "/usr/bin/gnome-shell", on={0: 200 * MIB}, kind="graphics")
    host.gpu(0).says(display_active=1, persistence=0)
    host.for_minutes(6)


@scenario(
    "xid-repeat",
    "critical",
    "Xid 62, a reboot, and Xid 62 again the same day.",
    over_http=True,
    also=("xid-hardware", "gsp-timeout"),
)
def fault_returns_after_the_repair(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.for_minutes(3)
        host.logs_xid(62, "Internal micro-controller halt")
        host.for_minutes(3)
        host.reboots()
        host.for_minutes(20)
        host.logs_xid(62, "Internal micro-controller halt")
        host.for_minutes(3)
    fleet.reports().asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "A fault is acknowledged, the card is reset, and its log stays as it was: after the reboot it is over.",
    over_http=True,
    never=("ecc-uncorrectable-new", "row-remap-pending"),
)
def reset_ends_a_pending_remap(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.gpu(0).remaps(uncorrectable=1, pending=True)
        host.for_minutes(4)
        host.reboots()
        host.gpu(0).remaps(uncorrectable=1)
        host.for_minutes(14)
    fleet.reports().asked_about("node-1")


@scenario(
    "gpu-free",
    "ok",
    "A card was replaced during the reboot: nobody misses the old one.",
    over_http=True,
    never=("gpu-count-changed", "gpu-lost-bus"),
)
def card_is_replaced(fleet: Fleet) -> None:
    with fleet.plays("node-1", gpus=2) as host:
        host.for_minutes(4)
        host.loses(1)
        host.for_minutes(4)
        host.goes_silent()
        host.gpu(1).double.is_well_again()
        host.gpu(1).says(uuid="GPU-99999999-0000-4000-8000-999999999999", serial="9999999999999")
        host.reboots()
        host.for_minutes(14)
    fleet.reports().asked_about("node-1")


@scenario(
    "healthy-busy",
    "ok",
    "The whole API and agent are fed hostile names: the answer holds words only.",
    over_http=True,
    never=("unknown-process",),
)
def hostile_names_over_http(fleet: Fleet) -> None:
    with fleet.plays("node-1") as host:
        host.trains()
        host.process(
            5400,
            ["torchrun", "train.py", "--x=<script>alert(1)</script>\n\x1b[31m*bold*"],
            name="to\nrch",
            on={0: 60 * GIB},
            libraries=TORCH,
            cpu=90,
            sm_percent=95,
        )
        host.for_minutes(6)
    fleet.reports().asked_about("node-1")
