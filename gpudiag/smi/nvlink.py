"""`nvidia-smi nvlink -s` and `-e`, `dcgmi nvlink -s`: which links of a GPU are up, and what they counted.

GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)
         Link 0: 25 GB/s
         Link 1: <inactive>
         Link 2: Recovery Errors: 3
NVML: Unable to retrieve NVLink information as all links are inActive

    gpuId 0:                                      dcgmi: up, down, disabled, not supported
        U U U D X _
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from gpudiag.model import NvLink
from gpudiag.smi import values as v
from gpudiag.smi.lists import LISTED
from gpudiag.smi.sheet import Draft, Sheet

MOST_LINKS = 64

_LINK = re.compile(r"\s{0,40}Link (\d{1,2}): {1,4}(\S.{0,80}?)\s{0,40}")
_UP = re.compile(r"\d{1,4}(?:\.\d{1,4})? GB/s")
_COUNTER = re.compile(r"(Replay|Recovery|CRC) Errors: (\d{1,18})")
_COUNTED = {"Replay": "replay_errors", "Recovery": "recovery_errors", "CRC": "crc_errors"}
_NONE_IS_UP = "all links are inactive"


def read_nvlinks(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """The links of each GPU; a GPU line counts only where links or their absence follow."""
    sheet, used = Sheet("nvlink"), []
    gpu_line: re.Match[str] | None = None
    at = 0
    links: list[NvLink] | None = None
    for number, line in enumerate(lines):
        if len(line) > 400:
            continue
        listed = LISTED.search(line) if "UUID:" in line else None
        if listed is not None:
            gpu_line, at, links = listed, number, None
            continue
        none_is_up = _NONE_IS_UP in line.lower()
        link = _LINK.fullmatch(line) if "Link " in line else None
        if gpu_line is None or not (none_is_up or link):
            continue
        if links is None:
            links = _links_of(_gpu(sheet, gpu_line))
            used.append(at)
        used.append(number)
        if link is None:
            links.append(NvLink(link=0, active=False))
        else:
            _add(links, int(link[1]), link[2])
    return ([sheet] if sheet.gpus else []), used


_DCGM_GPU = re.compile(r"\s{0,20}gpuId {1,4}(\d{1,3}):\s*")
_DCGM_LINKS = re.compile(r"\s{1,40}[UDX_](?: [UDX_]){0,63}\s*")


def read_dcgm_nvlinks(lines: Sequence[str]) -> tuple[list[Sheet], list[int]]:
    """The links of each GPU as DCGM shows them; links that are switched off or not there are none."""
    sheet, used = Sheet("nvlink"), []
    for number, (line, below) in enumerate(itertools.pairwise([*lines, ""])):
        gpu = _DCGM_GPU.fullmatch(line) if "gpuId" in line and len(line) < 80 else None
        if gpu is None or len(below) > 200 or not _DCGM_LINKS.fullmatch(below):
            continue
        used += [number, number + 1]
        states = enumerate(below.split())
        links = [NvLink(link=place, active=state == "U") for place, state in states if state in "UD"]
        if links:
            sheet.gpu_at(int(gpu[1])).give("nvlinks", links)
    return ([sheet] if sheet.gpus else []), used


def _gpu(sheet: Sheet, listed: re.Match[str]) -> Draft:
    gpu = sheet.gpu_at(int(listed[1]))
    gpu.give("name", listed[2])
    gpu.read("uuid", v.uuid, listed[3])
    return gpu


def _links_of(gpu: Draft) -> list[NvLink]:
    gpu.give("nvlinks", gpu.values.get("nvlinks", []))
    links: list[NvLink] = gpu.values["nvlinks"]
    return links


def _add(links: list[NvLink], number: int, text: str) -> None:
    link = next((known for known in links if known.link == number), None)
    if link is None:
        if len(links) >= MOST_LINKS:
            return
        link = NvLink(link=number)
        links.append(link)
    counter = _COUNTER.fullmatch(text)
    if counter is not None:
        setattr(link, _COUNTED[counter[1]], int(counter[2]))
    elif _UP.fullmatch(text):
        link.active = True
    elif text.strip("<>").lower() == "inactive":
        link.active = False
