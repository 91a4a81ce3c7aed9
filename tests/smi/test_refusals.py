"""What is refused, in words and in time."""

from __future__ import annotations

import contextlib
import gzip
import time

import pytest

from gpudiag.errors import GpudiagError
from gpudiag.smi import NothingOfAGpu, NothingPasted, NotText, RefusedXml, TooLarge, read, window_of
from tests.smi import writers
from tests.smi.oom_texts import GIB, Failure
from tests.smi.tables import gpu, machine

LARGEST = (4 << 20) - 1_000

BOMB = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">]>
<nvidia_smi_log><gpu id="00000000:01:00.0"><product_name>&lol2;</product_name></gpu></nvidia_smi_log>
"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE nvidia_smi_log SYSTEM "http://127.0.0.1:9/evil.dtd">
<nvidia_smi_log><attached_gpus>1</attached_gpus></nvidia_smi_log>
"""
FILE = OUTSIDE.replace("http://127.0.0.1:9/evil.dtd", "file:///etc/passwd")


@pytest.mark.parametrize(
    "text", ["", "   \n", "hello, my GPU is slow", "lorem ipsum " * 500, "42", "| a | b |", "<p>hi</p>"]
)
def test_text_without_a_gpu_gets_one_sentence_and_commands(text: str) -> None:
    with pytest.raises(NothingOfAGpu) as refused:
        read(text)

    assert 422 == refused.value.status
    assert "nvidia-smi" in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [BOMB, OUTSIDE, FILE])
def test_entities_and_foreign_document_types_are_refused(text: str) -> None:
    with pytest.raises(RefusedXml) as refused:
        read(text)

    assert 422 == refused.value.status


def test_the_document_type_of_nvidia_smi_is_not_followed_and_not_refused() -> None:
    found = read(writers.xml(machine(gpu(0)))).snapshots[-1]

    assert 31.0 == found.gpus[0].temperature_celsius


@pytest.mark.parametrize(
    "body",
    [
        gzip.compress(b"nvidia-smi" * 100, mtime=0),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        bytes(5000),
        bytes(range(256)) * 20,
    ],
)
def test_binary_is_refused(body: bytes) -> None:
    with pytest.raises((NotText, NothingOfAGpu)) as refused:
        read(body)

    assert refused.value.status in (415, 422)


@pytest.mark.parametrize("body", ["x" * ((4 << 20) + 1), b"x" * ((4 << 20) + 1), "한" * (2 << 20)])
def test_more_than_four_mebibytes_is_refused(body: str | bytes) -> None:
    with pytest.raises(TooLarge) as refused:
        read(body)

    assert 413 == refused.value.status


@pytest.mark.parametrize("refusal", [NothingOfAGpu(), NothingPasted(), NotText(), RefusedXml(), TooLarge()])
def test_every_refusal_names_a_command_in_both_languages(refusal: GpudiagError) -> None:
    english, korean = refusal.said("en"), refusal.said("ko")

    assert english == str(refusal) != korean
    assert "`" in english and "`" in korean
    assert "{" not in english + korean


def filled(piece: str) -> str:
    return (piece * (LARGEST // len(piece) + 1))[:LARGEST]


WORST = {
    "tables": lambda: filled(writers.table(machine(*(gpu(i) for i in range(8))))),
    "one row a line": lambda: "index, utilization.gpu [%]\n" + filled("0, 5 %\n")[:-40],
    "bars": lambda: filled("|\n"),
    "angle brackets": lambda: "<" * LARGEST,
    "open elements": lambda: "<nvidia_smi_log>" + filled("<a>")[:-40],
    "documents": lambda: filled("<nvidia_smi_log>"),
    "lost GPUs": lambda: "".join(
        f"Unable to determine the device handle for GPU 0000:{i % 256:02X}:{i // 256:02X}.0: GPU is lost\n"
        for i in range(40_000)
    ),
    "key and value": lambda: filled("a : b\n"),
    "processes": lambda: "| Processes: |\n|====|\n" + "".join(
        f"|    {i % 100}   N/A  N/A   {i:>9}      C   python              1005MiB |\n" for i in range(55_000)
    ),
    "blanks": lambda: filled("[0] a" + " " * 1900 + "|\n"),
    "Xids": lambda: "".join(
        f"[{i}.4] NVRM: Xid (PCI:0000:{i % 256:02x}:00): {i % 200}, pid={i}, name=python, Ch 00000008\n"
        for i in range(45_000)
    ),
    "escapes": lambda: filled("\x1b["),
    "failed allocations": lambda: filled(f"{Failure(others={7: GIB}).sentence()}\n"),
    "failed allocations in one line": lambda: filled(f"{Failure().parenthesis()} "),
    "a failed allocation and digits": lambda: "CUDA out of memory. Tried to allocate " + filled("1 ")[:-60],
    "a failed allocation of many processes": lambda: (
        Failure().sentence()[:100] + filled("Process 12 has 2.00 GiB memory in use. ")[:-200]
    ),
    "prefixes": lambda: "CUDA out of memory. Tried to allocate 2\n" + filled("[" * 79 + "\n")[:-60],
}  # fmt: skip


@pytest.mark.parametrize("name", WORST)
def test_the_worst_shapes_take_no_more_than_two_seconds(name: str) -> None:
    text = WORST[name]()
    before = time.process_time()
    with contextlib.suppress(GpudiagError):
        window_of(text)

    assert time.process_time() - before < 2.0


def test_foreign_text_never_reaches_a_surface_raw() -> None:
    from gpudiag.examine import examine
    from gpudiag.explain import explain

    row = "|    0   N/A  N/A      4242      C   \x1b]0;evil\x07py\u202ethon<script>      1005MiB |"
    text = writers.table(machine(gpu(0))).replace("|  No running processes found", row + "\n|  No running")
    said = explain(examine(window_of(text)))
    names = [process["name"] for g in said.gpus for process in g["processes"]]

    assert names
    assert not any("\x1b" in name or "\u202e" in name for name in names)
