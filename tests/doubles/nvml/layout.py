"""The state that the double and its tests share: one definition, read by C and by Python.

The ctypes structures below lie in a file that both sides map.
`c_header()` writes the same structures as C, with an assertion for the place of every member, so that a
difference between the two is a compile error.
Units are NVML's own, as the driver would fill them in: milliwatts, megahertz, percent, bytes.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_double, c_int32, c_uint16, c_uint32, c_uint64

GPUS = 16
FUNCTIONS = 512
RULES = 32
FIELDS = 96
PROCESSES = 64
SAMPLES = 120
SAMPLE_KINDS = 7
MIG_DEVICES = 8
NVLINKS = 18
EVENTS = 256
GPM_METRICS = 128
CLOCKS = 4
THRESHOLDS = 8
PAGES = 64

ANY = -1
NO_CODE = -1
COMPUTE, GRAPHICS, MPS = 0, 1, 2
NOT_AVAILABLE_U64 = 2**64 - 1
NO_INSTANCE = 0xFFFFFFFF


class Process(ctypes.Structure):
    """One process on one GPU; `kind` tells which of the three process lists names it."""

    _fields_ = [
        ("pid", c_uint32),
        ("kind", c_uint32),
        ("used_bytes", c_uint64),
        ("gpu_instance", c_uint32),
        ("compute_instance", c_uint32),
        ("sm_percent", c_uint32),
        ("memory_percent", c_uint32),
        ("encoder_percent", c_uint32),
        ("decoder_percent", c_uint32),
    ]


class Field(ctypes.Structure):
    """One answer of nvmlDeviceGetFieldValues; `bits` is the value union as it lies in memory."""

    _fields_ = [
        ("id", c_uint32),
        ("scope", c_uint32),
        ("code", c_int32),
        ("value_type", c_uint32),
        ("bits", c_uint64),
    ]


class Sample(ctypes.Structure):
    """One entry of a driver sample buffer."""

    _fields_ = [("timestamp_us", c_uint64), ("value", c_uint32), ("padding", c_uint32)]


class SampleBuffer(ctypes.Structure):
    """The samples of one kind, oldest first. Count 0: the double makes them from the current value."""

    _fields_ = [("count", c_uint32), ("padding", c_uint32), ("samples", Sample * SAMPLES)]


class MigDevice(ctypes.Structure):
    """One MIG slice."""

    _fields_ = [
        ("uuid", c_char * 96),
        ("name", c_char * 96),
        ("gpu_instance", c_uint32),
        ("compute_instance", c_uint32),
        ("memory_total", c_uint64),
        ("memory_used", c_uint64),
        ("memory_reserved", c_uint64),
        ("multiprocessors", c_uint32),
        ("gpu_slices", c_uint32),
        ("compute_slices", c_uint32),
        ("present", c_uint32),
    ]


class Ecc(ctypes.Structure):
    """Error counts, [corrected, uncorrected] × [volatile, aggregate]."""

    _fields_ = [
        ("total", (c_uint64 * 2) * 2),
        ("device_memory", (c_uint64 * 2) * 2),
        ("sram", (c_uint64 * 2) * 2),
        ("sram_threshold_exceeded", c_uint32),
        ("mode", c_uint32),
        ("mode_pending", c_uint32),
        ("padding", c_uint32),
    ]


class Gpu(ctypes.Structure):
    """One board. `answers` holds a return code per function, 0 where the function works.

    `told_count`, where it is not 0, is the length that lists claim to have, whatever they hold.
    """

    _fields_ = [
        ("present", c_uint32),
        ("failure", c_uint32),
        ("uuid", c_char * 96),
        ("name", c_char * 96),
        ("serial", c_char * 32),
        ("vbios", c_char * 32),
        ("part_number", c_char * 32),
        ("pci_bus_id", c_char * 32),
        ("pci_domain", c_uint32),
        ("pci_bus", c_uint32),
        ("pci_device", c_uint32),
        ("pci_device_id", c_uint32),
        ("pci_subsystem_id", c_uint32),
        ("minor", c_uint32),
        ("architecture", c_uint32),
        ("brand", c_uint32),
        ("compute_major", c_uint32),
        ("compute_minor", c_uint32),
        ("cores", c_uint32),
        ("memory_bus_width", c_uint32),
        ("memory_total", c_uint64),
        ("memory_used", c_uint64),
        ("memory_reserved", c_uint64),
        ("bar1_total", c_uint64),
        ("bar1_used", c_uint64),
        ("used_includes_reserved", c_uint32),
        ("padding", c_uint32),
        ("gpu_percent", c_uint32),
        ("memory_percent", c_uint32),
        ("encoder_percent", c_uint32),
        ("decoder_percent", c_uint32),
        ("jpeg_percent", c_uint32),
        ("ofa_percent", c_uint32),
        ("power_mw", c_uint32),
        ("power_limit_mw", c_uint32),
        ("power_enforced_mw", c_uint32),
        ("power_default_mw", c_uint32),
        ("power_min_mw", c_uint32),
        ("power_max_mw", c_uint32),
        ("energy_mj", c_uint64),
        ("clock_mhz", c_uint32 * CLOCKS),
        ("max_clock_mhz", c_uint32 * CLOCKS),
        ("boost_clock_mhz", c_uint32 * CLOCKS),
        ("application_clock_mhz", c_uint32 * CLOCKS),
        ("clocks_event_reasons", c_uint64),
        ("supported_event_reasons", c_uint64),
        ("violation_ns", c_uint64 * 8),
        ("temperature_c", c_uint32),
        ("margin_c", c_int32),
        ("threshold_c", c_uint32 * THRESHOLDS),
        ("pstate", c_uint32),
        ("fans", c_uint32),
        ("fan_percent", c_uint32),
        ("fan_rpm", c_uint32),
        ("pcie_gen", c_uint32),
        ("pcie_max_gen", c_uint32),
        ("pcie_gpu_max_gen", c_uint32),
        ("pcie_width", c_uint32),
        ("pcie_max_width", c_uint32),
        ("pcie_replay", c_uint32),
        ("pcie_tx_kbps", c_uint32),
        ("pcie_rx_kbps", c_uint32),
        ("persistence", c_uint32),
        ("compute_mode", c_uint32),
        ("display_active", c_uint32),
        ("numa_node", c_uint32),
        ("cpu_affinity", c_uint64 * 4),
        ("ecc", Ecc),
        ("remapped", c_uint32 * 4),
        ("remap_histogram", c_uint32 * 5),
        ("retired_pending", c_uint32),
        ("retired_count", c_uint32 * 2),
        ("nvlinks", c_uint32),
        ("nvlink_version", c_uint32),
        ("nvlink_up", c_uint32 * NVLINKS),
        ("nvlink_errors", (c_uint64 * 4) * NVLINKS),
        ("fabric_state", c_uint32),
        ("fabric_status", c_uint32),
        ("fabric_health", c_uint32),
        ("fabric_clique", c_uint32),
        ("mig_mode", c_uint32),
        ("mig_pending", c_uint32),
        ("encoder_sessions", c_uint32),
        ("virtualization", c_uint32),
        ("licensed", c_uint32),
        ("told_count", c_uint32),
        ("process_count", c_uint32),
        ("process_seen_us", c_uint64),
        ("processes", Process * PROCESSES),
        ("field_count", c_uint32),
        ("sample_period_us", c_uint32),
        ("fields", Field * FIELDS),
        ("samples", SampleBuffer * SAMPLE_KINDS),
        ("mig", MigDevice * MIG_DEVICES),
        ("gpm", c_double * GPM_METRICS),
        ("answers", c_uint16 * FUNCTIONS),
    ]


class Rule(ctypes.Structure):
    """What happens to calls of one function (or all) on one GPU (or all): first a delay, then a code."""

    _fields_ = [
        ("active", c_uint32),
        ("function", c_int32),
        ("gpu", c_int32),
        ("code", c_int32),
        ("after_calls", c_uint64),
        ("matched", c_uint64),
        ("delay_seconds", c_double),
    ]


class Event(ctypes.Structure):
    """One event as nvmlEventSetWait delivers it."""

    _fields_ = [
        ("gpu", c_uint32),
        ("gpu_instance", c_uint32),
        ("compute_instance", c_uint32),
        ("padding", c_uint32),
        ("type", c_uint64),
        ("data", c_uint64),
    ]


class State(ctypes.Structure):
    """The whole machine. `wake` is the futex word on which delayed calls and event waits sleep."""

    _fields_ = [
        ("magic", c_uint64),
        ("size", c_uint64),
        ("wake", c_uint32),
        ("closed", c_uint32),
        ("gpu_count", c_uint32),
        ("rule_count", c_uint32),
        ("system_failure", c_uint32),
        ("cuda_version", c_uint32),
        ("told_gpus", c_uint32),
        ("padding", c_uint32),
        ("now_us", c_uint64),
        ("event_count", c_uint64),
        ("driver_version", c_char * 80),
        ("nvml_version", c_char * 80),
        ("calls", c_uint64 * FUNCTIONS),
        ("rules", Rule * RULES),
        ("events", Event * EVENTS),
        ("gpus", Gpu * GPUS),
    ]


MAGIC = 0x6770756469616731

_STRUCTURES = (Process, Field, Sample, SampleBuffer, MigDevice, Ecc, Gpu, Rule, Event, State)

_CONSTANTS = {
    "MAGIC": f"{MAGIC:#x}ULL",
    **{
        name: str(value)
        for name, value in globals().items()
        if isinstance(value, int) and name.isupper() and name not in ("MAGIC", "NOT_AVAILABLE_U64")
    },
}

_C_TYPES = {
    c_char: "char",
    c_double: "double",
    c_int32: "int32_t",
    c_uint16: "uint16_t",
    c_uint32: "uint32_t",
    c_uint64: "uint64_t",
}


def c_header() -> str:
    """The structures above as a C header, every offset and size asserted."""
    lines = ["#pragma once", "#include <stddef.h>", "#include <stdint.h>", ""]
    lines += [f"#define DOUBLE_{name} ({value})" for name, value in _CONSTANTS.items()]
    for structure in _STRUCTURES:
        lines += ["", *_c_structure(structure)]
    return "\n".join(lines) + "\n"


def _c_structure(structure: type[ctypes.Structure]) -> list[str]:
    tag = _tag(structure)
    members = [f"    {_declaration(kind, name)};" for name, kind in _fields(structure)]
    checks = [
        f'_Static_assert(offsetof({tag}, {name}) == {getattr(structure, name).offset}, "{tag}.{name}");'
        for name, _ in _fields(structure)
    ]
    size = f'_Static_assert(sizeof({tag}) == {ctypes.sizeof(structure)}, "{tag}");'
    return [f"typedef struct {tag} {{", *members, f"}} {tag};", *checks, size]


def _fields(structure: type[ctypes.Structure]) -> list[tuple[str, type]]:
    return [(field[0], field[1]) for field in structure._fields_]


def _declaration(kind: type, name: str) -> str:
    dimensions = ""
    while issubclass(kind, ctypes.Array):
        dimensions += f"[{kind._length_}]"
        kind = kind._type_  # type: ignore[assignment]
    return f"{_C_TYPES.get(kind) or _tag(kind)} {name}{dimensions}"


def _tag(structure: type) -> str:
    return "double_" + structure.__name__.lower()
