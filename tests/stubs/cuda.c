/* A stub of the CUDA driver: contexts, errors that stay, and kernels known by their names.
 *
 * A kernel called `do_illegal` leaves error 700 for good, `do_trap` 719, `do_spin` never ends; every other one does nothing.
 * Like the real driver it runs kernels in the background: only a later synchronisation tells.
 */
#include <stdint.h>
#include <unistd.h>

#include "machine.h"

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, CONTEXT_IS_DESTROYED = 709 };
struct context { int device, references, error, spins, destroyed; };
static struct context primaries[MOST];
static __thread struct context *stack[MOST];
static __thread int depth;
static int visible[2 * MOST], visible_count, initialized;

static struct device *device_at(int ordinal) { return &machine.devices[visible[ordinal]]; }

static void choose_visible(void) {
    const char *wanted = getenv("CUDA_VISIBLE_DEVICES");
    char copy[1024], *rest = copy, *word;
    visible_count = 0;
    if (!wanted) {
        for (int i = 0; i < machine.gpu_count; i++) visible[visible_count++] = machine.gpus[i];
        return;
    }
    snprintf(copy, sizeof copy, "%s", wanted);
    while ((word = strsep(&rest, ","))) {
        int found = -1;
        for (int i = 0; i < machine.device_count; i++) {
            if (strcmp(word, machine.devices[i].uuid) == 0) found = i;
        }
        if (found < 0 && *word >= '0' && *word <= '9' && atoi(word) < machine.gpu_count) found = machine.gpus[atoi(word)];
        if (found < 0) return; /* the first that is no device ends the list */
        visible[visible_count++] = found;
    }
}

int cuInit(unsigned flags) {
    (void)flags;
    if (!initialized) {
        if (!read_machine()) return NO_DEVICE;
        choose_visible();
        for (int i = 0; i < MOST; i++) primaries[i].device = i;
    }
    if (!visible_count) return NO_DEVICE;
    return initialized = 1, 0;
}
int cuDriverGetVersion(int *version) { return *version = machine.cuda, 0; }
int cuDeviceGetCount(int *count) { return initialized ? (*count = visible_count, 0) : NOT_INITIALIZED; }
int cuDeviceGet(int *device, int ordinal) { return ordinal < visible_count ? (*device = ordinal, 0) : INVALID_DEVICE; }
int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, size, "%s", device_at(device)->name), 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = device_at(device)->total, 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? device_at(device)->major : attribute == 76 ? device_at(device)->minor : 0;
    return 0;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    const char *text = device_at(device)->uuid + 4; /* after GPU- or MIG- */
    for (int i = 0; i < 16; text++) {
        if (*text == '-') continue;
        unsigned byte;
        if (sscanf(text, "%2x", &byte) != 1) return INVALID_VALUE;
        uuid[i++] = byte, text++;
    }
    return 0;
}

static struct context *current(void) { return depth ? stack[depth - 1] : NULL; }

int cuDevicePrimaryCtxRetain(struct context **context, int device) {
    if (!initialized) return NOT_INITIALIZED;
    if (device >= visible_count) return INVALID_DEVICE;
    *context = &primaries[device];
    if (!(*context)->error) (*context)->destroyed = 0; /* an error that stays outlives a reset */
    (*context)->references++;
    return 0;
}
int cuDevicePrimaryCtxReset_v2(int device) { return primaries[device].references = 0, primaries[device].destroyed = 1, 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return primaries[device].references--, 0; }
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    if (!initialized) return NOT_INITIALIZED;
    return *flags = 0, *active = primaries[device].references > 0, 0;
}
int cuCtxGetCurrent(struct context **context) { return initialized ? (*context = current(), 0) : NOT_INITIALIZED; }
int cuCtxSetCurrent(struct context *context) {
    depth = depth ? depth - 1 : 0;
    if (context) stack[depth++] = context;
    return 0;
}
int cuCtxPushCurrent_v2(struct context *context) { return depth < MOST ? (stack[depth++] = context, 0) : INVALID_VALUE; }
int cuCtxPopCurrent_v2(struct context **context) {
    if (!depth) return INVALID_CONTEXT;
    return *context = stack[--depth], 0;
}
int cuCtxGetDevice(int *device) { return current() ? (*device = current()->device, 0) : INVALID_CONTEXT; }
int cuCtxSynchronize(void) {
    struct context *context = current();
    if (!context) return INVALID_CONTEXT;
    while (context->spins) pause();
    return context->destroyed ? CONTEXT_IS_DESTROYED : context->error;
}

int cuModuleLoadData(void **module, const void *image) {
    if (!current()) return INVALID_CONTEXT;
    return *module = (void *)image, current()->error;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    if (!strstr(module, name)) return 500; /* not found */
    return *function = strdup(name), 0;
}
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    struct context *context = current();
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)parameters, (void)extra;
    if (!context) return INVALID_CONTEXT;
    if (context->error) return context->error;
    if (strcmp(function, "do_illegal") == 0) context->error = 700;
    if (strcmp(function, "do_trap") == 0) context->error = 719;
    if (strcmp(function, "do_spin") == 0) context->spins = 1;
    return 0;
}
int cuGetErrorName(int code, const char **name) {
    *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
            : code == 709 ? "CUDA_ERROR_CONTEXT_IS_DESTROYED" : "CUDA_ERROR_OF_STUB";
    return 0;
}
