"""Snapshots → the text that nvidia-smi and its neighbours print, in the dress of each driver generation.

The opposite of `gpudiag.smi`, written from the tools' own layouts and not from the readers, so that a round
trip means something. A value that is None is printed the way the tool prints what it does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from xml.sax.saxutils import escape

from gpudiag.model import GpuReading, ProcessReading, Snapshot

MIB = 1 << 20

# widths of the three columns of the upper table, its names, and which lines a GPU has
GENERATIONS = ("331", "390", "440", "470", "535", "550", "610")
_WIDTHS = {"331": (31, 22, 22), "390": (31, 22, 22), "440": (31, 22, 22), "470": (31, 22, 22),
           "535": (41, 22, 22), "550": (41, 24, 22), "610": (41, 24, 22)}  # fmt: skip
_THIRD_LINE = ("470", "535", "550", "610")

_REASONS = (
    ("Idle", "gpu_idle", 0x1),
    ("Applications Clocks Setting", "applications_clocks_setting", 0x2),
    ("SW Power Cap", "sw_power_cap", 0x4),
    ("HW Slowdown", "hw_slowdown", 0x8),
    ("    HW Thermal Slowdown", "hw_thermal_slowdown", 0x40),
    ("    HW Power Brake Slowdown", "hw_power_brake_slowdown", 0x80),
    ("Sync Boost", "sync_boost", 0x10),
    ("SW Thermal Slowdown", "sw_thermal_slowdown", 0x20),
    ("Display Clock Setting", "display_clocks_setting", 0x100),
)


def ctime(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%a %b %e %H:%M:%S %Y")


def stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]


def _mib(value: int | None, none: str = "N/A", unit: str = "MiB") -> str:
    return none if value is None else f"{value // MIB}{unit}"


def _uses(snapshot: Snapshot, gpu: int) -> Iterable[tuple[ProcessReading, int | None, str]]:
    for process in snapshot.processes:
        for use in process.gpus or ():
            if use.gpu == gpu:
                yield process, use.memory_used_bytes, use.type or "C"


# ----------------------------------------------------------------------------------------- the table


def table(snapshot: Snapshot, generation: str = "550") -> str:
    """What `nvidia-smi` prints."""
    widths = _WIDTHS[generation]
    total = sum(widths) + 2
    frame = "+" + "+".join("-" * width for width in widths) + "+"
    lines = [ctime(snapshot.taken_at), "+" + "-" * total + "+", _head(snapshot, generation, total)]
    lines += [frame if generation in ("550", "610") else frame.replace("+", "|", 1)[:-1] + "|"]
    lines += _titles(widths, generation)
    lines += ["|" + "+".join("=" * width for width in widths) + "|"]
    for gpu in snapshot.gpus:
        lines += [*_gpu_rows(gpu, widths, generation), frame]
    return "\n".join([*lines, " " * (total + 2), *_process_part(snapshot, generation, total)]) + "\n"


def _head(snapshot: Snapshot, generation: str, total: int) -> str:
    driver, cuda = snapshot.driver_version or "N/A", snapshot.cuda_version or "N/A"
    if generation == "610":
        text = f" NVIDIA-SMI {driver:<23} KMD Version: {driver:<13} CUDA UMD Version: {cuda}"
    elif generation in ("331", "390"):
        text = f" NVIDIA-SMI {driver:<22} Driver Version: {driver}"
    else:
        text = f" NVIDIA-SMI {driver:<12} Driver Version: {driver:<12} CUDA Version: {cuda}"
    return f"|{text:<{total}}|"


def _titles(widths: Sequence[int], generation: str) -> list[str]:
    rows = [
        (" GPU  Name        Persistence-M", " Bus-Id        Disp.A", " Volatile Uncorr. ECC"),
        (" Fan  Temp  Perf  Pwr:Usage/Cap", "         Memory-Usage", " GPU-Util  Compute M."),
    ]
    if generation in _THIRD_LINE:
        rows.append(("", "", "               MIG M."))
    return [
        "|" + "|".join(f"{cell:<{w}.{w}}" for cell, w in zip(row, widths, strict=True)) + "|" for row in rows
    ]


def _gpu_rows(gpu: GpuReading, widths: Sequence[int], generation: str) -> list[str]:
    first, second, third = widths
    name = gpu.name or "N/A"
    room = first - 12
    name = name if len(name) <= room else name[: room - 3] + "..."
    mode = (gpu.driver_model or "").upper() or {True: "On", False: "Off", None: "N/A"}[gpu.persistence_mode]
    display = {True: "On", False: "Off", None: "N/A"}[gpu.display_active]
    ecc = "N/A" if gpu.ecc_uncorrected_volatile is None else str(gpu.ecc_uncorrected_volatile)
    who = f"{gpu.index:4d}  {name:<{room}} {mode:>4} "
    lines = [f"|{who}|{gpu.bus_id or 'N/A':>{second - 5}} {display:>3} |{ecc:>{third - 1}} |"]
    fan = "N/A" if gpu.fan_percent is None else f"{gpu.fan_percent:.0f}%"
    heat = "N/A" if gpu.temperature_celsius is None else f"{gpu.temperature_celsius:.0f}C"
    power = "N/A" if gpu.power_watts is None else f"{gpu.power_watts:.0f}W"
    limit = "N/A" if gpu.power_limit_watts is None else f"{gpu.power_limit_watts:.0f}W"
    unit = "MB" if generation == "331" else "MiB"
    if gpu.memory_used_bytes is None and generation in ("550", "610"):
        memory = f" {'Not Supported':<{second - 1}}"
    else:
        used, size = _mib(gpu.memory_used_bytes, unit=unit), _mib(gpu.memory_total_bytes, unit=unit)
        memory = f"{f'{used} / {size:>9}':>{second - 1}} "
    load = "N/A" if gpu.utilization_percent is None else f"{gpu.utilization_percent:.0f}%"
    state = f" {fan:>3}  {heat:>4}  {gpu.pstate or 'N/A':>4}"
    draw = f"{f'{power} / {limit:>5}':>{first - len(state) - 1}} "
    lines.append(f"|{state}{draw}|{memory}|{load:>9}{'Default':>{third - 10}} |")
    if generation in _THIRD_LINE:
        mig = {True: "Enabled", False: "Disabled", None: "N/A"}[gpu.mig_mode]
        lines.append(f"|{'':{first}}|{'':{second}}|{mig:>{third - 1}} |")
    return lines


def _process_part(snapshot: Snapshot, generation: str, total: int) -> list[str]:
    frame = "+" + "-" * total + "+"
    instances = "   N/A  N/A" if generation in _THIRD_LINE else ""
    title = " Compute processes:" if generation == "331" else " Processes:"
    heads = (
        "  GPU   GI   CI        PID   Type   Process name"
        if instances
        else "  GPU       PID   Type   Process name"
    )
    if generation == "331":
        heads = "  GPU       PID  Process name"
    lines = [frame, f"|{title:<{total}}|", f"|{heads:<{total - 12}} GPU Memory |"]
    if instances:
        lines.append(f"|{'        ID   ID':<{total - 12}} Usage      |")
    lines.append("|" + "=" * total + "|")
    rows = []
    for gpu in snapshot.gpus:
        for process, memory, kind in _uses(snapshot, gpu.index):
            shown = "" if generation == "331" else f"{kind:>6}  "
            head = f"{gpu.index:5d}{instances}{process.pid:12d}{shown}  {process.name}"
            unit = "MB" if generation == "331" else "MiB"
            rows.append(f"|{head:<{total - 12}}{_mib(memory, unit=unit):>11} |")
    empty = "running compute processes" if generation == "331" else "running processes"
    nobody = f"  No {empty} found"
    return [*lines, *(rows or [f"|{nobody:<{total}}|"]), frame]


# ------------------------------------------------------------------------------------------ -q and XML


def query(snapshot: Snapshot, generation: str = "550") -> str:
    """What `nvidia-smi -q` prints, in the main sections."""
    new = generation in ("535", "550", "610")
    width = 38 if generation == "550" else 50 if generation == "610" else 32
    out: list[str] = ["", "==============NVSMI LOG==============", ""]

    def line(depth: int, key: str, value: str | None = None) -> None:
        text = " " * (4 * depth) + key
        out.append(text if value is None else f"{text:<{max(width, len(text) + 1)}}: {value}")

    def amount(value: float | None, unit: str, digits: int = 0) -> str:
        return "N/A" if value is None else f"{value:.{digits}f} {unit}"

    line(0, "Timestamp", ctime(snapshot.taken_at))
    line(0, "Driver Version", snapshot.driver_version or "N/A")
    line(0, "CUDA Version", snapshot.cuda_version or "N/A")
    out.append("")
    line(0, "Attached GPUs", str(len(snapshot.gpus)))
    for gpu in snapshot.gpus:
        out.append(f"GPU {gpu.bus_id}")
        line(1, "Product Name", gpu.name or "N/A")
        line(1, "Persistence Mode", "Enabled" if gpu.persistence_mode else "Disabled")
        line(1, "GPU UUID", gpu.uuid or "N/A")
        line(1, "Fan Speed", amount(gpu.fan_percent, "%"))
        line(1, "Performance State", gpu.pstate or "N/A")
        line(1, "Clocks Event Reasons" if new else "Clocks Throttle Reasons")
        for name, _, bit in _REASONS:
            active = gpu.clocks_event_reasons is not None and gpu.clocks_event_reasons & bit
            line(2, name, "N/A" if gpu.clocks_event_reasons is None else "Active" if active else "Not Active")
        line(1, "FB Memory Usage")
        line(2, "Total", amount(_in_mib(gpu.memory_total_bytes), "MiB"))
        line(2, "Used", amount(_in_mib(gpu.memory_used_bytes), "MiB"))
        line(2, "Free", amount(_in_mib(gpu.memory_free_bytes), "MiB"))
        line(1, "BAR1 Memory Usage")
        line(2, "Total", amount(256, "MiB"))
        line(2, "Used", amount(5, "MiB"))
        line(1, "Compute Mode", "Default")
        line(1, "Utilization")
        line(2, "GPU" if generation == "610" else "Gpu", amount(gpu.utilization_percent, "%"))
        line(2, "Memory", amount(gpu.memory_utilization_percent, "%"))
        line(1, "Remapped Rows")
        line(2, "Correctable Error", "0")
        line(2, "Uncorrectable Error", "0")
        line(2, "Pending", _yes(gpu.row_remap_pending))
        line(2, "Remapping Failure Occurred", _yes(gpu.row_remap_failed))
        line(1, "Temperature")
        line(2, "GPU Current Temp", amount(gpu.temperature_celsius, "C"))
        line(1, "GPU Power Readings" if new else "Power Readings")
        line(2, "Average Power Draw" if new else "Power Draw", amount(gpu.power_watts, "W", 2))
        limit = amount(gpu.power_limit_watts, "W", 2)
        if generation == "610":
            line(2, "GPU Ceiling Power Limit")
            line(3, "Current Power Limit", limit)
        else:
            line(2, "Current Power Limit" if new else "Enforced Power Limit", limit)
        line(1, "Clocks")
        line(2, "SM", amount(gpu.sm_clock_megahertz, "MHz"))
        line(1, "Max Clocks")
        line(2, "SM", amount(gpu.sm_clock_max_megahertz, "MHz"))
        rows = list(_uses(snapshot, gpu.index))
        line(1, "Processes", None if rows else "None")
        for process, memory, kind in rows:
            line(2, "GPU instance ID", "N/A")
            line(2, "Process ID", str(process.pid))
            line(3, "Type", kind)
            line(3, "Name", process.name or "")
            line(3, "Used GPU Memory", amount(_in_mib(memory), "MiB"))
        out.append("")
    return "\n".join(out) + "\n"


def _in_mib(value: int | None) -> int | None:
    return None if value is None else value // MIB


def _yes(value: bool | None) -> str:
    return {True: "Yes", False: "No", None: "N/A"}[value]


def xml(snapshot: Snapshot, version: int = 12) -> str:
    """What `nvidia-smi -q -x` prints, in the main elements."""
    new = version >= 12

    def amount(value: float | None, unit: str, digits: int = 0) -> str:
        return "N/A" if value is None else f"{value:.{digits}f} {unit}"

    reasons = "clocks_event_reason" if new else "clocks_throttle_reason"
    out = [
        '<?xml version="1.0" ?>',
        f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v{version}.dtd">',
        "<nvidia_smi_log>",
        f"\t<timestamp>{ctime(snapshot.taken_at)}</timestamp>",
        f"\t<driver_version>{snapshot.driver_version or 'N/A'}</driver_version>",
        f"\t<cuda_version>{snapshot.cuda_version or 'N/A'}</cuda_version>",
        f"\t<attached_gpus>{len(snapshot.gpus)}</attached_gpus>",
    ]
    for gpu in snapshot.gpus:
        out += [
            f'\t<gpu id="{gpu.bus_id}">',
            f"\t\t<product_name>{escape(gpu.name or 'N/A')}</product_name>",
            f"\t\t<persistence_mode>{'Enabled' if gpu.persistence_mode else 'Disabled'}</persistence_mode>",
            f"\t\t<uuid>{gpu.uuid or 'N/A'}</uuid>",
            f"\t\t<fan_speed>{amount(gpu.fan_percent, '%')}</fan_speed>",
            f"\t\t<performance_state>{gpu.pstate or 'N/A'}</performance_state>",
            f"\t\t<{reasons}s>",
        ]
        for _, tag, bit in _REASONS:
            mask = gpu.clocks_event_reasons
            state = "N/A" if mask is None else "Active" if mask & bit else "Not Active"
            out.append(f"\t\t\t<{reasons}_{tag}>{state}</{reasons}_{tag}>")
        power = "gpu_power_readings" if new else "power_readings"
        draw, limit = (
            ("average_power_draw", "current_power_limit") if new else ("power_draw", "enforced_power_limit")
        )
        out += [
            f"\t\t</{reasons}s>",
            "\t\t<fb_memory_usage>",
            f"\t\t\t<total>{amount(_in_mib(gpu.memory_total_bytes), 'MiB')}</total>",
            f"\t\t\t<used>{amount(_in_mib(gpu.memory_used_bytes), 'MiB')}</used>",
            f"\t\t\t<free>{amount(_in_mib(gpu.memory_free_bytes), 'MiB')}</free>",
            "\t\t</fb_memory_usage>",
            "\t\t<bar1_memory_usage>",
            "\t\t\t<total>256 MiB</total>",
            "\t\t\t<used>5 MiB</used>",
            "\t\t</bar1_memory_usage>",
            "\t\t<utilization>",
            f"\t\t\t<gpu_util>{amount(gpu.utilization_percent, '%')}</gpu_util>",
            f"\t\t\t<memory_util>{amount(gpu.memory_utilization_percent, '%')}</memory_util>",
            "\t\t</utilization>",
            "\t\t<remapped_rows>",
            f"\t\t\t<remapped_row_pending>{_yes(gpu.row_remap_pending)}</remapped_row_pending>",
            f"\t\t\t<remapped_row_failure>{_yes(gpu.row_remap_failed)}</remapped_row_failure>",
            "\t\t</remapped_rows>",
            "\t\t<temperature>",
            f"\t\t\t<gpu_temp>{amount(gpu.temperature_celsius, 'C')}</gpu_temp>",
            "\t\t</temperature>",
            f"\t\t<{power}>",
            f"\t\t\t<{draw}>{amount(gpu.power_watts, 'W', 2)}</{draw}>",
            f"\t\t\t<{limit}>{amount(gpu.power_limit_watts, 'W', 2)}</{limit}>",
            f"\t\t</{power}>",
            "\t\t<clocks>",
            f"\t\t\t<sm_clock>{amount(gpu.sm_clock_megahertz, 'MHz')}</sm_clock>",
            "\t\t</clocks>",
            "\t\t<max_clocks>",
            f"\t\t\t<sm_clock>{amount(gpu.sm_clock_max_megahertz, 'MHz')}</sm_clock>",
            "\t\t</max_clocks>",
            "\t\t<processes>",
        ]
        for process, memory, kind in _uses(snapshot, gpu.index):
            out += [
                "\t\t\t<process_info>",
                f"\t\t\t\t<pid>{process.pid}</pid>",
                f"\t\t\t\t<type>{kind}</type>",
                f"\t\t\t\t<process_name>{escape(process.name or '')}</process_name>",
                f"\t\t\t\t<used_memory>{amount(_in_mib(memory), 'MiB')}</used_memory>",
                "\t\t\t</process_info>",
            ]
        out += ["\t\t</processes>", "\t</gpu>"]
    return "\n".join([*out, "</nvidia_smi_log>"]) + "\n"


# ------------------------------------------------------------------------------------------------ CSV

CSV_COLUMNS = (
    ("timestamp", ""), ("index", ""), ("name", ""), ("uuid", ""), ("pci.bus_id", ""), ("driver_version", ""),
    ("pstate", ""), ("utilization.gpu", "%"), ("utilization.memory", "%"), ("memory.total", "MiB"),
    ("memory.used", "MiB"), ("memory.free", "MiB"), ("temperature.gpu", ""), ("power.draw", "W"),
    ("power.limit", "W"), ("clocks.current.sm", "MHz"), ("fan.speed", "%"),
)  # fmt: skip


def csv(snapshots: Sequence[Snapshot], units: bool = True, header: bool = True) -> str:
    """What `nvidia-smi --query-gpu=… --format=csv` prints; several snapshots are `-l`."""
    names = ",".join(name for name, _ in CSV_COLUMNS)
    options = "csv" + ("" if header else ",noheader") + ("" if units else ",nounits")
    out = [] if header else [f"$ nvidia-smi --query-gpu={names} --format={options}"]
    if header:
        titles = (f"{name} [{unit}]" if unit else name for name, unit in CSV_COLUMNS)
        out.append(", ".join(titles))
    for snapshot in snapshots:
        for gpu in snapshot.gpus:
            out.append(", ".join(_csv_cells(snapshot, gpu, units)))
    return "\n".join(out) + "\n"


def _csv_cells(snapshot: Snapshot, gpu: GpuReading, units: bool) -> Iterable[str]:
    numbers: tuple[tuple[float | None, int], ...] = (
        (gpu.utilization_percent, 0), (gpu.memory_utilization_percent, 0),
        (_in_mib(gpu.memory_total_bytes), 0), (_in_mib(gpu.memory_used_bytes), 0),
        (_in_mib(gpu.memory_free_bytes), 0), (gpu.temperature_celsius, 0), (gpu.power_watts, 2),
        (gpu.power_limit_watts, 2), (gpu.sm_clock_megahertz, 0), (gpu.fan_percent, 0),
    )  # fmt: skip
    yield stamp(snapshot.taken_at)
    yield str(gpu.index)
    for text in (gpu.name, gpu.uuid, gpu.bus_id, snapshot.driver_version, gpu.pstate):
        yield text or "[N/A]"
    for (value, digits), (_, unit) in zip(numbers, CSV_COLUMNS[7:], strict=True):
        if value is None:
            yield "[N/A]"
        else:
            yield f"{value:.{digits}f}" + (f" {unit}" if unit and units else "")


def apps(snapshot: Snapshot, units: bool = True) -> str:
    """What `nvidia-smi --query-compute-apps=… --format=csv` prints."""
    out = ["gpu_name, gpu_bus_id, gpu_uuid, pid, process_name, used_gpu_memory [MiB]"]
    for gpu in snapshot.gpus:
        for process, memory, _ in _uses(snapshot, gpu.index):
            used = "[N/A]" if memory is None else f"{memory // MIB}" + (" MiB" if units else "")
            out.append(f"{gpu.name}, {gpu.bus_id}, {gpu.uuid}, {process.pid}, {process.name}, {used}")
    return "\n".join(out) + "\n"


# ------------------------------------------------------------------------------------ pmon, dmon, gpustat


def dmon(snapshots: Sequence[Snapshot]) -> str:
    """What `nvidia-smi dmon` prints."""
    out = ["# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec   mclk   pclk ",
           "# Idx      W      C      C      %      %      %      %    MHz    MHz "]  # fmt: skip
    for snapshot in snapshots:
        for gpu in snapshot.gpus:
            cells = (
                gpu.power_watts, gpu.temperature_celsius, None, gpu.utilization_percent,
                gpu.memory_utilization_percent, None, None, None, gpu.sm_clock_megahertz,
            )  # fmt: skip
            shown = " ".join(f"{'-' if cell is None else round(cell):>6}" for cell in cells)
            out.append(f"{gpu.index:>5} {shown} ")
    return "\n".join(out) + "\n"


def pmon(snapshots: Sequence[Snapshot]) -> str:
    """What `nvidia-smi pmon` prints."""
    out = ["# gpu         pid   type     sm    mem    enc    dec    command ",
           "# Idx           #    C/G      %      %      %      %    name "]  # fmt: skip
    for snapshot in snapshots:
        for gpu in snapshot.gpus:
            rows = list(_uses(snapshot, gpu.index))
            for process, _, kind in rows:
                use = next(u for u in process.gpus or () if u.gpu == gpu.index)
                load = "-" if use.sm_percent is None else f"{use.sm_percent:.0f}"
                name = (process.name or "-")[:15]
                out.append(
                    f"{gpu.index:>5} {process.pid:>10} {kind:>5} {load:>6}      -      -      -    {name:<15}"
                )
            if not rows:
                out.append(f"{gpu.index:>5}          -     -      -      -      -      -    -              ")
    return "\n".join(out) + "\n"


def gpustat(snapshot: Snapshot) -> str:
    """What `gpustat` prints."""
    out = [f"node-1                  {ctime(snapshot.taken_at)}  {snapshot.driver_version}"]
    for gpu in snapshot.gpus:
        heat = "??" if gpu.temperature_celsius is None else f"{gpu.temperature_celsius:.0f}"
        load = "??" if gpu.utilization_percent is None else f"{gpu.utilization_percent:.0f}"
        used = "??" if gpu.memory_used_bytes is None else f"{gpu.memory_used_bytes // MIB}"
        size = "??" if gpu.memory_total_bytes is None else f"{gpu.memory_total_bytes // MIB}"
        out.append(f"[{gpu.index}] {gpu.name or '??'} | {heat}'C, {load:>3} % | {used:>5} / {size:>5} MB |")
    return "\n".join(out) + "\n"
