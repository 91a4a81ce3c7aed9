/*
 * A stand-in for NVIDIA's libnvidia-ml.so.1, driven by a state file that tests change while it runs.
 *
 * Compiled against NVIDIA's own nvml.h: a wrong struct or prototype is a compile error.
 * Functions written here give the state's values; build.py writes all others of nvml.h, which answer
 * NVML_ERROR_NOT_SUPPORTED. Every function passes through begin(), where calls are counted and made to
 * fail, wait or hang as the state says.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <nvml.h>

#include "double.h"

#define WHOLE_GPU (-1)

struct nvmlDevice_st {
    int gpu;
    int mig; /* WHOLE_GPU, or the index of a MIG slice */
};

static struct nvmlDevice_st handles[DOUBLE_GPUS][1 + DOUBLE_MIG_DEVICES];
static double_state *volatile state;
static volatile int users; /* nvmlInit calls without their nvmlShutdown */

/* ---- the state file ---- */

/* Maps a state file. An earlier one stays mapped: a call may still be waiting in it. */
int nvml_double_open(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return -1;
    void *place = mmap(NULL, sizeof(double_state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (place == MAP_FAILED) return -2;
    double_state *found = place;
    if (found->magic != DOUBLE_MAGIC || found->size != sizeof(double_state)) return -3;
    for (int gpu = 0; gpu < DOUBLE_GPUS; gpu++)
        for (int slot = 0; slot <= DOUBLE_MIG_DEVICES; slot++)
            handles[gpu][slot] = (struct nvmlDevice_st){.gpu = gpu, .mig = slot - 1};
    users = 0;
    state = found;
    return 0;
}

__attribute__((constructor)) static void open_named_state(void)
{
    const char *path = getenv("NVML_DOUBLE_STATE");
    if (path && nvml_double_open(path) != 0) {
        fprintf(stderr, "nvml double: cannot map the state file %s\n", path);
        abort();
    }
}

static uint64_t now_us(void)
{
    struct timespec now;
    if (state->now_us) return state->now_us;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

static double monotonic(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Sleeps until the tests change something, or at most so long. `seen` was read before the last look. */
static void sleep_until_changed(double_state *where, uint32_t seen, double seconds)
{
    struct timespec span = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1.0) * 1e9)};
    syscall(SYS_futex, &where->wake, FUTEX_WAIT, seen, isinf(seconds) ? NULL : &span, NULL, 0);
}

/* ---- the gate that every call passes ---- */

static void hold(double_state *where, double_rule *rule, double seconds)
{
    double until = monotonic() + seconds;
    for (;;) {
        uint32_t seen = where->wake;
        double left = until - monotonic();
        if (left <= 0 || !rule->active || where->closed) return;
        sleep_until_changed(where, seen, left);
    }
}

static nvmlReturn_t obey_rules(double_state *where, int function, int gpu)
{
    for (uint32_t i = 0; i < where->rule_count; i++) {
        double_rule *rule = &where->rules[i];
        if (!rule->active) continue;
        if (rule->function != DOUBLE_ANY && rule->function != function) continue;
        if (rule->gpu != DOUBLE_ANY && rule->gpu != gpu) continue;
        if (__atomic_fetch_add(&rule->matched, 1, __ATOMIC_RELAXED) < rule->after_calls) continue;
        if (rule->delay_seconds > 0) hold(where, rule, rule->delay_seconds);
        if (rule->active && rule->code != DOUBLE_NO_CODE) return (nvmlReturn_t)rule->code;
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t enter(int function, int gpu)
{
    double_state *where = state;
    if (!where) return NVML_ERROR_LIBRARY_NOT_FOUND;
    __atomic_fetch_add(&where->calls[function], 1, __ATOMIC_RELAXED);
    if (where->rule_count) {
        nvmlReturn_t code = obey_rules(where, function, gpu);
        if (code != NVML_SUCCESS) return code;
    }
    return (nvmlReturn_t)where->system_failure;
}

static nvmlReturn_t begin(int function)
{
    nvmlReturn_t code = enter(function, DOUBLE_ANY);
    if (code != NVML_SUCCESS) return code;
    return users > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

static int is_handle(nvmlDevice_t device)
{
    return device >= &handles[0][0] && device < &handles[DOUBLE_GPUS][0];
}

static nvmlReturn_t fate(int function, int gpu)
{
    const double_gpu *board = &state->gpus[gpu];
    if (!board->present) return NVML_ERROR_GPU_IS_LOST;
    if (board->failure) return (nvmlReturn_t)board->failure;
    return (nvmlReturn_t)board->answers[function];
}

static nvmlReturn_t begin_device(int function, nvmlDevice_t device)
{
    int valid = is_handle(device);
    nvmlReturn_t code = enter(function, valid ? device->gpu : DOUBLE_ANY);
    if (code != NVML_SUCCESS) return code;
    if (users <= 0) return NVML_ERROR_UNINITIALIZED;
    if (!valid) return NVML_ERROR_INVALID_ARGUMENT;
    return fate(function, device->gpu);
}

#define TRY(step)                                                                                      \
    do {                                                                                               \
        nvmlReturn_t code_ = (step);                                                                   \
        if (code_ != NVML_SUCCESS) return code_;                                                       \
    } while (0)
#define SYSTEM(function) TRY(begin(FUNCTION_##function))
#define DEVICE(function) TRY(begin_device(FUNCTION_##function, device))
#define NEED(pointer)                                                                                  \
    if (!(pointer)) return NVML_ERROR_INVALID_ARGUMENT
#define GPU (state->gpus[device->gpu])

static nvmlReturn_t copy_text(char *to, unsigned int length, const char *from)
{
    NEED(to);
    if (strlen(from) + 1 > length) return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(to, from);
    return NVML_SUCCESS;
}

#include "generated.h" /* function numbers, and every function that is not written below */

/* ---- library ---- */

static nvmlReturn_t start(int function, int needs_a_gpu)
{
    TRY(enter(function, DOUBLE_ANY));
    if (needs_a_gpu && state->gpu_count == 0) return NVML_ERROR_DRIVER_NOT_LOADED;
    __atomic_fetch_add(&users, 1, __ATOMIC_RELAXED);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit(void) { return start(FUNCTION_nvmlInit, 0); }
nvmlReturn_t nvmlInit_v2(void) { return start(FUNCTION_nvmlInit_v2, 0); }

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return start(FUNCTION_nvmlInitWithFlags, 0);
}

nvmlReturn_t nvmlShutdown(void)
{
    SYSTEM(nvmlShutdown);
    __atomic_fetch_sub(&users, 1, __ATOMIC_RELAXED);
    return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "GPU requires reset";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    SYSTEM(nvmlSystemGetDriverVersion);
    return copy_text(version, length, state->driver_version);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    SYSTEM(nvmlSystemGetNVMLVersion);
    return copy_text(version, length, state->nvml_version);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    SYSTEM(nvmlSystemGetCudaDriverVersion);
    NEED(version);
    *version = (int)state->cuda_version;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    SYSTEM(nvmlSystemGetCudaDriverVersion_v2);
    NEED(version);
    *version = (int)state->cuda_version;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char path[64], text[256];
    SYSTEM(nvmlSystemGetProcessName);
    NEED(name);
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "r");
    if (!file) return NVML_ERROR_NOT_FOUND;
    char *read = fgets(text, sizeof text, file);
    fclose(file);
    if (!read) return NVML_ERROR_NOT_FOUND;
    text[strcspn(text, "\n")] = 0;
    snprintf(name, length, "%s", text);
    return NVML_SUCCESS;
}

/* ---- finding devices; a GPU that is not present does not count ---- */

static int board_at(unsigned int index)
{
    for (int gpu = 0; gpu < (int)state->gpu_count; gpu++)
        if (state->gpus[gpu].present && index-- == 0) return gpu;
    return -1;
}

static int index_of(int board)
{
    int index = 0;
    for (int gpu = 0; gpu < board; gpu++) index += state->gpus[gpu].present != 0;
    return index;
}

static nvmlReturn_t hand_out(int function, int gpu, nvmlDevice_t *device)
{
    NEED(device);
    if (gpu < 0) return NVML_ERROR_NOT_FOUND;
    TRY(fate(function, gpu));
    *device = &handles[gpu][0];
    return NVML_SUCCESS;
}

static nvmlReturn_t count_boards(unsigned int *count)
{
    NEED(count);
    *count = 0;
    for (int gpu = 0; gpu < (int)state->gpu_count; gpu++) *count += state->gpus[gpu].present != 0;
    if (state->told_gpus) *count = state->told_gpus;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *count)
{
    SYSTEM(nvmlDeviceGetCount);
    return count_boards(count);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
    SYSTEM(nvmlDeviceGetCount_v2);
    return count_boards(count);
}

static nvmlReturn_t by_index(int function, unsigned int index, nvmlDevice_t *device)
{
    if (!state) return NVML_ERROR_LIBRARY_NOT_FOUND;
    int gpu = board_at(index);
    TRY(enter(function, gpu));
    if (users <= 0) return NVML_ERROR_UNINITIALIZED;
    if (gpu < 0) return NVML_ERROR_INVALID_ARGUMENT;
    return hand_out(function, gpu, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return by_index(FUNCTION_nvmlDeviceGetHandleByIndex, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return by_index(FUNCTION_nvmlDeviceGetHandleByIndex_v2, index, device);
}

static int board_with(size_t member, const char *text)
{
    for (int gpu = 0; gpu < (int)state->gpu_count; gpu++) {
        const double_gpu *board = &state->gpus[gpu];
        if (board->present && strcasecmp((const char *)board + member, text) == 0) return gpu;
    }
    return -1;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    SYSTEM(nvmlDeviceGetHandleByUUID);
    NEED(uuid);
    NEED(device);
    for (int gpu = 0; gpu < (int)state->gpu_count; gpu++)
        for (int mig = 0; mig < DOUBLE_MIG_DEVICES; mig++) {
            const double_migdevice *slice = &state->gpus[gpu].mig[mig];
            if (slice->present && strcmp(slice->uuid, uuid) == 0) {
                *device = &handles[gpu][1 + mig];
                return NVML_SUCCESS;
            }
        }
    return hand_out(FUNCTION_nvmlDeviceGetHandleByUUID, board_with(offsetof(double_gpu, uuid), uuid), device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    SYSTEM(nvmlDeviceGetHandleBySerial);
    NEED(serial);
    return hand_out(FUNCTION_nvmlDeviceGetHandleBySerial,
                    board_with(offsetof(double_gpu, serial), serial), device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *device)
{
    SYSTEM(nvmlDeviceGetHandleByPciBusId_v2);
    NEED(bus_id);
    return hand_out(FUNCTION_nvmlDeviceGetHandleByPciBusId_v2,
                    board_with(offsetof(double_gpu, pci_bus_id), bus_id), device);
}

/* ---- values that are read straight from the state ---- */

#define TEXT(function, member)                                                                         \
    nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int length)                        \
    {                                                                                                  \
        DEVICE(function);                                                                              \
        return copy_text(text, length, GPU.member);                                                    \
    }
#define NUMBER(function, type, expression)                                                             \
    nvmlReturn_t function(nvmlDevice_t device, type *value)                                            \
    {                                                                                                  \
        DEVICE(function);                                                                              \
        NEED(value);                                                                                   \
        *value = (type)(expression);                                                                   \
        return NVML_SUCCESS;                                                                           \
    }
#define TABLE(function, index_type, limit, type, member)                                               \
    nvmlReturn_t function(nvmlDevice_t device, index_type which, type *value)                          \
    {                                                                                                  \
        DEVICE(function);                                                                              \
        NEED(value);                                                                                   \
        if ((unsigned int)which >= (limit)) return NVML_ERROR_INVALID_ARGUMENT;                        \
        *value = (type)GPU.member[which];                                                              \
        return NVML_SUCCESS;                                                                           \
    }

TEXT(nvmlDeviceGetSerial, serial)
TEXT(nvmlDeviceGetVbiosVersion, vbios)
TEXT(nvmlDeviceGetBoardPartNumber, part_number)

NUMBER(nvmlDeviceGetIndex, unsigned int, index_of(device->gpu))
NUMBER(nvmlDeviceGetMinorNumber, unsigned int, GPU.minor)
NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, GPU.brand)
NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, GPU.architecture)
NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, GPU.cores)
NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned int, GPU.memory_bus_width)
NUMBER(nvmlDeviceGetPowerUsage, unsigned int, GPU.power_mw)
NUMBER(nvmlDeviceGetPowerManagementLimit, unsigned int, GPU.power_limit_mw)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, unsigned int, GPU.power_enforced_mw)
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int, GPU.power_default_mw)
NUMBER(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, 1)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, unsigned long long, GPU.energy_mj)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, GPU.clocks_event_reasons)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, GPU.clocks_event_reasons)
NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, GPU.supported_event_reasons)
NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long, GPU.supported_event_reasons)
NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, GPU.pstate)
NUMBER(nvmlDeviceGetPowerState, nvmlPstates_t, GPU.pstate)
NUMBER(nvmlDeviceGetNumFans, unsigned int, GPU.fans)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, GPU.pcie_gen)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, GPU.pcie_max_gen)
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int, GPU.pcie_gpu_max_gen)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, GPU.pcie_width)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, GPU.pcie_max_width)
NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned int, GPU.pcie_replay)
NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, GPU.persistence)
NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, GPU.compute_mode)
NUMBER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, GPU.display_active)
NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, GPU.display_active)
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, nvmlEnableState_t, GPU.retired_pending)
NUMBER(nvmlDeviceGetNumaNodeId, unsigned int, GPU.numa_node)
NUMBER(nvmlDeviceGetSupportedEventTypes, unsigned long long, nvmlEventTypeXidCriticalError)

TABLE(nvmlDeviceGetClockInfo, nvmlClockType_t, DOUBLE_CLOCKS, unsigned int, clock_mhz)
TABLE(nvmlDeviceGetMaxClockInfo, nvmlClockType_t, DOUBLE_CLOCKS, unsigned int, max_clock_mhz)
TABLE(nvmlDeviceGetMaxCustomerBoostClock, nvmlClockType_t, DOUBLE_CLOCKS, unsigned int, boost_clock_mhz)
TABLE(nvmlDeviceGetApplicationsClock, nvmlClockType_t, DOUBLE_CLOCKS, unsigned int, application_clock_mhz)
TABLE(nvmlDeviceGetTemperatureThreshold, nvmlTemperatureThresholds_t, DOUBLE_THRESHOLDS, unsigned int,
      threshold_c)
TABLE(nvmlDeviceGetNvLinkState, unsigned int, GPU.nvlinks, nvmlEnableState_t, nvlink_up)

NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, GPU.virtualization)
TABLE(nvmlDeviceGetDefaultApplicationsClock, nvmlClockType_t, DOUBLE_CLOCKS, unsigned int, boost_clock_mhz)

static nvmlReturn_t share(unsigned int percent, unsigned int *utilization, unsigned int *period_us)
{
    NEED(utilization);
    NEED(period_us);
    *utilization = percent;
    *period_us = 167000;
    return NVML_SUCCESS;
}

#define ENGINE(function, member)                                                                       \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *utilization, unsigned int *period_us)     \
    {                                                                                                  \
        DEVICE(function);                                                                              \
        return share(GPU.member, utilization, period_us);                                              \
    }

ENGINE(nvmlDeviceGetEncoderUtilization, encoder_percent)
ENGINE(nvmlDeviceGetDecoderUtilization, decoder_percent)
ENGINE(nvmlDeviceGetJpgUtilization, jpeg_percent)
ENGINE(nvmlDeviceGetOfaUtilization, ofa_percent)

/* ---- licence of a vGPU guest ---- */

nvmlReturn_t nvmlDeviceGetGridLicensableFeatures_v4(nvmlDevice_t device, nvmlGridLicensableFeatures_t *features)
{
    DEVICE(nvmlDeviceGetGridLicensableFeatures_v4);
    NEED(features);
    if (GPU.virtualization != NVML_GPU_VIRTUALIZATION_MODE_VGPU) return NVML_ERROR_NOT_SUPPORTED;
    memset(features, 0, sizeof *features);
    features->isGridLicenseSupported = 1;
    features->licensableFeaturesCount = 1;
    nvmlGridLicensableFeature_t *feature = &features->gridLicensableFeatures[0];
    feature->featureCode = NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE;
    feature->featureEnabled = 1;
    feature->featureState = GPU.licensed;
    snprintf(feature->productName, sizeof feature->productName, "NVIDIA Virtual Compute Server");
    return NVML_SUCCESS;
}

/* ---- identity ---- */

static const double_migdevice *slice_of(nvmlDevice_t device)
{
    return device->mig == WHOLE_GPU ? NULL : &GPU.mig[device->mig];
}

#define SLICE slice_of(device)

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    DEVICE(nvmlDeviceGetUUID);
    return copy_text(uuid, length, SLICE ? SLICE->uuid : GPU.uuid);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    DEVICE(nvmlDeviceGetName);
    return copy_text(name, length, SLICE ? SLICE->name : GPU.name);
}

nvmlReturn_t nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *version)
{
    DEVICE(nvmlDeviceGetGspFirmwareVersion);
    if (GPU.architecture < NVML_DEVICE_ARCH_TURING) return NVML_ERROR_NOT_SUPPORTED;
    return copy_text(version, NVML_GSP_FIRMWARE_VERSION_BUF_SIZE, state->driver_version);
}

static nvmlReturn_t fill_pci(const double_gpu *board, nvmlPciInfo_t *pci)
{
    NEED(pci);
    memset(pci, 0, sizeof *pci);
    pci->domain = board->pci_domain;
    pci->bus = board->pci_bus;
    pci->device = board->pci_device;
    pci->pciDeviceId = board->pci_device_id;
    pci->pciSubSystemId = board->pci_subsystem_id;
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%.15s", board->pci_bus_id + 4);
    snprintf(pci->busId, sizeof pci->busId, "%.31s", board->pci_bus_id);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    DEVICE(nvmlDeviceGetPciInfo_v3);
    return fill_pci(&GPU, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    DEVICE(nvmlDeviceGetPciInfo_v2);
    return fill_pci(&GPU, pci);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    DEVICE(nvmlDeviceGetCudaComputeCapability);
    NEED(major && minor);
    *major = (int)GPU.compute_major;
    *minor = (int)GPU.compute_minor;
    return NVML_SUCCESS;
}

static nvmlReturn_t fill_affinity(const double_gpu *board, unsigned int words, unsigned long *set)
{
    NEED(set);
    for (unsigned int word = 0; word < words; word++) set[word] = word < 4 ? board->cpu_affinity[word] : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCpuAffinity(nvmlDevice_t device, unsigned int words, unsigned long *set)
{
    DEVICE(nvmlDeviceGetCpuAffinity);
    return fill_affinity(&GPU, words, set);
}

nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t device, unsigned int words, unsigned long *set,
                                                 nvmlAffinityScope_t scope)
{
    (void)scope;
    DEVICE(nvmlDeviceGetCpuAffinityWithinScope);
    return fill_affinity(&GPU, words, set);
}

/* ---- memory ---- */

/* What nvidia-smi of old shows: used and reserved in one number. Nonsense (used > total) is passed on. */
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    DEVICE(nvmlDeviceGetMemoryInfo);
    NEED(memory);
    uint64_t reserved = SLICE ? SLICE->memory_reserved : GPU.memory_reserved;
    memory->total = SLICE ? SLICE->memory_total : GPU.memory_total;
    memory->used = (SLICE ? SLICE->memory_used : GPU.memory_used) + reserved;
    memory->free = memory->used < memory->total ? memory->total - memory->used : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    DEVICE(nvmlDeviceGetMemoryInfo_v2);
    NEED(memory);
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = SLICE ? SLICE->memory_total : GPU.memory_total;
    memory->reserved = SLICE ? SLICE->memory_reserved : GPU.memory_reserved;
    memory->used = SLICE ? SLICE->memory_used : GPU.memory_used;
    uint64_t taken = memory->used + memory->reserved;
    memory->free = taken < memory->total ? memory->total - taken : 0;
    if (GPU.used_includes_reserved) memory->used = taken; /* as some drivers do; nvml.h says both */
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *memory)
{
    DEVICE(nvmlDeviceGetBAR1MemoryInfo);
    NEED(memory);
    memory->bar1Total = GPU.bar1_total;
    memory->bar1Used = GPU.bar1_used;
    memory->bar1Free = GPU.bar1_total - GPU.bar1_used;
    return NVML_SUCCESS;
}

/* ---- activity ---- */

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    DEVICE(nvmlDeviceGetUtilizationRates);
    NEED(utilization);
    if (SLICE || GPU.mig_mode) return NVML_ERROR_NOT_SUPPORTED;
    utilization->gpu = GPU.gpu_percent;
    utilization->memory = GPU.memory_percent;
    return NVML_SUCCESS;
}

static unsigned int current_sample(const double_gpu *board, unsigned int kind)
{
    switch (kind) {
    case NVML_TOTAL_POWER_SAMPLES: return board->power_mw;
    case NVML_GPU_UTILIZATION_SAMPLES: return board->gpu_percent;
    case NVML_MEMORY_UTILIZATION_SAMPLES: return board->memory_percent;
    case NVML_ENC_UTILIZATION_SAMPLES: return board->encoder_percent;
    case NVML_DEC_UTILIZATION_SAMPLES: return board->decoder_percent;
    case NVML_PROCESSOR_CLK_SAMPLES: return board->clock_mhz[NVML_CLOCK_SM];
    default: return board->clock_mhz[NVML_CLOCK_MEM];
    }
}

/* Gives the samples after `last_seen`: those the tests wrote, else the current value once per period. */
static unsigned int collect_samples(const double_gpu *board, unsigned int kind, uint64_t last_seen,
                                    nvmlSample_t *found)
{
    const double_samplebuffer *buffer = &board->samples[kind];
    unsigned int count = 0;
    for (uint32_t i = 0; i < buffer->count && i < DOUBLE_SAMPLES; i++) {
        if (buffer->samples[i].timestamp_us <= last_seen) continue;
        found[count].timeStamp = buffer->samples[i].timestamp_us;
        found[count].sampleValue.ullVal = 0;
        found[count++].sampleValue.uiVal = buffer->samples[i].value;
    }
    if (buffer->count || board->sample_period_us == 0) return count;
    uint64_t period = board->sample_period_us, newest = now_us() / period * period;
    uint64_t oldest = newest - (DOUBLE_SAMPLES - 1) * period;
    for (uint64_t at = oldest; at <= newest; at += period) {
        if (at <= last_seen) continue;
        found[count].timeStamp = at;
        found[count].sampleValue.ullVal = 0;
        found[count++].sampleValue.uiVal = current_sample(board, kind);
    }
    return count;
}

/* A size probe (no array) answers how many entries to bring: the buffer's size. */
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type, unsigned long long last_seen,
                                  nvmlValueType_t *value_type, unsigned int *count, nvmlSample_t *samples)
{
    nvmlSample_t found[DOUBLE_SAMPLES];
    DEVICE(nvmlDeviceGetSamples);
    NEED(value_type && count);
    if ((unsigned int)type >= DOUBLE_SAMPLE_KINDS) return NVML_ERROR_INVALID_ARGUMENT;
    if (GPU.mig_mode && type != NVML_TOTAL_POWER_SAMPLES) return NVML_ERROR_NOT_SUPPORTED;
    *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
    if (!samples) {
        *count = GPU.told_count ? GPU.told_count : DOUBLE_SAMPLES;
        return NVML_SUCCESS;
    }
    unsigned int available = collect_samples(&GPU, (unsigned int)type, last_seen, found);
    if (available == 0) return NVML_ERROR_NOT_FOUND;
    if (available > *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(samples, found, available * sizeof *samples);
    *count = available;
    return NVML_SUCCESS;
}

/* ---- power, heat, clocks ---- */

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *min,
                                                          unsigned int *max)
{
    DEVICE(nvmlDeviceGetPowerManagementLimitConstraints);
    NEED(min && max);
    *min = GPU.power_min_mw;
    *max = GPU.power_max_mw;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t type, nvmlClockId_t id, unsigned int *mhz)
{
    DEVICE(nvmlDeviceGetClock);
    NEED(mhz);
    if ((unsigned int)type >= DOUBLE_CLOCKS) return NVML_ERROR_INVALID_ARGUMENT;
    switch (id) {
    case NVML_CLOCK_ID_CURRENT: *mhz = GPU.clock_mhz[type]; return NVML_SUCCESS;
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX: *mhz = GPU.boost_clock_mhz[type]; return NVML_SUCCESS;
    default: *mhz = GPU.application_clock_mhz[type]; return NVML_SUCCESS;
    }
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius)
{
    DEVICE(nvmlDeviceGetTemperature);
    NEED(celsius);
    if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
    *celsius = GPU.temperature_c;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    DEVICE(nvmlDeviceGetTemperatureV);
    NEED(temperature);
    if (temperature->version != nvmlTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    temperature->temperature = (int)GPU.temperature_c;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMarginTemperature(nvmlDevice_t device, nvmlMarginTemperature_t *margin)
{
    DEVICE(nvmlDeviceGetMarginTemperature);
    NEED(margin);
    if (margin->version != nvmlMarginTemperature_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    margin->marginTemperature = GPU.margin_c;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, unsigned int *percent)
{
    DEVICE(nvmlDeviceGetFanSpeed);
    NEED(percent);
    if (GPU.fans == 0) return NVML_ERROR_NOT_SUPPORTED;
    *percent = GPU.fan_percent;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned int fan, unsigned int *percent)
{
    DEVICE(nvmlDeviceGetFanSpeed_v2);
    NEED(percent);
    if (fan >= GPU.fans) return GPU.fans ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    *percent = GPU.fan_percent;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetFanSpeedRPM(nvmlDevice_t device, nvmlFanSpeedInfo_t *fan)
{
    DEVICE(nvmlDeviceGetFanSpeedRPM);
    NEED(fan);
    if (fan->version != nvmlFanSpeedInfo_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (fan->fan >= GPU.fans) return GPU.fans ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    fan->speed = GPU.fan_rpm;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetViolationStatus(nvmlDevice_t device, nvmlPerfPolicyType_t policy,
                                          nvmlViolationTime_t *time)
{
    DEVICE(nvmlDeviceGetViolationStatus);
    NEED(time);
    if ((unsigned int)policy >= 8) return NVML_ERROR_NOT_SUPPORTED;
    time->referenceTime = now_us();
    time->violationTime = GPU.violation_ns[policy];
    return NVML_SUCCESS;
}

/* ---- links ---- */

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter, unsigned int *kbps)
{
    DEVICE(nvmlDeviceGetPcieThroughput);
    NEED(kbps);
    usleep(20000); /* nvml.h: the value is sampled over 20 ms, and the call takes as long */
    *kbps = counter == NVML_PCIE_UTIL_TX_BYTES ? GPU.pcie_tx_kbps : GPU.pcie_rx_kbps;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *version)
{
    DEVICE(nvmlDeviceGetNvLinkVersion);
    NEED(version);
    if (link >= GPU.nvlinks) return NVML_ERROR_INVALID_ARGUMENT;
    *version = GPU.nvlink_version;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned int link,
                                             nvmlNvLinkErrorCounter_t counter, unsigned long long *value)
{
    DEVICE(nvmlDeviceGetNvLinkErrorCounter);
    NEED(value);
    if (link >= GPU.nvlinks || (unsigned int)counter >= 4) return NVML_ERROR_INVALID_ARGUMENT;
    *value = GPU.nvlink_errors[link][counter];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, nvmlGpuFabricInfo_t *fabric)
{
    DEVICE(nvmlDeviceGetGpuFabricInfo);
    NEED(fabric);
    memset(fabric, 0, sizeof *fabric);
    fabric->state = (nvmlGpuFabricState_t)GPU.fabric_state;
    fabric->status = (nvmlReturn_t)GPU.fabric_status;
    fabric->cliqueId = GPU.fabric_clique;
    return NVML_SUCCESS;
}

/* Versions 2 and 3 of the struct are alike up to the mask; version 3 adds a summary at its end. */
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *fabric)
{
    DEVICE(nvmlDeviceGetGpuFabricInfoV);
    NEED(fabric);
    if (fabric->version >> 24 < 2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memset(fabric->clusterUuid, 0, sizeof fabric->clusterUuid);
    fabric->state = (nvmlGpuFabricState_t)GPU.fabric_state;
    fabric->status = (nvmlReturn_t)GPU.fabric_status;
    fabric->cliqueId = GPU.fabric_clique;
    fabric->healthMask = GPU.fabric_health;
    return NVML_SUCCESS;
}

/* ---- memory errors ---- */

static nvmlReturn_t pick(uint64_t counts[2][2], unsigned int type, unsigned int counter, unsigned long long *value)
{
    NEED(value);
    if (type >= 2 || counter >= 2) return NVML_ERROR_INVALID_ARGUMENT;
    *value = counts[type][counter];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current, nvmlEnableState_t *pending)
{
    DEVICE(nvmlDeviceGetEccMode);
    NEED(current && pending);
    *current = (nvmlEnableState_t)GPU.ecc.mode;
    *pending = (nvmlEnableState_t)GPU.ecc.mode_pending;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long *count)
{
    DEVICE(nvmlDeviceGetTotalEccErrors);
    if (!GPU.ecc.mode) return NVML_ERROR_NOT_SUPPORTED;
    return pick(GPU.ecc.total, type, counter, count);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                             nvmlEccCounterType_t counter, nvmlMemoryLocation_t location,
                                             unsigned long long *count)
{
    DEVICE(nvmlDeviceGetMemoryErrorCounter);
    if (!GPU.ecc.mode) return NVML_ERROR_NOT_SUPPORTED;
    if (location == NVML_MEMORY_LOCATION_DRAM) return pick(GPU.ecc.device_memory, type, counter, count);
    if (location == NVML_MEMORY_LOCATION_SRAM) return pick(GPU.ecc.sram, type, counter, count);
    return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, nvmlEccSramErrorStatus_t *status)
{
    DEVICE(nvmlDeviceGetSramEccErrorStatus);
    NEED(status);
    if (status->version != nvmlEccSramErrorStatus_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memset((char *)status + sizeof status->version, 0, sizeof *status - sizeof status->version);
    status->volatileCor = GPU.ecc.sram[0][0];
    status->aggregateCor = GPU.ecc.sram[0][1];
    status->volatileUncSecDed = GPU.ecc.sram[1][0];
    status->aggregateUncSecDed = GPU.ecc.sram[1][1];
    status->bThresholdExceeded = GPU.ecc.sram_threshold_exceeded;
    return NVML_SUCCESS;
}

/* nvml.h: not readable while MIG instances exist. */
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected, unsigned int *uncorrected,
                                       unsigned int *pending, unsigned int *failed)
{
    DEVICE(nvmlDeviceGetRemappedRows);
    NEED(corrected && uncorrected && pending && failed);
    if (GPU.mig_mode) return NVML_ERROR_NOT_SUPPORTED;
    *corrected = GPU.remapped[0];
    *uncorrected = GPU.remapped[1];
    *pending = GPU.remapped[2];
    *failed = GPU.remapped[3];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, nvmlRowRemapperHistogramValues_t *values)
{
    DEVICE(nvmlDeviceGetRowRemapperHistogram);
    NEED(values);
    *values = (nvmlRowRemapperHistogramValues_t){GPU.remap_histogram[0], GPU.remap_histogram[1],
                                                 GPU.remap_histogram[2], GPU.remap_histogram[3],
                                                 GPU.remap_histogram[4]};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause, unsigned int *count,
                                       unsigned long long *addresses)
{
    DEVICE(nvmlDeviceGetRetiredPages);
    NEED(count);
    if ((unsigned int)cause >= 2) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int retired = GPU.told_count ? GPU.told_count : GPU.retired_count[cause], room = *count;
    *count = retired;
    if (retired == 0) return NVML_SUCCESS;
    if (!addresses || room < retired) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int page = 0; page < retired; page++) addresses[page] = 0x1000ull * (page + 1);
    return NVML_SUCCESS;
}

/* ---- processes ---- */

/* The size protocol: the count goes out in any case; too little room is INSUFFICIENT_SIZE. */
#define PROCESS_LIST(function, list, info_type, fill)                                                  \
    nvmlReturn_t function(nvmlDevice_t device, unsigned int *count, info_type *infos)                  \
    {                                                                                                  \
        unsigned int room, found = 0;                                                                  \
        DEVICE(function);                                                                              \
        NEED(count);                                                                                   \
        room = infos ? *count : 0;                                                                     \
        for (uint32_t i = 0; i < GPU.process_count && i < DOUBLE_PROCESSES; i++) {                     \
            const double_process *process = &GPU.processes[i];                                         \
            if (process->kind != (list) || !visible(device, process)) continue;                        \
            if (found < room) {                                                                        \
                info_type *info = &infos[found];                                                       \
                memset(info, 0, sizeof *info);                                                         \
                info->pid = process->pid;                                                              \
                info->usedGpuMemory = process->used_bytes;                                             \
                fill;                                                                                  \
            }                                                                                          \
            found++;                                                                                   \
        }                                                                                              \
        *count = GPU.told_count ? GPU.told_count : found;                                              \
        return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;                            \
    }
#define WITH_INSTANCES                                                                                 \
    info->gpuInstanceId = process->gpu_instance;                                                       \
    info->computeInstanceId = process->compute_instance

static int visible(nvmlDevice_t device, const double_process *process)
{
    const double_migdevice *slice = SLICE;
    return !slice || (slice->gpu_instance == process->gpu_instance &&
                      slice->compute_instance == process->compute_instance);
}

PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses, DOUBLE_COMPUTE, nvmlProcessInfo_v1_t, )
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v2, DOUBLE_COMPUTE, nvmlProcessInfo_v2_t, WITH_INSTANCES)
PROCESS_LIST(nvmlDeviceGetComputeRunningProcesses_v3, DOUBLE_COMPUTE, nvmlProcessInfo_t, WITH_INSTANCES)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses, DOUBLE_GRAPHICS, nvmlProcessInfo_v1_t, )
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, DOUBLE_GRAPHICS, nvmlProcessInfo_v2_t, WITH_INSTANCES)
PROCESS_LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, DOUBLE_GRAPHICS, nvmlProcessInfo_t, WITH_INSTANCES)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses, DOUBLE_MPS, nvmlProcessInfo_v1_t, )
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, DOUBLE_MPS, nvmlProcessInfo_v2_t, WITH_INSTANCES)
PROCESS_LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, DOUBLE_MPS, nvmlProcessInfo_t, WITH_INSTANCES)

/* Processes that did nothing are absent; nobody did anything: NOT_FOUND. Not with MIG. */
nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device, nvmlProcessUtilizationSample_t *samples,
                                             unsigned int *count, unsigned long long last_seen)
{
    DEVICE(nvmlDeviceGetProcessUtilization);
    NEED(count);
    if (GPU.mig_mode) return NVML_ERROR_NOT_SUPPORTED;
    uint64_t at = GPU.process_seen_us ? GPU.process_seen_us : now_us();
    unsigned int room = samples ? *count : 0, found = 0;
    for (uint32_t i = 0; i < GPU.process_count && i < DOUBLE_PROCESSES && at > last_seen; i++) {
        const double_process *process = &GPU.processes[i];
        if (!(process->sm_percent | process->memory_percent | process->encoder_percent | process->decoder_percent))
            continue;
        if (found < room)
            samples[found] = (nvmlProcessUtilizationSample_t){
                .pid = process->pid, .timeStamp = at, .smUtil = process->sm_percent,
                .memUtil = process->memory_percent, .encUtil = process->encoder_percent,
                .decUtil = process->decoder_percent};
        found++;
    }
    if (found == 0) return NVML_ERROR_NOT_FOUND;
    *count = GPU.told_count ? GPU.told_count : found;
    return *count > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEncoderSessions(nvmlDevice_t device, unsigned int *count, nvmlEncoderSessionInfo_t *infos)
{
    DEVICE(nvmlDeviceGetEncoderSessions);
    NEED(count);
    unsigned int room = infos ? *count : 0;
    *count = GPU.encoder_sessions;
    for (unsigned int i = 0; i < room && i < GPU.encoder_sessions; i++) {
        memset(&infos[i], 0, sizeof infos[i]);
        infos[i].sessionId = i + 1;
        infos[i].averageFps = 30;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned int *sessions, unsigned int *fps,
                                       unsigned int *latency)
{
    DEVICE(nvmlDeviceGetEncoderStats);
    NEED(sessions && fps && latency);
    *sessions = GPU.encoder_sessions;
    *fps = GPU.encoder_sessions ? 30 : 0;
    *latency = 0;
    return NVML_SUCCESS;
}

/* ---- field values ---- */

static void fill_field(const double_gpu *board, nvmlFieldValue_t *value)
{
    value->timestamp = (long long)now_us();
    value->latencyUsec = 0;
    value->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    for (uint32_t i = 0; i < board->field_count && i < DOUBLE_FIELDS; i++) {
        const double_field *field = &board->fields[i];
        if (field->id != value->fieldId || field->scope != value->scopeId) continue;
        value->nvmlReturn = (nvmlReturn_t)field->code;
        value->valueType = (nvmlValueType_t)field->value_type;
        value->value.ullVal = field->bits;
        return;
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    DEVICE(nvmlDeviceGetFieldValues);
    NEED(values);
    if (count <= 0) return NVML_ERROR_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++) fill_field(&GPU, &values[i]);
    return NVML_SUCCESS;
}

/* ---- MIG ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    DEVICE(nvmlDeviceGetMigMode);
    NEED(current && pending);
    *current = GPU.mig_mode;
    *pending = GPU.mig_pending;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    DEVICE(nvmlDeviceGetMaxMigDeviceCount);
    NEED(count);
    *count = GPU.told_count ? GPU.told_count : GPU.mig_mode ? DOUBLE_MIG_DEVICES : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *slice)
{
    DEVICE(nvmlDeviceGetMigDeviceHandleByIndex);
    NEED(slice);
    if (index >= DOUBLE_MIG_DEVICES) return NVML_ERROR_INVALID_ARGUMENT;
    if (!GPU.mig_mode || !GPU.mig[index].present) return NVML_ERROR_NOT_FOUND;
    *slice = &handles[device->gpu][1 + index];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *parent)
{
    DEVICE(nvmlDeviceGetDeviceHandleFromMigDeviceHandle);
    NEED(parent);
    if (!SLICE) return NVML_ERROR_INVALID_ARGUMENT;
    *parent = &handles[device->gpu][0];
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig)
{
    DEVICE(nvmlDeviceIsMigDeviceHandle);
    NEED(is_mig);
    *is_mig = SLICE != NULL;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    DEVICE(nvmlDeviceGetGpuInstanceId);
    NEED(id);
    if (!SLICE) return NVML_ERROR_NOT_SUPPORTED;
    *id = SLICE->gpu_instance;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
    DEVICE(nvmlDeviceGetComputeInstanceId);
    NEED(id);
    if (!SLICE) return NVML_ERROR_NOT_SUPPORTED;
    *id = SLICE->compute_instance;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
    DEVICE(nvmlDeviceGetAttributes_v2);
    NEED(attributes);
    memset(attributes, 0, sizeof *attributes);
    if (!SLICE) return NVML_ERROR_NOT_SUPPORTED;
    attributes->multiprocessorCount = SLICE->multiprocessors;
    attributes->gpuInstanceSliceCount = SLICE->gpu_slices;
    attributes->computeInstanceSliceCount = SLICE->compute_slices;
    attributes->memorySizeMB = SLICE->memory_total >> 20;
    return NVML_SUCCESS;
}

/* ---- GPM: what DCGM's profiling metrics are made of ---- */

struct nvmlGpmSample_st {
    int gpu;
    uint64_t taken_us;
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    DEVICE(nvmlGpmQueryDeviceSupport);
    NEED(support);
    support->isSupportedDevice = GPU.architecture >= NVML_DEVICE_ARCH_HOPPER;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *sample)
{
    SYSTEM(nvmlGpmSampleAlloc);
    NEED(sample);
    *sample = calloc(1, sizeof **sample);
    return *sample ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t sample)
{
    SYSTEM(nvmlGpmSampleFree);
    free(sample);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t sample)
{
    DEVICE(nvmlGpmSampleGet);
    NEED(sample);
    if (GPU.architecture < NVML_DEVICE_ARCH_HOPPER) return NVML_ERROR_NOT_SUPPORTED;
    sample->gpu = device->gpu;
    sample->taken_us = now_us();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *get)
{
    SYSTEM(nvmlGpmMetricsGet);
    NEED(get && get->sample1 && get->sample2);
    const double_gpu *board = &state->gpus[get->sample1->gpu];
    for (unsigned int i = 0; i < get->numMetrics; i++) {
        nvmlGpmMetric_t *metric = &get->metrics[i];
        double value = metric->metricId < DOUBLE_GPM_METRICS ? board->gpm[metric->metricId] : NAN;
        metric->nvmlReturn = isnan(value) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
        metric->value = isnan(value) ? 0 : value;
    }
    return NVML_SUCCESS;
}

/* ---- events ---- */

struct nvmlEventSet_st {
    uint32_t gpus; /* bit per GPU */
    unsigned long long types;
    uint64_t next;
};

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    SYSTEM(nvmlEventSetCreate);
    NEED(set);
    *set = calloc(1, sizeof **set);
    if (!*set) return NVML_ERROR_MEMORY;
    (*set)->next = state->event_count;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    SYSTEM(nvmlEventSetFree);
    free(set);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
    DEVICE(nvmlDeviceRegisterEvents);
    NEED(set);
    set->gpus |= 1u << device->gpu;
    set->types |= types;
    return NVML_SUCCESS;
}

static int next_event(nvmlEventSet_t set, nvmlEventData_t *data)
{
    while (set->next < state->event_count) {
        const double_event *event = &state->events[set->next++ % DOUBLE_EVENTS];
        if (!(set->gpus >> event->gpu & 1) || !(set->types & event->type)) continue;
        *data = (nvmlEventData_t){.device = &handles[event->gpu][0], .eventType = event->type,
                                  .eventData = event->data, .gpuInstanceId = event->gpu_instance,
                                  .computeInstanceId = event->compute_instance};
        return 1;
    }
    return 0;
}

static nvmlReturn_t wait_for_event(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    NEED(set && data);
    double until = monotonic() + timeout_ms / 1000.0;
    for (;;) {
        uint32_t seen = state->wake;
        double left = until - monotonic();
        if (next_event(set, data)) return NVML_SUCCESS;
        if (left <= 0 || state->closed) return NVML_ERROR_TIMEOUT;
        if (state->system_failure) return (nvmlReturn_t)state->system_failure;
        sleep_until_changed(state, seen, left);
    }
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    SYSTEM(nvmlEventSetWait);
    return wait_for_event(set, data, timeout_ms);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeout_ms)
{
    SYSTEM(nvmlEventSetWait_v2);
    return wait_for_event(set, data, timeout_ms);
}
