"""A single line of a shell, of the tool or of the kernel: what it tells, and what it does not."""

# ruff: noqa: E501  (lines as they are pasted)

from __future__ import annotations

import pytest

from gpudiag.examine import examine
from gpudiag.explain import Diagnosis, explain
from gpudiag.smi import NothingOfAGpu, read, window_of
from gpudiag.words import Language
from gpudiag.words.lines import lines
from tests.smi import writers
from tests.smi.tables import gpu, machine

NOT_FOUND = {
    "bash": "-bash: nvidia-smi: command not found",
    "bash in a script": "./check.sh: line 3: nvidia-smi: command not found",
    "bash in Korean": "bash: nvidia-smi: 명령어를 찾을 수 없습니다",
    "bash in older Korean": "bash: nvidia-smi: 명령을 찾을 수 없음",
    "zsh": "zsh: command not found: nvidia-smi",
    "dash": "/bin/sh: 1: nvidia-smi: not found",
    "fish": "fish: Unknown command: nvidia-smi",
    "sudo in Korean": "sudo: nvidia-smi: 명령이 없습니다",
    "Ubuntu": "Command 'nvidia-smi' not found, but can be installed with:\nsudo apt install nvidia-utils-535",
    "Ubuntu in Korean": "명령어 'nvidia-smi' 을(를) 찾을 수 없습니다. 그러나 다음을 통해 설치할 수 있습니다:",
    "cmd": "'nvidia-smi' is not recognized as an internal or external command,",
    "cmd in Korean": "'nvidia-smi'은(는) 내부 또는 외부 명령, 실행할 수 있는 프로그램, 또는",
    "PowerShell": "nvidia-smi : The term 'nvidia-smi' is not recognized as the name of a cmdlet, function",
    "PowerShell in Korean": "nvidia-smi : 'nvidia-smi' 용어가 cmdlet, 함수의 이름으로 인식되지 않습니다.",
    "docker": 'OCI runtime create failed: exec: "nvidia-smi": executable file not found in $PATH: unknown.',
    "env": "env: ‘nvidia-smi’: No such file or directory",
}
NOT_FATAL = {
    "its manager": "detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 0000:86:00.0",
    "said so": "nvidia-nvswitch3: SXid (PCI:0000:a8:00.0): 12028, Non-fatal, Link 32 egress PRIV error",
    "not said": "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 22013, Severity 0 Engine instance 61",
}
CANNOT_START = {
    "the driver's adapter": "NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x24:0x72:1568)",
    "no room on the bus": (
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:3b:00.0)"
    ),
    "no room for its registers": (
        "[    7.1] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "               NVRM: BAR0 is 0M @ 0x0 (PCI:0000:3b:00.0)\n"
        "[    7.2] NVRM: The system BIOS may have misconfigured your GPU.\n"
        "[    7.4] NVRM: The NVIDIA probe routine failed for 1 device(s)."
    ),
}

LITTLE = {  # what little a line tells
    "aer": "nvidia 0000:2b:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)",
    "oom_kill": "[ 91.2] Out of memory: Killed process 771 (java) total-vm:9kB, anon-rss:8kB",
    "cuda_driver_too_old": "RuntimeError: The NVIDIA driver on your system is too old (found version 11080).",
    "cuda_driver_mismatch": "Error 803: system has unsupported display driver / cuda driver combination",
    "cuda_no_device": "RuntimeError: No CUDA GPUs are available",
    "cuda_busy": "CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    "cuda_fault": "torch.AcceleratorError: CUDA error: an illegal memory access was encountered",
    "cuda_unknown": "RuntimeError: CUDA unknown error - this may be due to an incorrectly set up environment",
    "container_without_gpus": 'could not select device driver "nvidia" with capabilities: [[gpu utility]].',
    "container_cdi": "Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=0",
    "container_unknown_gpu": "nvidia-container-cli: device error: GPU-7c5e: unknown device: unknown",
    "container_refused": "stderr: nvidia-container-cli: initialization error: driver rpc error: timed out",
    "pod_without_gpu": "FailedScheduling  9s  0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    "slurm_fewer_gpus": "   Reason=gres/gpu count reported lower than configured (3 < 4) [slurm@2026]",
    "cuda_no_kernel": "CUDA error: no kernel image is available for execution on the device",
    "cuda_no_such_gpu": "RuntimeError: CUDA error: invalid device ordinal",
    "no_cuda_in_program": "AssertionError: Torch not compiled with CUDA enabled",
    "cuda_library": "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
    "collective_timeout": "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77)",
    "collective_failed": "DistBackendError: NCCL error in: Process.cpp:16, ncclRemoteError: A call failed",
    "host_memory": "DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes",
    "mig_empty": "No GPU instances found: Not Found",
    "mig_no_room": "Unable to create a GPU instance on GPU  3 using profile 5: Insufficient Resources",
    "needs_root": "Unable to set persistence mode for GPU 00000000:01:00.0: Insufficient Permissions",
    "mig_in_use": "Warning: MIG mode is in pending enable state for GPU 0:07:00.0:In use by another client",
    "engine_dead": "RuntimeError: Engine core initialization failed. See root cause above.",
    "shared_memory": "It is possible that dataloader's workers are out of shared memory. Please try to raise",
    "fabric_manager": "systemd[1]: nvidia-fabricmanager.service: Failed with result 'exit-code'.",
    "pod_crash_loop": "llm-6c9d-x8  0/1  CrashLoopBackOff  9 (31s ago)  40m",
    "pod_evicted": "Message:  The node was low on resource: ephemeral-storage. Threshold quantity: 8Gi",
    "pod_image": "llm-6c9d-x8  0/1  ImagePullBackOff  0  4m",
    "pod_pending": "llm-6c9d-x8  0/1  Pending  0  12m",
    "pod_refused": "train-0  0/1  UnexpectedAdmissionError  0  7s",
    "slurm_time_limit": "slurmstepd: error: *** JOB 4711 ON g3 CANCELLED AT 2026-11-02T01:02:03 DUE TO TIME LIMIT ***",
    "slurm_not_to_be_had": "sbatch: error: Batch job submission failed: Requested node configuration is not available",
    "slurm_waiting": "  4711   gpu  train  eve  PD  0:00  2  (ReqNodeNotAvail, UnavailableNodes:g[3-4])",
    "slurm_kill_failed": "Kill task failed     root      2026-11-02T01:02:03 g3",
    "slurm_node_failed": "slurmstepd: error: *** STEP 4711.0 ON g3 CANCELLED AT 2026-11-02T01:02:03 DUE TO NODE FAILURE ***",
    "slurm_preempted": "slurmstepd: error: *** JOB 4711 ON g3 CANCELLED AT 2026-11-02T01:02:03 DUE TO PREEMPTION ***",
    "slurm_drained": "   State=IDLE+DRAIN ThreadsPerCore=2 TmpDisk=0 Weight=1 Owner=N/A",
    "collective_unreached": "n1:71:93 [2] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.9.0.4<40111> failed : Connection refused",
    "collective_fabric": "n1:71:93 [2] net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.9.0.4<40111> with status=12 opcode=0",
    "collective_no_meeting": "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 3/4 clients joined.",
    "port_taken": "The server socket has failed to listen on any local network address. EADDRINUSE",
    "health_not_watched": "| Overall Health            | Healthy                                |",
    "node_offers_fewer": "Capacity:\n  nvidia.com/gpu:  4\nAllocatable:\n  nvidia.com/gpu:  3",
    "duplicate_gpu": "n1:71:93 [1] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 41000",
    "collective_nvls": "n1:71:93 [5] transport/nvls.cc:379 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152",
    "engine_stalled": "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 12 reqs, Waiting: 0 reqs",
    "engine_cache_full": "Sequence group 7 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.",
    "cuda_launch_timeout": "CUDA error: the launch timed out and was terminated",
    "windows_driver_reset": "Display driver nvlddmkm stopped responding and has successfully recovered.",
    "kernel_resources": "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 150000, Hardware limit: 101376",
    "toolkit_too_old": "ptxas fatal   : Value 'sm_121a' is not defined for option 'gpu-name'",
    "vfio_no_reset": "vfio-pci 0000:41:00.0: not ready 65535ms after FLR; giving up",
    "other_driver": "[    4.1] NVRM: GPU 0000:41:00.0 is already bound to nouveau.",
    "driver_no_memory": "NVRM: nvCheckOkFailedNoLog: Check failed: Out of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from _memdescAllocInternal",
    "vgpu_no_licence": "nvidia-vgpu-mgr[1869]: notice: vmiop_log: (0x0): vGPU license state: Unlicensed (Restricted)",
    "task_killed": "srun: error: g3: task 0: Killed",
    "pod_probe": 'Liveness probe failed: Get "http://10.1.2.3:8000/health": context deadline exceeded',
    "laptop_power": "nvidia-powerd[1111]: ERROR! Client (presumably SBIOS) has requested to disable Dynamic Boost DC controller",
    "nodes_offer": "NODE     GPUS\ngpu-01   8\ngpu-02   <none>",
    "tool_hangs": "subprocess.TimeoutExpired: Command '['nvidia-smi', '-q']' timed out after 30 seconds",
    "partly_on_cpu": "gemma3:27b    a418f5838eaf    22 GB    31%/69% CPU/GPU    4096    4 minutes from now",
    "bus_no_answer": "3b:00.0 3D controller: NVIDIA Corporation GA102GL [A10] (rev ff)",
}
MORE_OF_LITTLE = {  # the same in other words
    "needs_root": "The current user does not have permission to change clocks for GPU 00000000:01:00.0.",
    "mig_in_use": "Unable to enable MIG Mode for GPU 00000000:0F:00.0: In use by another client",
    "pod_crash_loop": "    Warning  BackOff  3m (x9 over 40m)  kubelet  Back-off restarting failed container llm in pod",
    "pod_pending": "Warning  FailedScheduling  0/3 nodes are available: 3 node(s) had untolerated taint {gpu: h100}.",
    "pod_evicted": "train-0  0/1  Evicted  0  3h",
    "slurm_waiting": "  4711   gpu  train  eve  PD  0:00  2  (Resources)",
    "engine_cache_full": "Running: 9 reqs, Waiting: 4 reqs, GPU KV cache usage: 99.8%, Prefix cache hit rate: 0.0%",
    "engine_stalled": "Decode batch. #running-req: 3, #token: 812, token usage: 0.01, gen throughput (token/s): 0.00, #queue-req: 0",
    "collective_no_meeting": "n1:71:93 [0] bootstrap.cc:131 NCCL WARN Bootstrap Root : rank 1 of 8 ranks has already checked in",
    "windows_driver_reset": "The description for Event ID 153 from source nvlddmkm cannot be found.",
    "cuda_fault": "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
    "slurm_fewer_gpus": "gres/gpu count repor slurm     2026-11-02T01:02:03 g3",
    "collective_unreached": "node5:240:240 [6] misc/socket.cc:533 NCCL WARN socketPollConnect: Connect to 10.0.0.4<568> returned 113(No route to host)",
    "collective_timeout": "[Rank 3] Exception (either an error or timeout) detected by watchdog at work: 1187, last enqueued",
    "container_without_gpus": 'failed to get sandbox runtime: no runtime for "nvidia" is configured',
    "cuda_no_device": "Is CUDA available: False",
    "partly_on_cpu": "load_tensors: offloaded 17/49 layers to GPU",
    "engine_dead": "EngineDeadError: EngineCore encountered an issue. See stack trace (above)",
    "oom_kill": "slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0.",
    "pod_without_gpu": "requested number of devices unavailable for nvidia.com/gpu. Requested: 1",
    "cuda_library": "cuda_dnn.cc:329] Could not create cudnn handle: CUDNN_STATUS_INTERNAL_ERROR",
    "cuda_no_kernel": "CUDA capability sm_120 is not compatible with the current PyTorch installation.",
    "host_memory": "ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 4096",
}


def diagnosis(text: str, language: Language = "en") -> Diagnosis:
    return explain(examine(window_of(text)), language)


@pytest.mark.parametrize("text", NOT_FOUND.values(), ids=NOT_FOUND.keys())
def test_a_shell_that_finds_no_tool_tells_nothing_of_the_gpu(text: str) -> None:
    english, korean = diagnosis(text), diagnosis(text, "ko")

    assert "unknown" == english.verdict["severity"]
    assert "cannot tell: the shell does not find nvidia-smi" == english.verdict["headline"]
    assert "판단할 수 없습니다: 셸이 nvidia-smi를 찾지 못합니다" == korean.verdict["headline"]
    assert any("lspci" in note for note in english.notes) and any("lspci" in note for note in korean.notes)


@pytest.mark.parametrize("text", NOT_FATAL.values(), ids=NOT_FATAL.keys())
def test_an_event_of_a_switch_that_is_not_fatal_is_neither_fault_nor_health(text: str) -> None:
    english, korean = diagnosis(text), diagnosis(text, "ko")

    assert ("unknown", []) == (english.verdict["severity"], english.findings)
    assert "not call fatal" in english.verdict["headline"] and "NVSwitch" in korean.verdict["headline"]
    assert any("grep -i sxid" in note for note in english.notes)
    assert any("grep -i sxid" in note for note in korean.notes)


def test_a_fatal_event_of_a_switch_speaks_for_itself() -> None:
    found = diagnosis("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")

    assert ("critical", "sxid-nvswitch") == (found.verdict["severity"], found.verdict["rule"])
    assert [] == found.notes


@pytest.mark.parametrize("text", CANNOT_START.values(), ids=CANNOT_START.keys())
def test_a_card_that_the_driver_cannot_start_is_named(text: str) -> None:
    found = diagnosis(text)

    assert ("critical", "gpu-init-failed") == (found.verdict["severity"], found.verdict["rule"])
    assert "0000:3b:00.0" in found.verdict["headline"]


def test_no_devices_is_a_driver_without_a_card() -> None:
    english, korean = diagnosis("No devices were found"), diagnosis("No devices were found", "ko")

    assert ("critical", "nvml-unavailable") == (english.verdict["severity"], english.verdict["rule"])
    assert "no device found" in english.verdict["headline"]
    assert "이 노드에서 NVIDIA 드라이버가 응답하지 않습니다: 장치를 찾지 못함" == korean.verdict["headline"]


def test_a_missing_tool_beside_a_table_does_not_take_the_word() -> None:
    found = diagnosis("bash: nvidia-smi: command not found\n" + writers.table(machine(gpu(0))))

    assert "shell" not in found.verdict["headline"]
    assert not any("lspci" in note for note in found.notes)


def test_topology_of_peers_names_every_gpu() -> None:
    text = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tCNS\tX\t\n\nLegend:\n\n  X    = Self\n"

    assert [0, 1] == [gpu.index for gpu in read(text, now=1.0).snapshots[-1].gpus]


@pytest.mark.parametrize(("kind", "line"), [*LITTLE.items(), *MORE_OF_LITTLE.items()])
def test_a_line_that_tells_little_gets_the_next_step(kind: str, line: str) -> None:
    for language in ("en", "ko"):
        said = diagnosis(line, language)

        assert ("unknown", "not-enough-evidence") == (said.verdict["severity"], said.verdict["rule"])
        assert lines(language)[kind].headline == said.verdict["headline"]
        assert [lines(language)[kind].next_step] == said.notes


@pytest.mark.parametrize(
    "line",
    [
        "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-31-generic",
        "modprobe: ERROR: could not insert 'nvidia': Key was rejected by service",
    ],
)
def test_a_module_that_cannot_be_loaded_is_a_driver_that_is_not(line: str) -> None:
    assert "nvml-unavailable" == diagnosis(line).verdict["rule"]


def test_a_library_of_another_version_is_told_in_every_wording() -> None:
    for line in (
        "pynvml.NVMLError_LibRmVersionMismatch: RM has detected an NVML/RM version mismatch.",
        "nvml error: NVML_ERROR_LIB_RM_VERSION_MISMATCH",
    ):
        assert "driver-library-mismatch" == diagnosis(line).verdict["rule"]


HUNG = (
    "[ 4832.1] INFO: task python3:{}1337 blocked for more than 241 seconds.\n"
    "[ 4832.1]       Not tainted 6.8.0-31-generic #31-Ubuntu\n"
    "[ 4832.1] Call Trace:\n"
    "[ 4832.1]  <TASK>\n"
    "[ 4832.1]  __schedule+0x27c/0x6b0\n"
    "[ 4832.1]  {}+0x41/0x90 [{}]\n"
)


def test_a_task_that_hangs_in_the_driver_cannot_be_ended() -> None:
    said = diagnosis(HUNG.format(4, "nvidia_close", "nvidia"))

    assert "process-uninterruptible" == said.verdict["rule"]
    assert "python3 (pid 41337)" in said.verdict["headline"]


def test_a_task_that_hangs_elsewhere_is_not_of_a_gpu() -> None:
    with pytest.raises(NothingOfAGpu):
        diagnosis(HUNG.format(4, "nfs4_wait", "nfsv4"))


def test_each_task_hangs_where_its_own_trace_ends() -> None:
    text = HUNG.format(4, "uvm_spin_loop", "nvidia_uvm") + HUNG.format(5, "nfs4_wait", "nfsv4")
    rows = {process.pid: process.wait_channel for process in read(text, now=1.0).snapshots[-1].processes}

    assert {41337: "uvm_spin_loop [nvidia_uvm]", 51337: None} == rows


def test_a_sound_of_a_card_that_is_lost_is_no_second_card() -> None:
    with pytest.raises(NothingOfAGpu):
        diagnosis("3b:00.1 Audio device: NVIDIA Corporation GA102 High Definition Audio Controller (rev ff)")


def test_nccl_without_memory_is_out_of_memory() -> None:
    said = diagnosis(
        "n1:7:9 [0] NCCL WARN Cuda failure 2 'out of memory'\nncclUnhandledCudaError: Call failed\n"
    )

    assert lines("en")["out_of_memory"].headline == said.verdict["headline"]


def test_a_command_of_another_card_is_no_fault() -> None:
    said = diagnosis("$ nvidia-smi dmon\nNot supported on the device(s)\nFailed to process command line\n")

    assert ("info", "metric-not-supported") == (said.verdict["severity"], said.verdict["rule"])


def test_a_fatal_error_in_the_fabric_managers_log_is_one_of_the_switch() -> None:
    line = (
        "[ERROR] [tid 7] detected NVSwitch fatal error 20034 on fid 0 on NVSwitch pci bus id 00000000:86:00.0"
    )

    assert "sxid-nvswitch" == diagnosis(line).verdict["rule"]


def test_a_model_that_lies_in_the_gpu_whole_is_no_complaint() -> None:
    for line in (
        "load_tensors: offloaded 49/49 layers to GPU",
        "gemma3:4b  a2af6cc3eb7f  6 GB  100% GPU  4096",
    ):
        with pytest.raises(NothingOfAGpu):
            diagnosis(line)


def test_the_reason_is_told_before_what_comes_of_it() -> None:
    text = (
        "torch.distributed.DistBackendError: NCCL error: unhandled system error, NCCL version 2.21.5\n"
        "Last error:\nsocketStartConnect: Connect to 10.9.0.4<40111> failed : Software caused connection abort\n"
    )
    said = diagnosis(text)

    assert lines("en")["collective_unreached"].headline == said.verdict["headline"]
    assert [lines("en")["collective_unreached"].next_step] == said.notes


def test_pods_that_fail_for_several_reasons_get_a_note_each() -> None:
    text = "a  0/1  CrashLoopBackOff  9 (1s ago)  4m\nb  0/1  OOMKilled  3  4m\nc  0/1  Evicted  0  4m\nd  1/1  Running  0  9d\n"
    said = diagnosis(text)

    assert lines("en")["oom_kill"].headline == said.verdict["headline"]
    assert [lines("en")[kind].beside for kind in ("pod_evicted", "pod_crash_loop")] == said.notes[1:]


@pytest.mark.parametrize(
    ("state", "kind"),
    [("OUT_OF_ME+", "oom_kill"), ("TIMEOUT", "slurm_time_limit"), ("NODE_FAIL", "slurm_node_failed")],
)
def test_how_a_job_ended_is_read_from_the_accounting(state: str, kind: str) -> None:
    said = diagnosis(f"JobID           State ExitCode    Elapsed\n81301.batch  {state}    0:125   00:12:11\n")

    assert lines("en")[kind].headline == said.verdict["headline"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Worker proc VllmWorker-1 died unexpectedly, shutting down executor.", "engine_dead"),
        ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "engine_stalled"),
        (
            "nv-fabricmanager[2111]: interface version 580.82.07 don't match with driver version",
            "fabric_manager",
        ),
    ],
)
def test_the_same_is_told_by_other_programs(line: str, kind: str) -> None:
    assert lines("en")[kind].headline == diagnosis(line).verdict["headline"]


def test_a_fatal_error_of_the_bus_is_the_gpus_also_where_a_bridge_reports_it_first() -> None:
    said = diagnosis(
        "pcieport 0000:40:01.1: AER: Multiple Uncorrected (Fatal) error message received from 0000:41:00.0\n"
        "nvidia 0000:41:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer\n"
    )

    assert ("critical", "pcie-errors") == (said.verdict["severity"], said.verdict["rule"])


def test_pods_that_run_are_nothing_of_a_gpu() -> None:
    with pytest.raises(NothingOfAGpu):
        diagnosis("NAME   READY  STATUS   RESTARTS  AGE\nllm-0  1/1    Running  0         9d\n")


def test_what_a_program_says_stands_beside_the_table() -> None:
    line = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    for language in ("en", "ko"):
        said = diagnosis(line + writers.table(machine(gpu(0))), language)

        assert lines(language)["cuda_no_kernel"].beside in said.notes


def test_a_node_that_offers_all_its_gpus_is_no_complaint() -> None:
    with pytest.raises(NothingOfAGpu):
        diagnosis("Capacity:\n  nvidia.com/gpu:  4\nAllocatable:\n  nvidia.com/gpu:  4\n")


def test_every_line_says_what_it_tells_after_what_it_does_not() -> None:
    for language in ("en", "ko"):
        for line in lines(language).values():
            assert ": " in line.headline, line.headline


@pytest.mark.parametrize(
    "text",
    [
        "Unable to enable MIG Mode for GPU 00000000:01:00.0: Not Supported\nTreating as warning and moving on.\nAll done.",
        "Changing power management limit is not supported for GPU: 00000000:01:00.0.\nTreating as warning and moving on.",
    ],
    ids=["MIG", "power limit"],
)
def test_a_command_that_a_gpu_does_not_know_is_no_fault_and_nobody_holds_the_gpu(text: str) -> None:
    said = diagnosis(text)

    assert ("info", "metric-not-supported") == (said.verdict["severity"], said.verdict["rule"])
    assert "does not know the command" in said.verdict["headline"]
    assert not any("fuser" in note for note in said.notes)


def test_an_engine_that_works_is_no_complaint() -> None:
    for line in (
        "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs",
        "Avg generation throughput: 411.0 tokens/s, Running: 9 reqs, Waiting: 4 reqs, GPU KV cache usage: 41.0%",
        "Decode batch. #running-req: 3, #token: 812, gen throughput (token/s): 90.07, #queue-req: 0",
    ):
        with pytest.raises(NothingOfAGpu):
            diagnosis(line)
