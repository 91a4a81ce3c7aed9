"""Situations of gpu-lost-bus and its look-alikes."""

from gpudiag.model import KernelEvent, PasteReading, Snapshot
from gpudiag.rule import Case
from gpudiag.rules.pastes import kernel_lines, pasted
from gpudiag.rules.situations import START, Situation, idle_h100
from gpudiag.window import Window

LINE = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def _xid_79() -> Window:
    s = Situation(gpus=4).passes(minutes=5)
    s.logs("xid", LINE, number=79, bus_id="0000:1b:00")
    s.gpu(2).hides("utilization_percent", "memory_used_bytes", "power_watts")
    return s.passes(minutes=2).window


def _by_nvml() -> Window:
    s = Situation(gpus=2).passes(minutes=5)
    s.agent.kernel_log_readable = False
    s.gpu(1).shows(error="gpu_is_lost").hides("utilization_percent", "memory_used_bytes", "power_watts")
    return s.passes(seconds=30).window


def _before_the_boot() -> Window:
    s = Situation(gpus=4)
    s.machine(booted_at=s.now - 60)
    s.logs("xid", LINE, number=79, bus_id="0000:1b:00")
    s.events[0].at = s.now - 7200
    return s.passes(minutes=5).window


def _log_unreadable() -> Window:
    s = Situation(gpus=1)
    s.agent.kernel_log_readable = False
    s.gpus.clear()
    return s.passes(minutes=1).window


def _handle() -> Window:
    line = "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error"
    window = Window("pasted")
    window.add(
        Snapshot(
            node="pasted",
            taken_at=START,
            source="pasted",
            paste=PasteReading(formats=["error"], errors=["device_handle"], error_lines=[line]),
        )
    )
    return window


def _on_the_page_of_a_gpu_that_works() -> Window:
    event = KernelEvent(kind="lost_before", text="DCGM_FI_DEV_XID_ERRORS of GPU 1: 79", number=79, gpu=1)
    window = Window("pasted")
    gpus = [idle_h100(0), idle_h100(1)]
    paste = PasteReading(formats=["dcgm"])
    window.add(
        Snapshot(node="pasted", taken_at=START, source="pasted", gpus=gpus, events=[event], paste=paste)
    )
    return window


def _row_of_errors() -> Window:
    return pasted(gpus=2, error="unknown_error")


CASES = [
    Case("Xid 79 in the kernel log", _xid_79, "fires", severity="critical", confidence="proven"),
    Case("NVML says that the GPU is lost", _by_nvml, "fires", variant="nvml"),
    Case("a pasted line is enough", lambda: kernel_lines(LINE), "fires"),
    Case(
        "a line without a number",
        lambda: kernel_lines("NVRM: GPU 0000:91:00.0: GPU has fallen off the bus."),
        "fires",
    ),
    Case("nvidia-smi cannot get a handle", _handle, "fires", variant="handle", confidence="likely"),
    Case(
        "every reading of a pasted row fails", _row_of_errors, "fires", variant="silent", confidence="likely"
    ),
    Case(
        "an exporter still shows the Xid of a GPU that works",
        _on_the_page_of_a_gpu_that_works,
        "fires",
        gpu=1,
        severity="warning",
        confidence="possible",
        variant="before",
    ),
    Case("it was lost before the last boot", _before_the_boot, "clear"),
    Case("an Xid of the program", lambda: kernel_lines(LINE.replace("79", "31")), "clear"),
    Case(
        "an NVSwitch number is no Xid",
        lambda: kernel_lines("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 79, Fatal, Link 1"),
        "clear",
    ),
    Case("neither log nor GPUs can be read", _log_unreadable, "unjudged"),
]
