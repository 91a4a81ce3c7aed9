"""The stand-in for the driver, checked through the real nvidia-ml-py and two well-known tools on it."""

from __future__ import annotations

import ctypes
import inspect
import json
import re
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pynvml
import pytest

from tests.doubles.nvml import GIB, MIB, MigSlice, Nvml, build
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def nvml() -> Iterator[Nvml]:
    """Two idle H100 in this process, and pynvml initialised on them."""
    with Nvml(gpus=2).load() as machine:
        pynvml.nvmlInit()
        yield machine
        machine.is_well_again()
        pynvml.nvmlShutdown()


def first() -> object:
    return pynvml.nvmlDeviceGetHandleByIndex(0)


def in_new_process(nvml: Nvml, code: str) -> str:
    """What a program prints that starts on this machine."""
    program = [sys.executable, "-W", "error", "-c", "import pynvml as p\n" + inspect.cleandoc(code)]
    result = subprocess.run(program, env=nvml.environment(), capture_output=True, text=True, timeout=30)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


# ---- what it is built from ----


def test_the_structs_of_the_bindings_are_those_of_the_header(tmp_path: Path) -> None:
    declared = set(re.findall(r"\b(nvml\w+_t)\b", build.header().read_text()))
    bound = {
        name.removeprefix("c_"): ctypes.sizeof(kind)
        for name, kind in vars(pynvml).items()
        if inspect.isclass(kind) and issubclass(kind, ctypes.Structure) and hasattr(kind, "_fields_")
    }
    names = sorted(declared & set(bound))
    source = tmp_path / "sizes.c"
    lines = [f'printf("{name} %zu\\n", sizeof({name}));' for name in names]
    source.write_text("#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n" + "\n".join(lines) + "}\n")
    build.compile_c([source], tmp_path / "sizes")
    printed = subprocess.run([tmp_path / "sizes"], capture_output=True, text=True, check=True).stdout
    in_header = {name: int(size) for name, size in (line.split() for line in printed.splitlines())}

    # The bindings are newer than the header: these grew since, and none of them is used here without its
    # version or its number of entries.
    grown = {"nvmlGpmMetricsGet_t", "nvmlVgpuMetadata_t", "nvmlVgpuPgpuMetadata_t"}
    grown |= {"nvmlGridLicensableFeature_t", "nvmlGridLicensableFeatures_t"}
    assert len(names) > 40
    assert grown == {name for name in names if in_header[name] != bound[name]}


def test_every_function_of_the_header_is_exported() -> None:
    with Nvml() as machine:
        symbols = subprocess.run(
            ["nm", "-D", "--defined-only", machine.library], capture_output=True, text=True, check=True
        ).stdout

    exported = set(re.findall(r" T (nvml\w+)", symbols))
    assert set() == set(build.functions()) - exported


def test_it_builds_in_a_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Nvml() as machine:
        assert machine.library.is_relative_to(tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert after.ru_utime - before.ru_utime < 10


# ---- values ----


def test_a_board_as_it_comes(nvml: Nvml) -> None:
    gpu = first()

    assert pynvml.nvmlDeviceGetCount() == 2
    assert pynvml.nvmlDeviceGetName(gpu) == "NVIDIA H100 80GB HBM3"
    assert nvml.gpu(0).uuid == pynvml.nvmlDeviceGetUUID(gpu)
    assert nvml.gpu(0).pci_bus_id == pynvml.nvmlDeviceGetPciInfo(gpu).busId
    assert pynvml.nvmlSystemGetDriverVersion() == "575.57.08"
    assert pynvml.nvmlDeviceGetEnforcedPowerLimit(gpu) == 700_000
    assert pynvml.nvmlDeviceGetMigMode(gpu) == [0, 0]


def test_a_change_is_seen_at_once(nvml: Nvml) -> None:
    nvml.gpu(0).computes(87, 40, watts=512.5).sets(temperature_c=71, margin_c=-1)
    gpu = first()

    assert (
        pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu,
        pynvml.nvmlDeviceGetUtilizationRates(gpu).memory,
    ) == (87, 40)
    assert pynvml.nvmlDeviceGetPowerUsage(gpu) == 512_500
    assert pynvml.nvmlDeviceGetTemperature(gpu, pynvml.NVML_TEMPERATURE_GPU) == 71
    assert pynvml.nvmlDeviceGetMarginTemperature(gpu) == -1
    assert pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM) == 1980


def test_memory_of_old_counts_the_reserve_as_used(nvml: Nvml) -> None:
    nvml.gpu(0).holds(10 * GIB).sets(memory_reserved=500 * MIB)
    old = pynvml.nvmlDeviceGetMemoryInfo(first())
    new = pynvml.nvmlDeviceGetMemoryInfo(first(), version=pynvml.nvmlMemory_v2)

    assert old.used == 10 * GIB + 500 * MIB
    assert (new.used, new.reserved) == (10 * GIB, 500 * MIB)
    assert new.total == new.used + new.reserved + new.free


def test_field_values_carry_their_own_codes_and_types(nvml: Nvml) -> None:
    nvml.gpu(0).field(74, 5_000_000_000).field(194, -2, "int").lacks_field(82)
    power, limit, memory, unknown = pynvml.nvmlDeviceGetFieldValues(first(), [74, 194, 82, 9999])

    assert (power.nvmlReturn, power.value.ullVal) == (0, 5_000_000_000)
    assert (
        limit.nvmlReturn,
        limit.valueType,
        limit.value.siVal,
    ) == (0, pynvml.NVML_VALUE_TYPE_SIGNED_INT, -2)
    assert [memory.nvmlReturn, unknown.nvmlReturn] == [3, 3]


def test_the_sample_buffer_gives_what_is_newer_than_the_last_look(nvml: Nvml) -> None:
    nvml.gpu(0).sampled("gpu_percent", [(100.0, 10), (100.1, 20), (100.2, 30)])
    _, all_samples = pynvml.nvmlDeviceGetSamples(first(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 0)
    _, newer = pynvml.nvmlDeviceGetSamples(first(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 100_100_000)

    assert [sample.sampleValue.uiVal for sample in all_samples] == [10, 20, 30]
    assert [(sample.timeStamp, sample.sampleValue.uiVal) for sample in newer] == [(100_200_000, 30)]


def test_nothing_newer_in_the_sample_buffer_is_not_found(nvml: Nvml) -> None:
    nvml.gpu(0).sampled("gpu_percent", [(100.0, 10)])

    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetSamples(first(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 100_000_000)


def test_without_written_samples_the_buffer_runs_by_the_clock(nvml: Nvml) -> None:
    nvml.clock_is(1_000)
    nvml.gpu(0).computes(55)
    _, samples = pynvml.nvmlDeviceGetSamples(first(), pynvml.NVML_GPU_UTILIZATION_SAMPLES, 999_000_000)

    assert [sample.sampleValue.uiVal for sample in samples] == [55] * 10


def test_error_counters(nvml: Nvml) -> None:
    nvml.gpu(0).counts_ecc(uncorrected=2, corrected=9).sets(retired_pending=1)
    nvml.gpu(0).state.remapped[:] = (1, 2, 1, 0)
    gpu = first()

    assert (
        pynvml.nvmlDeviceGetTotalEccErrors(
            gpu, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, pynvml.NVML_VOLATILE_ECC
        )
        == 2
    )
    assert pynvml.nvmlDeviceGetRemappedRows(gpu) == (1, 2, 1, 0)


def test_links_and_fabric(nvml: Nvml) -> None:
    nvml.gpu(0).nvlink(3, up=False)
    gpu = first()
    fabric = pynvml.c_nvmlGpuFabricInfo_v2_t()
    fabric.version = pynvml.nvmlGpuFabricInfo_v2
    pynvml.nvmlDeviceGetGpuFabricInfoV(gpu, ctypes.byref(fabric))

    assert [pynvml.nvmlDeviceGetNvLinkState(gpu, link) for link in (2, 3)] == [1, 0]
    assert fabric.state == pynvml.NVML_GPU_FABRIC_STATE_COMPLETED
    assert (
        pynvml.nvmlDeviceGetCurrPcieLinkWidth(gpu),
        pynvml.nvmlDeviceGetCurrPcieLinkGeneration(gpu),
    ) == (16, 5)


# ---- processes ----


def test_processes_stand_in_their_lists(nvml: Nvml) -> None:
    nvml.gpu(0).runs_process(71, 3 * GIB).runs_process(72, None, kind="graphics").runs_process(
        73, GIB, kind="mps"
    )
    gpu = first()

    assert [(p.pid, p.usedGpuMemory) for p in pynvml.nvmlDeviceGetComputeRunningProcesses(gpu)] == [
        (71, 3 * GIB)
    ]
    assert [(p.pid, p.usedGpuMemory) for p in pynvml.nvmlDeviceGetGraphicsRunningProcesses(gpu)] == [
        (72, None)
    ]
    assert [p.pid for p in pynvml.nvmlDeviceGetMPSComputeRunningProcesses(gpu)] == [73]
    assert [p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses_v2(gpu)] == [71]


def test_process_utilization_leaves_idle_processes_out(nvml: Nvml) -> None:
    nvml.gpu(0).runs_process(71, GIB, sm_percent=60, memory_percent=5).runs_process(72, GIB)
    samples = pynvml.nvmlDeviceGetProcessUtilization(first(), 0)

    assert [(sample.pid, sample.smUtil, sample.memUtil) for sample in samples] == [(71, 60, 5)]


def test_nobody_active_is_not_found(nvml: Nvml) -> None:
    nvml.gpu(0).runs_process(72, GIB)

    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetProcessUtilization(first(), 0)


# ---- MIG ----


def test_a_sliced_board_gives_no_utilization_and_has_slices(nvml: Nvml) -> None:
    nvml.gpu(0).is_sliced(MigSlice("1g.10gb", 10 * GIB, 2 * GIB), MigSlice("3g.40gb", 40 * GIB))
    gpu = first()
    slices = [pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index) for index in (0, 1)]

    assert [pynvml.nvmlDeviceGetMemoryInfo(piece).used for piece in slices] == [2 * GIB, 0]
    assert [pynvml.nvmlDeviceGetGpuInstanceId(piece) for piece in slices] == [1, 2]
    with pytest.raises(pynvml.NVMLError_NotSupported):
        pynvml.nvmlDeviceGetUtilizationRates(gpu)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 2)


# ---- faults ----


@pytest.mark.parametrize("code", [3, 4, 6, 9, 12, 13, 15, 16, 18, 27, 999])
def test_a_code_arrives_as_the_bindings_exception(nvml: Nvml, code: int) -> None:
    gpu = first()
    nvml.call("nvmlDeviceGetPowerUsage").fails(code)

    with pytest.raises(pynvml.NVMLError) as caught:
        pynvml.nvmlDeviceGetPowerUsage(gpu)
    assert code == caught.value.value


def test_a_lost_gpu_fails_alone(nvml: Nvml) -> None:
    other = pynvml.nvmlDeviceGetHandleByIndex(1)
    gpu = first()
    nvml.gpu(0).is_lost()

    assert pynvml.nvmlDeviceGetPowerUsage(other) == 70_000
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetPowerUsage(gpu)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        first()


def test_a_gpu_that_is_gone_is_no_longer_counted(nvml: Nvml) -> None:
    nvml.gpu(0).is_gone()

    assert pynvml.nvmlDeviceGetCount() == 1
    assert nvml.gpu(1).uuid == pynvml.nvmlDeviceGetUUID(first())
    assert pynvml.nvmlDeviceGetIndex(first()) == 0


def test_functions_a_board_lacks_are_not_supported(nvml: Nvml) -> None:
    for call in (pynvml.nvmlDeviceGetFanSpeed, pynvml.nvmlDeviceGetGpuOperationMode):
        with pytest.raises(pynvml.NVMLError_NotSupported):
            call(first())


def test_a_failure_after_some_calls(nvml: Nvml) -> None:
    gpu = first()
    nvml.call("nvmlDeviceGetPowerUsage").after(2).fails(15)

    assert [pynvml.nvmlDeviceGetPowerUsage(gpu) for _ in range(2)] == [70_000, 70_000]
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetPowerUsage(gpu)


def test_a_slow_call_takes_its_time(nvml: Nvml) -> None:
    gpu = first()
    nvml.call("nvmlDeviceGetPowerUsage", gpu=0).takes(0.2)
    start = time.monotonic()

    assert pynvml.nvmlDeviceGetPowerUsage(gpu) == 70_000
    assert 0.2 <= time.monotonic() - start < PATIENCE_SECONDS


def test_a_hanging_call_leaves_other_threads_running_and_can_be_let_go(nvml: Nvml) -> None:
    gpu = first()
    wedged = nvml.call("nvmlDeviceGetPowerUsage").hangs()
    answers: list[int] = []
    thread = threading.Thread(target=lambda: answers.append(pynvml.nvmlDeviceGetPowerUsage(gpu)))
    thread.start()
    thread.join(0.2)

    assert thread.is_alive()
    wedged.answers_again()
    thread.join(PATIENCE_SECONDS)
    assert answers == [70_000]


def test_before_init_nothing_answers() -> None:
    with Nvml() as machine:
        said = in_new_process(
            machine,
            """
            p._LoadNvmlLibrary()
            try:
                p.nvmlDeviceGetCount()
            except p.NVMLError as error:
                print(error.value)
            """,
        )

    assert said == "1"


@pytest.mark.parametrize(("situation", "code"), [("driver_is_unloaded", 9), ("driver_was_updated", 18)])
def test_init_fails_without_a_fitting_driver(situation: str, code: int) -> None:
    with Nvml() as machine:
        getattr(machine, situation)()
        said = in_new_process(
            machine,
            """
            try:
                p.nvmlInit()
            except p.NVMLError as error:
                print(error.value)
            """,
        )

    assert str(code) == said


def test_an_old_driver_really_has_no_such_function() -> None:
    with Nvml(
        hidden=["nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMarginTemperature"]
    ) as machine:
        machine.gpu(0).runs_process(71, GIB)
        said = in_new_process(
            machine,
            """
            p.nvmlInit()
            gpu = p.nvmlDeviceGetHandleByIndex(0)
            for call in (p.nvmlDeviceGetMarginTemperature, p.nvmlDeviceGetComputeRunningProcesses):
                try:
                    call(gpu)
                except Exception as error:
                    print(type(error).__name__, isinstance(error, p.NVMLError))
            print([process.pid for process in p.nvmlDeviceGetComputeRunningProcesses_v2(gpu)])
            """,
        )

    assert said.splitlines() == [
        "NVMLError_FunctionNotFound True",
        "NVMLLibraryMismatchError False",
        "[71]",
    ]


# ---- events, counting ----


def test_an_xid_is_delivered_to_who_waits_for_it(nvml: Nvml) -> None:
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(first(), pynvml.nvmlEventTypeXidCriticalError, events)
    nvml.reports_xid(1, 31)
    nvml.reports_xid(0, 79)
    event = pynvml.nvmlEventSetWait_v2(events, 2_000)

    assert (79, nvml.gpu(0).uuid) == (event.eventData, pynvml.nvmlDeviceGetUUID(event.device))
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlEventSetWait_v2(events, 10)
    pynvml.nvmlEventSetFree(events)


def test_calls_are_counted(nvml: Nvml) -> None:
    gpu = first()
    before = nvml.calls("nvmlDeviceGetPowerUsage")
    pynvml.nvmlDeviceGetPowerUsage(gpu)

    assert nvml.calls("nvmlDeviceGetPowerUsage") - before == 1


def test_gpm_gives_the_metrics_that_were_set(nvml: Nvml) -> None:
    nvml.gpu(0).gpm(2, 37.5)
    gpu = first()
    samples = [pynvml.nvmlGpmSampleAlloc() for _ in range(2)]
    for sample in samples:
        pynvml.nvmlGpmSampleGet(gpu, sample)
    request = pynvml.c_nvmlGpmMetricsGet_t(version=pynvml.NVML_GPM_METRICS_GET_VERSION, numMetrics=2)
    request.sample1, request.sample2 = samples
    request.metrics[0].metricId, request.metrics[1].metricId = 2, 99
    pynvml.nvmlGpmMetricsGet(request)
    for sample in samples:
        pynvml.nvmlGpmSampleFree(sample)

    assert (request.metrics[0].value, request.metrics[0].nvmlReturn) == (37.5, 0)
    assert request.metrics[1].nvmlReturn == pynvml.NVML_ERROR_NOT_SUPPORTED


# ---- the tools people use ----


def test_gpustat_reads_the_machine() -> None:
    with Nvml(gpus=2) as machine:
        machine.gpu(1).computes(64, watts=333).holds(12 * GIB)
        command = [sys.executable, "-m", "gpustat", "--json"]
        output = subprocess.run(
            command, env=machine.environment(), capture_output=True, text=True, check=True
        )

    gpus = json.loads(output.stdout)["gpus"]
    assert [gpu["utilization.gpu"] for gpu in gpus] == [0, 64]
    assert [gpu["power.draw"] for gpu in gpus] == [70, 333]


def test_nvitop_reads_the_machine() -> None:
    with Nvml(gpus=2) as machine:
        machine.gpu(1).computes(64).holds(12 * GIB)
        said = in_new_process(
            machine,
            """
            import nvitop
            print([(d.gpu_utilization(), d.memory_used()) for d in nvitop.Device.all()])
            """,
        )

    assert f"(64, {12 * GIB})" in said
