"""A host as people know it: a machine, and the trainings, servers and notebooks that run on it."""

from __future__ import annotations

from typing import Any

from tests.doubles.nvml import GIB
from tests.scenarios.engine_pages import Engine, Load
from tests.scenarios.machine import Machine

VLLM = "/opt/venv/bin/vllm serve meta-llama/Llama-3.1-8B-Instruct"
TORCH = "/usr/lib/libtorch_cuda.so /usr/lib/libcudart.so.12"
SERVICE = "0::/system.slice/llm.service"
STEADY: dict[str, Any] = {"running": 24, "kv_used": 0.45, "tokens": 1500, "prompt": 4000, "finished": 4}
SERVERS: dict[str, tuple[str, str | None]] = {  # command, and the title of a worker of its own
    "sglang": ("python3 -m sglang.launch_server --model-path m --port {port}", "sglang::scheduler"),
    "tgi": ("text-generation-launcher --model-id m --port {port}", "text-generation-server"),
    "tensorrt-llm": ("trtllm-serve m --host 0.0.0.0 --port {port}", None),
    "lmdeploy": ("lmdeploy serve api_server m --server-port {port}", None),
}
NOT_OPEN_YET = 18997  # a port that a server will listen on once it has loaded


class Host(Machine):
    """What commonly runs, in a few words; every number can be told otherwise."""

    # ---- trainings and other programs

    def trains(self, *gpus: int, watts: float = 610.0, holds: int = 60 * GIB, **facts: Any) -> None:
        """A training with a rank on each of these GPUs, or on all, which keeps them busy."""
        on = gpus or range(len(self.gpus))
        world = {"WORLD_SIZE": str(len(on)), "MASTER_ADDR": self.node, "MASTER_PORT": "29500"}
        for rank, gpu in enumerate(on):
            ranks = {"RANK": str(rank), **world}
            more = {"cpu": 90, "sm_percent": 95, "ranks": ranks, "libraries": TORCH, **facts}
            self.process(5400 + gpu, "torchrun train.py --data /data", on={gpu: holds}, **more)
            self.gpu(gpu).computes(97, watts=watts, memory_percent=55)

    def python_holds(self, held: int, *, pid: int = 5600, **facts: Any) -> None:
        """A python program of which nothing more is known holds so many bytes of the first GPU."""
        self.process(pid, "python3 run.py", on={0: held}, libraries=TORCH, **facts)

    def notebook_holds(self, held: int, *, pid: int = 5700, **facts: Any) -> None:
        """A notebook's kernel holds so many bytes of the first GPU."""
        command = f"python3 -m ipykernel_launcher -f kernel-{pid}.json"
        self.process(pid, command, on={0: held}, libraries=TORCH, **facts)

    # ---- inference servers

    def serves(self, engine: str, **load: Any) -> Engine:
        """A server of any engine but vLLM, with its worker where it has one; it waits unless told a load."""
        page = self.engine(engine, Load(**load))
        command, worker = SERVERS[engine]
        own: dict[int, int | None] | None = {0: 72 * GIB} if worker is None else None
        self.process(4200, command.format(port=page.port), on=own, port=page.port, libraries=TORCH)
        if worker is not None:
            self.process(4201, [worker], name=worker, parent=4200, on={0: 72 * GIB}, libraries=TORCH)
        return page

    def serves_vllm(
        self, *gpus: int, holds: int = 74 * GIB, pid: int = 4100, options: str = "", **load: Any
    ) -> Engine:
        """A vLLM server with its workers, on the first GPU unless told; it waits unless told a load."""
        engine = self.engine("vllm", Load(**load))
        self._vllm(pid, engine.port, gpus or (0,), holds, options)
        self.changes(pid, port=engine.port)
        return engine

    def vllm_works(self, *, pid: int = 4100, **load: Any) -> Engine:
        """A vLLM server under steady load, and its GPU at work."""
        self.gpu(0).in_bursts([88, 95, 97, 91], watts=520, memory_percent=55)
        return self.serves_vllm(pid=pid, **{**STEADY, **load})

    def loads_vllm(self, seconds: float, *, pid: int = 4100) -> None:
        """A vLLM server was started just now and reads its weights for so long."""
        for step in range(round(seconds / 10)):
            held = (2 + 2 * step) * GIB
            self._vllm(pid, NOT_OPEN_YET, (0,), held, cpu=95, reads=2e9, running_minutes=0)
            self.for_seconds(10)

    def _vllm(
        self, pid: int, port: int, gpus: tuple[int, ...], holds: int, options: str = "", **facts: Any
    ) -> None:
        parallel = f" --tensor-parallel-size {len(gpus)}" if len(gpus) > 1 else ""
        command = f"{VLLM} --port {port}{parallel} {options}"
        self.process(pid, command, name="vllm", cgroup=SERVICE, **facts)
        for number, gpu in enumerate(gpus):
            title = "VLLM::EngineCore" if len(gpus) == 1 else f"VLLM::Worker_TP{number}"
            more = {"on": {gpu: holds}, "libraries": TORCH, "cgroup": SERVICE, **facts}
            self.process(pid + 21 + number, [title], name=title, parent=pid, **more)

    # ---- faults

    def logs_xid(self, number: int, words: str, *, gpu: int = 0, pid: object = 5400) -> None:
        """The driver's line of an Xid in the kernel log."""
        bus = self.gpu(gpu).double.pci_bus_id[4:].rpartition(".")[0].lower()
        self.kernel_log(f"NVRM: Xid (PCI:{bus}): {number}, pid={pid}, name=python3, {words}")

    def oom_killer_takes(self, pid: int, name: str) -> None:
        """Linux kills a process because the memory of the host has run out."""
        self.kernel_log(
            f"Out of memory: Killed process {pid} ({name}) total-vm:912345678kB, anon-rss:512345678kB, "
            "file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:900kB oom_score_adj:0"
        )
        self.ends(pid)

    def loses(self, gpu: int) -> None:
        """This GPU falls off the bus."""
        self.gpu(gpu).double.is_lost()
        self.logs_xid(79, "GPU has fallen off the bus.", gpu=gpu)
