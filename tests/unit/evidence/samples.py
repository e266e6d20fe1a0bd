"""Logs as they look in the field, one or more for each text of the signature table, and the lead each must give.

Paths, numbers and surroundings are made up; the invariant parts are what Triton, torch, CUDA and CPython print.
"""

# ruff: noqa: E501 - a log's line is as long as it is

from __future__ import annotations

from dataclasses import dataclass

from runner.evidence.signatures import Category
from runner.model.words import Outcome

SITE = "/opt/venv/lib/python3.13t/site-packages"


@dataclass(frozen=True)
class Sample:
    """A log, how the attempt ended, and what must be read in it."""

    rule: str
    category: Category
    text: str
    outcome: Outcome = Outcome.FAILED
    signal: str | None = None
    exit_code: int | None = None


def dump(*frames: str, head: str = "Fatal Python error: Segmentation fault", others: int = 0) -> str:
    """A dump of faulthandler; frames innermost first; `others` further threads come before the one that died."""
    lines = [head, ""]
    for number in range(others):
        lines += [f"Thread 0x00007f3a5{number:x}7fe6c0 (most recent call first):"]
        lines += [f'  File "{SITE}/triton/runtime/build.py", line 41 in _build', ""]
    lines.append("Current thread 0x00007f3a5c0d1740 (most recent call first):")
    lines += [f'  File "{frame.rsplit(":", 1)[0]}", line 488 in {frame.rsplit(":", 1)[1]}' for frame in frames]
    return "\n".join([*lines, "", "Extension modules: numpy._core._multiarray_umath (total: 1)"])


CREATE = (
    "<frozen importlib._bootstrap>:_call_with_frames_removed",
    "<frozen importlib._bootstrap_external>:create_module",
    "<frozen importlib._bootstrap>:module_from_spec",
)
PYTEST = (f"{SITE}/_pytest/python.py:importtestmodule", f"{SITE}/pluggy/_callers.py:_multicall")


def traceback(*frames: str, error: str) -> str:
    """A Python traceback, innermost frame last."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        path, function = frame.rsplit(":", 1)
        lines += [f'  File "{path}", line 137, in {function}', "    return call(*args)", "           ^^^^^^^^^^^"]
    return "\n".join([*lines, error])


CRASHES: tuple[Sample, ...] = (
    Sample(
        "driver-helper-segfault",
        Category.ABI,
        dump(*CREATE, f"{SITE}/triton/backends/nvidia/driver.py:compile_module_from_src", *PYTEST),
        Outcome.CRASHED,
        "SIGSEGV",
    ),
    Sample(
        "driver-helper-segfault",
        Category.ABI,
        dump(*CREATE, f"{SITE}/triton/runtime/build.py:_load_module_from_path", *PYTEST, others=3),
        Outcome.CRASHED,
        "SIGSEGV",
    ),
    Sample(
        "libtriton-segfault",
        Category.ABI,
        dump(*CREATE, f"{SITE}/triton/knobs.py:<module>", f"{SITE}/triton/__init__.py:<module>"),
        Outcome.CRASHED,
        "SIGSEGV",
    ),
    Sample(
        "libtriton-segfault",
        Category.ABI,
        dump(*CREATE, f"{SITE}/triton/__init__.py:<module>", others=1),
        Outcome.CRASHED,
        "SIGSEGV",
    ),
    Sample(
        "other-extension-segfault",
        Category.ENVIRONMENT,
        dump(*CREATE, f"{SITE}/tensorrt/__init__.py:<module>", f"{SITE}/triton/knobs.py:x"),
        Outcome.CRASHED,
        "SIGSEGV",
    ),
    Sample(
        "llvm-cannot-select",
        Category.COMPILER,
        "LLVM ERROR: Cannot select: 0x55d0c8: v2f32 = X86ISD::FOO 0x55d0d0\nIn function: kernel\n"
        + dump(f"{SITE}/triton/backends/nvidia/compiler.py:make_llir", head="Fatal Python error: Aborted"),
        Outcome.CRASHED,
        "SIGABRT",
        134,
    ),
    Sample(
        "llvm-fatal-error",
        Category.COMPILER,
        "LLVM ERROR: Failed to emit transfer from register to shared\n"
        + dump(f"{SITE}/triton/backends/nvidia/compiler.py:make_llir", head="Fatal Python error: Aborted"),
        Outcome.CRASHED,
        "SIGABRT",
        134,
    ),
    *(
        Sample(
            "compiler-assertion",
            Category.COMPILER,
            f"{line}\n"
            + dump(f"{SITE}/triton/backends/nvidia/compiler.py:make_ttir", head="Fatal Python error: Aborted"),
            Outcome.CRASHED,
            "SIGABRT",
        )
        for line in (
            (
                "python: /source/llvm-project/mlir/lib/IR/BuiltinAttributes.cpp:961: static DenseElementsAttr mlir::"
                "DenseElementsAttr::get(ShapedType, ArrayRef<Attribute>): Assertion `floatAttr.getType() == eltType && "
                '"expected float attribute type to equal element type"\' failed.'
            ),
            (
                "python: /project/third_party/nvidia/lib/TritonNVIDIAGPUToLLVM/ElementwiseOpToLLVM.cpp:749: llvm::SmallVector"
                "<mlir::Value> mlir::triton::gpu::{anonymous}::TruncFOpConversion::createDestOps(mlir::arith::TruncFOp, OpAdaptor, "
                "mlir::ConversionPatternRewriter&, mlir::Type, mlir::triton::gpu::{anonymous}::MultipleOperandsRange, mlir::Location"
                ') const: Assertion `inElemTy.isF32() && outElemTy.isBF16() && "unsupported conversion"\' failed.'
            ),
        )
    ),
    *(
        Sample(
            "compiler-assertion",
            Category.COMPILER,
            f"python3: /source/triton/lib/Analysis/{where}: Assertion `{what}' failed.\n"
            + dump(f"{SITE}/triton/compiler/compiler.py:compile", head="Fatal Python error: Aborted"),
            Outcome.CRASHED,
            "SIGABRT",
        )
        for where, what in (
            ("AxisInfo.cpp:203: int64_t getDivisibility()", "rank == divisibility.size()"),
            ("Utility.cpp:9: void f()", 'lhs.rank() == rhs.rank() && "Mismatched ranks"'),
            ("Layout.cpp:77: T &at(size_t)", "idx < size()"),
            ("X.cpp:7: operator[]", 'Index < this->size() && "invalid index"'),
            ("X.cpp:7: visit()", 'axisInfo != nullptr && "AxisInfo was not computed"'),
        )
    ),
    Sample("killed", Category.RESOURCE, "", Outcome.CRASHED, "SIGKILL", 137),
    Sample("killed", Category.RESOURCE, "", Outcome.CRASHED, None, 137),
    Sample("hang", Category.INFRA, "", Outcome.TIMED_OUT),
    Sample("hang", Category.INFRA, "", Outcome.CRASHED, None, 124),
)
_LEFT_BEHIND: tuple[tuple[str, Category, str], ...] = (
    (
        "uninitialized-module",
        Category.ABI,
        traceback(
            f"{SITE}/triton/knobs.py:<module>",
            error="SystemError: init function of libtriton returned uninitialized object",
        ),
    ),
    (
        "undefined-python-symbol",
        Category.ABI,
        f"ImportError: {SITE}/triton/_C/libtriton.so: undefined symbol: _Py_MergeZeroLocalRefcount",
    ),
    (
        "autotuner-nargs-none",
        Category.THREAD_SAFETY,
        traceback(
            "tests/test_mimo.py:worker",
            f"{SITE}/triton/runtime/autotuner.py:run",
            error="TypeError: 'NoneType' object is not a mapping",
        ),
    ),
    (
        "autotuner-nargs-none",
        Category.THREAD_SAFETY,
        "        full_nargs = {**self.nargs, **current}\nE       TypeError: 'NoneType' object is not a mapping",
    ),
    (
        "cuda-forked",
        Category.PROJECT,
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method",
    ),
    (
        "no-active-driver",
        Category.ENVIRONMENT,
        traceback(
            f"{SITE}/triton/runtime/driver.py:_create_driver",
            error="RuntimeError: 0 active drivers ([]). There should only be one.",
        ),
    ),
    (
        "no-c-compiler",
        Category.ENVIRONMENT,
        traceback(
            f"{SITE}/triton/runtime/build.py:_build",
            error="RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
        ),
    ),
    ("no-c-compiler", Category.ENVIRONMENT, "RuntimeError: Failed to find C++ compiler."),
    (
        "no-python-header",
        Category.ENVIRONMENT,
        (
            "/scratch/tmpab1/cuda_utils.c:9:10: fatal error: Python.h: No such file or directory\n    9 | #include <Python.h>\n"
            "compilation terminated.\n"
            "subprocess.CalledProcessError: Command '['/usr/bin/gcc', 'cuda_utils.c', '-O3']' returned non-zero exit status 1."
        ),
    ),
    (
        "no-libcuda-to-link",
        Category.ENVIRONMENT,
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\ncollect2: error: ld returned 1 exit status",
    ),
    ("no-libcuda", Category.ENVIRONMENT, "AssertionError: libcuda.so cannot found!\nPossible files are located at []."),
    (
        "glibc-too-old",
        Category.ENVIRONMENT,
        "ImportError: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by libtriton.so)",
    ),
    (
        "glibc-too-old",
        Category.ENVIRONMENT,
        "ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by libtriton.so)",
    ),
    (
        "shared-library-missing",
        Category.ENVIRONMENT,
        "OSError: libnvshmem_host.so.3: cannot open shared object file: No such file or directory",
    ),
    (
        "shared-library-missing",
        Category.ENVIRONMENT,
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory",
    ),
    ("module-not-installed", Category.ENVIRONMENT, "E   ModuleNotFoundError: No module named 'einops'"),
    ("module-not-installed", Category.ENVIRONMENT, "ModuleNotFoundError: No module named 'triton'"),
    (
        "triton-name-gone",
        Category.API,
        f"ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler' ({SITE}/triton/compiler/compiler.py)",
    ),
    (
        "triton-name-gone",
        Category.API,
        "ImportError: cannot import name 'TensorWrapper' from 'triton' (unknown location)",
    ),
    ("triton-attribute-gone", Category.API, "AttributeError: module 'triton.language' has no attribute 'libdevice'"),
    ("triton-attribute-gone", Category.API, "AttributeError: module 'triton' has no attribute 'cdiv'"),
    (
        "ptxas-internal-error",
        Category.TOOLCHAIN,
        (
            "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
            "ptxas x.ptx, line 311; error   : Feature 'wgmma' requires .target sm_90a"
        ),
    ),
    ("ptxas-internal-error", Category.TOOLCHAIN, "RuntimeError: Internal Triton PTX codegen error: \nptxas error"),
    (
        "ptxas-unknown-architecture",
        Category.TOOLCHAIN,
        "ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'",
    ),
    (
        "ptxas-unknown-architecture",
        Category.TOOLCHAIN,
        traceback(
            f"{SITE}/triton/backends/nvidia/compiler.py:make_cubin",
            error=(
                "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
                "ptxas fatal   : Value 'sm_90a' is not defined for option 'gpu-name'\n"
            ),
        ),
    ),
    (
        "ptxas-too-old",
        Category.TOOLCHAIN,
        (
            "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\n"
            "ptxas fatal   : Unknown option '-regAllocOptLevel'\n"
        ),
    ),
    (
        "ptxas-too-old",
        Category.TOOLCHAIN,
        (
            "PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas x.ptx, line 5; fatal   : "
            "Unsupported .version 8.6; current version is '8.4'\nptxas fatal   : Ptx assembly aborted due to errors"
        ),
    ),
    (
        "ptxas-internal-error",
        Category.TOOLCHAIN,
        (
            "PTXASError: PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas x.ptx, line 43; error   : "
            "Not a name of any known instruction: 'nott'\nptxas fatal   : Ptx assembly aborted due to errors"
        ),
    ),
    ("ptxas-died", Category.TOOLCHAIN, "RuntimeError: `ptxas` raised SIGSEGV\n`ptxas` stderr:\n"),
    ("ptxas-died", Category.TOOLCHAIN, "RuntimeError: `ptxas` failed with error code 255\n`ptxas` stderr:\n"),
    (
        "pass-pipeline-failed",
        Category.COMPILER,
        (
            "kernel.py:12:0: error: failures have been detected while processing an MLIR pass pipeline\n"
            "kernel.py:12:0: note: Pipeline failed while executing [`TritonGPUPipeline` on 'builtin.module' operation]\n"
            "RuntimeError: PassManager::run failed"
        ),
    ),
    ("pass-pipeline-failed", Category.COMPILER, "E   RuntimeError: PassManager::run failed"),
    (
        "fp8-not-supported",
        Category.ENVIRONMENT,
        "ValueError: type fp8e4nv not supported in this architecture. The supported fp8 dtypes are ('fp8e4b15', 'fp8e5')",
    ),
    (
        "fp8-not-supported",
        Category.ENVIRONMENT,
        "AssertionError: fp8e4nv data type is not supported on CUDA arch < 89",
    ),
    *(
        (
            "out-of-resource",
            Category.RESOURCE,
            (
                f"triton.runtime.errors.OutOfResources: out of resource: {what}, Required: {number}, Hardware limit: {limit}."
                " Reducing block sizes or `num_stages` may help."
            ),
        )
        for what, number, limit in (
            ("shared memory", 294912, 232448),
            ("tensor memory", 640, 512),
            ("threads", 2048, 1024),
            ("registers", 300, 255),
        )
    ),
    (
        "gpu-out-of-memory",
        Category.RESOURCE,
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.1 GiB",
    ),
    ("gpu-out-of-memory", Category.RESOURCE, "RuntimeError: Triton Error [CUDA]: out of memory"),
    (
        "cuda-illegal-access",
        Category.COMPILER,
        "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered",
    ),
    (
        "cuda-illegal-access",
        Category.COMPILER,
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported",
    ),
    ("cuda-misaligned", Category.COMPILER, "RuntimeError: Triton Error [CUDA]: misaligned address"),
    ("cuda-launch-failure", Category.PROJECT, "torch.AcceleratorError: CUDA error: device-side assert triggered"),
    (
        "driver-function-missing",
        Category.DRIVER,
        "ImportError: /c/cuda_utils.cpython-312-x86_64-linux-gnu.so: undefined symbol: cuOccupancyMaxActiveClusters",
    ),
    (
        "cuda-driver-too-old",
        Category.DRIVER,
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ),
    (
        "cuda-driver-too-old",
        Category.DRIVER,
        "RuntimeError: Triton Error [CUDA]: the provided PTX was compiled with an unsupported toolchain.",
    ),
    (
        "cuda-driver-too-old",
        Category.DRIVER,
        "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
    ),
    (
        "shared-cache-file-gone",
        Category.INFRA,
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/u/.triton/cache/4ab1/kernel.json.tmp.pid_7_11'",
    ),
    (
        "shared-cache-file-gone",
        Category.INFRA,
        "FileNotFoundError: [Errno 2] No such file or directory: '/scratch/c/4ab1/__grp__kernel.json'",
    ),
    (
        "cache-entry-damaged",
        Category.INFRA,
        traceback(
            f"{SITE}/triton/runtime/cache.py:get_group",
            "/usr/lib/python3.12/json/decoder.py:raw_decode",
            error="json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        ),
    ),
    ("no-cache-directory", Category.ENVIRONMENT, "RuntimeError: Could not create or locate cache dir"),
    (
        "no-wheel-free-threaded",
        Category.ENVIRONMENT,
        (
            "  x No solution found when resolving dependencies:\n  Because triton==3.8.0 has no wheels with a matching"
            " Python ABI tag\n      (e.g., `cp313t`), we can conclude that it cannot be used."
        ),
    ),
    (
        "no-wheel-free-threaded",
        Category.ENVIRONMENT,
        "ERROR: No matching distribution found for triton==3.2.0 (cp313t)",
    ),
    ("torch-compile-unsupported", Category.ENVIRONMENT, "RuntimeError: torch.compile is not supported on Python 3.14+"),
    ("torch-compile-unsupported", Category.ENVIRONMENT, "RuntimeError: Dynamo is not supported on Python 3.13+"),
    (
        "memory-limit",
        Category.RESOURCE,
        "used more than the memory limit of 1 GiB: it held 1.07 GiB; the process was ended in the call of this test",
    ),
    ("killed", Category.RESOURCE, "collecting ...\nKilled\n"),
    ("hang", Category.INFRA, "E   Failed: Timeout >300.0s"),
    ("hang", Category.INFRA, "E   Failed: Timeout (>300.0s) from pytest-timeout."),
)
SAMPLES: tuple[Sample, ...] = CRASHES + tuple(Sample(*one) for one in _LEFT_BEHIND)
