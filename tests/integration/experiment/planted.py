"""Causes that are planted: each a small file of tests, where it fails, and what must be found."""

from __future__ import annotations

from dataclasses import dataclass

from runner.model.words import Cause


@dataclass(frozen=True)
class Planted:
    """A cause that is planted.

    Attributes:
        name: of the file, `test_NAME.py`; its test that fails is `test_planted`.
        source: of the file.
        cause: that must be found; `unexplained` may be found instead where the evidence cannot suffice.
    """

    name: str
    source: str
    cause: Cause


PLANTED = (
    Planted(
        "counts_without_a_lock",
        """
import sys, threading
total = 0
def test_planted():
    global total
    total = 0
    start = threading.Barrier(4)
    def add():
        global total
        start.wait()
        for _ in range(50_000):
            total += 1
    threads = [threading.Thread(target=add) for _ in range(4)]
    [t.start() for t in threads]; [t.join() for t in threads]
    assert total == 200_000, "counts were lost"
""",
        Cause.PROJECT,
    ),
    Planted(
        "needs_the_gil_flag",
        """
import sys
def test_planted():
    assert getattr(sys, "_is_gil_enabled", lambda: True)(), "this needs the GIL"
""",
        Cause.PROJECT,
    ),
    Planted(
        "reads_the_layout_of_objects",
        """
import sysconfig, ctypes
def test_planted():
    value = ctypes.c_ssize_t.from_address(id(object) + 0)
    assert not sysconfig.get_config_var("Py_GIL_DISABLED"), "objects begin with another field in this build"
""",
        Cause.PYTHON_ABI,
    ),
    Planted(
        "only_on_3_12",
        """
import sys
def test_planted():
    assert sys.version_info[:2] != (3, 12), "typing changed"
""",
        Cause.PYTHON_ABI,
    ),
    Planted(
        "api_that_went",
        """
def test_planted():
    import triton.language as tl
    assert tl._experimental_make_tensor_descriptor is not None
""",
        Cause.TRITON_VERSION,
    ),
    Planted(
        "api_that_came",
        """
def test_planted():
    import triton.language as tl
    assert tl.make_tensor_descriptor is not None
""",
        Cause.TRITON_VERSION,
    ),
    Planted(
        "plain_mistake",
        """
def test_planted():
    assert sum([1, 2]) == 4
""",
        Cause.PROJECT,
    ),
    Planted(
        "wrong_type",
        """
def scale(x): return x * None
def test_planted():
    assert scale(2) == 4
""",
        Cause.PROJECT,
    ),
    Planted(
        "import_that_is_misspelt",
        """
import jsonn
def test_planted(): ...
""",
        Cause.PROJECT,
    ),
    Planted(
        "order",
        """
state = []
def test_leaves_something_behind():
    state.append(1)
def test_planted():
    assert not state, "somebody was here before"
""",
        Cause.PROJECT,
    ),
    Planted(
        "flaky_one_in_three",
        """
import os
def test_planted():
    assert os.urandom(1)[0] % 3, "bad luck"
""",
        Cause.FLAKY,
    ),
    Planted(
        "another_text_every_time",
        """
import os
def test_planted():
    raise RuntimeError("".join(chr(97 + b % 26) for b in os.urandom(12)))
""",
        Cause.UNEXPLAINED,
    ),
    Planted(
        "no_c_compiler",
        """
def test_planted(monkeypatch, tmp_path):
    from triton.runtime.build import _build
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    source = tmp_path / "main.c"
    source.write_text("int main;")
    try:
        _build("main", str(source), str(tmp_path), [], [], [])
    except TypeError:
        _build("main", str(source), str(tmp_path), [], [], [], [])
""",
        Cause.ENVIRONMENT,
    ),
    Planted(
        "shared_memory",
        """
def test_planted():
    from triton.runtime.errors import OutOfResources
    raise OutOfResources(262144, 232448, "shared memory")
""",
        Cause.RESOURCE,
    ),
    Planted(
        "kernel_image",
        """
def test_planted():
    raise RuntimeError("Triton Error [CUDA]: no kernel image is available for execution on the device")
""",
        Cause.DRIVER,
    ),
    Planted(
        "forks_after_cuda",
        """
def test_planted():
    raise RuntimeError("Cannot re-initialize CUDA in forked subprocess. Use the 'spawn' start method")
""",
        Cause.PROJECT,
    ),
    Planted(
        "segfault_of_its_own",
        """
import ctypes
def test_planted():
    ctypes.string_at(0)
""",
        Cause.PROJECT,
    ),
    Planted(
        "exits",
        """
import os
def test_planted():
    os._exit(3)
""",
        Cause.PROJECT,
    ),
    Planted(
        "autotuner_race",
        """
import threading
def test_planted():
    import triton, triton.language as tl
    waiting = threading.Event()
    def benchmark(call, quantiles=None, **_):
        waiting.wait(0.001)
        return [1.0, 1.0, 1.0]
    @triton.jit
    def kernel(x_ptr, size, BLOCK: tl.constexpr):
        tl.store(x_ptr, size)
    configs = [triton.Config({"BLOCK": 32 << i}) for i in range(3)]
    tuned = triton.autotune(configs, key=["size"], do_bench=benchmark)(kernel)
    kernel.run = lambda *_, **__: None
    start, errors = threading.Barrier(8), []
    def call(index):
        start.wait()
        try:
            for size in range(8):
                tuned[(1,)](None, 100 * index + size)
        except Exception as error:
            errors.append(error)
    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    [t.start() for t in threads]; [t.join() for t in threads]
    if errors:
        raise errors[0]
""",
        Cause.THREAD_SAFETY,
    ),
)
