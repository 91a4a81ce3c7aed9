"""Machines for property tests: snapshots of any shape that a format can print."""

from __future__ import annotations

from hypothesis import strategies as st

from gpudiag.model import GpuReading, GpuUse, ProcessReading, Snapshot

MIB = 1 << 20
NAMES = (
    "NVIDIA H100 80GB HBM3", "Tesla T4", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce RTX 4090",
    "Tesla V100-SXM2-32GB", "NVIDIA RTX 6000 Ada Generation", "NVIDIA L40S", "GeForce GTX 1080 Ti",
    "NVIDIA GB200",
)  # fmt: skip
PROGRAMS = (
    "python", "/usr/bin/python3", "VLLM::EngineCore", "sglang::scheduler_TP0",
    "/opt/conda/envs/a b/bin/python", "./gpu_burn", "/usr/lib/xorg/Xorg", "tritonserver",
    "C:\\Program Files\\App & Co\\app.exe",
)  # fmt: skip


def maybe(values: st.SearchStrategy) -> st.SearchStrategy:  # type: ignore[type-arg]
    return st.one_of(st.none(), values)


@st.composite
def gpus(draw: st.DrawFn, index: int) -> GpuReading:
    total = draw(st.sampled_from((8192, 15360, 24564, 81559, 183359)))
    unified = draw(st.integers(0, 9)) == 0
    used = None if unified else draw(st.integers(0, total))
    limit = draw(maybe(st.integers(40, 1200)))
    return GpuReading(
        index=index,
        name=draw(st.sampled_from(NAMES)),
        uuid=f"GPU-{index:08x}-1111-2222-3333-{draw(st.integers(0, 0xFFFFFFFF)):012x}",
        bus_id=f"{draw(st.sampled_from((0, 9, 0x503C))):08X}:{16 * (index + 1) + 1:02X}:00.0",
        persistence_mode=draw(st.booleans()),
        display_active=draw(st.booleans()),
        mig_mode=False,
        pstate=f"P{draw(st.integers(0, 12))}",
        utilization_percent=draw(maybe(st.integers(0, 100))),
        memory_utilization_percent=draw(maybe(st.integers(0, 100))),
        memory_used_bytes=None if used is None else used * MIB,
        memory_total_bytes=None if used is None else total * MIB,
        memory_free_bytes=None if used is None else (total - used) * MIB,
        temperature_celsius=draw(maybe(st.integers(15, 99))),
        power_watts=draw(maybe(st.integers(3, min(999, 2 * (limit or 999))))),  # more is no measurement
        power_limit_watts=limit,
        fan_percent=draw(maybe(st.integers(0, 100))),
        sm_clock_megahertz=draw(maybe(st.integers(135, 2600))),
        sm_clock_max_megahertz=draw(maybe(st.integers(1000, 2600))),
        clocks_event_reasons=draw(maybe(st.integers(0, 0x1FF))),
        row_remap_pending=draw(maybe(st.booleans())),
        row_remap_failed=draw(maybe(st.booleans())),
        ecc_uncorrected_volatile=draw(maybe(st.integers(0, 999))),
    )


@st.composite
def snapshots(draw: st.DrawFn, most_gpus: int = 9) -> Snapshot:
    count = draw(st.integers(1, most_gpus))
    cards = [draw(gpus(index)) for index in range(count)]
    processes = []
    pids = draw(st.lists(st.integers(1, 4_000_000), max_size=6, unique=True))
    for pid in pids:
        card = draw(st.integers(0, count - 1))
        most = (cards[card].memory_total_bytes or 80_000 * MIB) // MIB  # no process holds more than there is
        use = GpuUse(
            gpu=card,
            memory_used_bytes=draw(st.integers(1, most)) * MIB,
            type=draw(st.sampled_from(("C", "G", "C+G"))),
            sm_percent=draw(maybe(st.integers(0, 100))),
        )
        processes.append(ProcessReading(pid=pid, name=draw(st.sampled_from(PROGRAMS)), gpus=[use]))
    return Snapshot(
        node="pasted",
        taken_at=float(draw(st.integers(1_600_000_000, 1_900_000_000))),
        driver_version=draw(st.sampled_from(("390.48", "470.103.01", "550.90.07", "610.62"))),
        cuda_version=draw(st.sampled_from(("11.4", "12.8", "13.3"))),
        gpus=cards,
        processes=processes,
    )


@st.composite
def series(draw: st.DrawFn, most_samples: int = 12) -> list[Snapshot]:
    """Samples of one machine, a second apart; only load and memory move."""
    first = draw(snapshots(most_gpus=4))
    found = [first]
    for second in range(1, draw(st.integers(2, most_samples))):
        moved = []
        for gpu in first.gpus:
            values = {name: getattr(gpu, name) for name in gpu.__struct_fields__}
            values["utilization_percent"] = draw(maybe(st.integers(0, 100)))
            moved.append(GpuReading(**values))
        found.append(
            Snapshot(
                node="pasted", taken_at=first.taken_at + second, driver_version=first.driver_version,
                cuda_version=first.cuda_version, gpus=moved, processes=first.processes,
            )
        )  # fmt: skip
    return found
