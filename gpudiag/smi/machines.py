"""Which machine each line is of: labels of pdsh and srun, headings of clush and Ansible, shell prompts.

Cards of the same model sit at the same addresses in every machine of a cluster, so nothing in the tool's own
output tells two of them apart. Lines of one machine are read; that there are others is said.
"""

# ruff: noqa: E501  (tables of facts)

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpudiag.smi.complaints import complaints_of

LABELLED_SHARE = 0.75  # of the lines; the command itself stands without a label
FAILED = "ERR!"  # a cell that could not be read
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
_NUMBERED = re.compile(r"([ ]{0,6}(\d{1,5})[:.)]?)([ ]*)")
_SAMPLE = re.compile(
    r"\s{0,12}(?:\+[-=]{5}|\|[-=]{5}|\|\s{1,4}\d|=+NVSMI|<\?xml|<nvidia_smi_log|# ?(?:gpu|Date)\b|GPU \d{1,3}: |\[\d{1,3}\] |"
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} |\d{1,3}, \S|(?:NVIDIA|Tesla|GeForce|Quadro|GPU-)[^,]{1,60}, |\d{1,6} (?:MiB|%), |[a-z][a-z_.]{2,40}(?: \[[a-zA-Z%/]{1,16}\])?, [a-z])"
)  # fmt: skip
_TOOL = re.compile(r"nvidia-smi|nvitop|gpustat")
_PROMPT = re.compile(r"\s{0,4}(?:\([\w.-]{1,40}\) ?)?\[?[\w.-]{1,40}@([\w.-]{1,60})[: ~][^#$%]{0,80}[#$%] ?")
_CONTAINER = re.compile(r"[0-9a-f]{12}|.*-[a-z0-9]{5}|.*pod.*")
_ANSIBLE = re.compile(r"([\w.-]{1,60}) \| (?:CHANGED|SUCCESS|FAILED!?|UNREACHABLE!?) (?:\| rc=\d+ >>|=>)")
_HEADING = re.compile(r"[-=#*<>\[\]: ]{0,80}([A-Za-z][\w.-]{1,60})[-=#*<>\[\]: ]{0,80}")
_NO_HOST = re.compile(
    r"(?i)(?:gpu|cuda)[-_.]?\d|"  # a host would be called gpu01
    r"(?:run|test|step|sample|try|before|after|exp|case|time|epoch|round|part|v|t)[-_.]?\d+\w?"
)


def one_machine(lines: Sequence[str]) -> tuple[list[str], bool]:
    """The lines of one machine without their labels, and whether the text shows others as well.

    It is the last one with an error line or a cell that failed, or the last.
    """
    found = _without_numbers(lines)
    return _labelled(found) or _headed(found) or (found, False)


def one_machine_of_log(lines: Sequence[str]) -> tuple[list[str], bool]:
    """The lines of a kernel log without those of other machines, and whether there were any."""
    told = [line for line in lines if "NVRM" in line or "nvidia-nvswitch" in line]
    for pattern in (*_LABELS[:2], *_SYSLOG):
        labels = [pattern.match(line) for line in told]
        hosts = dict.fromkeys(label[1] for label in labels if label)
        if len(hosts) < 2 or not all(labels) or any(map(_LEVEL.fullmatch, hosts)):
            continue
        chosen = _judged((label[1], line) for line, label in zip(told, labels, strict=True) if label)
        return [line for line in lines if (m := pattern.match(line)) is None or m[1] == chosen], True
    return list(lines), False


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


def _judged(told: Iterable[tuple[str, str]]) -> str:
    """The machine that is judged, out of (machine, line)."""
    last = failed = ""
    for machine, line in told:
        last = machine
        if complaints_of([line])[0].kinds or FAILED in line:
            failed = machine
    return failed or last


def _labelled(lines: Sequence[str]) -> tuple[list[str], bool] | None:
    """Lines with a label before them, which names their machine; what has no label goes to all of them."""
    written = sum(bool(line) and not line.isspace() for line in lines)
    for pattern in _LABELS:
        labels = [pattern.match(line) for line in lines]
        if sum(map(bool, labels)) < max(2, LABELLED_SHARE * written):
            continue
        bare = [
            (label[1] if label else None, line[label.end() :] if label else line)
            for line, label in zip(lines, labels, strict=True)
        ]
        machines = {machine for machine, _ in bare if machine is not None}
        if all(map(_LEVEL.fullmatch, machines)):
            continue
        if not any(machine is not None and _SAMPLE.match(line) for machine, line in bare):
            continue
        chosen = _judged((machine, line) for machine, line in bare if machine is not None)
        return [line for machine, line in bare if machine in (None, chosen)], len(machines) > 1
    return None


def _headed(lines: Sequence[str]) -> tuple[list[str], bool] | None:
    """The lines below the headings or prompts of one machine, where they name several."""
    marks = list(_headings(lines))
    if len({machine for _, machine in marks}) < 2:
        return None
    parts: dict[str, list[str]] = {}
    ends = [at for at, _ in marks[1:]] + [len(lines)]
    for (start, machine), end in zip(marks, ends, strict=True):
        part = lines[start:end]
        if any(_SAMPLE.match(line) for line in part) or complaints_of(part)[0].kinds:
            parts.setdefault(machine, []).extend(part)
    if len(parts) < 2:
        return None
    chosen = _judged((machine, line) for machine, part in parts.items() for line in part)
    return parts[chosen], True


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(line, host) of each line that says whose output follows."""
    for number, line in enumerate(lines):
        if not 2 < len(line) < 300:
            continue
        prompt = _PROMPT.match(line)
        if prompt is not None:
            if _TOOL.search(line, prompt.end()) and not _CONTAINER.fullmatch(prompt[1]):
                yield number, prompt[1]
            continue
        ansible = _ANSIBLE.match(line)
        if ansible is not None:
            yield number, ansible[1]
            continue
        heading = _HEADING.fullmatch(line)
        if heading is not None and _names_a_host(heading[1]) and _begins_soon(lines, number):
            yield number, heading[1]


def _names_a_host(word: str) -> bool:
    return any(c.isdigit() for c in word) and not _NO_HOST.fullmatch(word)


def _begins_soon(lines: Sequence[str], number: int) -> bool:
    return any(_SAMPLE.match(line) for line in lines[number + 1 : number + 1 + LOOKED_AHEAD])
