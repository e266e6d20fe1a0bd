/* The machine that the stubs play, read from the file that STUB_MACHINE names. One thing a line:
 *
 *   driver 580.65.06 13000
 *   gpu GPU-<uuid> <major>.<minor> <total MiB> <free MiB> <uncorrected ECC errors> <name>
 *   mig MIG-<uuid> <total MiB> <free MiB>                 an instance of the GPU above it
 *   process <pid> <MiB>                                   on the GPU or instance above it
 *   nvml <code>                                           what nvmlInit answers
 *   hang                                                  nvmlInit never comes back
 *   crash                                                 nvmlInit ends its process
 *   xid <number>                                          the next event that NVML tells
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 16

struct process { unsigned pid; unsigned long long bytes; };
struct device {
    char uuid[96], name[96];
    int major, minor, parent, migs, process_count;
    unsigned long long total, free, ecc;
    struct process processes[MOST];
};
static struct machine {
    char driver[32];
    int cuda, gpu_count, device_count, nvml_code, hangs, crashes, xid_count;
    unsigned long long xids[MOST];
    int gpus[MOST];
    struct device devices[2 * MOST];
} machine;

static int read_machine(void) {
    const char *path = getenv("STUB_MACHINE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[512];
    if (!file) return 0;
    memset(&machine, 0, sizeof machine);
    while (fgets(line, sizeof line, file)) {
        struct device *last = machine.device_count ? &machine.devices[machine.device_count - 1] : NULL;
        struct device new = {.parent = -1};
        struct process process;
        if (sscanf(line, "driver %31s %d", machine.driver, &machine.cuda) == 2) continue;
        if (sscanf(line, "nvml %d", &machine.nvml_code) == 1) continue;
        if (strncmp(line, "hang", 4) == 0) machine.hangs = 1;
        if (strncmp(line, "crash", 5) == 0) machine.crashes = 1;
        if (sscanf(line, "xid %llu", &machine.xids[machine.xid_count]) == 1) machine.xid_count++;
        if (sscanf(line, "gpu %95s %d.%d %llu %llu %llu %95[^\n]", new.uuid, &new.major, &new.minor, &new.total, &new.free,
                   &new.ecc, new.name) == 7) {
            machine.gpus[machine.gpu_count++] = machine.device_count;
            machine.devices[machine.device_count++] = new;
        } else if (sscanf(line, "mig %95s %llu %llu", new.uuid, &new.total, &new.free) == 3) {
            struct device *parent = &machine.devices[machine.gpus[machine.gpu_count - 1]];
            new.parent = machine.gpus[machine.gpu_count - 1];
            new.major = parent->major, new.minor = parent->minor;
            snprintf(new.name, sizeof new.name, "%.80s MIG", parent->name);
            parent->migs++;
            machine.devices[machine.device_count++] = new;
        } else if (last && sscanf(line, "process %u %llu", &process.pid, &process.bytes) == 2) {
            process.bytes <<= 20;
            last->processes[last->process_count++] = process;
        }
    }
    fclose(file);
    for (int i = 0; i < machine.device_count; i++) machine.devices[i].total <<= 20, machine.devices[i].free <<= 20;
    return 1;
}
