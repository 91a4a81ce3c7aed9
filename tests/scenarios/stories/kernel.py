"""What the kernel log tells: the root, its consequences, repeats, and noise."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.host import Host
from tests.scenarios.scenario import scenario

TORCH = "/usr/lib/libtorch_cuda.so /usr/lib/libcudart.so.12"


def works(host: Host) -> None:
    host.process(5400, "torchrun train.py", on={0: 60 * GIB}, libraries=TORCH, cpu=90, sm_percent=95)
    host.gpu(0).computes(97, watts=610, memory_percent=55)


def xid(number: int, words: str, pid: int = 5400, bus: str = "0000:18:00") -> str:
    return f"NVRM: Xid (PCI:{bus}): {number}, pid={pid}, name=python3, {words}"


@scenario(
    "xid-application",
    "info",
    "Hundreds of Xid 45 as a job is cleaned up: consequences, no fault of the GPU.",
    never=("xid-hardware", "ecc-uncorrectable-new"),
)
def xid_45_at_clean_up(host: Host) -> None:
    works(host)
    host.for_minutes(3)
    host.kernel_log(*[xid(45, f"Ch {channel:08x}") for channel in range(300)])
    host.for_minutes(6)


@scenario(
    "ecc-uncorrectable-new",
    "critical",
    "Xid 48, and Xid 45 in its wake.",
    never=("xid-application",),
    also=("xid-hardware",),
)
def xid_48_then_45(host: Host) -> None:
    works(host)
    host.for_minutes(3)
    host.kernel_log(xid(48, "An uncorrectable double bit error (DBE) has been detected on GPU"))
    host.kernel_log(*[xid(45, f"Ch {channel:08x}") for channel in range(20)])
    host.for_minutes(4)


@scenario(
    "xid-application",
    "info",
    "A program reads where it must not: Xid 13.",
    never=("xid-hardware",),
    finds=("xid-application",),
)
def program_faults(host: Host) -> None:
    host.for_minutes(3)
    host.kernel_log(xid(13, "Graphics SM Warp Exception on (GPC 0, TPC 1): Out Of Range Address"))
    host.for_minutes(3)


@scenario(
    "gpu-lost-bus",
    "critical",
    "The GPU falls off the bus.",
    also=("xid-hardware", "gpu-count-changed"),
    host={"gpus": 4},
    never=("nvlink-down",),
)
def gpu_falls_off_the_bus(host: Host) -> None:
    host.for_minutes(3)
    host.gpu(1).double.is_lost()
    host.kernel_log(xid(79, "GPU has fallen off the bus.", bus="0000:20:00"))
    host.for_minutes(4)


@scenario(
    "gpu-count-changed", "critical", "Eight GPUs were there, now seven; the log is silent.", host={"gpus": 8}
)
def one_gpu_is_missing(host: Host) -> None:
    host.for_minutes(4)
    host.gpu(5).double.is_gone()
    host.for_minutes(4)


@scenario("gsp-timeout", "critical", "The GPU's firmware does not answer.", also=("xid-hardware",))
def firmware_does_not_answer(host: Host) -> None:
    works(host)
    host.for_minutes(3)
    host.kernel_log(
        xid(119, "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76")
    )
    host.for_minutes(3)


@scenario(
    "gpu-needs-reset",
    "critical",
    "The driver asks for a reset.",
    host={"gpus": 2},
    also=("gpu-lost-bus", "xid-hardware"),
)
def driver_asks_for_a_reset(host: Host) -> None:
    host.for_minutes(3)
    host.gpu(1).double.needs_reset()
    host.for_minutes(4)


@scenario(
    "xid-unknown",
    "info",
    "A number that no catalogue has: the line is shown, nothing is guessed.",
    says=("899",),
    never=("xid-hardware",),
    finds=("xid-unknown",),
)
def xid_of_the_future(host: Host) -> None:
    host.for_minutes(3)
    host.kernel_log(xid(899, "Flux capacitor desynchronised"))
    host.for_minutes(3)


@scenario(
    "xid-hardware",
    "critical",
    "The same hardware Xid twice, minutes apart: one finding.",
    also=("xid-repeat", "gsp-timeout"),
)
def same_xid_twice(host: Host) -> None:
    works(host)
    host.for_minutes(3)
    host.kernel_log(xid(62, "Internal micro-controller halt"))
    host.for_minutes(5)
    host.kernel_log(xid(62, "Internal micro-controller halt"))
    host.for_minutes(3)


@scenario("xid-hardware", "critical", "It comes once.", never=("xid-repeat",))
def same_xid_once(host: Host) -> None:
    works(host)
    host.for_minutes(3)
    host.kernel_log(xid(62, "Internal micro-controller halt"))
    host.for_minutes(5)


@scenario(
    "gpu-free", "ok", "A USB camera talks a hundred thousand lines in a second.", never=("xid-unknown",)
)
def a_hundred_thousand_lines(host: Host) -> None:
    host.for_minutes(3)
    stamp = round((host.files.up_seconds + 181) * 1e6)
    lines = (f"4,{number},{stamp},-;usb 1-1: reset high-speed device\n" for number in range(100_000))
    with host.files.kmsg.open("ab") as log:
        log.write("".join(lines).encode())
    host.for_minutes(5)


@scenario(
    "xid-hardware",
    "critical",
    "A hundred thousand lines, and one of them is an Xid 62.",
    also=("gsp-timeout",),
)
def one_xid_among_a_hundred_thousand(host: Host) -> None:
    host.for_minutes(3)
    stamp = round((host.files.up_seconds + 181) * 1e6)
    with host.files.kmsg.open("ab") as log:
        for number in range(100_000):
            text = xid(62, "Internal micro-controller halt") if number == 77_777 else "usb 1-1: reset device"
            log.write(f"4,{number},{stamp},-;{text}\n".encode())
    host.for_minutes(5)


@scenario(
    "gpu-free",
    "ok",
    "The word Xid in somebody's own line is no event.",
    never=("xid-unknown", "xid-hardware", "xid-application"),
)
def a_line_that_only_mentions_xid(host: Host) -> None:
    host.for_minutes(3)
    host.kernel_log(
        "systemd[1]: Started exporter: alerts on Xid 79 and Xid 48", 'audit: comm="xid 62, pid=1"'
    )
    host.for_minutes(3)


@scenario(
    "xid-application",
    "info",
    "A process whose name holds newlines and escapes faults.",
    says=("31",),
    finds=("xid-application",),
)
def hostile_name_in_the_log(host: Host) -> None:
    host.for_minutes(2)
    host.kernel_log("NVRM: Xid (PCI:0000:18:00): 31, pid=7001, name=\x1b[31mevil\x1b[2J, Ch 8, MMU Fault")
    host.for_minutes(3)
