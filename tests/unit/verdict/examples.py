"""One example for each row of the decision table: what went in, in a sentence, and as data. docs/attribution.md shows
them with the finding that comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.evidence.root import fingerprint
from runner.model.contrast import Contrasts, ControlPart
from runner.model.plan import Plan
from runner.model.result import Attempt, CellResult
from runner.model.words import Factor, GilMode, Outcome, Status
from tests.unit.verdict.building import GREEN, contrast, contrasts, part, plan, result, results

OFF, ON = "py3.13t-gil-off-triton3.3.1", "py3.13t-gil-on-triton3.3.1"
SITE = "/env/lib/python3.13t/site-packages"


def failed(message: str, *frames: str, outcome: Outcome = Outcome.FAILED) -> Attempt:
    """An attempt that ended in an exception, with frames such as `tests/test_a.py:test`."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        path, function = frame.split(":")
        lines.append(f'  File "{path}", line 7, in {function}')
    return Attempt(outcome=outcome, phase="call", message=message, stack="\n".join([*lines, message]), pid=1)


def crashed(*frames: str, fatal: str = "Segmentation fault", signal: str = "SIGSEGV", before: str = "") -> Attempt:
    """An attempt whose process died; frames are innermost first."""
    lines = [before] if before else []
    lines += [f"Fatal Python error: {fatal}", "", "Current thread 0x00007f3a5c0d1740 (most recent call first):"]
    for frame in frames:
        path, function = frame.rsplit(":", 1)
        lines.append(f'  File "{path}", line 488 in {function}')
    return Attempt(outcome=Outcome.CRASHED, signal=signal, stack="\n".join([*lines, ""]), pid=1)


HELPER = crashed(
    "<frozen importlib._bootstrap>:_call_with_frames_removed",
    "<frozen importlib._bootstrap_external>:create_module",
    "<frozen importlib._bootstrap>:module_from_spec",
    f"{SITE}/triton/backends/nvidia/driver.py:compile_module_from_src",
    f"{SITE}/triton/backends/nvidia/driver.py:__init__",
    "/home/me/project/test_mimo.py:<module>",
)
NARGS = failed(
    "TypeError: 'NoneType' object is not a mapping",
    "tests/test_a.py:test",
    f"{SITE}/triton/runtime/autotuner.py:run",
)
RACE = failed("RuntimeError: dictionary changed size during iteration", "src/project/registry.py:names")
WRONG = failed("AssertionError: Tensor-likes are not close!", "tests/test_a.py:test")
GONE = failed("AttributeError: module 'triton.language' has no attribute 'make_block'", "src/project/kernels.py:load")
SELECT = crashed(
    f"{SITE}/triton/backends/nvidia/compiler.py:make_llir",
    fatal="Aborted",
    signal="SIGABRT",
    before="LLVM ERROR: Cannot select: 0x55d0: i32 = bitcast 0x55d1",
)
PTXAS = failed(
    "triton.runtime.errors.PTXASError: PTXAS error: Internal Triton PTX codegen error",
    f"{SITE}/triton/backends/nvidia/compiler.py:make_cubin",
)
FOREIGN = crashed("<frozen importlib._bootstrap_external>:create_module", f"{SITE}/fastmath/__init__.py:<module>")
NO_CC = failed(
    "RuntimeError: Failed to find C compiler. Please specify via CC environment variable.",
    f"{SITE}/triton/runtime/build.py:_build",
)
RESOURCE = failed(
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 294912, Hardware limit: 232448."
    " Reducing block sizes or `num_stages` may help.",
    f"{SITE}/triton/compiler/compiler.py:_init_handles",
)


@dataclass(frozen=True)
class Example:
    """What goes in for one row, and what it is in words."""

    row: str
    story: str
    plan: Plan
    results: list[CellResult]
    contrasts: tuple[Contrasts, ...] = ()


STUCK = crashed(f"{SITE}/triton/runtime/jit.py:run", "tests/test_a.py:test")
VERSIONS = plan(("3.12", "3.13", "3.13t"), ("3.3.1", "3.6.0"))
OFF_ONLY = plan(gils=(GilMode.OFF,))


def _one(row: str, story: str, attempt: Attempt, *made: object, control: tuple[ControlPart, ...] = ()) -> Example:
    """An example of a single cell, whose contrasts were all run."""
    runs = [contrast(OFF, attempt, *one) for one in made if isinstance(one, tuple)]
    return Example(row, story, OFF_ONLY, results(OFF_ONLY, {"off": attempt}), (contrasts(OFF, *runs, control=control),))


EXAMPLES: tuple[Example, ...] = (
    Example(
        "infra",
        "The GPU fell off the bus; the cell has status infra.",
        OFF_ONLY,
        [result(OFF_ONLY, OFF, {"test_a.py::test": failed("RuntimeError: GPU is lost")}, status=Status.INFRA)],
    ),
    _one(
        "stale-cache",
        "pytest dies while Triton 3.3.1 loads a driver helper that another Python build compiled.",
        HELPER,
        (Factor.FRESH_CACHE, ("as found", 6, 6), ("fresh", 0, 6)),
        (Factor.GIL, ("off", 6, 6), ("on", 6, 6)),
    ),
    _one(
        "regression",
        "A test fails on the pull request and passes on its base commit.",
        WRONG,
        (Factor.BASE_COMMIT, ("this commit", 6, 6), ("base 4f2a", 0, 6)),
        control=GREEN,
    ),
    _one(
        "threads-in-control",
        "Eight threads call one autotuned kernel.",
        NARGS,
        (Factor.REPEAT, ("as it was", 1, 1), ("again", 9, 20)),
        (Factor.GIL, ("off", 9, 20), ("on", 11, 20)),
        control=(
            *GREEN,
            part("autotune-from-threads", 14, 20, "autotuner-nargs-none", threads=8, single="autotune"),
            part("autotune", 0, 20),
        ),
    ),
    _one(
        "compiler",
        "LLVM ends the process on one Triton release.",
        SELECT,
        (Factor.TRITON, ("3.3.1", 5, 5), ("3.6.0", 0, 5)),
    ),
    _one(
        "toolchain",
        "ptxas refuses the generated code on one Triton release.",
        PTXAS,
        (Factor.TRITON, ("3.3.1", 5, 5), ("3.6.0", 0, 5)),
    ),
    Example(
        "triton-version",
        "The project uses a name that came with Triton 3.6; nothing was run beside the matrix.",
        VERSIONS,
        results(VERSIONS, {"triton3.3.1": GONE}),
    ),
    _one(
        "gil-in-control",
        "A crash without the GIL that the control shows too.",
        STUCK,
        (Factor.GIL, ("off", 6, 6), ("on", 0, 6)),
        control=(
            ControlPart.model_validate(
                {
                    **part("launch-from-threads", 5, 6, threads=8).model_dump(),
                    "roots": (fingerprint(STUCK).id,),
                }
            ),
        ),
    ),
    _one(
        "gil-in-project",
        "Threads of the project share a dictionary without a lock.",
        RACE,
        (Factor.GIL, ("off", 6, 6), ("on", 0, 6)),
        control=GREEN,
    ),
    _one(
        "gil",
        "As before, but the control was not run.",
        RACE,
        (Factor.GIL, ("off", 6, 6), ("on", 0, 6)),
    ),
    _one(
        "threads-in-project",
        "A test that passes by itself fails when eight threads run it at once, with the GIL on as well.",
        RACE,
        (Factor.GIL, ("off", 6, 6), ("on", 6, 6)),
        (Factor.THREADS, ("8 threads", 6, 6), ("1 thread", 0, 6)),
        control=GREEN,
    ),
    _one(
        "threads",
        "As before, but the control was not run.",
        RACE,
        (Factor.GIL, ("off", 6, 6), ("on", 6, 6)),
        (Factor.THREADS, ("8 threads", 6, 6), ("1 thread", 0, 6)),
    ),
    _one(
        "build",
        "An extension module crashes on the free-threaded build, with the GIL on and off.",
        FOREIGN,
        (Factor.GIL, ("off", 6, 6), ("on", 6, 6)),
        (Factor.BUILD, ("3.13t", 6, 6), ("3.13", 0, 6)),
    ),
    _one(
        "python",
        "The project imports a module that Python 3.13 removed.",
        failed("ModuleNotFoundError: No module named 'imghdr'", "src/project/images.py:<module>"),
        (Factor.PYTHON, ("3.13t", 6, 6), ("3.12", 0, 6)),
    ),
    _one(
        "control",
        "There is no C compiler on the machine, and the control meets that as well.",
        NO_CC,
        control=(part("driver-helper", 6, 6, "no-c-compiler"),),
    ),
    _one(
        "stated",
        "A kernel asks for more shared memory than an SM90 has; nothing was tried.",
        RESOURCE,
    ),
    _one(
        "order",
        "A test fails after another test of its file and passes alone.",
        RACE,
        (Factor.ALONE, ("with the others", 6, 6), ("alone", 0, 6)),
        control=GREEN,
    ),
    _one(
        "flaky",
        "A test fails in one of five runs.",
        WRONG,
        (Factor.REPEAT, ("as it was", 1, 1), ("again", 4, 20)),
        control=GREEN,
    ),
    _one(
        "pre-existing",
        "A test fails on the pull request and on its base commit.",
        WRONG,
        (Factor.REPEAT, ("as it was", 1, 1), ("again", 6, 6)),
        (Factor.BASE_COMMIT, ("this commit", 6, 6), ("base 4f2a", 6, 6)),
    ),
    _one(
        "project",
        "A test fails every time, whatever is changed, and Triton alone works.",
        WRONG,
        (Factor.REPEAT, ("as it was", 1, 1), ("again", 6, 6)),
        (Factor.TRITON, ("3.3.1", 6, 6), ("3.6.0", 6, 6)),
        control=GREEN,
    ),
    _one(
        "unexplained",
        "A wrong result, and nothing was tried.",
        WRONG,
    ),
)
