"""Which machine each line is of: labels of pdsh and srun, headings of clush and Ansible, shell prompts.

Cards of the same model sit at the same addresses in every machine of a cluster, so nothing in the tool's own
output tells two of them apart. Each machine's lines are read by themselves, never together.
"""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpudiag.smi import dcgm
from gpudiag.smi.complaints import complaints_of

MOST_MACHINES = 256  # of one text; of more the last ones, and those with an error line, are read
LABELLED_SHARE = 0.75  # of the lines; the command itself stands without a label
FAILED = "ERR!"  # a cell that could not be read
MOST_LINES_OF_A_SAMPLE = 30  # up to the second card of a table
LOOKED_AHEAD = 3  # lines in which a sample begins behind its heading

_LABELS = tuple(
    re.compile(pattern)
    for pattern in (
        r"([A-Za-z][\w.-]{0,60}): ?",  # pdsh, dsh, parallel-ssh
        r"\[([A-Za-z][\w.-]{0,60})\] ?",
        r"[ ]{0,4}(\d{1,4}): ?",  # srun --label
        r"\[\d{1,3},(\d{1,4})\]<std(?:out|err)>: ?",  # mpirun --tag-output
    )
)
_SYSLOG = tuple(
    re.compile(pattern)
    for pattern in (
        r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d ([A-Za-z][\w.-]{0,60}) \S{1,40}: ",
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,20} ([A-Za-z][\w.-]{0,60}) \S{1,40}: ",
    )
)
_LEVEL = re.compile(r"(?i)error|warn(?:ing)?|info|debug|notice|fatal|critical|err|kernel|std(?:out|err)|nvrm")
_NUMBERED = re.compile(r"([ ]{0,6}(\d{1,5})(?:[:.)]| ?\|)?)([ ]*)")
_SAMPLE = re.compile(
    r"\s{0,12}(?:\+[-=]{5}|\|[-=]{5}|\|\s{1,4}\d|=+NVSMI|<\?xml|<nvidia_smi_log|# ?(?:gpu|Date)\b|GPU \d{1,3}: |\[\d{1,3}\] |"
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} |\d{1,3}, \S|(?:NVIDIA|Tesla|GeForce|Quadro|GPU-)[^,]{1,60}, |\d{1,6} (?:MiB|%), |[a-z][a-z_.]{2,40}(?: \[[a-zA-Z%/]{1,16}\])?, [a-z])"
)  # fmt: skip
_TOOL = re.compile(r"nvidia-smi|nvitop|gpustat")
_PROMPT = re.compile(r"\s{0,4}(?:\([\w.-]{1,40}\) ?)?\[?[\w.-]{1,40}@([\w.-]{1,60})[: ~][^#$%]{0,80}[#$%] ?")
_REMOTE = re.compile(
    r"\bssh (?:-[46AaCfgKkMNnqsTtVvXxYy]+ |-[BbcDEeFIiJLlmOopQRSWw] ?\S{1,80} ){0,8}(?:[\w.-]{1,40}@)?([\w.-]{1,60}) ['\"]?(?:sudo )?\S{0,40}(?:nvidia-smi|nvitop|gpustat|dmesg)|"
    r"\bkubectl (?:[^|;&]{1,80} )?exec (?:-\S{1,20} (?:[\w.-]{1,60} )??){0,6}(?:pods?/)?([\w.-]{1,60}) (?:-[^|;&]{1,80} )?-- \S{0,40}(?:nvidia-smi|nvitop|gpustat)|"
    r"\bsrun (?:[^|;&]{1,80} )?(?:-w ?|--nodelist[= ])([\w.-]{1,60}) (?:[^|;&]{1,80} )?\S{0,40}(?:nvidia-smi|nvitop|gpustat)"
)  # a command that runs on another machine than the one whose prompt it stands behind
_LOOP = re.compile(
    r"\bfor (\w{1,30}) in ([^;]{1,400}); ?do\b[^\n]{0,200}\bssh\b[^;\n]{0,200}\$\{?\1\b[^\n]{0,400}(?:nvidia-smi|nvitop|gpustat)"
)
_HOST = re.compile(r"(?:[\w.-]{1,40}@)?[A-Za-z][\w.-]{0,60}")
_SSH_FAILED = re.compile(r"ssh: (?:connect to host|Could not resolve hostname) ([\w.-]{1,60})")
_DATE = re.compile(r"\s{0,4}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} {1,2}\d{1,2} \d\d:\d\d:\d\d ")
UNREACHED = re.compile(
    r"UNREACHABLE!|ssh: connect to host|No route to host|Connection (?:timed out|refused|closed)|Could not resolve hostname|"
    r"[Oo]peration timed out|Permission denied \(|exited with exit code 255|Host key verification failed"
)  # a machine that gave no answer
_CARD = re.compile(r"(?i)gpu[-_.]?\d")
_ROW = re.compile(r"\s{0,8}\|?\s{0,4}(\d{1,3})(?:, | {2}\S)")
_CONTAINER = re.compile(r"[0-9a-f]{12}|.*-[a-z0-9]{5}|.*pod.*")
_PLAYBOOK = re.compile(r"(?:ok|changed|failed|fatal): \[([\w.-]{1,60})\].{0,80}=>")
_ANSIBLE = re.compile(r"([\w.-]{1,60}) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!?) (?:\| rc=\d+ >>|=>)")
_HEADING = re.compile(r"[-=#*<>\[\]: ]{0,80}([A-Za-z][\w.-]{1,60})[-=#*<>\[\]: ]{0,80}")
_NO_HOST = re.compile(
    r"(?i)(?:gpu|cuda)[-_.]?\d|"  # a host would be called gpu01
    r"(?:run|test|step|sample|try|before|after|exp|case|time|epoch|round|part|v|t)[-_.]?\d+\w?"
)


@dataclass(frozen=True, slots=True)
class Machines:
    """The lines of each machine, without their labels, in the order of the text.

    `told` is the one that is judged where nothing else decides: the last with an error line or a failed cell,
    or the last. A text that names no machine, or one, is one without a name.
    """

    lines: dict[str, list[str]]
    told: str = ""

    @property
    def several(self) -> bool:
        return len(self.lines) > 1


def machines_of(lines: Sequence[str]) -> Machines:
    """The machines whose output the lines are."""
    found = _without_numbers(lines)
    return _exported(found) or _labelled(found) or _headed(found) or _looped(found) or Machines({"": found})


def machines_of_log(lines: Sequence[str]) -> Machines:
    """The machines whose kernel log the lines are; a line without a name goes to all of them."""
    told = [line for line in lines if "NVRM" in line or "nvidia-nvswitch" in line]
    for pattern in (*_LABELS[:2], *_SYSLOG):
        labels = [pattern.match(line) for line in told]
        hosts = dict.fromkeys(label[1] for label in labels if label)
        if len(hosts) < 2 or not all(labels) or any(map(_LEVEL.fullmatch, hosts)):
            continue
        named = [(m[1] if (m := pattern.match(line)) else None, line) for line in lines]
        shown = {label[1] for label in labels if label}
        return _parted([(host, line) for host, line in named if host is None or host in shown])
    return Machines({"": list(lines)})


def _parted(named: Sequence[tuple[str | None, str]]) -> Machines:
    """(machine or None, line) → the lines of each machine; those of no machine go to all."""
    told, failed = _failing((machine, line) for machine, line in named if machine is not None)
    names = list(dict.fromkeys(machine for machine, _ in named if machine is not None))
    if len(names) > MOST_MACHINES:
        others = [name for name in names if name != told and name not in failed]
        first = [name for name in names if name in failed and name != told]
        kept = {told, *[*others, *first][-(MOST_MACHINES - 1) :]}
        names = [name for name in names if name in kept]
    parts: dict[str, list[str]] = {name: [] for name in names}
    for machine, line in named:
        if machine is None:
            for part in parts.values():
                part.append(line)
        elif machine in parts:
            parts[machine].append(line)
    return Machines(parts, told)


def _without_numbers(lines: Sequence[str]) -> list[str]:
    """Take away the numbers that an editor or `cat -n` puts before every line."""
    written = [(line, _NUMBERED.match(line)) for line in lines if line and not line.isspace()]
    numbers = [int(match[2]) if match else None for _, match in written]
    if len(numbers) < 2 or not _counts(numbers):
        return list(lines)
    gap = min((len(m[3]) for line, m in written if m and len(line) > m.end()), default=0)
    return [line[m.end(1) + gap :] if (m := _NUMBERED.match(line)) else line for line in lines]


def _counts(numbers: Sequence[int | None]) -> bool:
    """Whether these are the numbers of lines; ranks begin at 0."""
    first = numbers[0]
    return bool(first) and list(numbers) == list(range(first or 0, (first or 0) + len(numbers)))


def _failing(named: Iterable[tuple[str, str]]) -> tuple[str, set[str]]:
    """The machine that is judged where nothing else decides, and all with a line that fails."""
    last = told = ""
    failed = set()
    for machine, line in named:
        last = machine
        if complaints_of([line]).kinds or FAILED in line:
            told = machine
            failed.add(machine)
    return told or last, failed


def _labelled(lines: Sequence[str]) -> Machines | None:
    """Lines with a label before them, which names their machine; what has no label goes to all of them."""
    written = sum(bool(line) and not line.isspace() for line in lines)
    for pattern in _LABELS:
        labels = [pattern.match(line) for line in lines]
        if sum(map(bool, labels)) < max(2, LABELLED_SHARE * written):
            continue
        bare = [
            (_called(label[1]) if label else None, line[label.end() :] if label else line)
            for line, label in zip(lines, labels, strict=True)
        ]
        machines = {machine for machine, _ in bare if machine is not None}
        if all(map(_LEVEL.fullmatch, machines)):
            continue
        if not any(machine is not None and _SAMPLE.match(line) for machine, line in bare):
            continue
        return _parted(bare)
    return None


def _exported(lines: Sequence[str]) -> Machines | None:
    """Metrics of dcgm-exporter, as Prometheus shows them of several hosts."""
    if not any(dcgm.PREFIX in line for line in lines):
        return None
    named = [(dcgm.host_of(line), line) for line in lines]
    return _parted(named) if len({host for host, _ in named if host}) > 1 else None


def _called(label: str) -> str:
    """srun and mpirun write the number of the task."""
    return f"rank {int(label)}" if label.isdigit() else label


def _headed(lines: Sequence[str]) -> Machines | None:
    """The lines below the headings or prompts of one machine, where they name several."""
    marks = list(_headings(lines))
    if len({machine for _, machine in marks}) < 2:
        return None
    asked = [line for line in lines[: marks[0][0]] if "--query-" in line]  # it names the columns of all
    named: list[tuple[str | None, str]] = [(None, line) for line in asked]
    ends = [at for at, _ in marks[1:]] + [len(lines)]
    for (start, machine), end in zip(marks, ends, strict=True):
        part = lines[start:end]
        if any(_SAMPLE.match(line) or UNREACHED.search(line) for line in part) or complaints_of(part).kinds:
            named += [(machine, line) for line in part]
    return _parted(named) if len({machine for machine, _ in named if machine}) > 1 else None


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, host) of each line that says whose output follows."""
    for number, line in enumerate(lines):
        if not 2 < len(line) < 300:
            continue
        remote = _REMOTE.search(line) if "s" in line else None
        if remote is not None:
            yield number, next(host for host in remote.groups() if host)
            continue
        prompt = _PROMPT.match(line)
        if prompt is not None:
            if _TOOL.search(line, prompt.end()) and not _CONTAINER.fullmatch(prompt[1]):
                yield number, prompt[1]
            continue
        ansible = _ANSIBLE.match(line) or _PLAYBOOK.match(line)
        if ansible is not None:
            yield number, ansible[1]
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None and _names_a_host(heading[1], lines, number) and _begins_soon(lines, number):
            yield number, heading[1]


def _looped(lines: Sequence[str]) -> Machines | None:
    """The samples below a loop that asks one host after the other and says nowhere whose sample follows.

    Hosts written out are its names, where as many have answered.
    """
    at, loop = next(((n, m) for n, line in enumerate(lines) if (m := _LOOP.search(line[:1000]))), (0, None))
    if loop is None:
        return None
    below = lines[at + 1 :]
    first = next((line for line in below if _SAMPLE.match(line)), "")
    starts = [number for number, line in enumerate(below) if first and _begins_alike(first, line)]
    if len(starts) < 2:
        return None
    named: list[tuple[str | None, str]] = [(None, line) for line in lines[: at + 1]]  # the columns of all
    named += [(host, line) for line in below if (host := _unreached(line))]
    hosts = [host for host in loop[2].split() if host not in {silent for silent, _ in named}]
    if len(set(hosts)) != len(starts) or not all(map(_HOST.fullmatch, hosts)):
        hosts = [f"#{place}" for place in range(1, len(starts) + 1)]
    for host, start, end in zip(hosts, [0, *starts[1:]], [*starts[1:], len(below)], strict=True):
        named += [(host, line) for line in below[start:end] if not _unreached(line)]
    return _parted(named)


def _unreached(line: str) -> str | None:
    """The host that ssh names as one it could not reach."""
    told = _SSH_FAILED.match(line)
    return told[1] if told else None


def _begins_alike(first: str, line: str) -> bool:
    """Whether a sample begins here as the first one did: with the same header, a date, or the first card."""
    if _DATE.match(first):
        return _DATE.match(line) is not None
    cell, comma, _ = first.partition(", ")
    if comma and cell.isdigit():
        return line.startswith(f"{cell}, ")
    return line == first and not set(line) <= set("+-=| ")


def _names_a_host(word: str, lines: Sequence[str], number: int) -> bool:
    if not any(c.isdigit() for c in word):
        return False
    if _CARD.fullmatch(word):  # gpu3 is a host where several cards stand below it, and else a card
        below = lines[number + 1 : number + 1 + MOST_LINES_OF_A_SAMPLE]
        rows = [match[1] for match in map(_ROW.match, below) if match]
        return len(rows) > 1 and rows[0] != rows[1]
    return not _NO_HOST.fullmatch(word)


def _begins_soon(lines: Sequence[str], number: int) -> bool:
    return any(_SAMPLE.match(line) for line in lines[number + 1 : number + 1 + LOOKED_AHEAD])
