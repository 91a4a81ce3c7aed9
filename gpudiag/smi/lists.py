"""Short lists: `nvidia-smi -L`, what PyTorch collects of a machine, `gpustat`, `nvidia-smi topo -m` and `ps`.

Each is a few lines of one shape; the readers take what they know and leave the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudiag.model import MigDevice
from gpudiag.smi import values as v
from gpudiag.smi.sheet import MOST_ROWS, Row, Sheet

LISTED = re.compile(r"GPU (\d{1,3}): (\S.{1,80}?) \(UUID: (\S{1,60})\)")
_LISTED_MIG = re.compile(r"MIG (\S{1,30}) +Device +(\d{1,3}): \(UUID: (\S{1,60})\)")


def read_listing(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`nvidia-smi -L`: which GPUs there are, and nothing of their state."""
    sheet, used, gpu = Sheet("listing"), [], None
    for number, line in enumerate(lines):
        if "UUID:" not in line or len(line) > 400:
            continue
        found = LISTED.search(line)
        if found is not None:
            index = int(found[1])
            if sheet.has(index):
                continue
            gpu = sheet.gpu_at(index)
            gpu.give("name", found[2])
            gpu.read("uuid", v.uuid, found[3])
            used.append(number)
            continue
        found = _LISTED_MIG.search(line)
        if found is not None and gpu is not None:
            gpu.mig.append(MigDevice(index=int(found[2]), profile=found[1], uuid=found[3]))
            gpu.give("mig_mode", True)
            used.append(number)
    return ([sheet] if sheet.gpus else []), used


_MODELS = re.compile(r"\s{0,8}GPU models and configuration\s{0,20}:\s{0,4}(.{0,120})")
_MODEL = re.compile(r"\s{0,8}GPU (\d{1,3}): (\S[^:|]{1,80}?)\s{0,8}")
_DRIVER = re.compile(r"\s{0,8}Nvidia driver version\s{0,20}: {1,4}(\d[\d.]{2,20})\s{0,8}")


def read_models(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """What `collect_env` of PyTorch or vLLM prints: the models of the GPUs and the driver."""
    sheet, used, inside = Sheet("listing"), [], False
    for number, line in enumerate(lines):
        if len(line) > 400:
            continue
        begins, driver = _MODELS.fullmatch(line), _DRIVER.fullmatch(line)
        model = _MODEL.fullmatch(begins[1] if begins else line) if begins or inside else None
        inside = bool(begins) or (inside and model is not None)
        if model is not None:
            sheet.gpu_at(int(model[1])).give("name", model[2])
        if driver is not None and sheet.gpus:
            sheet.driver = driver[1]
        if begins or model or driver:
            used.append(number)
    return ([sheet], used) if sheet.gpus else ([], [])


_VERSIONS = re.compile(r"\s{0,8}(NVML|DRIVER|KMD|CUDA|CUDA UMD) [Vv]ersion\s{0,20}: {1,4}(\d[\d.]{1,20})\s*")


def read_versions(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`nvidia-smi --version`: the versions, and nothing of a GPU."""
    told = {
        number: match
        for number, line in enumerate(lines)
        if "ersion" in line and len(line) < 80 and (match := _VERSIONS.fullmatch(line))
    }
    versions = {match[1]: match[2] for match in told.values()}
    if "NVML" not in versions:
        return [], []
    sheet = Sheet("listing", missing={"version"})
    sheet.driver = versions.get("DRIVER") or versions.get("KMD")
    sheet.cuda = versions.get("CUDA") or versions.get("CUDA UMD")
    return [sheet], list(told)


_STAT = re.compile(
    r"^\s*\[(\d{1,3})\] (\S.{0,60}?) {0,40}\| *"  # index, name
    r"(?:(-?\d{1,6}|\?\?)\W{1,2}C,)?\s*(?:(?:\d{1,6}|\?\?) %,\s*)?(-?\d{1,6}|\?\?) %"  # heat, fan, load
    r"(?:,\s*(\d{1,10}|\?\?) / {1,8}(\d{1,10}|\?\?) W)?\s*\|\s*"  # power
    r"(\d{1,18}|\?\?) / {1,8}(\d{1,18}|\?\?) MB\s*\|(.*)$"  # memory, processes
)
_STAT_PROCESS = re.compile(r"(\S+?)(?::([^\s/()]+))?(?:/(\d+))?\((\d+|\?)M\)")


def read_gpustat(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`gpustat`, with or without processes and power. Its MB are 2^20 bytes."""
    sheets: list[Sheet] = []
    used: list[int] = []
    unnumbered: list[Sheet] = []
    for number, line in enumerate(lines):
        if not line.lstrip().startswith("[") or len(line) > 2000:
            continue
        found = _STAT.match(line)
        if found is None:
            if number - 1 in used[-1:] and sheets:
                sheets[-1].cut_gpus += 1
            continue
        used.append(number)
        index = int(found[1])
        if not sheets or sheets[-1].has(index):
            sheets.append(Sheet("gpustat", at=v.moment(lines[number - 1]) if number else None))
        gpu = sheets[-1].gpu_at(index)
        gpu.give("name", found[2])
        shown = {
            "temperature_celsius": (v.celsius, found[3]),
            "utilization_percent": (v.percent, found[4]),
            "power_watts": (v.watts, found[5]),
            "power_limit_watts": (v.watts, found[6]),
            "memory_used_bytes": (v.mib, found[7]),
            "memory_total_bytes": (v.mib, found[8]),
        }
        for name, (convert, text) in shown.items():
            if text == "??":
                gpu.lacks(name, "not_supported")
            elif text is not None:
                gpu.read(name, convert, text, False)
        for user, program, pid, memory in _STAT_PROCESS.findall(found[9]):
            if not pid:
                unnumbered.append(sheets[-1])
            else:
                size = int(memory) * v.MIB if memory.isdigit() else None
                sheets[-1].add(
                    Row(pid=int(pid), gpu=index, name=program or None, user=user, memory=size,
                        memory_gap=None if size is not None else "not_supported")
                )  # fmt: skip
                sheets[-1].process_list = "listed"
    for sheet in unnumbered:  # without their pids not all processes can be told apart
        sheet.process_list = "absent"
    return sheets, used


_TOPO_HEAD = re.compile(r"\s*(?:GPU\d{1,3}\s+)+")
_TOPO_CELL = re.compile(r"X|NV\d{1,2}|SYS|NODE|PHB|PXB|PIX|OK|NS|CNS|GNS|TNS|DR|U")
_TOPO_ROW = re.compile(rf"\s*GPU(\d{{1,3}})((?:\s+(?:{_TOPO_CELL.pattern})(?=\s|$))+)")
_TOPO_NAME = re.compile(r"GPU\d{1,3}|NIC\d{1,3}|[A-Za-z][\w.-]{0,30}\d")


def read_topology(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`nvidia-smi topo -m` and `-p2p`: which GPUs there are, and how they are joined to what.

    A row whose cells are glued together is read up to there.
    """
    sheet, used = Sheet("topology"), []
    names: list[str] = []
    for number, line in enumerate(lines):
        if "GPU" not in line or len(line) > 2000:
            continue
        row = _TOPO_ROW.match(line)
        if row is not None:
            used.append(number)
            gpu = sheet.gpu_at(int(row[1]))
            how = {name: cell for name, cell in zip(names, row[2].split(), strict=False) if cell != "X"}
            gpu.give("joined", how or None)
        elif line.count("GPU") > 1 and _TOPO_HEAD.match(line):
            used.append(number)
            words = line.partition("CPU")[0].split()
            names = [word for word in words if _TOPO_NAME.fullmatch(word)]
    return ([sheet] if sheet.gpus else []), used


_STARTED = re.compile(r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d \d{4}")
_FRAME = re.compile(r"^\s*\[<[0-9a-f]*>\] (\w+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?")
_LONGEST_TRACE = 60  # lines below a task that hangs
_HUNG = re.compile(r"\btask (\S.{0,30}?):(\d{1,10}) blocked for more than \d{1,6} seconds")
_TRACED = re.compile(r"(?:^|\]|:)\s{1,8}(\w+)\+0x[0-9a-f]+/0x[0-9a-f]+ \[(nvidia\w*)\]")


def read_ps(lines: Sequence[str]) -> tuple[list[Row], list[int]]:
    """`ps` with named columns, the kernel stack of one process, and tasks that hang in a kernel log."""
    rows: list[Row] = []
    used: list[int] = []
    columns: list[str] = []
    hung_at = -_LONGEST_TRACE
    for number, line in enumerate(lines):
        if len(line) > 2000:
            continue
        words = line.split()
        if "PID" in words and words[-1] in ("CMD", "COMMAND") and len(words) <= 14:
            columns = words
        elif (frame := _frame(line, number - hung_at)) is not None:
            if rows and rows[-1].wait is None:
                rows[-1].wait = f"{frame[1]} [{frame[2]}]" if frame[2] else frame[1]
        elif (row := _hung(line)) is not None:
            hung_at = number
            rows.append(row)
        elif columns and words:
            row = _ps_row(columns, line)
            if row is None:
                columns = []
                continue
            rows.append(row)
        else:
            continue
        used.append(number)
    return rows[:MOST_ROWS], used


def _frame(line: str, below: int) -> re.Match[str] | None:
    """A function of a kernel stack; in a log those of the driver, `below` lines under a task that hangs."""
    return _FRAME.match(line) or (_TRACED.search(line) if below < _LONGEST_TRACE else None)


def _hung(line: str) -> Row | None:
    """A task of which the kernel says that it hangs."""
    told = _HUNG.search(line)
    return Row(pid=int(told[2]), name=told[1], state="D", memory_gap="not_shown") if told else None


def _ps_row(columns: list[str], line: str) -> Row | None:
    text = _STARTED.sub("-", line)
    cells = text.split(None, len(columns) - 1)
    if len(cells) != len(columns):
        return None
    shown = dict(zip(columns, cells, strict=True))
    if not shown["PID"].isdigit():
        return None
    state = shown.get("STAT") or shown.get("S") or shown.get("STATE")
    parent = shown.get("PPID", "")
    return Row(
        pid=int(shown["PID"]),
        name=cells[-1].strip() or None,
        state=state[:1] if state and state[:1] in "RSDTZI" else None,
        parent=int(parent) if parent.isdigit() else None,
        user=shown.get("USER") or shown.get("UID"),
        memory_gap="not_shown",
    )


_HOLDER = re.compile(
    r"(?:/dev/nvidia(\w{1,12}):)?\s{1,40}(\S{1,32})\s{1,20}(\d{1,10})\s{1,4}([.A-Za-z]{1,8})\s{1,4}(\S.{0,60})"
)
_NO_PROGRAM = ("kernel",)


def read_holders(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """`fuser -v /dev/nvidia*`: who has a GPU mapped (`m`); how much it holds is not told."""
    sheet, used = Sheet("apps"), []
    device: str | None = None
    for number, line in enumerate(lines):
        if "ACCESS" in line and line.split()[:4] == ["USER", "PID", "ACCESS", "COMMAND"]:
            device = ""
            used.append(number)
            continue
        row = _HOLDER.fullmatch(line) if device is not None and len(line) < 200 else None
        if row is None:
            continue
        used.append(number)
        device = row[1] if row[1] else device
        if device and device.isdigit() and "m" in row[4] and row[2] not in _NO_PROGRAM:
            gpu = int(device)
            sheet.gpu_at(gpu)
            sheet.add(Row(pid=int(row[3]), gpu=gpu, name=row[5].strip(), user=row[2], memory_gap="not_shown"))
            sheet.process_list = "listed"
    return ([sheet] if sheet.rows else []), used
