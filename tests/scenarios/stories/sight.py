"""What the agent can and cannot see: a driver that fails, rights that are missing, programs that lie."""

from __future__ import annotations

from gpudiag.agent import DeclaredServer
from tests.doubles.nvml import GIB
from tests.scenarios.engine_pages import vllm
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario

LIBRARY_NOT_FOUND = 12
SLURM = "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0"
POD = (
    "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
    "cri-containerd-" + "c" * 64 + ".scope"
)


@scenario(
    "nvml-slow",
    "warning",
    "A call into the driver hangs for minutes; the rest of the host is still seen.",
    host={"gpus": 2},
    also=("gpu-lost-bus",),
)
def driver_hangs(host: Host) -> None:
    host.for_minutes(3)
    host.nvml.call("nvmlDeviceGetPowerUsage", gpu=1).hangs()
    host.for_minutes(2)


@scenario(
    "gpu-free", "ok", "The driver hung for four seconds and is back.", never=("nvml-slow", "gpu-lost-bus")
)
def driver_hiccups(host: Host) -> None:
    host.for_minutes(3)
    host.nvml.call("nvmlDeviceGetPowerUsage").hangs()
    host.for_seconds(4)
    host.nvml.call("nvmlDeviceGetPowerUsage").answers_again()
    host.for_minutes(6)


@scenario("nvml-unavailable", "critical", "The driver is unloaded.", host={"gpus": 2})
def driver_is_unloaded(host: Host) -> None:
    host.for_minutes(3)
    host.nvml.driver_is_unloaded()
    host.for_minutes(3)


@scenario("driver-library-mismatch", "critical", "The driver was updated under a running kernel module.")
def driver_was_updated(host: Host) -> None:
    host.for_minutes(3)
    host.nvml.driver_was_updated()
    host.for_minutes(3)


@scenario("nvml-unavailable", "critical", "The driver's library is not there.")
def library_is_missing(host: Host) -> None:
    host.nvml.fails_with(LIBRARY_NOT_FOUND)
    host.for_minutes(3)


@scenario(
    "no-gpu-host",
    "info",
    "A host that has no GPU.",
    never=("nvml-unavailable", "gpu-count-changed"),
    host={"gpus": 1},
)
def host_without_a_gpu(host: Host) -> None:
    host.nvml.driver_is_unloaded()
    place = next((host.files.sys / "bus/pci/devices").iterdir())
    host.files.sys_file(f"bus/pci/devices/{place.name}/vendor", "0x8086\n")
    host.files.file("modules", "ext4 1 0 - Live 0x0\n")
    host.for_minutes(3)


@scenario(
    "gpu-free",
    "ok",
    "An agent without the host's pids and without the kernel log says so.",
    finds=("agent-blind",),
    host={"sees_all": False},
)
def agent_without_rights(host: Host) -> None:
    host.files.kmsg.unlink()
    host.for_minutes(4)


@scenario(
    "engine-metrics-unreachable",
    "warning",
    "A vLLM server of yesterday does not answer on its port.",
    never=("serving-wedged",),
    also=("memory-held-idle",),
)
def metrics_do_not_answer(host: Host) -> None:
    engine = host.serves_vllm()
    host.for_minutes(3)
    engine.closes()
    host.for_minutes(5)


@scenario(
    "engine-metrics-unreachable",
    "warning",
    "Another program answers on the engine's port.",
    never=("healthy-busy", "serving-wedged"),
    also=("memory-held-idle",),
)
def another_program_on_the_port(host: Host) -> None:
    host.serves_vllm().answers_with(b"<html><body>It works!</body></html>")
    host.for_minutes(5)


@scenario(
    "engine-metrics-unreachable",
    "warning",
    "An engine's page never ends.",
    never=("healthy-busy", "serving-wedged"),
    also=("memory-held-idle",),
)
def endless_page(host: Host) -> None:
    host.serves_vllm().answers_with(b"vllm:num_requests_running 1\n" * 400_000)
    host.for_minutes(3)


@scenario("kv-pool-reserved-idle", "ok", "SGLang, idle.", never=("memory-held-idle",), says=("sglang",))
def sglang_waits(host: Host) -> None:
    host.serves("sglang", pool_tokens=400_000)
    host.for_minutes(6)


@scenario("weights-loaded-idle", "ok", "llama.cpp holds its model and waits.", never=("memory-held-idle",))
def llama_cpp_waits(host: Host) -> None:
    engine = host.engine("llama.cpp")
    host.process(
        4250, f"llama-server -m m.gguf --metrics --port {engine.port}", on={0: 9 * GIB}, port=engine.port
    )
    host.for_minutes(6)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "An old vLLM with the metric names of its time.",
    never=("memory-held-idle",),
)
def old_vllm_with_old_names(host: Host) -> None:
    engine = host.engine("vllm", page=lambda load: vllm(load, old=True))
    host.process(
        4100,
        f"python3 -m vllm.entrypoints.openai.api_server --port {engine.port}",
        name="python3",
        on={0: 72 * GIB},
        port=engine.port,
        libraries=TORCH,
    )
    host.for_minutes(6)


@scenario(
    "engine-asleep", "ok", "A vLLM server sleeps: weights and pool are released.", never=("serving-wedged",)
)
def vllm_sleeps(host: Host) -> None:
    host.serves_vllm(holds=2 * GIB, sleeping=True)
    host.for_minutes(6)


@scenario("memory-held-idle", "info", "A Slurm job's process holds memory: the job is named.", says=("4711",))
def slurm_job_is_named(host: Host) -> None:
    host.python_holds(20 * GIB, pid=7100, cgroup=SLURM)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "info",
    "A pod's process holds memory: the pod is named.",
    says=("0a1b2c3d-1111-2222-3333-444455556666",),
)
def pod_is_named(host: Host) -> None:
    host.python_holds(20 * GIB, pid=7200, cgroup=POD)
    host.for_minutes(6)


@scenario(
    "unknown-process", "warning", "Two Slurm jobs hold one GPU.", says=("4712",), also=("memory-held-idle",)
)
def two_jobs_on_one_gpu(host: Host) -> None:
    host.python_holds(20 * GIB, pid=7100, cgroup=SLURM)
    host.python_holds(10 * GIB, pid=7101, cgroup=SLURM.replace("4711", "4712"))
    host.for_minutes(6)


@scenario(
    "healthy-busy", "ok", "Programs that share a GPU under MPS.", never=("unknown-process", "hidden-memory")
)
def mps_clients_share(host: Host) -> None:
    host.process(7300, "nvidia-cuda-mps-server", on={0: 30 * 2**20}, kind="compute")
    for pid in (7301, 7302):
        host.process(
            pid, "python3 train.py", on={0: 20 * GIB}, kind="mps", sm_percent=45, cpu=80, libraries=TORCH
        )
    host.gpu(0).computes(92, watts=560, memory_percent=50)
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "Short programs come and vanish between two reads.",
    never=("hidden-memory", "agent-blind"),
)
def processes_vanish_between_reads(host: Host) -> None:
    for step in range(24):
        pid = 8000 + step
        host.process(pid, "./probe", on={0: GIB // 4})
        host.for_seconds(5)
        host.ends(pid, driver_forgets=False)
        host.for_seconds(5)
        host.ends(pid)
    host.for_minutes(5)


@scenario(
    "memory-held-idle", "info", "Names with newlines, escapes and brackets stay words.", says=("20.0 GiB",)
)
def hostile_process_name(host: Host) -> None:
    host.process(
        7400,
        ["python3", "run.py", "--note=\x1b[2J\nrm -rf /\r\u202e`id`"],
        name="a) R 1\n(b",
        on={0: 20 * GIB},
        libraries=TORCH,
    )
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "info",
    "A password on a command line does not leave the host.",
    hides=("sk-abcdef", "hunter2"),
)
def password_is_masked(host: Host) -> None:
    host.process(
        7500,
        "python3 run.py --api-key=sk-abcdef0123456789 --password hunter2",
        on={0: 20 * GIB},
        libraries=TORCH,
    )
    host.for_minutes(6)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "A declared engine whose process is in a container of its own.",
    never=("memory-held-idle",),
)
def vllm_named_in_settings(host: Host) -> None:
    engine = host.serves_vllm()
    host.declared = (DeclaredServer("vllm", f"http://127.0.0.1:{engine.port}"),)
    host.for_minutes(6)


@scenario("gpu-free", "ok", "The host's clock jumps back an hour and on again.", never=("agent-stale",))
def clock_jumps(host: Host) -> None:
    host.for_minutes(6)
    host.clock.jumps(-3600)
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "After a reboot nothing of before is held against the node.",
    never=("gpu-count-changed", "xid-hardware", "hidden-memory"),
)
def node_reboots(host: Host) -> None:
    host.trains(holds=40 * GIB)
    host.for_minutes(4)
    host.gpu(0).rests()
    host.reboots()
    host.for_minutes(7)
