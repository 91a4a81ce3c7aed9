"""What DCGM measures: the metrics page of dcgm-exporter, and `dcgmi dmon`.

    DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-…",modelName="NVIDIA L4",Hostname="n1"} 37

    #Entity   GPUTL   FBUSD   POWER
    GPU 0     37      4096    61.250

A field that this GPU does not have is left out, written as N/A or as a number that no field can have. Under
MIG the memory is an instance's, never the card's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import KernelEvent, MigDevice
from gpudiag.smi import values as v
from gpudiag.smi.sheet import Draft, Sheet
from gpudiag.smi.values import Convert

PREFIX = "DCGM_FI_D"
_METRIC = re.compile(r"\s{0,8}DCGM_FI_(\w{3,60})\{(.{0,2000}?)\}\s{1,40}(\S{1,40})(?:\s+\d{10,13})?\s*")
_LABEL = re.compile(r'(\w{1,60})="((?:[^"\\]|\\.){0,300})"')
LOST = 79
"""The last Xid of a GPU stays on the page: of one that works, this one is of before."""
_BLANK = 1e15  # DCGM writes what it does not know as a number near 2^63

_FIELDS: dict[str, tuple[str, Convert]] = {
    "DEV_GPU_UTIL": ("utilization_percent", v.percent),
    "DEV_MEM_COPY_UTIL": ("memory_utilization_percent", v.percent),
    "DEV_ENC_UTIL": ("encoder_percent", v.percent),
    "DEV_DEC_UTIL": ("decoder_percent", v.percent),
    "DEV_GPU_TEMP": ("temperature_celsius", v.celsius),
    "DEV_POWER_USAGE": ("power_watts", v.watts),
    "DEV_POWER_MGMT_LIMIT": ("power_limit_watts", v.watts),
    "DEV_ENFORCED_POWER_LIMIT": ("power_limit_watts", v.watts),
    "DEV_SM_CLOCK": ("sm_clock_megahertz", v.megahertz),
    "DEV_MEM_CLOCK": ("memory_clock_megahertz", v.megahertz),
    "DEV_PCIE_REPLAY_COUNTER": ("pcie_replay_count", v.count),
    "DEV_CLOCK_THROTTLE_REASONS": ("clocks_event_reasons", v.count),
    "DEV_CLOCKS_EVENT_REASONS": ("clocks_event_reasons", v.count),
    "DEV_ECC_SBE_VOL_TOTAL": ("ecc_corrected_volatile", v.count),
    "DEV_ECC_DBE_VOL_TOTAL": ("ecc_uncorrected_volatile", v.count),
    "DEV_ECC_SBE_AGG_TOTAL": ("ecc_corrected_aggregate", v.count),
    "DEV_ECC_DBE_AGG_TOTAL": ("ecc_uncorrected_aggregate", v.count),
    "DEV_RETIRED_SBE": ("retired_pages_single_bit", v.count),
    "DEV_RETIRED_DBE": ("retired_pages_double_bit", v.count),
    "DEV_CORRECTABLE_REMAPPED_ROWS": ("remapped_rows_correctable", v.count),
    "DEV_UNCORRECTABLE_REMAPPED_ROWS": ("remapped_rows_uncorrectable", v.count),
}
_YES: dict[str, str] = {
    "DEV_RETIRED_PENDING": "retired_pages_pending",
    "DEV_ROW_REMAP_PENDING": "row_remap_pending",
    "DEV_ROW_REMAP_FAILURE": "row_remap_failed",
}
_MEMORY: dict[str, str] = {
    "DEV_FB_USED": "memory_used_bytes",
    "DEV_FB_FREE": "memory_free_bytes",
    "DEV_FB_RESERVED": "memory_reserved_bytes",
    "DEV_FB_TOTAL": "memory_total_bytes",
}
_OF_THE_CARD = frozenset(("DEV_GPU_TEMP", "DEV_POWER_USAGE", "DEV_SM_CLOCK", "DEV_MEM_CLOCK"))
"""Fields that are the card's where a line names a MIG instance, too."""

_SHORT: dict[str, str] = {  # what the columns of dmon are called
    "GPUTL": "DEV_GPU_UTIL", "MCUTL": "DEV_MEM_COPY_UTIL", "TMPTR": "DEV_GPU_TEMP",
    "POWER": "DEV_POWER_USAGE", "SMCLK": "DEV_SM_CLOCK", "MMCLK": "DEV_MEM_CLOCK",
    "FBUSD": "DEV_FB_USED", "FBFRE": "DEV_FB_FREE", "FBTTL": "DEV_FB_TOTAL",
}  # fmt: skip


def host_of(line: str) -> str | None:
    """The host that a line of an exporter's page names."""
    if PREFIX not in line:
        return None
    metric = _METRIC.fullmatch(line[:3000])
    labels = dict(_LABEL.findall(metric[2])) if metric else {}
    return labels.get("Hostname") or labels.get("hostname")


def read_exporter(lines: Sequence[str]) -> tuple[list[Sheet], list[KernelEvent], list[int]]:
    """The samples of an exporter's page, the last Xid of each GPU, and the numbers of the lines."""
    sheets: list[Sheet] = []
    events: list[tuple[int, KernelEvent]] = []
    used: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for number, line in enumerate(lines):
        if "DCGM_FI_" not in line or len(line) > 3000:
            continue
        metric = _METRIC.fullmatch(line)
        if metric is None:
            continue
        used.append(number)
        labels = dict(_LABEL.findall(metric[2]))
        key = (metric[1], *(labels.get(name, "") for name in ("gpu", "UUID", "GPU_I_ID", "pod", "container")))
        if not sheets or key in seen:
            sheets.append(Sheet("dcgm"))
            seen = set()
        seen.add(key)
        event = _take(sheets[-1], metric[1], labels, metric[3])
        if event is not None:
            events.append((int(labels["gpu"]), event))
    for sheet in sheets:
        _finish(sheet)
    at_work = {
        gpu.index for sheet in sheets[-1:] for gpu in sheet.gpus if gpu.values.get("utilization_percent")
    }
    for index, event in events:
        if event.number == LOST and index in at_work:
            event.kind = "lost_before"
    return [sheet for sheet in sheets if sheet.gpus], [event for _, event in events], used


def _take(sheet: Sheet, field: str, labels: dict[str, str], written: str) -> KernelEvent | None:
    value = _number(written)
    number = labels.get("gpu", "")
    if not number.isdigit() or len(number) > 3:
        return None
    gpu = sheet.gpu_at(int(number))
    gpu.read("name", v.plain_text, labels.get("modelName", ""))
    gpu.read("uuid", v.uuid, labels.get("UUID", ""))
    gpu.read("bus_id", v.bus_id, labels.get("pci_bus_id", ""))
    sheet.driver = sheet.driver or labels.get("DCGM_FI_DRIVER_VERSION")
    if value is None:
        return None
    if field == "DEV_XID_ERRORS":
        text = f"DCGM_FI_{field} of GPU {number}: {value:.0f} (the last one; when is not told)"
        bus = gpu.values.get("bus_id")
        event = KernelEvent(kind="xid", text=text, number=int(value), bus_id=bus, gpu=gpu.index)
        return event if value else None
    instance = labels.get("GPU_I_ID", "")
    if instance.isdigit():
        _take_instance(gpu, field, int(instance), labels.get("GPU_I_PROFILE"), value)
        if field not in _OF_THE_CARD:
            return None
    _give(gpu, field, value)
    return None


def _give(gpu: Draft, field: str, value: float) -> None:
    if field in _FIELDS:
        name, convert = _FIELDS[field]
        gpu.read(name, convert, f"{value:.0f}" if convert is v.count else f"{value:g}", False)
    elif field in _YES:
        gpu.give(_YES[field], value > 0)
    elif field in _MEMORY:
        gpu.give(_MEMORY[field], round(value) * v.MIB)


def _take_instance(gpu: Draft, field: str, instance: int, profile: str | None, value: float) -> None:
    gpu.give("mig_mode", True)
    device = next((known for known in gpu.mig if known.gpu_instance == instance), None)
    if device is None:
        device = MigDevice(index=len(gpu.mig), gpu_instance=instance, profile=profile or None)
        gpu.mig.append(device)
    if field == "DEV_FB_USED":
        device.memory_used_bytes = round(value) * v.MIB
    elif field == "DEV_FB_TOTAL":
        device.memory_total_bytes = round(value) * v.MIB


def _number(written: str) -> float | None:
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value < _BLANK else None


def _finish(sheet: Sheet) -> None:
    """The parts of the memory are told, and its total follows where it is not."""
    for gpu in sheet.gpus:
        used, free = gpu.values.get("memory_used_bytes"), gpu.values.get("memory_free_bytes")
        if "memory_total_bytes" not in gpu.values and used is not None and free is not None:
            gpu.give("memory_total_bytes", used + free + gpu.values.get("memory_reserved_bytes", 0))
        gpu.finish()


_DMON_HEAD = re.compile(r"#\s?Entity((?:\s+[A-Z][A-Z0-9]{2,6})+)\s*")
_DMON_ROW = re.compile(r"GPU (\d{1,3})((?:\s+(?:N/A|\d[\d.]*))+)\s*")


def read_dcgm_dmon(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`dcgmi dmon`: a new sample begins where a GPU comes again."""
    sheets: list[Sheet] = []
    columns: list[str] = []
    used: list[int] = []
    for number, line in enumerate(lines):
        if len(line) > 400:
            continue
        text = line.strip()
        head = _DMON_HEAD.fullmatch(text)
        if head is not None:
            columns = head[1].split()
            used.append(number)
            continue
        row = _DMON_ROW.fullmatch(text) if columns else None
        cells = row[2].split() if row else []
        if row is None or len(cells) != len(columns):
            continue
        used.append(number)
        index = int(row[1])
        if not sheets or sheets[-1].has(index):
            sheets.append(Sheet("dcgm"))
        gpu = sheets[-1].gpu_at(index)
        for column, cell in zip(columns, cells, strict=True):
            value = _number(cell)
            if column in _SHORT and value is not None:
                _give(gpu, _SHORT[column], value)
    for sheet in sheets:
        _finish(sheet)
    return sheets, used
