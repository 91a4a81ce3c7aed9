"""Situations for cases: a node's past told in a few words.

    s = Situation(gpus=2)
    s.gpu(0).shows(utilization_percent=0, memory_used_bytes=GIB * 70)
    s.runs(VLLM_SERVER, memory={0: 70 * GIB})
    s.passes(minutes=5)
    window = s.window

A fresh GPU is an idle H100 that answers everything. `shows` changes what its next snapshots say, `hides`
takes a metric away. Time is simulated: ten seconds a snapshot, ten samples each.
"""

from __future__ import annotations

import copy
from typing import Any, Self

from gpudiag.model import (
    AgentReading,
    EngineReading,
    Gap,
    GpuReading,
    GpuUse,
    HostReading,
    KernelEvent,
    NvmlReading,
    ProcessReading,
    Samples,
    Snapshot,
)
from gpudiag.window import Window

GIB = 1 << 30
START = 1_764_400_000.0  # an arbitrary moment
INTERVAL = 10.0


def idle_h100(index: int) -> GpuReading:
    """An H100 80GB at rest, with the readings a current driver gives."""
    return GpuReading(
        index=index,
        uuid=f"GPU-00000000-0000-0000-0000-0000000000{index:02x}",
        bus_id=f"00000000:{0x19 + index:02X}:00.0",
        name="NVIDIA H100 80GB HBM3",
        architecture="hopper",
        utilization_percent=0.0,
        memory_utilization_percent=0.0,
        memory_used_bytes=4 << 20,
        memory_total_bytes=85_520_809_984,
        memory_free_bytes=84_900_000_000,
        memory_reserved_bytes=616_000_000,
        power_watts=69.0,
        power_limit_watts=700.0,
        encoder_percent=0.0,
        decoder_percent=0.0,
        power_limit_default_watts=700.0,
        power_limit_max_watts=700.0,
        sm_clock_megahertz=345.0,
        sm_clock_max_megahertz=1980.0,
        temperature_celsius=31.0,
        temperature_margin_celsius=56.0,
        clocks_event_reasons=0x1,
        pcie_rx_bytes_per_second=0.0,
        pcie_tx_bytes_per_second=0.0,
        utilization_source="samples",
        pstate="P0",
        ecc_mode=True,
        ecc_mode_pending=True,
        ecc_corrected_volatile=0,
        ecc_uncorrected_volatile=0,
        ecc_corrected_aggregate=0,
        ecc_uncorrected_aggregate=0,
        row_remap_pending=False,
        row_remap_failed=False,
        remapped_rows_correctable=0,
        remapped_rows_uncorrectable=0,
        pcie_link_generation=5,
        pcie_link_generation_max=5,
        pcie_link_width=16,
        pcie_link_width_max=16,
        pcie_replay_count=0,
        persistence_mode=True,
        compute_mode="default",
        mig_mode=False,
        mig_mode_pending=False,
        recovery_action=0,
        virtualization="none",
    )


class GpuTale:
    """One GPU of a situation, as its next snapshots will show it."""

    def __init__(self, reading: GpuReading) -> None:
        self.reading = reading
        self.waves: dict[str, list[Any]] = {}

    def shows(self, **values: Any) -> Self:
        """Set values; a list of a sampled metric is a wave that repeats over time."""
        for name, value in values.items():
            wave = isinstance(value, list) and name in Samples.__struct_fields__
            if wave:
                self.waves[name] = value
            else:
                self.waves.pop(name, None)
            setattr(self.reading, name, value[-1] if wave else value)
        return self

    def hides(self, *names: str) -> Self:
        """The metrics are not there any more."""
        return self.shows(**dict.fromkeys(names))


class Situation:
    """A node and its past; `window` is what the rules get."""

    def __init__(self, node: str = "node-1", gpus: int = 1, start: float = START) -> None:
        self.window = Window(node)
        self.now = start
        self.snapshots = 0
        self.gpus = {index: GpuTale(idle_h100(index)) for index in range(gpus)}
        self.processes: dict[int, ProcessReading] = {}
        self.engines: dict[str, EngineReading] = {}
        self.rates: dict[tuple[str, str], float] = {}
        self.host = HostReading(
            boot_id="boot-1",
            booted_at=start - 86_400,
            cpu_count=64,
            cpu_percent=3.0,
            iowait_percent=0.0,
            load_1min=1.0,
            cpu_pressure_some=0.0,
            io_pressure_full=0.0,
            memory_pressure_full=0.0,
            swap_in_pages_per_second=0.0,
            disk_busy_ratio=0.0,
            memory_total_bytes=512 * GIB,
            memory_available_bytes=450 * GIB,
            pci_gpu_count=gpus,
        )
        self.nvml = NvmlReading(version="13.580", sweep_seconds=0.02, sweep_seconds_max=0.04)
        self.agent = AgentReading(
            start_id="start-1", sequence=0, started_at=start - 86_400, sees_all_processes=True,
            kernel_log_readable=True, uid=0,
        )  # fmt: skip
        self.gaps: list[Gap] = []
        self.events: list[KernelEvent] = []
        self.extra: dict[str, Any] = {}

    # ---- what is there

    def gpu(self, index: int = 0) -> GpuTale:
        return self.gpus[index]

    def all_gpus(self, **values: Any) -> Self:
        for tale in self.gpus.values():
            tale.shows(**values)
        return self

    def runs(self, memory: dict[int, int | None] | None = None, **values: Any) -> ProcessReading:
        """Start a process, or change the one with this pid. `memory` is bytes by GPU index."""
        pid = values.get("pid", 4000 + len(self.processes))
        process = self.processes.get(pid)
        if process is None:
            known = {"pid": pid, "started_at": self.now - 3600, "state": "S", "cpu_percent": 1.0}
            process = self.processes[pid] = ProcessReading(
                **{**known, "user": "ml", "in_nvml": True, **values}
            )
        else:
            for name, value in values.items():
                setattr(process, name, value)
        if memory is not None:
            process.gpus = [GpuUse(gpu=i, memory_used_bytes=b, type="C") for i, b in memory.items()]
        return process

    def ends(self, pid: int) -> Self:
        del self.processes[pid]
        return self

    def serves(
        self, engine: str = "vllm", rates: dict[str, float] | None = None, **values: Any
    ) -> EngineReading:
        """Start an engine, or change it. `rates` are counters' increases per second, by field."""
        name = values.pop("name", f"{engine}:8000")
        reading = self.engines.get(name)
        if reading is None:
            idle = {
                "requests_running": 0.0, "requests_waiting": 0.0, "kv_used_ratio": 0.0, "metrics_ok": True,
                "health_ok": True, "port_open": True, "ever_answered": True, "parent_alive": True,
                "prompt_tokens_total": 1e6, "generation_tokens_total": 1e6, "requests_finished_total": 1e4,
                "preemptions_total": 0.0,
            }  # fmt: skip
            reading = self.engines[name] = EngineReading(name=name, engine=engine, **{**idle, **values})
        else:
            for key, value in values.items():
                setattr(reading, key, value)
        for field, rate in (rates or {}).items():
            self.rates[name, field] = rate
        return reading

    def logs(self, kind: str, text: str, **values: Any) -> Self:
        """A kernel log line, reported with the next snapshot."""
        self.events.append(KernelEvent(kind=kind, text=text, at=self.now, **values))
        return self

    def misses(self, subject: str, metric: str, reason: str) -> Self:
        """A gap: the metric is not there, and why."""
        self.gaps.append(Gap(subject=subject, metric=metric, reason=reason))
        return self

    def machine(self, **values: Any) -> Self:
        for name, value in values.items():
            setattr(self.host, name, value)
        return self

    # ---- time

    def passes(self, minutes: float = 0.0, seconds: float = 0.0) -> Self:
        """Let time pass; a snapshot every ten seconds."""
        for _ in range(round((60 * minutes + seconds) / INTERVAL)):
            self.reports()
        return self

    def is_silent(self, seconds: float) -> Self:
        """Time passes without a report."""
        self.now += seconds
        return self

    def reports(self) -> Self:
        """One snapshot."""
        self.now += INTERVAL
        for (name, field), rate in self.rates.items():
            if name in self.engines:
                engine = self.engines[name]
                setattr(engine, field, (getattr(engine, field) or 0.0) + rate * INTERVAL)
        self.agent.sequence += 1
        snapshot = Snapshot(
            node=self.window.node,
            taken_at=self.now,
            agent=copy.copy(self.agent),
            driver_version="580.95.05",
            nvml=copy.copy(self.nvml),
            gpus=[self._reading(tale) for tale in self.gpus.values()],
            processes=copy.deepcopy(list(self.processes.values())),
            engines=copy.deepcopy(list(self.engines.values())),
            host=copy.copy(self.host),
            events=self.events,
            gaps=list(self.gaps),
            **self.extra,
        )
        self.events = []
        self.window.add(snapshot)
        self.snapshots += 1
        return self

    def _reading(self, tale: GpuTale) -> GpuReading:
        reading = copy.copy(tale.reading)
        reading.samples = Samples()
        first = self.snapshots * 10
        for name in Samples.__struct_fields__:
            wave = tale.waves.get(name)
            value = getattr(reading, name)
            if wave is not None:
                setattr(reading.samples, name, [wave[(first + i) % len(wave)] for i in range(10)])
            elif value is not None:
                setattr(reading.samples, name, [value] * 10)
        return reading


# ------------------------------------------------------------------------- situations seen often


def vllm_idle(gpus: int = 1, minutes: float = 6) -> Situation:
    """A vLLM server with its pool reserved; alive, and nobody asks."""
    s = Situation(gpus=gpus)
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB, power_watts=71.0)
    vllm_processes(s)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=list(range(gpus)), model="llama-3-8b",
             pool_bytes=55 * GIB, pool_tokens=450_000, gpu_memory_utilization=0.92)  # fmt: skip
    return s.passes(minutes=minutes)


def vllm_processes(s: Situation, memory: int = 74 * GIB) -> None:
    """The server and its engine core, as they look on a host."""
    s.runs(pid=4100, name="vllm", command="/usr/bin/python3 -m vllm.entrypoints.openai.api_server",
           parent_pid=1, parent_name="systemd", gpus=[])  # fmt: skip
    s.runs(dict.fromkeys(s.gpus, memory), pid=4121, name="VLLM::EngineCore", command="VLLM::EngineCore",
           parent_pid=4100, parent_name="vllm", parents=["vllm", "systemd"])  # fmt: skip


def vllm_busy(minutes: float = 6) -> Situation:
    """The same server under load, making tokens."""
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB, power_watts=520.0,
               utilization_percent=[88.0, 95.0, 97.0, 91.0, 96.0], memory_utilization_percent=55.0,
               sm_clock_megahertz=1755.0, temperature_celsius=58.0, clocks_event_reasons=0)  # fmt: skip
    vllm_processes(s)
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0], model="llama-3-8b", pool_bytes=55 * GIB,
             requests_running=24.0, kv_used_ratio=0.45,
             rates={"generation_tokens_total": 1500.0, "prompt_tokens_total": 4000.0,
                    "requests_finished_total": 4.0})  # fmt: skip
    return s.passes(minutes=minutes)


def training_in_bursts(minutes: float = 6, host: dict[str, Any] | None = None, **process: Any) -> Situation:
    """A training job that has worked half the time ever since, and rested in between."""
    s = Situation().machine(**(host or {}))
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=[95.0] * 4 + [0.0] * 5, power_watts=300.0)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py", **process)
    return s.passes(minutes=minutes)


def lost_all_gpus(expected: int | None = None) -> Window:
    """A host whose cards went away, and the driver with them."""
    s = Situation(gpus=2).passes(minutes=6)
    s.gpus.clear()
    s.machine(pci_gpu_count=0).nvml = NvmlReading(error="driver_not_loaded")
    window = s.passes(minutes=2).window
    window.expected_gpus = expected
    return window


def starved_server(minutes: float = 6, **engine: Any) -> Situation:
    """A server whose requests wait while its GPU is mostly idle and the host looks well."""
    s = Situation()
    s.all_gpus(memory_used_bytes=75 * GIB, memory_free_bytes=4 * GIB, power_watts=130.0,
               utilization_percent=[12.0, 20.0, 8.0, 16.0], sm_clock_megahertz=1755.0)  # fmt: skip
    vllm_processes(s)
    known = {"requests_running": 40.0, "requests_waiting": 25.0, "kv_used_ratio": 0.3}
    s.serves("vllm", pid=4100, worker_pids=[4121], gpus=[0], model="llama-3-8b",
             rates={"generation_tokens_total": 90.0, "prompt_tokens_total": 200.0},
             **{**known, **engine})  # fmt: skip
    return s.passes(minutes=minutes)


def starved_training(minutes: float = 6, **host: Any) -> Situation:
    """A training job that was busy an hour ago and now mostly waits."""
    s = Situation()
    s.gpu(0).shows(memory_used_bytes=60 * GIB, utilization_percent=95.0, power_watts=600.0)
    s.runs({0: 60 * GIB}, pid=5400, name="python3", command="torchrun train.py", user="kim")
    s.passes(minutes=20)
    s.gpu(0).shows(utilization_percent=[0.0, 30.0, 0.0, 25.0], power_watts=140.0)
    s.machine(**host)
    return s.passes(minutes=minutes)


def kernel_log_unreadable() -> Window:
    """A host whose agent may not read the kernel log."""
    s = Situation()
    s.agent.kernel_log_readable = False
    return s.passes(minutes=1).window


def reasons_hidden() -> Window:
    """A GPU that does not tell why its clocks are low."""
    s = Situation()
    s.gpu(0).hides("clocks_event_reasons")
    return s.passes(minutes=6).window
