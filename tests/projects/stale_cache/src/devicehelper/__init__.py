"""Loads Triton's driver helper at import, as does every package that launches a kernel or asks for the device then.

Triton compiles the helper, the extension module `cuda_utils`, when it is first needed, and keeps it in `TRITON_CACHE_DIR`.
"""

from triton.backends.nvidia.driver import CudaUtils

helper = CudaUtils()
