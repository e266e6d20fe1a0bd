/* A stub of NVML: what libnvidia-ml.so.1 answers on the machine of machine.h. */
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

#include "machine.h"

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, TIMEOUT = 10 };
struct memory { unsigned long long total, free, used; };
struct event { void *device; unsigned long long type, data; unsigned gpu_instance, compute_instance; };
struct running { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };

static struct device *at(void *handle) { return handle; }

int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    if (!read_machine()) return 9; /* driver not loaded */
    while (machine.hangs) pause();
    if (machine.crashes) raise(SIGSEGV);
    return machine.nvml_code;
}
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) {
    return code == 9 ? "Driver Not Loaded" : code == 15 ? "GPU is lost" : code == 18 ? "Driver/library version mismatch" : "stub error";
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "%s", machine.driver), SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { return *version = machine.cuda, SUCCESS; }
int nvmlDeviceGetCount_v2(unsigned *count) { return *count = machine.gpu_count, SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) {
    if ((int)index >= machine.gpu_count) return INVALID_ARGUMENT;
    return *handle = &machine.devices[machine.gpus[index]], SUCCESS;
}
int nvmlDeviceGetUUID(void *handle, char *text, unsigned size) { return snprintf(text, size, "%s", at(handle)->uuid), SUCCESS; }
int nvmlDeviceGetName(void *handle, char *text, unsigned size) { return snprintf(text, size, "%s", at(handle)->name), SUCCESS; }
int nvmlDeviceGetCudaComputeCapability(void *handle, int *major, int *minor) {
    if (at(handle)->parent >= 0) return NOT_SUPPORTED; /* as the real one answers for instances */
    return *major = at(handle)->major, *minor = at(handle)->minor, SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *handle, struct memory *memory) {
    struct device *device = at(handle);
    memory->total = device->total, memory->free = device->free, memory->used = device->total - device->free;
    return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(void *handle, int type, int counter, unsigned long long *count) {
    (void)type, (void)counter;
    if (at(handle)->parent >= 0) return NOT_SUPPORTED;
    return *count = at(handle)->ecc, SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, struct running *found) {
    struct device *device = at(handle);
    unsigned room = *count;
    *count = device->process_count;
    if (room < *count) return INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < *count; i++) {
        found[i] = (struct running){device->processes[i].pid, device->processes[i].bytes, ~0u, ~0u};
    }
    return SUCCESS;
}
int nvmlDeviceGetMigMode(void *handle, unsigned *current, unsigned *pending) {
    if (at(handle)->major < 8) return NOT_SUPPORTED;
    return *current = *pending = at(handle)->migs > 0, SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(void *handle, unsigned *count) { return (void)handle, *count = 7, SUCCESS; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, unsigned index, void **found) {
    int parent = (int)(at(handle) - machine.devices);
    for (int i = 0; i < machine.device_count; i++) {
        if (machine.devices[i].parent == parent && index-- == 0) return *found = &machine.devices[i], SUCCESS;
    }
    return NOT_FOUND;
}

/* Events: every process hears each Xid of the machine's file once, also those that come while it listens. */
static int heard;
int nvmlEventSetCreate(void **set) { return *set = &heard, SUCCESS; }
int nvmlDeviceRegisterEvents(void *handle, unsigned long long types, void *set) { return (void)handle, (void)types, (void)set, SUCCESS; }
int nvmlEventSetWait_v2(void *set, struct event *event, unsigned milliseconds) {
    (void)set;
    read_machine();
    if (heard < machine.xid_count) {
        *event = (struct event){NULL, 8, machine.xids[heard++], ~0u, ~0u};
        return SUCCESS;
    }
    usleep(milliseconds * 1000);
    return TIMEOUT;
}
