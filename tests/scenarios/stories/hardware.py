"""Clocks, heat, power, links and memory errors: the fault and what only resembles it."""

from __future__ import annotations

from tests.doubles.nvml import GIB
from tests.scenarios.host import TORCH, Host
from tests.scenarios.scenario import scenario

HW_SLOWDOWN, SW_POWER, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x8, 0x4, 0x20, 0x40, 0x80


# ---- PCIe


@scenario(
    "pcie-gen-degraded-under-load",
    "warning",
    "Under full load the link stays at generation 1 of 5.",
    never=("pcie-low-gen-idle",),
)
def link_is_stuck_at_gen_1(host: Host) -> None:
    host.trains()
    host.gpu(0).says(pcie_gen=1)
    host.for_minutes(7)


@scenario(
    "gpu-free", "ok", "An idle link at generation 1 saves power.", never=("pcie-gen-degraded-under-load",)
)
def idle_link_at_gen_1(host: Host) -> None:
    host.gpu(0).says(pcie_gen=1)
    host.for_minutes(7)


@scenario("pcie-width-degraded", "warning", "The link has eight of its sixteen lanes.")
def link_lost_half_its_lanes(host: Host) -> None:
    host.trains()
    host.gpu(0).says(pcie_width=8)
    host.for_minutes(6)


@scenario("pcie-errors", "warning", "The link repeats transmissions, a hundred a minute.")
def link_repeats_transmissions(host: Host) -> None:
    host.trains()
    host.gpu(0).counts(94, 2.0)
    host.for_minutes(12)


@scenario(
    "healthy-busy",
    "ok",
    "The counter of repeated transmissions starts anew after the driver did: no negative rate, no error.",
    never=("pcie-errors",),
)
def replay_counter_starts_anew(host: Host) -> None:
    host.trains()
    host.gpu(0).double.field(94, 5000)
    host.for_minutes(4)
    host.gpu(0).double.field(94, 0)
    host.for_minutes(4)


# ---- power and clocks


@scenario(
    "power-cap-at-full-load",
    "ok",
    "Fully loaded at its default limit: the limit holds the clocks.",
    never=("power-limit-lowered", "clocks-stuck-low", "power-brake"),
)
def power_cap_at_the_default_limit(host: Host) -> None:
    host.trains(watts=696)
    host.gpu(0).says(clocks_event_reasons=SW_POWER).clocks(1600)
    host.for_minutes(6)


@scenario(
    "power-limit-lowered",
    "warning",
    "The same with a limit that somebody set to 400 of 700 W.",
    never=("power-cap-at-full-load",),
)
def power_limit_was_lowered(host: Host) -> None:
    host.trains(watts=396)
    host.gpu(0).says(clocks_event_reasons=SW_POWER, power_limit_mw=400_000, power_enforced_mw=400_000).clocks(
        1200
    )
    host.for_minutes(6)


@scenario(
    "power-brake", "critical", "The server's power supply brakes the GPU.", also=("thermal-hw-slowdown",)
)
def power_supply_brakes(host: Host) -> None:
    host.trains(watts=300)
    host.gpu(0).says(clocks_event_reasons=HW_SLOWDOWN | POWER_BRAKE).clocks(800).counts(271, 6e8)
    host.for_minutes(6)


@scenario(
    "thermal-hw-slowdown",
    "critical",
    "At its slowdown limit the hardware halves the clocks.",
    also=("thermal-sw-slowdown", "hbm-hot"),
)
def hardware_slows_down_for_heat(host: Host) -> None:
    host.trains(watts=400)
    host.gpu(0).says(clocks_event_reasons=HW_SLOWDOWN | HW_THERMAL, temperature_c=89, margin_c=-1).clocks(900)
    host.gpu(0).counts(270, 7e8)
    host.for_minutes(6)


@scenario(
    "healthy-busy",
    "ok",
    "The slowdown bit flickers once while the power state changes.",
    never=("thermal-hw-slowdown", "power-brake", "thermal-sw-slowdown"),
)
def slowdown_bit_flickers(host: Host) -> None:
    host.for_minutes(2)
    host.trains()
    host.gpu(0).says(clocks_event_reasons=HW_SLOWDOWN)
    host.for_seconds(2)
    host.gpu(0).says(clocks_event_reasons=0)
    host.for_minutes(7)


@scenario(
    "thermal-sw-slowdown",
    "warning",
    "The driver lowers the clocks to hold the temperature.",
    also=("thermal-margin-low",),
)
def driver_slows_down_for_heat(host: Host) -> None:
    host.trains(watts=480)
    host.gpu(0).says(clocks_event_reasons=SW_THERMAL, temperature_c=84, margin_c=3).clocks(1200).counts(
        269, 6e8
    )
    host.for_minutes(7)


@scenario(
    "clocks-stuck-low",
    "warning",
    "Full load at a quarter of the clock, and no reason is given.",
    also=("busy-but-inefficient",),
)
def clocks_are_stuck(host: Host) -> None:
    host.trains(watts=210)
    host.gpu(0).clocks(510)
    host.for_minutes(16)


@scenario(
    "fan-failure",
    "warning",
    "A busy RTX 4090 whose fan does not turn.",
    also=("thermal-margin-low",),
    host={"model": "RTX 4090"},
)
def fan_stands_still(host: Host) -> None:
    host.process(5400, "python3 train.py", on={0: 15 * GIB}, libraries=TORCH, cpu=90, sm_percent=95)
    host.gpu(0).computes(97, watts=400, memory_percent=55, celsius=78).says(
        fan_percent=0, fan_rpm=0, margin_c=12
    )
    host.for_minutes(6)


@scenario(
    "gpu-free", "ok", "A cool RTX 4090 whose fan rests.", never=("fan-failure",), host={"model": "RTX 4090"}
)
def fan_rests_on_a_cool_card(host: Host) -> None:
    host.gpu(0).says(fan_percent=0, fan_rpm=0)
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "An L40S without fans and an NVLink: nothing is missing.",
    host={"model": "L40S", "gpus": 2},
    never=("fan-failure", "nvlink-down", "fabric-not-ready"),
)
def card_without_fans_and_links(host: Host) -> None:
    host.for_minutes(6)


# ---- NVLink and fabric


@scenario(
    "nvlink-down",
    "critical",
    "Two links go down in the middle of work.",
    also=("nvlink-errors",),
    host={"gpus": 4},
)
def nvlinks_go_down(host: Host) -> None:
    host.trains()
    host.for_minutes(5)
    host.gpu(2).links_fail(4, 5)
    host.for_minutes(6)


@scenario(
    "nvlink-down",
    "info",
    "Right after a reboot the links of one GPU are still coming up.",
    host={"gpus": 4, "up_seconds": 60.0},
)
def nvlinks_come_up_after_a_reboot(host: Host) -> None:
    host.gpu(2).links_fail(4, 5)
    host.for_minutes(4)


@scenario(
    "fabric-not-ready",
    "critical",
    "The NVSwitch fabric has not come up an hour after boot.",
    never=("nvlink-down",),
    host={"gpus": 2, "up_seconds": 3600.0},
)
def fabric_does_not_come_up(host: Host) -> None:
    for gpu in host.gpus:
        gpu.says(fabric_state=2)
    host.for_minutes(6)


@scenario("ib-link-problem", "warning", "One of two InfiniBand ports is down.")
def infiniband_port_is_down(host: Host) -> None:
    host.files.infiniband("mlx5_0")
    host.files.infiniband("mlx5_1")
    host.trains()
    host.for_minutes(4)
    host.files.infiniband("mlx5_1", state="1: DOWN", downs=1)
    host.for_minutes(6)


# ---- memory errors


@scenario("ecc-uncorrectable-new", "critical", "An uncorrectable error happens while we look.")
def uncorrectable_error_now(host: Host) -> None:
    host.trains()
    host.for_minutes(4)
    host.gpu(0).double.counts_ecc(uncorrected=1)
    host.for_minutes(4)


@scenario(
    "healthy-busy",
    "ok",
    "An uncorrectable error of last month stands in the lifetime counter when the agent starts.",
    never=("ecc-uncorrectable-new",),
)
def uncorrectable_error_of_old(host: Host) -> None:
    host.gpu(0).double.state.ecc.total[1][1] = 3
    host.trains()
    host.for_minutes(7)


@scenario("row-remap-pending", "warning", "A row will be replaced at the next reset.")
def row_remap_is_pending(host: Host) -> None:
    host.gpu(0).remaps(uncorrectable=1, pending=True)
    host.trains()
    host.for_minutes(6)


@scenario("row-remap-failed", "warning", "A failed remap of long ago; no error since.")
def row_remap_failed_once(host: Host) -> None:
    host.gpu(0).remaps(failed=True)
    host.trains()
    host.for_minutes(6)


@scenario(
    "ecc-uncorrectable-new", "critical", "A remap fails now, with new errors.", finds=("row-remap-failed",)
)
def row_remap_fails_now(host: Host) -> None:
    host.trains()
    host.for_minutes(4)
    host.gpu(0).remaps(uncorrectable=3, failed=True)
    host.gpu(0).double.counts_ecc(uncorrected=1)
    host.kernel_log("NVRM: Xid (PCI:0000:18:00): 64, pid='<unknown>', name=<unknown>, Row Remapper: failed")
    host.for_minutes(4)


@scenario(
    "gpu-free",
    "ok",
    "ECC was switched off on one card of three.",
    host={"gpus": 3},
    finds=("ecc-mode-unexpected",),
)
def ecc_is_off(host: Host) -> None:
    host.gpu(1).double.state.ecc.mode = 0
    host.gpu(1).double.state.ecc.mode_pending = 0
    host.for_minutes(6)


@scenario(
    "gpu-free",
    "ok",
    "A vGPU guest whose licence cannot be read: nothing is said of it.",
    unjudged=("vgpu-unlicensed",),
)
def vgpu_licence_is_not_readable(host: Host) -> None:
    host.gpu(0).says(name="NVIDIA A100-20C").double.lacks("nvmlDeviceGetVirtualizationMode")
    host.for_minutes(6)
