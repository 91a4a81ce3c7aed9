"""Eight nodes, each in another situation: the demo's fleet.

A story runs for an hour from `began`. The names are stable and each node stands for one rule, so that a
reader can look the situation up in the runbooks.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from gpudiag.model import (
    EngineReading,
    Gap,
    GpuReading,
    HostReading,
    KernelEvent,
    ProcessReading,
    ThreadReading,
)
from gpudiag.simulator import programs
from gpudiag.simulator.cards import A100, GIB, H100, L40S
from gpudiag.simulator.machine import Machine, Pulse

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
LLAMA_8B_WEIGHTS = 16_060_522_496  # 8,030,261,248 parameters × 2 bytes
LLAMA_70B = "nvidia/Llama-3.3-70B-Instruct-FP8"
LLAMA_70B_WEIGHTS = 72_654_831_616  # 70,553,706,496 parameters, mostly of one byte
LLAMA_70B_TOKEN_BYTES = 163_840  # on each of two GPUs: 2 × 80 layers × 4 KV heads × 128 × 2 bytes
POOL_TOKEN_BYTES = 131_072  # Llama 3 8B: 2 × 32 layers × 8 KV heads × 128 × 2 bytes


def wave(at: int, period: float, low: float, high: float) -> float:
    """Load that comes and goes between `low` and `high`."""
    middle, size = (low + high) / 2, (high - low) / 2
    return middle + size * math.sin(2 * math.pi * at / period)


class BusyServer(Machine):
    """node-1: a vLLM server over two GPUs, well loaded and making tokens."""

    name, card, gpus = "node-1", H100, 2
    cpu_percent = 11.0
    labels: ClassVar[dict[str, str]] = {"rack": "r1", "pool": "serving"}
    held = 73 * GIB
    pool = 36 * GIB

    def pulse(self, gpu: int, at: int) -> Pulse:
        load = wave(at, 240, 84, 96)
        return Pulse(
            utilization_percent=load + self.noise(at, f"u{gpu}", 3),
            memory_used_bytes=self.held,
            memory_utilization_percent=0.62 * load,
            pcie_rx=2.1e8 + self.noise(at, f"rx{gpu}", 3e7),
            pcie_tx=1.6e8 + self.noise(at, f"tx{gpu}", 3e7),
            slow={
                "sm_active_ratio": 0.81,
                "tensor_active_ratio": 0.34,
                "dram_active_ratio": 0.63,
                "nvlink_bytes_per_second": 6.2e10,
            },
        )

    def processes(self, at: int) -> list[ProcessReading]:
        started = self.began - 5 * 86_400
        memory = dict.fromkeys(range(self.gpus), self.held)
        threads = [
            ThreadReading(tid=4121, name="EngineCore", cpu_percent=62 + self.noise(at, "t", 6), state="R"),
            ThreadReading(tid=4139, name="python3", cpu_percent=14.0, state="S"),
        ]
        return [
            programs.server(4100, started, LLAMA_70B, cpu_percent=41.0),
            programs.worker(4121, started, memory, 4100, cpu_percent=96.0, state="R", threads=threads),
        ]

    def engines(self, at: int) -> list[EngineReading]:
        seconds = at - self.began + 5 * 86_400
        running = round(wave(at, 240, 26, 44) + self.noise(at, "r", 3))
        return [
            programs.engine(
                LLAMA_70B, 4100, 4121, list(range(self.gpus)),
                weights_bytes=LLAMA_70B_WEIGHTS // self.gpus,
                pool_bytes=self.pool,
                pool_tokens=self.pool // LLAMA_70B_TOKEN_BYTES,
                requests_running=float(running),
                kv_used_ratio=round(running / 70, 3),
                prompt_tokens_total=5200.0 * seconds,
                generation_tokens_total=1750.0 * seconds,
                requests_finished_total=4.6 * seconds,
                prefix_queries_total=5200.0 * seconds,
                prefix_hits_total=2300.0 * seconds,
                first_token_seconds_p95=0.31,
                inter_token_seconds_p95=0.024,
            )
        ]  # fmt: skip


class HeldUpByOneThread(Machine):
    """node-2: requests wait and the GPU is mostly idle, because one CPU thread cannot feed it faster."""

    name, card = "node-2", L40S
    cpu_percent = 5.0
    labels: ClassVar[dict[str, str]] = {"rack": "r1", "pool": "serving"}
    held = 41 * GIB

    def pulse(self, gpu: int, at: int) -> Pulse:
        return Pulse(
            utilization_percent=19 + self.noise(at, "u", 7),
            memory_used_bytes=self.held,
            memory_utilization_percent=11,
            pcie_rx=4e6,
            pcie_tx=3e6,
        )

    def processes(self, at: int) -> list[ProcessReading]:
        started = self.began - 2 * 86_400
        threads = [
            ThreadReading(tid=5121, name="EngineCore", cpu_percent=99 + self.noise(at, "t", 0.9), state="R"),
            ThreadReading(tid=5177, name="python3", cpu_percent=9 + self.noise(at, "t2", 3), state="S"),
            ThreadReading(tid=5178, name="cuda-EvtHandlr", cpu_percent=0.3, state="S"),
        ]
        return [
            programs.server(5100, started, LLAMA_8B, cpu_percent=22.0),
            programs.worker(
                5121, started, {0: self.held}, 5100, cpu_percent=109.0, state="R", threads=threads
            ),
        ]

    def engines(self, at: int) -> list[EngineReading]:
        seconds = at - self.began + 2 * 86_400
        return [
            programs.engine(
                LLAMA_8B, 5100, 5121, [0],
                weights_bytes=LLAMA_8B_WEIGHTS,
                pool_bytes=23 * GIB,
                pool_tokens=23 * GIB // POOL_TOKEN_BYTES,
                requests_running=float(round(wave(at, 180, 14, 26) + self.noise(at, "r", 2))),
                requests_waiting=float(max(2, round(wave(at, 300, 6, 22) + self.noise(at, "w", 3)))),
                kv_used_ratio=round(wave(at, 180, 0.10, 0.19), 3),
                prompt_tokens_total=900.0 * seconds,
                generation_tokens_total=310.0 * seconds,
                requests_finished_total=0.9 * seconds,
                first_token_seconds_p95=4.8,
                inter_token_seconds_p95=0.071,
            )
        ]  # fmt: skip


class ReservedPool(Machine):
    """node-3: a vLLM server that nobody asks since minute 25; its pool stays reserved. All is well."""

    name, card = "node-3", H100
    cpu_percent = 2.0
    labels: ClassVar[dict[str, str]] = {"rack": "r1", "pool": "serving"}
    quiet_from = 25.0
    held = 74 * GIB
    pool = 55 * GIB

    def asked(self, at: int) -> bool:
        return self.minute(at) < self.quiet_from

    def pulse(self, gpu: int, at: int) -> Pulse:
        memory = self.held
        if not self.asked(at):
            return Pulse(memory_used_bytes=memory)
        load = wave(at, 200, 55, 93) + self.noise(at, "u", 4)
        return Pulse(load, memory, 0.55 * load, pcie_rx=3e7, pcie_tx=2e7)

    def processes(self, at: int) -> list[ProcessReading]:
        started = self.began - 86_400
        return [
            programs.server(6100, started, LLAMA_8B),
            programs.worker(6121, started, {0: self.held}, 6100),
        ]

    def engines(self, at: int) -> list[EngineReading]:
        asked = self.asked(at)
        seconds = min(at, self.began + 60 * self.quiet_from) - self.began + 7200
        return [
            programs.engine(
                LLAMA_8B, 6100, 6121, [0],
                weights_bytes=LLAMA_8B_WEIGHTS,
                pool_bytes=self.pool,
                pool_tokens=self.pool // POOL_TOKEN_BYTES,
                requests_running=float(round(wave(at, 200, 6, 30))) if asked else 0.0,
                kv_used_ratio=round(wave(at, 200, 0.08, 0.41), 3) if asked else 0.0,
                prompt_tokens_total=3900.0 * seconds,
                generation_tokens_total=1300.0 * seconds,
                requests_finished_total=3.1 * seconds,
                first_token_seconds_p95=0.14 if asked else None,
                inter_token_seconds_p95=0.015 if asked else None,
            )
        ]  # fmt: skip


class StuckJob(Machine):
    """node-4: a training job over eight GPUs hangs since minute 20; rank 5 is the one that differs."""

    name, card, gpus = "node-4", H100, 8
    cpu_count, cpu_percent = 192, 6.0
    labels: ClassVar[dict[str, str]] = {"rack": "r2", "pool": "training"}
    hangs_from = 20.0
    suspect = 5
    held = 66 * GIB

    def hangs(self, at: int) -> bool:
        return self.minute(at) >= self.hangs_from

    def pulse(self, gpu: int, at: int) -> Pulse:
        memory = self.held
        if not self.hangs(at):
            load = 96 + self.noise(at, f"u{gpu}", 3)
            return Pulse(load, memory, 48, pcie_rx=4e8, pcie_tx=3e8, slow=_working())
        if gpu == self.suspect:
            return Pulse(0, memory, 0, power_watts=112, sm_clock_megahertz=1980, slow=_spinning(0.0))
        return Pulse(100, memory, 0, power_watts=141, sm_clock_megahertz=1980, slow=_spinning(0.03))

    def processes(self, at: int) -> list[ProcessReading]:
        return [self.rank(rank, at) for rank in range(self.gpus)]

    def rank(self, rank: int, at: int) -> ProcessReading:
        waits = self.hangs(at) and rank == self.suspect
        cpu = 0.0 if waits else 100.0
        thread = ThreadReading(tid=7200 + rank, name="python3", cpu_percent=cpu, state="S" if waits else "R")
        return programs.python(
            7200 + rank, self.began - 9 * 3600, "python3 -u train.py --config llama-8b-sft.yaml",
            {rank: self.held}, user="mkim", parent_pid=7190, parent_name="torchrun",
            parents=["torchrun", "slurmstepd", "slurmd"],
            state="S" if waits else "R", cpu_percent=cpu, threads=[thread], slurm_job="48213",
            read_bytes_per_second=0.0 if self.hangs(at) else 2.4e7,
            ranks={"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "8"},
        )  # fmt: skip


def _working() -> dict[str, Any]:
    return {
        "sm_active_ratio": 0.86,
        "tensor_active_ratio": 0.41,
        "dram_active_ratio": 0.47,
        "nvlink_bytes_per_second": 1.9e11,
    }


def _spinning(active: float) -> dict[str, Any]:
    """A collective that never completes: one small kernel turns, nothing moves."""
    return {
        "sm_active_ratio": active,
        "tensor_active_ratio": 0.0,
        "dram_active_ratio": 0.0,
        "nvlink_bytes_per_second": 0.0,
    }


class HiddenMemory(Machine):
    """node-5: far more memory is used than the processes that can be seen hold."""

    name, card = "node-5", A100
    cpu_percent = 3.0
    labels: ClassVar[dict[str, str]] = {"rack": "r2", "pool": "research"}
    visible = 9 * GIB
    used = 52 * GIB

    def pulse(self, gpu: int, at: int) -> Pulse:
        return Pulse(0, self.used, power_watts=66, sm_clock_megahertz=1155, slow={"pstate": "P0"})

    def processes(self, at: int) -> list[ProcessReading]:
        return [
            programs.python(
                8301, self.began - 6 * 3600, "python3 embed_corpus.py --batch 64", {0: self.visible},
                user="jlee", state="S", cpu_percent=0.0,
            ),
            ProcessReading(
                pid=8377, name="python3", command="python3 worker.py", user="root",
                started_at=self.began - 40_000.0, parent_pid=8350, parent_name="containerd-shim",
                parents=["containerd-shim", "systemd"], state="S", open_devices=[0], in_nvml=False,
                cpu_percent=0.0, container="3f9c1d7a52e0",
            ),
        ]  # fmt: skip


class LostGpu(Machine):
    """node-6: GPU 1 fell off the bus at minute 38 (Xid 79)."""

    name, card, gpus = "node-6", A100, 2
    cpu_percent = 2.0
    labels: ClassVar[dict[str, str]] = {"rack": "r2", "pool": "training"}
    lost, lost_at = 1, 38.0

    def is_lost(self, at: int) -> bool:
        return self.minute(at) >= self.lost_at

    def pulse(self, gpu: int, at: int) -> Pulse:
        if self.is_lost(at):
            return Pulse()
        return Pulse(94 + self.noise(at, f"u{gpu}", 4), 60 * GIB, 51, pcie_rx=2e8, pcie_tx=2e8)

    def reading(self, gpu: int, end: int) -> GpuReading:
        reading = super().reading(gpu, end)
        if gpu == self.lost and self.is_lost(end):
            return GpuReading(
                index=gpu, uuid=reading.uuid, bus_id=reading.bus_id, name=reading.name, error="gpu_is_lost"
            )
        return reading

    def processes(self, at: int) -> list[ProcessReading]:
        if self.is_lost(at):
            return []
        return [
            programs.python(
                9100 + rank, self.began - 4 * 3600, "python3 -u finetune.py", {rank: 60 * GIB}, user="spark",
                slurm_job="48177", ranks={"RANK": str(rank), "WORLD_SIZE": "2"}, read_bytes_per_second=3.1e7,
            )
            for rank in range(self.gpus)
        ]  # fmt: skip

    def events(self, since: int, until: int) -> list[KernelEvent]:
        at = self.began + round(60 * self.lost_at)
        if not since < at <= until:
            return []
        bus = f"0000:{0x19 + 0x11 * self.lost:02x}:00"
        return [
            KernelEvent(
                kind="xid", number=79, gpu=self.lost, bus_id=f"{bus}.0", at=float(at), process="python3",
                pid=9100 + self.lost,
                text=f"NVRM: Xid (PCI:{bus}): 79, pid={9100 + self.lost}, name=python3, "
                "GPU has fallen off the bus.",
            )
        ]  # fmt: skip

    def gaps(self, at: int) -> list[Gap]:
        if not self.is_lost(at):
            return []
        return [Gap(subject=f"gpu:{self.lost}", metric="*", reason="gpu_is_lost")]

    def host(self, at: int) -> HostReading:
        host = super().host(at)
        host.pci_gpu_count = self.gpus - self.is_lost(at)
        return host


class OrphanedEngine(ReservedPool):
    """node-7: looks like node-3, but the server died at minute 30 and its worker keeps the memory."""

    name = "node-7"
    labels: ClassVar[dict[str, str]] = {"rack": "r2", "pool": "serving"}
    dies_at = 30.0

    def processes(self, at: int) -> list[ProcessReading]:
        started = self.began - 86_400
        if self.minute(at) < self.dies_at:
            return super().processes(at)
        return [programs.worker(6121, started, {0: self.held}, 1)]

    def engines(self, at: int) -> list[EngineReading]:
        (alive,) = super().engines(at)
        if self.minute(at) < self.dies_at:
            return [alive]
        return [
            EngineReading(
                name=alive.name, engine=alive.engine, worker_pids=alive.worker_pids,
                gpus=alive.gpus, address=alive.address, port_open=False,
                health_ok=False, metrics_ok=False, ever_answered=True, parent_alive=False,
            )
        ]  # fmt: skip

    def gaps(self, at: int) -> list[Gap]:
        if self.minute(at) < self.dies_at:
            return []
        return [
            Gap(subject="engine:vllm:8000", metric="*", reason="unreachable", detail="connection refused")
        ]


class SilentAgent(Machine):
    """node-8: worked well until its reports stopped at minute 52."""

    name, card, gpus = "node-8", L40S, 2
    cpu_percent = 14.0
    labels: ClassVar[dict[str, str]] = {"rack": "r1", "pool": "research"}
    silent_from = 52.0

    def reports(self, at: int) -> bool:
        return self.minute(at) < self.silent_from

    def pulse(self, gpu: int, at: int) -> Pulse:
        return Pulse(88 + self.noise(at, f"u{gpu}", 6), 32 * GIB, 44, pcie_rx=9e7, pcie_tx=4e7)

    def processes(self, at: int) -> list[ProcessReading]:
        return [
            programs.python(
                3300 + gpu, self.began - 3 * 3600, "python3 -u train_lora.py", {gpu: 32 * GIB}, user="ayoon",
                ranks={"RANK": str(gpu), "WORLD_SIZE": "2"}, read_bytes_per_second=1.2e7,
            )
            for gpu in range(self.gpus)
        ]  # fmt: skip


FLEET: tuple[type[Machine], ...] = (
    BusyServer,
    HeldUpByOneThread,
    ReservedPool,
    StuckJob,
    HiddenMemory,
    LostGpu,
    OrphanedEngine,
    SilentAgent,
)


def fleet(began: float, seed: int = 1) -> list[Machine]:
    """The eight nodes, with their stories starting at the Unix second `began`."""
    return [machine(began, seed) for machine in FLEET]
