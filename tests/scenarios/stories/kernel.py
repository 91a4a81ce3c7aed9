"""What the kernel log tells: the root, its consequences, repeats, and noise."""

from __future__ import annotations

from tests.scenarios.host import Host
from tests.scenarios.scenario import scenario


@scenario(
    "xid-application",
    "info",
    "Hundreds of Xid 45 as a job is cleaned up: consequences, no fault of the GPU.",
    never=("xid-hardware", "ecc-uncorrectable-new"),
)
def xid_45_at_clean_up(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    for channel in range(300):
        host.logs_xid(45, f"Ch {channel:08x}")
    host.for_minutes(6)


@scenario(
    "ecc-uncorrectable-new",
    "critical",
    "Xid 48, and Xid 45 in its wake.",
    never=("xid-application",),
    also=("xid-hardware",),
)
def xid_48_then_45(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    host.logs_xid(48, "An uncorrectable double bit error (DBE) has been detected on GPU")
    for channel in range(20):
        host.logs_xid(45, f"Ch {channel:08x}")
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
    host.logs_xid(13, "Graphics SM Warp Exception on (GPC 0, TPC 1): Out Of Range Address")
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
    host.loses(1)
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
    host.trains()
    host.for_minutes(3)
    host.logs_xid(119, "Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76")
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
    host.logs_xid(899, "Flux capacitor desynchronised")
    host.for_minutes(3)


@scenario(
    "xid-hardware",
    "critical",
    "The same hardware Xid twice, minutes apart: one finding.",
    also=("xid-repeat", "gsp-timeout"),
)
def same_xid_twice(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    host.logs_xid(62, "Internal micro-controller halt")
    host.for_minutes(5)
    host.logs_xid(62, "Internal micro-controller halt")
    host.for_minutes(3)


@scenario("xid-hardware", "critical", "It comes once.", never=("xid-repeat",))
def same_xid_once(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    host.logs_xid(62, "Internal micro-controller halt")
    host.for_minutes(5)


@scenario(
    "gpu-free", "ok", "A USB camera talks a hundred thousand lines in a second.", never=("xid-unknown",)
)
def a_hundred_thousand_lines(host: Host) -> None:
    host.for_minutes(3)
    host.files.floods("usb 1-1: reset high-speed device", 100_000)
    host.for_minutes(5)


@scenario(
    "xid-hardware",
    "critical",
    "A hundred thousand lines, and one of them is an Xid 62.",
    also=("gsp-timeout",),
)
def one_xid_among_a_hundred_thousand(host: Host) -> None:
    host.for_minutes(3)
    host.files.floods("usb 1-1: reset high-speed device", 77_777)
    host.logs_xid(62, "Internal micro-controller halt")
    host.files.floods("usb 1-1: reset high-speed device", 22_222)
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


@scenario(
    "xid-application",
    "warning",
    "Xid 13 again and again, from many programs on one GPU.",
    finds=("xid-application",),
    also=("xid-repeat",),
)
def many_programs_fault_on_one_gpu(host: Host) -> None:
    for number in range(12):
        host.logs_xid(13, "Graphics SM Warp Exception", pid=7000 + number)
        host.for_minutes(1)


@scenario(
    "ecc-uncorrectable-new",
    "warning",
    "Xid 94 and 63: contained, a row will be replaced at the next reset.",
    also=("row-remap-pending", "gpu-needs-reset"),
    never=("xid-application",),
)
def contained_error(host: Host) -> None:
    host.trains()
    host.for_minutes(3)
    host.logs_xid(63, "Row Remapper: New row (0x1) marked", pid="'<unknown>'")
    host.logs_xid(94, "Contained: CE User Channel (0x9). RST: No")
    host.logs_xid(45, "Ch 00000008")
    host.gpu(0).remaps(uncorrectable=1, pending=True).double.counts_ecc(uncorrected=1)
    host.ends(5400)
    host.gpu(0).rests()
    host.for_minutes(4)


@scenario(
    "sxid-nvswitch",
    "critical",
    "A fatal SXid of an NVSwitch.",
    also=("xid-nvlink",),
    never=("xid-unknown",),
    host={"gpus": 2},
)
def switch_fails(host: Host) -> None:
    host.for_minutes(3)
    host.kernel_log(
        "nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 12028, Fatal, Link 32 egress non-posted PRIV error"
    )
    host.for_minutes(3)


@scenario(
    "gpu-lost-bus",
    "critical",
    "The log says that a GPU has fallen off the bus, without a number.",
    also=("gpu-count-changed", "xid-hardware"),
    host={"gpus": 2},
)
def fell_off_without_a_number(host: Host) -> None:
    host.for_minutes(3)
    host.kernel_log("NVRM: GPU 0000:20:00.0: GPU has fallen off the bus.")
    host.gpu(1).double.is_lost()
    host.for_minutes(3)


@scenario(
    "gpu-init-failed",
    "critical",
    "One card on the bus never starts.",
    also=("gpu-count-changed",),
    host={"gpus": 2},
)
def card_does_not_start(host: Host) -> None:
    host.files.gpu_on_bus("00000000:38:00.0")
    host.kernel_log(
        "NVRM: GPU 0000:38:00.0: RmInitAdapter failed! (0x62:0xffff:2477)",
        "NVRM: GPU 0000:38:00.0: rm_init_adapter failed, device minor number 2",
    )
    host.for_minutes(4)


@scenario(
    "xid-hardware",
    "critical",
    "The kernel log is hidden; the driver tells the Xid itself.",
    also=("gsp-timeout",),
    finds=("agent-blind",),
)
def xid_from_the_driver(host: Host) -> None:
    host.files.kmsg.unlink()
    host.for_minutes(3)
    host.nvml.reports_xid(0, 62)
    host.for_minutes(3)


@scenario(
    "gpu-lost-bus",
    "critical",
    "Xid 79 for a bus address that no GPU here has.",
)
def xid_of_a_card_not_listed(host: Host) -> None:
    host.for_minutes(2)
    host.kernel_log("NVRM: Xid (PCI:0000:99:00): 79, pid=1, name=x, GPU has fallen off the bus.")
    host.for_minutes(3)


@scenario(
    "gpu-needs-reset",
    "critical",
    "The kernel log says which action the card needs (Xid 154).",
    also=("xid-hardware", "gsp-timeout"),
)
def log_names_the_action(host: Host) -> None:
    host.for_minutes(2)
    host.logs_xid(154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    host.gpu(0).double.field(230, 1, "uint")
    host.for_minutes(3)


@scenario(
    "power-connector-missing",
    "critical",
    "The driver says that the power cables are not connected.",
    also=("gpu-init-failed", "gpu-count-changed"),
)
def power_cables_are_missing(host: Host) -> None:
    host.for_minutes(2)
    host.kernel_log("NVRM: GPU 0000:18:00.0: GPU does not have the necessary power cables connected.")
    host.for_minutes(3)
