"""What keeps a GPU waiting, and what only looks like it."""

from __future__ import annotations

from typing import Any

from tests.doubles.nvml import GIB, MigSlice
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario

STARVED: dict[str, Any] = {
    "running": 40,
    "waiting": 25,
    "kv_used": 0.3,
    "tokens": 90,
    "prompt": 200,
    "finished": 0.2,
}


@scenario(
    "low-util-under-load",
    "warning",
    "Forty requests run, twenty-five wait, the GPU is at 14 % and the host looks well.",
    never=("kv-pool-reserved-idle", "cpu-bound-single-core", "healthy-busy"),
    also=("queue-building", "slow-first-token", "queue-with-free-kv", "small-batch"),
)
def requests_wait_beside_an_idle_gpu(host: Host) -> None:
    host.serves_vllm(**STARVED)
    host.gpu(0).in_bursts([12, 20, 8, 16], watts=300)
    host.for_minutes(7)


@scenario(
    "cpu-bound-single-core",
    "warning",
    "The engine's one scheduling thread is at 100 % of its core and the GPU waits for it.",
    never=("idle-cpu-spin", "kv-pool-reserved-idle"),
    also=("low-util-under-load", "queue-building", "slow-first-token"),
    finds=("low-util-under-load",),
)
def one_thread_holds_the_engine_back(host: Host) -> None:
    host.serves_vllm(**STARVED)
    host.changes(4121, cpu=112, threads={"EngineCore": 99.5, "zmq": 8})
    host.gpu(0).in_bursts([12, 20, 8, 16], watts=300)
    host.cpu(100)
    host.for_minutes(7)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "The same thread at 100 %, and nobody asks: it polls.",
    never=("cpu-bound-single-core", "low-util-under-load", "serving-wedged"),
    finds=("idle-cpu-spin",),
)
def polling_thread_of_an_idle_engine(host: Host) -> None:
    host.serves_vllm()
    host.changes(4121, cpu=101, threads={"EngineCore": 99.5})
    host.cpu(100)
    host.for_minutes(7)


@scenario(
    "cpu-saturated",
    "warning",
    "All CPUs are taken and the training's threads wait for them.",
    also=("low-util-under-load",),
)
def no_cpu_left_for_the_training(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    host.gpu(0).in_bursts([0, 30, 0, 25], watts=400)
    host.changes(5400, cpu=60)
    host.cpu(*[99.0] * 8)
    host.files.pressure(cpu=60)
    host.files.file("loadavg", "24.00 20.00 10.00 30/100 123")
    host.for_minutes(8)


@scenario(
    "storage-bound",
    "warning",
    "The training reads from a disk that cannot keep up.",
    also=("low-util-under-load",),
)
def training_waits_for_its_disk(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    host.gpu(0).in_bursts([0, 30, 0, 25], watts=400)
    host.files.pressure(io=45)
    host.cpu(20, iowait=60)
    host.changes(5400, state="D", wait_channel="folio_wait_bit_common", reads=3e8, cpu=20)
    host.for_minutes(8)


@scenario(
    "gpu-free",
    "ok",
    "A backup keeps the same disk busy and no GPU has work.",
    never=("storage-bound", "low-util-under-load"),
)
def disk_is_busy_and_nobody_waits(host: Host) -> None:
    host.files.pressure(io=45)
    host.cpu(20, iowait=60)
    host.for_minutes(7)


@scenario(
    "dataloader-starved",
    "warning",
    "The GPU works in bursts, and two of the loader's workers are at their limit.",
    also=("low-util-under-load",),
)
def loader_cannot_keep_up(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    host.gpu(0).in_bursts([95, 0, 0, 95, 0], watts=500)
    host.changes(5400, workers={"pt_data_worker1": 98.0, "pt_data_worker2": 99.0})
    host.for_minutes(8)


@scenario(
    "healthy-busy",
    "info",
    "A pipeline stage waits for the one before it: bursts, and no loader at its limit.",
    never=("dataloader-starved", "cpu-bound-single-core"),
)
def pipeline_bubble(host: Host) -> None:
    host.trains(workers={"pt_data_worker1": 20.0, "pt_data_worker2": 15.0})
    host.for_minutes(6)
    host.gpu(0).in_bursts([95, 95, 0, 95, 0], watts=500)
    host.for_minutes(8)


@scenario(
    "healthy-busy",
    "info",
    "A training writes its checkpoint: the GPU rests for a minute and a half.",
    never=("dataloader-starved", "storage-bound", "low-util-under-load"),
)
def training_writes_a_checkpoint(host: Host) -> None:
    host.trains()
    host.for_minutes(8)
    host.gpu(0).rests(watts=120)
    host.changes(5400, writes=8e8, cpu=60)
    host.for_minutes(1.5)
    host.gpu(0).computes(96, watts=610, memory_percent=55)
    host.changes(5400, writes=0.0, cpu=100)
    host.for_minutes(1.5)


@scenario(
    "gpu-free",
    "ok",
    "The GPU is at 0 % because nobody has work for it.",
    never=("low-util-under-load", "small-batch", "allocated-gpus-unused"),
    host={"gpus": 2},
)
def idle_is_not_slow(host: Host) -> None:
    host.for_minutes(7)


@scenario(
    "stuck-job",
    "critical",
    "Four ranks spin at 100 % and at a quarter of the power, for twenty minutes.",
    never=("healthy-busy", "power-cap-at-full-load"),
    also=("busy-but-inefficient", "low-util-under-load"),
    host={"gpus": 4},
)
def collective_hangs(host: Host) -> None:
    host.trains()
    host.for_minutes(6)
    for gpu in host.gpus:
        gpu.spins()
    host.for_minutes(20)


@scenario(
    "tp-spin-without-requests",
    "info",
    "An idle tensor-parallel engine whose workers poll each other: 100 % at low power, no request.",
    never=("stuck-job", "serving-wedged", "busy-but-inefficient"),
    host={"gpus": 2},
)
def idle_tensor_parallel_workers_spin(host: Host) -> None:
    host.serves_vllm(0, 1)
    for gpu in host.gpus:
        gpu.spins()
    host.for_minutes(8)


@scenario(
    "busy-but-inefficient",
    "info",
    "A simulation keeps few units busy at low power and copies its results: it works.",
    never=("stuck-job",),
)
def light_kernel_at_low_power(host: Host) -> None:
    host.process(
        6600, "./lattice --steps 1000000", on={0: 6 * GIB}, libraries="libcudart.so", cpu=60, sm_percent=99
    )
    host.gpu(0).computes(100, watts=150, memory_percent=4)
    host.gpu(0).units_work(sm=12, memory=6).copies(received=4e6, sent=60e6)
    host.for_minutes(18)


@scenario(
    "small-batch",
    "warning",
    "One request at a time: the GPU works briefly for each.",
    also=("low-util-under-load", "cpu-bound-single-core", "slow-first-token"),
)
def one_request_at_a_time(host: Host) -> None:
    host.serves_vllm(running=1, kv_used=0.01, tokens=40, prompt=100, finished=0.3)
    host.gpu(0).in_bursts([22, 28, 25, 20], watts=260)
    host.for_minutes(7)


@scenario(
    "kv-pool-nearly-full",
    "warning",
    "The KV cache stays above 95 % and a few requests wait.",
    also=("queue-building", "slow-first-token"),
    never=("oom-risk", "kv-pool-reserved-idle"),
)
def kv_cache_is_nearly_full(host: Host) -> None:
    host.serves_vllm(running=60, waiting=3, kv_used=0.97, tokens=2400, prompt=5000, finished=4)
    host.gpu(0).in_bursts([97, 99, 98], watts=600, memory_percent=60)
    host.for_minutes(7)


@scenario(
    "kv-preemptions",
    "warning",
    "The engine throws sequences out twice a second.",
    also=("kv-pool-nearly-full", "queue-building", "slow-first-token"),
)
def engine_preempts(host: Host) -> None:
    host.serves_vllm(
        running=60, waiting=10, kv_used=0.99, tokens=2000, prompt=5000, finished=3, preemptions=2.0
    )
    host.gpu(0).in_bursts([97, 99, 98], watts=600, memory_percent=60)
    host.for_minutes(7)


@scenario(
    "queue-with-free-kv",
    "info",
    "Requests queue at a limit of sixteen although three quarters of the KV cache are free.",
    also=("queue-building", "slow-first-token", "low-util-under-load"),
    never=("kv-pool-nearly-full",),
)
def queue_at_a_limit(host: Host) -> None:
    host.vllm_works(running=16, waiting=12, kv_used=0.25, options="--max-num-seqs 16")
    host.for_minutes(7)


@scenario(
    "queue-building",
    "warning",
    "The queue grows for ten minutes: more is asked than this replica serves.",
    also=("slow-first-token", "kv-pool-nearly-full"),
)
def queue_grows(host: Host) -> None:
    engine = host.serves_vllm(
        running=64, waiting=5, kv_used=0.8, tokens=2500, prompt=6000, finished=5, first_token_seconds=6.0
    )
    host.gpu(0).in_bursts([97, 99, 98], watts=600, memory_percent=60)
    for minute in range(12):
        engine.asks(waiting=5 + 8 * minute)
        host.for_minutes(1)


@scenario(
    "healthy-busy",
    "ok",
    "A burst of requests queues for twenty seconds and is served.",
    never=("queue-building", "queue-with-free-kv", "kv-pool-nearly-full"),
)
def short_burst_of_requests(host: Host) -> None:
    engine = host.vllm_works()
    host.for_minutes(6)
    engine.asks(waiting=9)
    host.for_seconds(20)
    engine.asks(waiting=0)
    host.for_minutes(2)


@scenario(
    "allocated-gpus-unused",
    "info",
    "A job holds four GPUs and uses one.",
    never=("low-util-under-load", "stuck-job", "gpu-free"),
    also=("memory-held-idle",),
    host={"gpus": 4},
)
def job_uses_one_of_four(host: Host) -> None:
    host.process(
        5400,
        "python3 train.py",
        on={0: 50 * GIB, 1: GIB // 2, 2: GIB // 2, 3: GIB // 2},
        libraries=TORCH,
        cpu=100,
        sm_percent=95,
        cgroup="0::/slurm/uid_1000/job_4711/step_0",
        running_minutes=200,
    )
    host.gpu(0).computes(96, watts=610, memory_percent=55)
    host.for_minutes(35)


@scenario(
    "cpu-throttled",
    "warning",
    "The pod's CPU quota stops the threads that feed the GPU for a third of the time.",
    also=("low-util-under-load",),
)
def quota_stops_the_loader(host: Host) -> None:
    group = (
        "/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice/cri-containerd-" + "a" * 64
    )
    host.trains(cgroup=f"0::{group}")
    host.for_minutes(6)
    host.gpu(0).in_bursts([0, 30, 0, 25], watts=400)
    host.changes(5400, cpu=65)
    for step in range(48):
        host.files.cgroup_file(group, "cpu.stat", f"usage_usec 1\nthrottled_usec {4_000_000 * step}\n")
        host.for_seconds(10)


@scenario(
    "mig-util-not-available",
    "info",
    "A sliced GPU tells no utilization: not known is not 0 %.",
    never=("gpu-free", "kv-pool-reserved-idle", "low-util-under-load"),
)
def mig_tells_no_utilization(host: Host) -> None:
    host.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB, 2 * GIB), MigSlice("1g.10gb", 10 * GIB))
    host.for_minutes(6)
