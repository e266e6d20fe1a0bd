from __future__ import annotations

import pytest

from runner.evidence.root import fingerprint, normal
from runner.evidence.trace import Frame, bounded, crashed_thread, frames, importer_of_crash, last_exception
from runner.model.result import Attempt
from runner.model.words import Outcome
from tests.unit.evidence.samples import CREATE, dump
from tests.unit.verdict.examples import crashed, failed

SITE_A = "/a/lib/python3.12/site-packages"
SITE_B = "/elsewhere/venv/lib/python3.13t/site-packages"


def test_like_failures_have_one_root_whatever_differs_around_them() -> None:
    one = failed(
        "RuntimeError: at 0x7f3a11 in /scratch/job-17/k.ptx: error 4711 of 8",
        "tests/test_a.py:test_one",
        f"{SITE_A}/pytest/x.py:call",
        "/home/a/project/src/kernels.py:launch",
    )
    two = failed(
        "RuntimeError: at 0x55d0c8 in /var/other/q/k.ptx: error 9 of 8",
        "tests/test_b.py:test_two",
        f"{SITE_B}/pytest/x.py:call",
        "/builds/b/project/src/kernels.py:launch",
    )
    assert fingerprint(one) == fingerprint(two)
    assert fingerprint(one).frames == ("src/kernels.py:launch",)


@pytest.mark.parametrize(
    "other",
    [
        failed("RuntimeError: queue is closed", "src/kernels.py:launch"),
        failed("ValueError: queue is full", "src/kernels.py:launch"),
        failed("RuntimeError: queue is full", "src/kernels.py:other"),
        crashed("src/kernels.py:launch"),
        Attempt(outcome=Outcome.TIMED_OUT),
    ],
)
def test_what_tells_roots_apart(other: Attempt) -> None:
    assert fingerprint(failed("RuntimeError: queue is full", "src/kernels.py:launch")) != fingerprint(other)


def test_a_known_signature_is_one_root_whichever_test_meets_it() -> None:
    message = "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered"
    roots = {fingerprint(failed(message, f"tests/test_{i}.py:test_{i}")) for i in range(5)}
    assert [root.signature for root in roots] == ["cuda-illegal-access"]


def test_a_missing_module_is_one_root_in_every_file_that_imports_it() -> None:
    roots = {
        fingerprint(failed("ModuleNotFoundError: No module named 'numpy'", f"tests/test_{i}.py:<module>"))
        for i in range(5)
    }
    assert len(roots) == 1


def test_who_called_does_not_tell_crashes_apart() -> None:
    roots = {
        fingerprint(crashed(f"{site}/triton/runtime/jit.py:run", f"tests/test_{i}.py:test"))
        for i, site in enumerate((SITE_A, SITE_B))
    }
    assert len(roots) == 1
    assert roots.pop().frames == ("triton/runtime/jit.py:run",)


def test_a_crash_in_the_project_is_known_by_its_innermost_frame() -> None:
    assert fingerprint(crashed("src/native.py:call", "tests/test_a.py:test")).frames == ("src/native.py:call",)


def test_pytests_own_way_of_writing_a_traceback() -> None:
    stack = (
        "tests/test_a.py:9: in test_one\n    launch(3)\nsrc/kernels.py:41: in launch\n    raise ValueError(n)\n"
        "E   ValueError: 3 is odd"
    )
    root = fingerprint(Attempt(outcome=Outcome.FAILED, message="ValueError: 3 is odd", stack=stack))
    assert (root.exception, root.frames, root.message) == ("ValueError", ("src/kernels.py:launch",), "0 is odd")


def test_output_of_the_test_is_not_its_exception() -> None:
    attempt = Attempt(outcome=Outcome.FAILED, message="KeyError: 'a'", output="ValueError: printed by hand")
    assert fingerprint(attempt).exception == "KeyError"


def test_an_attempt_that_left_nothing_has_a_root() -> None:
    assert fingerprint(Attempt(outcome=Outcome.CRASHED, exit_code=0)).id.startswith("exit-0-")
    assert fingerprint(Attempt(outcome=Outcome.FAILED)).id.startswith("failure-")


def test_ids_are_stable() -> None:
    """An id stands in contrasts.json and is compared with one that is computed later, by another process."""
    assert fingerprint(failed("KeyError: 'a'", "src/k.py:f")).id == "keyerror-ae609b88"


def test_the_thread_that_died() -> None:
    text = dump(*CREATE, "/x/site-packages/foo/__init__.py:<module>", others=2)
    assert [frame.function for frame in crashed_thread(text)][-1] == "<module>"
    assert importer_of_crash(text) == "/x/site-packages/foo/__init__.py"
    assert importer_of_crash("no dump") is None
    assert importer_of_crash(dump("a.py:f")) is None


def test_frames_of_all_three_kinds() -> None:
    text = '  File "a.py", line 3, in f\n    x()\n  File "b.py", line 4 in g\nc.py:5: in h\nd.py:6: KeyError'
    assert frames(text) == [Frame("a.py", "f"), Frame("b.py", "g"), Frame("c.py", "h"), Frame("d.py", "?")]


@pytest.mark.parametrize(
    ("path", "triton", "foreign"),
    [
        (f"{SITE_A}/triton/runtime/jit.py", True, True),
        (f"{SITE_A}/tritonclient/http.py", False, True),
        (f"{SITE_A}/torch/x.py", False, True),
        ("/usr/lib/python3.12/threading.py", False, True),
        ("<frozen importlib._bootstrap>", False, True),
        ("src/triton/kernels.py", False, False),
        ("tests/test_a.py", False, False),
    ],
)
def test_whose_a_frame_is(path: str, *, triton: bool, foreign: bool) -> None:
    frame = Frame(path, "f")
    assert (frame.is_triton, frame.is_foreign) == (triton, foreign)


def test_a_message_without_what_differs() -> None:
    assert normal("pid 4711 at 0xdeadbeef in /a/b/c.py: 3.5 s, deadbeef0123") == "pid 0 at 0x? in <path>: 0.0 s, <hash>"
    assert normal("first\nsecond") == "first"
    assert len(normal("x" * 10_000)) == 200


def test_the_last_exception_of_a_chain() -> None:
    assert last_exception("KeyError: 1\n\nDuring handling:\n\nE   app.errors.StateError: two") == ("StateError", "two")
    assert last_exception("all is well") is None


def test_a_long_text_keeps_its_start_and_its_end() -> None:
    text = bounded("start" + "x" * 10_000_000 + "end")
    assert text.startswith("start")
    assert text.endswith("end")


def test_two_names_that_went_are_two_roots() -> None:
    def gone(name: str) -> Attempt:
        said = f"AttributeError: module 'triton.language' has no attribute '{name}'"
        return Attempt(outcome=Outcome.FAILED, message=said, stack=said)

    one, other = fingerprint(gone("make_tensor_descriptor")), fingerprint(gone("_experimental_descriptor"))
    assert one.signature == other.signature != ""
    assert one.id != other.id


LONG = """
x = tensor([0., 1.])

    def test_it(x):
        def call():
            pass
>       raise errors[0]

tests/test_it.py:145: {nothing}
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
tests/test_it.py:135: in call
    tuned[(1,)](x, y, size)
{triton}/runtime/autotuner.py:240: in run
    benchmark()
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

    def {function}():
        bench_start = time.time()
>       full_nargs = {{**self.nargs, **kwargs}}
E       {error}

{triton}/runtime/autotuner.py:233: TypeError
"""


def in_long_form(triton: str, function: str, error: str) -> Attempt:
    stack = LONG.format(triton=triton, function=function, error=error, nothing="")
    return Attempt(outcome=Outcome.FAILED, message=error, stack=stack)


def test_pytests_long_form_names_the_function_above_the_frame_alone() -> None:
    attempt = in_long_form("/x/site-packages/triton", "benchmark", "TypeError: unheard of")
    assert attempt.stack
    assert [frame.function for frame in frames(attempt.stack)] == ["test_it", "call", "run", "benchmark"]
    assert fingerprint(attempt).frames == ("triton/runtime/autotuner.py:benchmark",)


def test_a_known_race_is_one_root_wherever_triton_stands_and_in_whichever_of_its_functions_it_surfaces() -> None:
    error = "TypeError: 'NoneType' object is not a mapping"
    places = ("/x/site-packages/triton", "/home/u/triton/python/triton", "/opt/trees/triton-3.7.0/triton")
    roots = {
        fingerprint(in_long_form(place, function, error)) for place in places for function in ("_bench", "benchmark")
    }
    assert [root.frames for root in roots] == [("triton/runtime/autotuner.py",)]


@pytest.mark.parametrize(
    ("path", "file", "triton", "foreign"),
    [
        ("/opt/trees/torch-cp313t/torch/cuda/__init__.py", "torch/cuda/__init__.py", False, True),
        ("/opt/trees/torch-cp313t/_pytest/python.py", "_pytest/python.py", False, True),
        ("/home/u/triton/python/triton/testing.py", "triton/testing.py", True, True),
        ("/home/u/triton/python/test/unit/test_core.py", "unit/test_core.py", False, False),
        ("/home/u/project/triton/kernels.py", "triton/kernels.py", False, False),
        ("/home/u/torch/tests/test_a.py", "tests/test_a.py", False, False),
    ],
)
def test_packages_that_stand_in_no_folder_for_packages(path: str, file: str, *, triton: bool, foreign: bool) -> None:
    frame = Frame(path, "f")
    assert (frame.file, frame.is_triton, frame.is_foreign) == (file, triton, foreign)


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("ModuleNotFoundError: No module named '{}'", ("numpy", "einops")),
        (
            "RuntimeError: PassManager::run failed\nnote: Pipeline failed while executing [`{}` on 'builtin.module'",
            ("TritonGPUCoalesce", "TritonGPUPipeline"),
        ),
        (
            "RuntimeError: PassManager::run failed\npython: a.cpp:3: f(): Assertion `{}' failed.\nnote: P",
            ("idx < size()", "helper.isWarpLocal()"),
        ),
    ],
)
def test_one_signature_is_several_roots_where_the_text_tells_them_apart(said: str, kinds: tuple[str, str]) -> None:
    one, again, other = (
        fingerprint(Attempt(outcome=Outcome.FAILED, message=said.format(kind)))
        for kind in (kinds[0], kinds[0], kinds[1])
    )
    assert one == again
    assert one != other
    assert one.signature == other.signature != ""


def test_the_assertion_that_ended_a_process_is_part_of_its_root() -> None:
    """Two kernels that the same stage of the compiler cannot do, each for a reason of its own."""
    stack = dump(f"{SITE_A}/triton/backends/nvidia/compiler.py:make_llir", head="Fatal Python error: Aborted")
    texts = ("LLVM ERROR: Unsupported rounding mode for conversion.", "LLVM ERROR: Failed to emit transfer")
    one, other = (
        fingerprint(Attempt(outcome=Outcome.CRASHED, signal="SIGABRT", stack=stack, output=text)) for text in texts
    )
    assert one.signature == other.signature == "llvm-fatal-error"
    assert one != other


@pytest.mark.parametrize("python", ["/usr/lib/python3.12", "/opt/free/lib/python3.13t"])
def test_a_module_of_python_has_one_label_in_every_python(python: str) -> None:
    assert Frame(f"{python}/threading.py", "wait").label == "threading.py:wait"
    assert Frame(f"{python}/ctypes/__init__.py", "string_at").label == "ctypes/__init__.py:string_at"
    assert Frame(f"{python}/site-packages/x/y.py", "f").label == "x/y.py:f"
