"""Shapes that people paste and no tool writes by itself: trimmed by hand, odd units, a command refused."""

from __future__ import annotations

from typing import Any

import msgspec

from gpudiag.examine import examine
from gpudiag.explain import explain
from gpudiag.smi import read, window_of

MIB = 1 << 20


def answer(text: str) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.to_builtins(explain(examine(window_of(text, now=1.0))))
    return built


def rules_of(answer: dict[str, Any]) -> set[str]:
    found = {finding["rule"] for finding in answer["findings"]}
    return found | {finding["rule"] for gpu in answer["gpus"] for finding in gpu["findings"]}


def test_process_rows_right_below_gpu_rows_are_read() -> None:
    text = """
|   0  NVIDIA L4                    On  |   00000000:31:00.0 Off |                    0 |
| N/A   41C    P0             29W /   72W |   19001MiB /  23034MiB |      0%      Default |
|    0   N/A  N/A            7001      C   VLLM::EngineCore                      18990MiB |
"""
    snapshot = read(text, now=1.0).snapshots[-1]
    assert [(p.pid, p.name, p.gpus[0].memory_used_bytes) for p in snapshot.processes if p.gpus] == [
        (7001, "VLLM::EngineCore", 18990 * MIB)
    ]
    assert snapshot.gpus[0].memory_used_bytes == 19001 * MIB


def test_rows_without_lines_between_and_a_closed_frame_are_whole() -> None:
    frame = "+-------------------------------+----------------------+----------------------+"
    rows = "\n".join(
        f"|   {i}  NVIDIA L4           On   | 00000000:3{i}:00.0 Off |                    0 |\n"
        f"| N/A   4{i}C    P0    60W /  72W |   900{i}MiB / 23034MiB |     98%      Default |"
        for i in range(3)
    )
    title = "| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |"
    text = f"{frame}\n{title}\n{frame}\n{rows}\n+{'-' * (len(frame) - 2)}+\n"
    snapshot = read(text, now=1.0).snapshots[-1]
    assert [gpu.memory_used_bytes for gpu in snapshot.gpus] == [n * MIB for n in (9000, 9001, 9002)]
    assert snapshot.paste is not None and snapshot.paste.missing is None


def test_a_table_that_ends_with_the_top_of_its_process_part_was_cut() -> None:
    frame = "+-------------------------------+----------------------+----------------------+"
    text = (
        "| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |\n"
        f"{frame}\n|===============================+======================+======================|\n"
        "|   0  NVIDIA L4           On   | 00000000:31:00.0 Off |                    0 |\n"
        "| N/A   40C    P0    60W /  72W |   9000MiB / 23034MiB |     98%      Default |\n"
        f"{frame}\n\n+{'-' * (len(frame) - 2)}+\n"
    )
    paste = read(text, now=1.0).snapshots[-1].paste
    assert paste is not None and "document" in (paste.missing or [])


def test_columns_with_units_written_out_do_not_hide_the_header() -> None:
    text = (
        "index, name, bbx.time_run [seconds], utilization.gpu [%], memory.used [MiB], memory.total [MiB]\n"
        "0, NVIDIA L4, 8123, 37 %, 4096 MiB, 23034 MiB\n"
    )
    gpu = read(text, now=1.0).snapshots[-1].gpus[0]
    assert (gpu.utilization_percent, gpu.memory_used_bytes) == (37.0, 4096 * MIB)


def test_a_command_that_this_gpu_does_not_know_is_no_lost_gpu() -> None:
    for line in (
        "Unable to determine the device handle for GPU 00000000:07:00.0:\nNot Supported\n",
        "Unable to determine the device handle for GPU 00000000:07:00.0: Not Supported\n",
    ):
        said = answer(line)
        assert rules_of(said) == {"metric-not-supported"}
        assert said["verdict"]["severity"] == "info"
    lost = answer("Unable to determine the device handle for GPU 00000000:07:00.0: Unknown Error\n")
    assert "gpu-lost-bus" in rules_of(lost) and lost["verdict"]["severity"] == "critical"


def test_load_without_memory_or_process_is_no_work() -> None:
    text = """
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 390.12                 Driver Version: 390.12                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla M60           Off  | 00000000:31:00.0 Off |                    0 |
| N/A   39C    P0    81W / 150W |      0MiB /  7613MiB |     98%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID   Type   Process name                             Usage      |
|=============================================================================|
|  No running processes found                                                 |
+-----------------------------------------------------------------------------+
"""
    said = answer(text)
    assert said["verdict"]["rule"] == "gpu-free" and said["verdict"]["severity"] == "info"
    assert not rules_of(said) & {"healthy-busy", "busy-but-inefficient", "stuck-job", "process-list-hidden"}
    assert said["gpus"][0]["readings"]["utilization_percent"] == 98.0


def test_windows_programs_with_windows_hold_what_a_desktop_holds() -> None:
    text = """
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 572.16                 Driver Version: 572.16         CUDA Version: 12.8     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                  Driver-Model | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 4070      WDDM  |   00000000:01:00.0  On |                  N/A |
|  0%   38C    P8             11W /  200W |     903MiB /  12282MiB |      1%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            1204    C+G   ...\\Some Vendor\\TrayTool.exe            N/A      |
|    0   N/A  N/A            8812    C+G   C:\\Windows\\System32\\Painter.exe         N/A      |
+-----------------------------------------------------------------------------------------+
"""
    said = answer(text)
    assert "gpu-free" in rules_of(said) and "memory-held-idle" not in rules_of(said)
    assert said["verdict"]["severity"] in ("ok", "info")


def test_cells_that_all_say_the_gpu_is_lost_are_a_lost_gpu() -> None:
    head = "index, name, temperature.gpu, utilization.gpu [%], memory.used [MiB], power.draw [W]\n"
    for cell in ("[GPU is lost]", "[Unknown Error]"):
        said = answer(
            f"{head}0, NVIDIA L4, 40, 90 %, 900 MiB, 60.10 W\n1, NVIDIA L4, {', '.join([cell] * 4)}\n"
        )
        assert [f["rule"] for f in said["gpus"][1]["findings"]] == ["gpu-lost-bus"]
        assert said["gpus"][0]["readings"]["power_watts"] == 60.1
    one = answer(f"{head}0, NVIDIA L4, 40, 90 %, 900 MiB, [Unknown Error]\n")
    assert "gpu-lost-bus" not in rules_of(one) and "sensor-error" in rules_of(one)


def test_rows_written_anew_without_blanks_are_rows() -> None:
    gpu = (
        read("index,name,utilization.gpu [%],memory.used [MiB]\n0,NVIDIA L4,55,8000\n", now=1.0)
        .snapshots[-1]
        .gpus[0]
    )
    assert (gpu.name, gpu.utilization_percent, gpu.memory_used_bytes) == ("NVIDIA L4", 55.0, 8000 * MIB)


def test_an_xid_that_ends_its_line_counts_where_another_line_follows() -> None:
    assert "gpu-lost-bus" in rules_of(
        answer("n1 kernel: NVRM: Xid (PCI:0000:07:00): 79\nn1 kernel: usb 1-1: reset\n")
    )
    assert "xid-application" in rules_of(answer("NVRM: Xid (PCI:0000:07:00): 31\n"))


def test_a_warning_of_the_inforom_names_its_gpu_without_a_table() -> None:
    assert "inforom-corrupted" in rules_of(answer("WARNING: infoROM is corrupted at gpu 0000:07:00.0\n"))


def test_notes_behind_values_do_not_hide_them() -> None:
    text = """GPU 00000000:07:00.0
    Remapped Rows
        Correctable Error                 : 1     ← replaced before
        Uncorrectable Error               : 0
        Pending                           : Yes   # reset needed
        Remapping Failure Occurred        : No
"""
    gpu = read(text, now=1.0).snapshots[-1].gpus[0]
    assert (gpu.remapped_rows_correctable, gpu.row_remap_pending) == (1, True)


def test_a_shell_in_a_container_is_told_by_its_prompt() -> None:
    said = answer("root@3f2a1c9d7e5b:/work# nvidia-smi\nFailed to initialize NVML: Unknown Error\n")
    assert rules_of(said) == {"container-lost-gpu"}


def test_processes_without_pids_leave_nothing_unexplained() -> None:
    text = "[0] NVIDIA L4 | 58'C,  37 %,  40 /  72 W | 15500 / 23034 MB | ann(9000M) bob:java/77(6490M)\n"
    said = answer(text)
    assert "hidden-memory" not in rules_of(said)
    assert [p["pid"] for p in said["gpus"][0]["processes"]] == [77]


def test_bindings_of_other_languages_say_that_no_driver_is_loaded() -> None:
    assert rules_of(answer("pynvml.NVMLError_DriverNotLoaded: Driver Not Loaded\n")) == {"nvml-unavailable"}


ENGINE = """
|   0  NVIDIA L4                    On  |   00000000:31:00.0 Off |                    0 |
| N/A   41C    P0             29W /   72W |   19001MiB /  23034MiB |      0%      Default |
|    0   N/A  N/A            7001      C   VLLM::EngineCore                      18990MiB |
"""


def test_an_engine_whose_server_ended_by_the_words_around_is_no_reserved_pool() -> None:
    told = answer(f"I killed the server, but the memory is not released:\n{ENGINE}")
    assert "orphaned-engine" in rules_of(told) and "kv-pool-reserved-idle" not in rules_of(told)
    assert told["verdict"]["severity"] == "warning"
    silent = answer(f"memory is full, is that normal?\n{ENGINE}")
    assert "orphaned-engine" not in rules_of(silent) and silent["verdict"]["severity"] == "info"


def test_a_mig_cell_that_an_older_driver_cannot_fill_is_no_sensor() -> None:
    text = """
| NVIDIA-SMI 450.36       Driver Version: 418.67       CUDA Version: 10.1     |
|   0  Tesla P4            Off  | 00000000:00:04.0 Off |                    0 |
| N/A   39C    P0    22W /  75W |      0MiB /  7611MiB |      0%      Default |
|                               |                      |                 ERR! |
"""
    assert "sensor-error" not in rules_of(answer(text))


ONE_OF_EIGHT = """
==============NVSMI LOG==============

Driver Version                            : 535.129.03
Attached GPUs                             : 8
GPU 00000000:4B:00.0
    ECC Errors
        Volatile
            DRAM Uncorrectable            : 3
"""


def said_of_the_card(text: str) -> tuple[str, list[str]]:
    """The headline, and the commands that name a GPU."""
    said = answer(text)
    steps = said["gpus"][0]["findings"][0]["next_steps"]
    return said["verdict"]["headline"], [s["command"] for s in steps if "nvidia-smi" in (s["command"] or "")]


def test_one_gpu_of_several_is_named_by_its_address_not_by_its_place() -> None:
    headline, commands = said_of_the_card(ONE_OF_EIGHT)

    assert "GPU 00000000:4B:00.0" in headline
    assert commands and all(" -i 00000000:4B:00.0" in command for command in commands)


def test_the_number_that_was_asked_for_is_the_gpu_s() -> None:
    for command in ("nvidia-smi -q -d ECC -i 3", "nvidia-smi -i 3 -q", "sudo nvidia-smi --id=3 -q -d ECC"):
        headline, commands = said_of_the_card(f"[root@node07 ~]# {command}\n{ONE_OF_EIGHT}")

        assert "GPU 3" in headline
        assert commands and all(" -i 3" in told for told in commands)


def test_several_numbers_or_an_address_tell_nothing_of_places() -> None:
    for command in ("nvidia-smi -q -i 3,5", "nvidia-smi -q -i 00000000:4B:00.0", "nvidia-smi -q"):
        headline, _ = said_of_the_card(f"$ {command}\n{ONE_OF_EIGHT}")

        assert "GPU 00000000:4B:00.0" in headline


def test_a_shell_where_images_keep_their_work_is_in_a_container() -> None:
    text = "root@llm-0:/workspace# nvidia-smi\nFailed to initialize NVML: Unknown Error\n"

    assert {"container-lost-gpu"} == rules_of(answer(text))


def test_a_card_without_spare_rows_is_asked_for_its_retired_pages() -> None:
    line = "[ 812.4] NVRM: Xid (PCI:0000:04:00): 48, pid=2201, An uncorrectable double bit error\n"
    found = next(f for f in answer(line)["findings"] if f["rule"] == "ecc-uncorrectable-new")
    steps = [(step["text"], step["command"] or "") for step in found["next_steps"]]

    assert any("Retired Pages" in command and "pages" in words for words, command in steps)
    assert not any("ROW_REMAPPER" in command for _, command in steps)  # drivers before 450 refuse the word
