/* Stands in for the CUDA driver where there is none, so that Triton's driver helper can be linked and loaded.
   It has no device: every call says CUDA_ERROR_NO_DEVICE. */

enum { NO_DEVICE = 100 };

#define ANSWERS_NO_DEVICE(name) \
  int name(void) { return NO_DEVICE; }

ANSWERS_NO_DEVICE(cuInit)
ANSWERS_NO_DEVICE(cuCtxGetCurrent)
ANSWERS_NO_DEVICE(cuCtxGetDevice)
ANSWERS_NO_DEVICE(cuCtxGetLimit)
ANSWERS_NO_DEVICE(cuCtxSetCurrent)
ANSWERS_NO_DEVICE(cuCtxSetLimit)
ANSWERS_NO_DEVICE(cuCtxSynchronize)
ANSWERS_NO_DEVICE(cuDeviceGet)
ANSWERS_NO_DEVICE(cuDeviceGetAttribute)
ANSWERS_NO_DEVICE(cuDeviceGetCount)
ANSWERS_NO_DEVICE(cuDevicePrimaryCtxRetain)
ANSWERS_NO_DEVICE(cuDriverGetVersion)
ANSWERS_NO_DEVICE(cuFuncGetAttribute)
ANSWERS_NO_DEVICE(cuFuncSetAttribute)
ANSWERS_NO_DEVICE(cuFuncSetCacheConfig)
ANSWERS_NO_DEVICE(cuLaunchKernel)
ANSWERS_NO_DEVICE(cuLaunchKernelEx)
ANSWERS_NO_DEVICE(cuModuleGetFunction)
ANSWERS_NO_DEVICE(cuModuleLoadData)
ANSWERS_NO_DEVICE(cuModuleUnload)
ANSWERS_NO_DEVICE(cuOccupancyMaxActiveClusters)
ANSWERS_NO_DEVICE(cuPointerGetAttribute)
ANSWERS_NO_DEVICE(cuPointerGetAttributes)
ANSWERS_NO_DEVICE(cuStreamIsCapturing)
ANSWERS_NO_DEVICE(cuTensorMapEncodeIm2col)
ANSWERS_NO_DEVICE(cuTensorMapEncodeTiled)

int cuGetErrorString(int error, const char **text) {
  (void)error;
  *text = "no CUDA-capable device is detected";
  return 0;
}
