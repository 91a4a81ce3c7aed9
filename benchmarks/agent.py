"""What the agent costs, and what others cost on the same machine in the same run.

    python -m benchmarks.agent [--seconds 120] [--json]

8 GPUs on the stand-in for the driver, 10 processes on them, one sample a second, a snapshot every 10 s, sent
over HTTP to a receiver on loopback. CPU is user + system time of the agent's process between its first and
its last report (starting up is not counted, all threads are); memory is PSS at the end. The cycles of the
agent, nvitop (devices and processes as snapshots) and gpustat (`new_query`) run as libraries in one process
each, interleaved, and are compared by the median of their CPU time.
What a real driver costs per call is not in these figures: the stand-in answers at once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from gpudiag.model import Snapshot
from tests.doubles.nvml import GIB, Nvml

GPUS = 8
PROCESSES = 10
LONGEST_WAIT_SECONDS = 60.0  # for two reports, after the time that was asked for
LIMIT_CPU_PERCENT = 0.3
LIMIT_PSS_MIB = 40.0
LIMIT_NVITOP = 1 / 10
LIMIT_GPUSTAT = 1 / 20

CYCLES = {
    "agent": """
from gpudiag.agent.nvml import Library
library = Library()
library.open()
for device in library.devices:
    library.read(device, 0.0)
def cycle():
    for device in library.devices:
        device.rows.append((0.0, library.sample(device, 0.0)))
        del device.rows[:-1]
""",
    "agent snapshot": """
import time
from gpudiag.agent import Observer
observer = Observer(period=3600)
observer.start()
observer.snapshot()
def cycle():
    observer.snapshot()
""",
    "nvitop": """
import nvitop
devices = nvitop.Device.all()
def cycle():
    for device in devices:
        device.as_snapshot()
        nvitop.GpuProcess.take_snapshots(device.processes().values(), failsafe=True)
""",
    "gpustat": """
import gpustat
def cycle():
    gpustat.new_query()
""",
}
_MEASURE = """
import sys, time
rounds = int(sys.argv[1])
cycle()
times = []
for _ in range(rounds):
    start = time.process_time()
    cycle()
    times.append(time.process_time() - start)
    time.sleep(0.01)
print(times)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0, help="how long the agent runs (120)")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with Nvml(gpus=GPUS) as nvml:
        sleepers = [subprocess.Popen(["sleep", "100000"]) for _ in range(PROCESSES)]
        try:
            busy_machine(nvml, [sleeper.pid for sleeper in sleepers])
            cycles = compare_cycles(nvml)
            agent = run_agent(nvml, options.seconds)
        finally:
            for sleeper in sleepers:
                sleeper.terminate()
                sleeper.wait()
    figures = {**agent, "cycle_milliseconds": cycles}
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        tell(figures)
    sys.exit(0 if within_limits(figures) else 1)


def busy_machine(nvml: Nvml, pids: list[int]) -> None:
    """Every GPU computes and holds memory; the processes are spread over them."""
    for gpu in nvml.gpus:
        gpu.holds(60 * GIB).computes(85, 40, watts=520)
    for number, pid in enumerate(pids):
        nvml.gpu(number % GPUS).runs_process(pid, 50 * GIB, sm_percent=80)


def compare_cycles(nvml: Nvml) -> dict[str, float]:
    """Median CPU milliseconds of one cycle of each, over interleaved rounds."""
    times: dict[str, list[float]] = {name: [] for name in CYCLES}
    for _ in range(3):
        for name, setup in CYCLES.items():
            rounds = 5 if name == "gpustat" else 60
            program = [sys.executable, "-c", setup + _MEASURE, str(rounds)]
            output = subprocess.run(
                program, env=nvml.environment(), capture_output=True, text=True, check=True
            )
            times[name] += json.loads(output.stdout)
    return {name: round(statistics.median(found) * 1000, 3) for name, found in times.items()}


def run_agent(nvml: Nvml, seconds: float) -> dict[str, float]:
    """The real program for so long, or until its second report; its CPU share and memory."""
    receiver = Receiver()
    with tempfile.TemporaryDirectory() as folder:
        env = {**nvml.environment(), "XDG_STATE_HOME": folder, "XDG_RUNTIME_DIR": folder}
        program = "import sys; from gpudiag.cli import main; sys.exit(main())"
        agent = subprocess.Popen(
            [sys.executable, "-c", program, "agent", "--api", receiver.address, "--node", "bench"],
            env=env,
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(seconds)
            receiver.waits_for(2, LONGEST_WAIT_SECONDS)  # a rate needs a first and a last
            pss = pss_of(agent.pid)
        finally:
            agent.send_signal(signal.SIGTERM)
            agent.wait(timeout=15)
            receiver.close()
    first, last = receiver.got[0], receiver.got[-1]
    assert first.agent is not None and last.agent is not None
    assert first.agent.cpu_seconds is not None and last.agent.cpu_seconds is not None
    spent = last.agent.cpu_seconds - first.agent.cpu_seconds
    return {
        "seconds": round(last.taken_at - first.taken_at, 1),
        "snapshots": len(receiver.got),
        "cpu_percent": round(100 * spent / (last.taken_at - first.taken_at), 3),
        "pss_mib": round(pss, 1),
        "sent_bytes_per_snapshot": round(statistics.mean(receiver.sizes)),
    }


def pss_of(pid: int) -> float:
    """MiB of the process and its children, shared pages split among who shares them."""
    total = 0.0
    for process in [pid, *children_of(pid)]:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) / 1024
    return total


def children_of(pid: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry))
    return found


def within_limits(figures: dict[str, Any]) -> bool:
    cycles = figures["cycle_milliseconds"]
    return bool(
        figures["cpu_percent"] <= LIMIT_CPU_PERCENT
        and figures["pss_mib"] <= LIMIT_PSS_MIB
        and cycles["agent"] <= LIMIT_NVITOP * cycles["nvitop"]
        and cycles["agent"] <= LIMIT_GPUSTAT * cycles["gpustat"]
    )


def tell(figures: dict[str, Any]) -> None:
    cycles = figures["cycle_milliseconds"]
    print(f"The agent, {GPUS} GPUs, 1 s samples, 10 s snapshots, over {figures['seconds']:g} s:")
    print(f"  CPU           {figures['cpu_percent']:.3f} % of one core (limit {LIMIT_CPU_PERCENT} %)")
    print(f"  memory (PSS)  {figures['pss_mib']:.1f} MiB (limit {LIMIT_PSS_MIB:g} MiB)")
    print(f"  sent          {figures['sent_bytes_per_snapshot']} bytes a snapshot")
    print("One cycle, CPU milliseconds (median):")
    for name, value in cycles.items():
        share = f"1/{cycles[name] / cycles['agent']:.0f}" if name in ("nvitop", "gpustat") else ""
        print(f"  {name:<15}{value:>8.3f}   {f'the agent takes {share} of it' if share else ''}")
    print("within all limits" if within_limits(figures) else "NOT within the limits")


class Receiver:
    """Takes reports on loopback and remembers them."""

    def __init__(self) -> None:
        self.got: list[Snapshot] = []
        self.sizes: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.sizes.append(len(body))
                content = zstandard.ZstdDecompressor().decompress(body)
                receiver.got.append(msgspec.json.decode(content, type=Snapshot))
                answer = b'{"stored": 1, "duplicates": 0, "time": 0}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def waits_for(self, reports: int, seconds: float) -> None:
        """Until so many have come; ends the program with a sentence where they do not."""
        until = time.monotonic() + seconds
        while len(self.got) < reports:
            if time.monotonic() > until:
                sys.exit(
                    f"benchmarks.agent: {len(self.got)} of {reports} reports came from the agent; "
                    "does it run? Try: gpudiag agent --api http://127.0.0.1:8000"
                )
            time.sleep(0.1)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


if __name__ == "__main__":
    main()
