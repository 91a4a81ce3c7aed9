"""Who holds the memory, and whether that is a trouble."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario


@scenario(
    "oom-risk",
    "warning",
    "A PyTorch training swings up and down and leaves half a GiB free.",
    never=("kv-pool-reserved-idle", "framework-prealloc-idle"),
)
def training_is_close_to_out_of_memory(host: Host) -> None:
    host.trains(holds=66 * GIB)
    for step in range(41):
        held = 66 if step < 4 else 77 if step % 4 == 3 else 79
        host.holds(5400, {0: held * GIB + (step % 3) * 60 * 2**20})
        host.for_seconds(10)


@scenario(
    "framework-prealloc-idle",
    "ok",
    "JAX took three quarters of the memory at its start, as it does, and its session waits.",
    never=("oom-risk", "memory-held-idle", "kv-pool-reserved-idle", "held-by-idle-process"),
    says=("JAX",),
)
def jax_holds_its_share(host: Host) -> None:
    host.process(
        5500, "python3 run_jax.py", on={0: 60 * GIB}, libraries="/site-packages/jaxlib/xla_extension.so"
    )
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "vLLM works with its memory full to the last GiB: the pool is there to be filled.",
    never=("oom-risk", "kv-pool-reserved-idle", "memory-growing"),
)
def vllm_memory_is_full_under_load(host: Host) -> None:
    host.vllm_works(holds=78 * GIB, running=30, kv_used=0.7, tokens=2100)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "info",
    "A python program of which nothing else is known holds 20 GiB and does nothing.",
    never=("kv-pool-reserved-idle", "notebook-cached-memory", "gpu-free"),
)
def unknown_python_holds_memory(host: Host) -> None:
    host.python_holds(20 * GIB)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "warning",
    "The same program holds nearly all of it: nobody else can start.",
    never=("kv-pool-reserved-idle", "gpu-free"),
)
def unknown_python_holds_nearly_all(host: Host) -> None:
    host.python_holds(74 * GIB)
    host.for_minutes(6)


@scenario(
    "notebook-cached-memory",
    "info",
    "A notebook's kernel keeps 20 GiB after its last cell ended.",
    never=("memory-held-idle", "kv-pool-reserved-idle", "unknown-process"),
)
def notebook_keeps_its_cache(host: Host) -> None:
    host.notebook_holds(20 * GIB)
    host.for_minutes(6)


@scenario(
    "hidden-memory",
    "warning",
    "30 GiB more are in use than the listed process holds, and every process is visible.",
    also=("memory-held-idle",),
)
def memory_of_nobody_seen(host: Host) -> None:
    host.python_holds(4 * GIB)
    host.hides(0, 30 * GIB)
    host.for_minutes(6)


@scenario(
    "memory-held-idle",
    "info",
    "The same from inside a container: what is hidden cannot be called hidden.",
    never=("hidden-memory", "leaked-memory-no-process"),
    finds=("agent-blind",),
    unjudged=("hidden-memory",),
    host={"sees_all": False},
)
def memory_seen_from_a_container(host: Host) -> None:
    host.process_seen_by_driver_only(5800, {0: 4 * GIB})
    host.hides(0, 30 * GIB)
    host.for_minutes(6)


@scenario(
    "leaked-memory-no-process",
    "critical",
    "A job was killed; its 40 GiB stay for twenty minutes and no process is left.",
    also=("hidden-memory", "memory-held-idle"),
)
def memory_outlives_its_process(host: Host) -> None:
    host.trains(holds=40 * GIB)
    host.for_minutes(3)
    host.gpu(0).rests()
    host.ends(5400)
    host.hides(0, 40 * GIB)
    host.for_minutes(20)


@scenario(
    "gpu-free",
    "ok",
    "A job ends and its memory goes with it.",
    never=("leaked-memory-no-process", "hidden-memory", "memory-held-idle"),
)
def job_ends_as_it_should(host: Host) -> None:
    host.trains(holds=40 * GIB)
    host.for_minutes(3)
    host.gpu(0).rests()
    host.ends(5400)
    host.for_minutes(8)


@scenario(
    "held-by-idle-process",
    "info",
    "A process has held 40 GiB since yesterday and used nothing for seven hours.",
    never=("gpu-free",),
    also=("memory-held-idle",),
)
def memory_held_for_hours(host: Host) -> None:
    host.python_holds(40 * GIB, pid=6000, running_minutes=1500)
    host.for_minutes(6.5 * 60)


@scenario(
    "memory-growing",
    "warning",
    "A service's memory grows by half a GiB a minute, for three quarters of an hour.",
    also=("memory-held-idle", "oom-risk"),
)
def service_leaks_memory(host: Host) -> None:
    for minute in range(45):
        host.process(
            6100,
            "python3 service.py",
            on={0: 20 * GIB + minute * GIB // 2},
            libraries=TORCH,
            running_minutes=300,
            cpu=40,
            sm_percent=40,
        )
        host.gpu(0).computes(40, watts=300)
        host.for_minutes(1)


@scenario(
    "two-engines-one-gpu",
    "warning",
    "Two vLLM servers on one GPU: their shares add to more than it has.",
    also=("oom-risk",),
)
def two_servers_want_one_gpu(host: Host) -> None:
    host.serves_vllm(holds=38 * GIB, utilization=0.9)
    host.serves_vllm(holds=38 * GIB, utilization=0.45, pid=4300)
    host.for_minutes(6)


@scenario(
    "kv-pool-reserved-idle",
    "ok",
    "Two vLLM servers that were given 45 % each.",
    never=("two-engines-one-gpu", "oom-risk", "memory-held-idle"),
)
def two_servers_share_as_agreed(host: Host) -> None:
    host.serves_vllm(holds=35 * GIB, utilization=0.45)
    host.serves_vllm(holds=35 * GIB, utilization=0.45, pid=4300)
    host.for_minutes(6)


@scenario(
    "host-oom-kill",
    "critical",
    "Linux killed the data-loading process of a training because host memory ran out.",
    says=("5400",),
)
def linux_kills_the_training(host: Host) -> None:
    host.trains(holds=40 * GIB)
    host.for_minutes(3)
    host.oom_killer_takes(5400, "python3")
    host.gpu(0).rests()
    host.for_minutes(5)


@scenario(
    "gpu-free",
    "ok",
    "Linux killed a browser: none of the GPU's business.",
    never=("host-oom-kill",),
)
def linux_kills_a_browser(host: Host) -> None:
    host.for_minutes(3)
    host.oom_killer_takes(777, "chrome")
    host.for_minutes(3)


@scenario(
    "process-uninterruptible",
    "critical",
    "A process hangs inside the driver and cannot be killed.",
    never=("gpu-free", "kv-pool-reserved-idle"),
    also=("memory-held-idle",),
)
def process_hangs_in_the_driver(host: Host) -> None:
    host.process(
        6200, "python3 run.py", on={0: 30 * GIB}, state="D", wait_channel="nvidia_uvm_release", cpu=0
    )
    host.for_minutes(8)


@scenario(
    "gpu-free",
    "ok",
    "A process without a GPU waits for its disk.",
    never=("process-uninterruptible",),
)
def process_waits_for_its_disk(host: Host) -> None:
    host.process(6300, "tar cf backup.tar /data", state="D", wait_channel="folio_wait_bit")
    host.for_minutes(8)


@scenario(
    "leaked-memory-no-process",
    "critical",
    "A process is a zombie, and the driver still counts its 30 GiB.",
    also=("hidden-memory", "memory-held-idle"),
    never=("gpu-free",),
)
def zombie_leaves_memory(host: Host) -> None:
    host.process(6400, "python3 run.py", on={0: 30 * GIB}, state="Z", opens=())
    host.ends(6400)
    host.hides(0, 30 * GIB)
    host.process(6400, "python3 run.py", state="Z", opens=())
    host.for_minutes(20)


@scenario(
    "memory-held-idle",
    "info",
    "The main thread is a zombie, its other threads live and hold the GPU.",
    never=("gpu-free", "leaked-memory-no-process"),
)
def zombie_with_living_threads(host: Host) -> None:
    host.process(6500, "python3 run.py", on={0: 30 * GIB}, state="Z", threads={"pt_main": 2.0})
    host.for_minutes(6)


@scenario(
    "host-memory-pressure",
    "warning",
    "Host memory is nearly gone and the training's process waits for pages.",
    also=("low-util-under-load", "oom-risk"),
)
def host_memory_is_short(host: Host) -> None:
    host.trains(holds=40 * GIB, cpu=60, sm_percent=60)
    host.for_minutes(6)
    host.gpu(0).in_bursts([20, 0, 30, 0], watts=560)
    host.files.machine(memory_total_gib=512, memory_available_gib=6)
    host.files.pressure(memory=35.0)
    host.for_minutes(8)
