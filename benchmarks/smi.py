"""What explaining pasted output costs: read, judged and worded, on one core. `python -m benchmarks.smi`

Texts come from the tests' writers: the sizes are those that people paste.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.model import GpuReading, GpuUse, ProcessReading, Snapshot
from gpudiag.smi import window_of
from tests.smi import writers

GIB = 1 << 30
LIMITS = {"table, 8 GPUs": 5.0, "-q -x, 16 GPUs": 50.0, "CSV, 10,000 rows": 300.0}
"""Milliseconds that each may take."""


def machine(gpus: int, at: float = 1_764_400_000.0, load: float = 0.0) -> Snapshot:
    """H100s with an engine on each."""
    readings = [
        GpuReading(
            index=index, name="NVIDIA H100 80GB HBM3", bus_id=f"00000000:{0x19 + index:02X}:00.0",
            uuid=f"GPU-00000000-0000-0000-0000-{index:012x}", pstate="P0", utilization_percent=load,
            memory_utilization_percent=0, memory_used_bytes=74 * GIB, memory_total_bytes=80 * GIB,
            memory_free_bytes=6 * GIB, temperature_celsius=31, power_watts=71, power_limit_watts=700,
            sm_clock_megahertz=345, sm_clock_max_megahertz=1980, clocks_event_reasons=1,
            persistence_mode=True, mig_mode=False, ecc_uncorrected_volatile=0,
            row_remap_pending=False, row_remap_failed=False,
        )
        for index in range(gpus)
    ]  # fmt: skip
    processes = [
        ProcessReading(
            pid=4000 + index,
            name="VLLM::Worker_TP0",
            gpus=[GpuUse(gpu=index, memory_used_bytes=73 * GIB, type="C")],
        )
        for index in range(gpus)
    ]
    return Snapshot(
        node="bench", taken_at=at, driver_version="550.90.07", cuda_version="12.4",
        gpus=readings, processes=processes,
    )  # fmt: skip


def texts() -> dict[str, str]:
    series = [machine(1, 1_764_400_000.0 + second, second % 101) for second in range(10_000)]
    clocks = "".join(
        f"<supported_graphics_clock>{1980 - 15 * i} MHz</supported_graphics_clock>\n" for i in range(110)
    )
    long_list = (
        f"<supported_clocks>\n<supported_mem_clock>\n{clocks}</supported_mem_clock>\n</supported_clocks>\n"
    )
    xml = writers.xml(machine(16)).replace("\t\t<processes>\n", f"{long_list}\t\t<processes>\n")
    return {
        "table, 8 GPUs": writers.table(machine(8)),
        "-q, 8 GPUs": writers.query(machine(8)),
        "-q -x, 16 GPUs": xml,
        "CSV, 10,000 rows": writers.csv(series),
    }


def milliseconds(text: str, rounds: int) -> float:
    """Least processor time of the whole answer over several rounds: what the work itself takes."""
    least = float("inf")
    for _ in range(rounds):
        before = time.process_time()
        explain(examine(window_of(text)))
        least = min(least, time.process_time() - before)
    return 1000 * least


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args()
    figures = {
        name: round(milliseconds(text, 5 if len(text) > 100_000 else 30), 2) for name, text in texts().items()
    }
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            limit = f"(at most {LIMITS[name]:.0f})" if name in LIMITS else ""
            print(f"{name:<20} {value:8.2f} ms {limit}")
    return int(any(figures[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
