/* A CUDA driver without a device: it lets Triton's helper be linked and loaded where there is no GPU. */

#define CUDA_ERROR_NO_DEVICE 100
#define WITHOUT_DEVICE(function) \
  int function(void) { return CUDA_ERROR_NO_DEVICE; }

int cuInit(unsigned flags) { return CUDA_ERROR_NO_DEVICE; }

int cuGetErrorString(int error, const char **text) {
  *text = "no CUDA-capable device is detected";
  return 0;
}

WITHOUT_DEVICE(cuCtxGetCurrent)
WITHOUT_DEVICE(cuCtxGetDevice)
WITHOUT_DEVICE(cuCtxGetLimit)
WITHOUT_DEVICE(cuCtxSetCurrent)
WITHOUT_DEVICE(cuCtxSetLimit)
WITHOUT_DEVICE(cuDeviceGet)
WITHOUT_DEVICE(cuDeviceGetAttribute)
WITHOUT_DEVICE(cuDeviceGetCount)
WITHOUT_DEVICE(cuDevicePrimaryCtxRetain)
WITHOUT_DEVICE(cuDriverGetVersion)
WITHOUT_DEVICE(cuFuncGetAttribute)
WITHOUT_DEVICE(cuFuncSetAttribute)
WITHOUT_DEVICE(cuFuncSetCacheConfig)
WITHOUT_DEVICE(cuLaunchKernelEx)
WITHOUT_DEVICE(cuModuleGetFunction)
WITHOUT_DEVICE(cuModuleLoadData)
WITHOUT_DEVICE(cuModuleUnload)
WITHOUT_DEVICE(cuOccupancyMaxActiveClusters)
WITHOUT_DEVICE(cuPointerGetAttribute)
WITHOUT_DEVICE(cuPointerGetAttributes)
WITHOUT_DEVICE(cuStreamIsCapturing)
WITHOUT_DEVICE(cuTensorMapEncodeIm2col)
WITHOUT_DEVICE(cuTensorMapEncodeTiled)
