"""Between two states: what starts, ends, warms up, hands over. Each must pass without a false alarm."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "vLLM served until seven minutes ago and waits since.",
    never=("low-util-under-load", "serving-wedged", "memory-held-idle"),
)
def traffic_ends(host: Host) -> None:
    engine = host.vllm_works()
    host.for_minutes(6)
    engine.nobody_asks()
    host.gpu(0).rests()
    host.for_minutes(7)


@scenario(
    "healthy-busy",
    "ok",
    "vLLM stopped serving two minutes ago: its last five minutes still hold work.",
    never=("low-util-under-load", "serving-wedged", "memory-held-idle"),
)
def traffic_ended_two_minutes_ago(host: Host) -> None:
    engine = host.vllm_works()
    host.for_minutes(6)
    engine.nobody_asks()
    host.gpu(0).rests()
    host.for_minutes(2)


@scenario(
    "healthy-busy",
    "ok",
    "A request every twenty seconds: hardly any load, and nothing is slow.",
    never=("low-util-under-load", "cpu-bound-single-core", "small-batch", "kv-pool-reserved-idle"),
)
def a_request_now_and_then(host: Host) -> None:
    engine = host.serves_vllm()
    for _ in range(21):
        engine.asks(running=1, tokens=60, prompt=100, finished=0.1, kv_used=0.01)
        host.gpu(0).computes(70, watts=350)
        host.for_seconds(5)
        engine.nobody_asks()
        host.gpu(0).rests()
        host.for_seconds(15)


@scenario(
    "healthy-busy",
    "ok",
    "Half load: twelve requests run, none waits, the GPU is at 55 %.",
    never=("low-util-under-load", "small-batch"),
)
def half_load(host: Host) -> None:
    host.serves_vllm(running=12, kv_used=0.2, tokens=700, prompt=2000, finished=2)
    host.gpu(0).in_bursts([50, 60, 55, 58], watts=380, memory_percent=35)
    host.for_minutes(7)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "vLLM was given half of the card.",
    never=("memory-held-idle", "weights-loaded-idle"),
)
def pool_of_half_a_card(host: Host) -> None:
    host.serves_vllm(holds=39 * GIB, utilization=0.5)
    host.for_minutes(6)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "Four GPUs, one tensor-parallel vLLM, nobody asks.",
    never=("memory-held-idle", "orphaned-engine", "two-engines-one-gpu", "allocated-gpus-unused"),
    host={"gpus": 4},
)
def idle_on_four_gpus(host: Host) -> None:
    host.serves_vllm(0, 1, 2, 3)
    host.for_minutes(6)


@scenario(
    "model-loading",
    "ok",
    "A training compiles for three minutes before its first step.",
    never=("low-util-under-load", "cpu-bound-single-core", "memory-held-idle"),
)
def training_starts(host: Host) -> None:
    for step in range(18):
        host.process(
            5400,
            "torchrun train.py",
            on={0: (1 + step) * GIB},
            libraries=TORCH,
            cpu=400,
            running_minutes=0.1,
            threads={"compile": 99.0},
        )
        host.for_seconds(10)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "A server is restarted: the old one ends, the new one loads, reserves and waits.",
    never=("orphaned-engine", "leaked-memory-no-process", "two-engines-one-gpu"),
)
def server_restarts(host: Host) -> None:
    engine = host.serves_vllm()
    host.for_minutes(6)
    engine.closes()
    host.ends(4121)
    host.ends(4100)
    host.for_seconds(20)
    host.loads_vllm(90, pid=4500)
    host.serves_vllm(pid=4500)
    host.for_minutes(7)


@scenario(
    "healthy-busy",
    "ok",
    "The agent is restarted in the middle of work.",
    never=("agent-stale", "gpu-count-changed", "hidden-memory"),
    host={"gpus": 2},
)
def agent_restarts(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    host.goes_silent()
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "Load begins: the link wakes from generation 1 within some seconds.",
    never=("pcie-gen-degraded-under-load",),
)
def link_wakes_up(host: Host) -> None:
    host.gpu(0).says(pcie_gen=1)
    host.for_minutes(4)
    host.trains()
    host.gpu(0).says(pcie_gen=1)
    host.for_seconds(15)
    host.gpu(0).says(pcie_gen=5)
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "An evaluation step every few minutes lets the GPU rest for twenty seconds.",
    never=("dataloader-starved", "low-util-under-load", "stuck-job"),
    host={"gpus": 2},
)
def training_evaluates(host: Host) -> None:
    for _ in range(4):
        host.trains()
        host.for_seconds(160)
        for gpu in host.gpus:
            gpu.rests(watts=130)
        host.for_seconds(20)
    host.trains()
    host.for_seconds(60)


@scenario(
    "gpu-free",
    "ok",
    "A monitor asks the idle GPU every few seconds: one percent now and then.",
    never=("healthy-busy", "low-util-under-load"),
)
def monitor_makes_a_flicker(host: Host) -> None:
    host.gpu(0).in_bursts([0, 0, 1, 0, 0], watts=75)
    host.gpu(0).says(clocks_event_reasons=1)
    host.for_minutes(7)


@scenario(
    "gpu-free",
    "ok",
    "The driver's counters of memory errors are not zero when the agent comes; they do not move.",
    never=("ecc-uncorrectable-new", "ecc-corrected-rate"),
)
def corrected_errors_of_before(host: Host) -> None:
    host.gpu(0).double.counts_ecc(corrected=40)
    host.for_minutes(8)


@scenario(
    "stuck-job",
    "critical",
    "One of four GPUs is quiet, the others spin for its sake.",
    also=("low-util-under-load", "rank-imbalance", "hang-suspect-rank"),
    host={"gpus": 4},
)
def three_ranks_wait_for_the_fourth(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    for gpu in host.gpus[:3]:
        gpu.spins()
    host.gpu(3).rests()
    host.for_minutes(18)


@scenario(
    "rank-imbalance",
    "warning",
    "One of four ranks runs at two thirds of the others' clock and power.",
    also=("straggler-node", "clocks-stuck-low"),
    host={"gpus": 4},
)
def one_rank_lags(host: Host) -> None:
    host.trains()
    host.gpu(2).computes(60, watts=380, memory_percent=35).clocks(1200)
    host.for_minutes(18)


@scenario(
    "thermal-hw-slowdown",
    "critical",
    "All four GPUs are at their limit: the room, not the card.",
    also=("thermal-sw-slowdown",),
    host={"gpus": 4},
)
def the_room_is_hot(host: Host) -> None:
    host.trains()
    for gpu in host.gpus:
        gpu.computes(97, watts=400, memory_percent=55).clocks(900)
        gpu.says(clocks_event_reasons=0x48, temperature_c=89, margin_c=-1).counts(270, 7e8)
    host.for_minutes(6)


@scenario(
    "row-remap-pending",
    "warning",
    "Seven GPUs work, one waits for a reset to replace a row: the worst is the headline.",
    host={"gpus": 8},
)
def one_of_eight_is_ill(host: Host) -> None:
    host.trains()
    host.gpu(6).remaps(uncorrectable=1, pending=True)
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "Persistence mode is off and the compute mode exclusive: hints, no headline.",
    finds=("persistence-off",),
)
def settings_are_hints(host: Host) -> None:
    host.gpu(0).says(persistence=0)
    host.for_minutes(32)


@scenario(
    "memory-held-idle",
    "info",
    "The list of processes is denied: memory is held, and by whom cannot be told.",
    never=("hidden-memory", "leaked-memory-no-process", "gpu-free"),
    unjudged=("hidden-memory",),
)
def process_list_is_denied(host: Host) -> None:
    host.hides(0, 30 * GIB)
    host.gpu(0).double.denies_process_list()
    host.for_minutes(20)


@scenario(
    "healthy-busy",
    "info",
    "A job that nobody knows works at a third of the time.",
    never=("low-util-under-load", "dataloader-starved"),
)
def unknown_job_works_a_little(host: Host) -> None:
    host.process(6600, "./solver", on={0: 6 * GIB}, libraries="libcudart.so", cpu=60, sm_percent=35)
    host.gpu(0).in_bursts([30, 40, 35], watts=300)
    host.for_minutes(7)


@scenario(
    "healthy-busy",
    "info",
    "A video is encoded: the compute units rest, the encoder works.",
    never=("memory-held-idle", "gpu-free", "low-util-under-load"),
    host={"model": "L40S"},
)
def encoder_works(host: Host) -> None:
    host.process(
        6700, "ffmpeg -i in.mp4 -c:v h264_nvenc out.mp4", on={0: GIB // 2}, libraries="libcuda.so", cpu=60
    )
    host.gpu(0).computes(6, watts=90, memory_percent=3).says(encoder_percent=70, encoder_sessions=1)
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "One GPU of eight works, seven are free: the one that works is the news.",
    host={"gpus": 8},
)
def one_of_eight_works(host: Host) -> None:
    host.trains(0)
    host.for_minutes(7)


@scenario(
    "busy-but-inefficient",
    "info",
    "A light kernel on a board that tells neither units nor copies: no hang is made of it.",
    never=("stuck-job",),
)
def light_kernel_on_a_silent_board(host: Host) -> None:
    gpu = host.gpu(0)
    gpu.double.lacks("nvmlGpmQueryDeviceSupport", "nvmlGpmSampleGet", "nvmlGpmMetricsGet")
    for field in (197, 198):
        gpu.double.lacks_field(field)
    host.process(
        6600, "./lattice --steps 9", on={0: 6 * GIB}, libraries="libcudart.so", cpu=60, sm_percent=99
    )
    gpu.computes(100, watts=150, memory_percent=6)
    host.for_minutes(18)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "A server that finished loading two and a half minutes ago answers, and nobody asks yet.",
    never=("memory-held-idle", "model-loading"),
)
def server_is_ready_since_a_moment(host: Host) -> None:
    host.loads_vllm(120)
    host.serves_vllm()
    host.for_seconds(150)
