"""Other programs, other boards, other kinds of hosts; and input that means no good."""

from __future__ import annotations

from tests.doubles.nvml import GIB, MigSlice
from tests.scenarios.engine_pages import Load, vllm
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario


@scenario(
    "weights-loaded-idle",
    "ok",
    "Ollama holds a model until its keep-alive ends.",
    never=("memory-held-idle", "engine-metrics-unreachable", "orphaned-engine"),
)
def ollama_waits(host: Host) -> None:
    engine = host.engine("ollama", Load(model="llama3:8b"))
    host.process(4700, ["/usr/bin/ollama", "serve"], port=engine.port)
    host.process(4701, "/usr/bin/ollama runner --model x --port 40000", parent=4700, on={0: 6 * GIB})
    host.for_minutes(6)


@scenario(
    "serving-wedged",
    "critical",
    "SGLang: requests run, no token comes out, nothing computes.",
    also=("low-util-under-load",),
)
def sglang_is_wedged(host: Host) -> None:
    engine = host.serves("sglang", running=8, kv_used=0.3, tokens=700, finished=1, prompt=900)
    host.gpu(0).computes(85, watts=480)
    host.for_minutes(6)
    host.gpu(0).rests()
    engine.makes_nothing()
    host.for_minutes(6)


@scenario(
    "serving-wedged",
    "critical",
    "vLLM is wedged and its GPUs spin at 100 %: busy is not working.",
    never=("healthy-busy", "tp-spin-without-requests"),
    also=("stuck-job", "low-util-under-load"),
    host={"gpus": 2},
)
def wedged_while_spinning(host: Host) -> None:
    engine = host.serves_vllm(0, 1, running=12, kv_used=0.4, tokens=900, prompt=3000, finished=3)
    for gpu in host.gpus:
        gpu.computes(90, watts=480)
    host.for_minutes(6)
    engine.makes_nothing()
    for gpu in host.gpus:
        gpu.spins()
    host.for_minutes(7)


@scenario(
    "healthy-busy",
    "ok",
    "One long answer: few tokens a second, and they come.",
    never=("serving-wedged", "kv-pool-reserved-idle"),
    also=("small-batch",),
)
def one_long_answer(host: Host) -> None:
    host.serves_vllm(running=1, kv_used=0.1, tokens=35, prompt=0, finished=0)
    host.gpu(0).computes(92, watts=380, memory_percent=70)
    host.for_minutes(7)


@scenario(
    "healthy-busy",
    "ok",
    "A prompt of a hundred thousand tokens is read for a minute: no token comes out, and that is right.",
    never=("serving-wedged",),
)
def long_prefill(host: Host) -> None:
    engine = host.serves_vllm(running=4, kv_used=0.3, tokens=300, prompt=1000, finished=0.5)
    host.gpu(0).computes(96, watts=640, memory_percent=40)
    host.for_minutes(5)
    engine.asks(running=1, tokens=0, prompt=0, finished=0)
    host.for_minutes(1)


@scenario(
    "orphaned-engine",
    "critical",
    "Two tensor-parallel workers lost their server to the OOM killer; the restarted one cannot start.",
    also=("host-oom-kill", "engine-metrics-unreachable"),
    host={"gpus": 2},
)
def workers_of_a_killed_server(host: Host) -> None:
    engine = host.serves_vllm(0, 1)
    host.for_minutes(2)
    engine.closes()
    host.oom_killer_takes(4100, "vllm")
    for pid in (4121, 4122):
        host.changes(pid, parent=1)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "warning",
    "An engine in another pid namespace: memory is held, and the owner is not in sight.",
    never=("hidden-memory", "gpu-free", "orphaned-engine", "kv-pool-reserved-idle"),
    finds=("agent-blind",),
    host={"sees_all": False},
)
def engine_out_of_sight(host: Host) -> None:
    host.process_seen_by_driver_only(4121, {0: 74 * GIB})
    host.for_minutes(6)


@scenario(
    "framework-prealloc-idle",
    "ok",
    "TensorFlow took all memory at its start and waits.",
    never=("oom-risk", "memory-held-idle"),
    says=("TensorFlow",),
)
def tensorflow_takes_everything(host: Host) -> None:
    host.process(5600, "python3 serve_tf.py", on={0: 76 * GIB}, libraries="libtensorflow_framework.so.2")
    host.for_minutes(6)


@scenario(
    "notebook-cached-memory",
    "info",
    "Two notebooks hold memory on one GPU.",
    never=("two-engines-one-gpu", "gpu-free"),
    also=("memory-held-idle",),
)
def two_notebooks(host: Host) -> None:
    for pid in (5700, 5701):
        host.notebook_holds(12 * GIB, pid=pid)
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "info",
    "A notebook's cell computes on the GPU.",
    never=("notebook-cached-memory", "memory-held-idle"),
)
def notebook_computes(host: Host) -> None:
    host.notebook_holds(20 * GIB, cpu=95)
    host.gpu(0).in_bursts([60, 0, 40, 10], watts=350)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "info",
    "A V100 without GPM, margin and row remapping: what is missing is no fault.",
    never=("thermal-margin-low", "row-remap-failed", "gpu-free"),
    host={"model": "V100"},
)
def old_board_is_judged_too(host: Host) -> None:
    host.python_holds(12 * GIB)
    host.for_minutes(6)


@scenario(
    "page-retirement-pending",
    "warning",
    "A V100 waits for a reboot to retire a page.",
    host={"model": "V100"},
)
def page_waits_for_retirement(host: Host) -> None:
    host.gpu(0).says(retired_pending=1).double.offers(
        "nvmlDeviceGetRetiredPages", "nvmlDeviceGetRetiredPagesPendingStatus"
    )
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "Eight GPUs, nobody there: one sentence for all.",
    host={"gpus": 8},
)
def eight_free_gpus(host: Host) -> None:
    host.for_minutes(6)


@scenario(
    "mig-util-not-available",
    "info",
    "A slice is full to the brim, and its program works: no alarm without its numbers.",
    never=("oom-risk", "gpu-free", "memory-held-idle"),
)
def mig_slice_is_full(host: Host) -> None:
    host.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB, 99 * GIB // 10))
    host.process(5600, "python3 run.py", libraries=TORCH, cpu=90)
    host.for_minutes(6)


@scenario(
    "storage-bound",
    "warning",
    "The training's data lie on NFS, and its process waits there.",
    also=("low-util-under-load",),
)
def training_waits_for_nfs(host: Host) -> None:
    host.files.file("self/mounts", "server:/data /data nfs4 rw 0 0\n")
    host.trains(0)
    host.for_minutes(6)
    host.gpu(0).in_bursts([0, 25, 0, 20], watts=400)
    host.changes(5400, state="D", wait_channel="rpc_wait_bit_killable", cpu=10)
    host.for_minutes(8)


@scenario(
    "healthy-busy",
    "ok",
    "A program runs on the other socket than its GPU.",
    finds=("numa-misplaced",),
    host={"cores": 16},
)
def program_on_the_far_socket(host: Host) -> None:
    for node in ("node0", "node1"):
        host.files.sys_file(f"devices/system/node/{node}/cpulist", "0-7" if node == "node0" else "8-15")
    host.files.gpu_on_bus(host.gpu(0).double.pci_bus_id, numa_node=0, cpus="0-7")
    host.trains(cpus="8-15")
    host.gpu(0).copies(received=9e9, sent=2e9)
    host.for_minutes(7)


@scenario(
    "pcie-bound",
    "warning",
    "Copies from the host fill the link and the GPU waits for them.",
    also=("low-util-under-load", "numa-misplaced"),
)
def copies_fill_the_link(host: Host) -> None:
    host.trains(cpu=60)
    host.for_minutes(6)
    host.gpu(0).in_bursts([25, 20, 30, 15], watts=400).copies(received=50e9, sent=1e9)
    host.for_minutes(8)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "An engine's page is JSON in quotes, as some proxies send it: it is read all the same.",
    never=("healthy-busy", "engine-metrics-unreachable"),
)
def page_is_quoted_json(host: Host) -> None:
    host.serves_vllm().answers_with(
        b'"# TYPE vllm:num_requests_running gauge\\nvllm:num_requests_running 0\\n"'
    )
    host.for_minutes(5)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "A page with lines that are no numbers among those that are.",
    never=("engine-metrics-unreachable",),
)
def page_with_broken_lines(host: Host) -> None:
    engine = host.serves_vllm()
    engine.page = lambda load: (
        'vllm:\x00{ 1\n}\nvllm:x{a="\n' + vllm(load) + "vllm:num_requests_running{} NaN\n\xff"
    )
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "A pid that the driver names belongs to another program by now.",
    never=("memory-held-idle", "unknown-process", "hidden-memory"),
)
def pid_is_used_again(host: Host) -> None:
    host.process(9000, "python3 run.py", on={0: GIB // 8})
    host.for_minutes(2)
    host.ends(9000)
    host.process(9000, "sleep 1000", running_minutes=0)
    host.for_minutes(5)


@scenario(
    "gpu-free",
    "ok",
    "One of three idle GPUs draws 180 W.",
    finds=("idle-power-high",),
    host={"gpus": 3},
)
def idle_and_hot(host: Host) -> None:
    host.gpu(1).rests(watts=180).clocks(1980)
    host.for_minutes(8)


@scenario(
    "gpu-shared-contention",
    "info",
    "Two trainings take turns on one GPU.",
    finds=("gpu-shared-contention",),
    also=("unknown-process",),
)
def two_trainings_share(host: Host) -> None:
    for pid in (5400, 5500):
        host.process(pid, "python3 train.py", on={0: 30 * GIB}, libraries=TORCH, cpu=90, sm_percent=48)
    host.gpu(0).computes(97, watts=560, memory_percent=50)
    host.for_minutes(8)


@scenario(
    "gpu-shared-contention",
    "info",
    "The clock of the host goes back an hour while two jobs take turns on a GPU.",
    finds=("gpu-shared-contention",),
    also=("unknown-process",),
)
def two_trainings_share_and_the_clock_goes_back(host: Host) -> None:
    two_trainings_share(host)
    host.clock.jumps(-3600)
    host.for_minutes(8)


@scenario(
    "hbm-hot",
    "warning",
    "The memory is hotter than it should be, the core is not.",
    also=("thermal-margin-low",),
)
def memory_chips_are_hot(host: Host) -> None:
    host.trains()
    host.gpu(0).double.field(82, 97, "uint")
    host.for_minutes(8)


@scenario(
    "nvlink-errors",
    "warning",
    "An NVLink's error counter climbs.",
    host={"gpus": 4},
)
def nvlink_counts_errors(host: Host) -> None:
    host.trains()
    for minute in range(12):
        host.gpu(1).double.state.nvlink_errors[3][0] = 40 * minute
        host.gpu(1).double.state.nvlink_errors[3][2] = 400 * minute
        host.for_minutes(1)
