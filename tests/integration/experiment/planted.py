"""Causes that are planted: small projects in tests/projects/planted, what is wrong with each, what must be found."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from runner.model.words import Cause
from tests.stubs.machine import HERE, StubMachine, compile_stubs

PROJECTS = Path(__file__).parents[2] / "projects" / "planted"
PTXAS = ".triton-compat/environments/py3.12-triton3.3.1/lib/python3.12/site-packages/nvidia/cuda_nvcc/bin/ptxas"


@dataclass(frozen=True)
class Planted:
    """A cause that is planted in a file of tests, of which `test_planted` fails.

    Attributes:
        file: its name without `test_` and `.py`.
        cause: that must be found.
        may_stay_open: the evidence that can be had does not suffice, so that nothing may be found instead.
    """

    file: str
    cause: Cause
    may_stay_open: bool = False


@dataclass(frozen=True)
class Project:
    """A folder of tests/projects/planted: a matrix file and tests.

    Attributes:
        name: of the folder.
        planted: its files.
        driver: what the stub of the driver says of itself, where that matters: release and version of CUDA.
    """

    name: str
    planted: tuple[Planted, ...]
    driver: str | None = None

    def copy_to(self, folder: Path) -> StubMachine:
        """Copy it to where it is run, its matrix file with the paths that are known there alone.

        Returns:
            The machine that stubs play for projects that ask for one.
        """
        shutil.copytree(PROJECTS / self.name, folder, dirs_exist_ok=True)
        shutil.copy(HERE / "kernels.py", folder / "tests")
        more = (f"driver {self.driver}",) if self.driver else ()
        machine = StubMachine(compile_stubs(folder), folder / "machine", more=more)
        machine.write()
        matrix = folder / "matrix.yml"
        text = matrix.read_text()
        for name, path in (("stubs", machine.libraries), ("machine", machine.path), ("ptxas", folder / PTXAS)):
            text = text.replace(f"{{{name}}}", str(path))
        matrix.write_text(text)
        return machine


PLANTED = (
    Project(
        "pythons",
        (
            Planted("counts_without_a_lock", Cause.PROJECT),
            Planted("reads_the_layout_of_objects", Cause.PYTHON_ABI),
            Planted("needs_python_3_13", Cause.PYTHON_ABI),
            Planted("module_that_3_13_removed", Cause.PYTHON_ABI),
        ),
    ),
    Project(
        "compilers",
        (
            Planted("double_to_bfloat16", Cause.COMPILER),
            Planted("scan_beside_dot", Cause.COMPILER),
            Planted("loop_that_a_branch_starts", Cause.COMPILER),
            Planted("gather_of_few", Cause.COMPILER),
            Planted("sum_of_products", Cause.COMPILER, may_stay_open=True),  # no release compiles it
            Planted("loop_that_is_specialized", Cause.TRITON_VERSION),
            Planted("api_that_went", Cause.TRITON_VERSION),
            Planted("api_that_came", Cause.TRITON_VERSION),
        ),
    ),
    Project(
        "everyday",
        (
            Planted("plain_mistake", Cause.PROJECT),
            Planted("wrong_type", Cause.PROJECT),
            Planted("import_that_is_misspelt", Cause.PROJECT, may_stay_open=True),  # reads like a package that lacks
            Planted("order", Cause.PROJECT),
            Planted("segfault_of_its_own", Cause.PROJECT),
            Planted("exits", Cause.PROJECT),
            Planted("assembly_that_is_wrong", Cause.PROJECT, may_stay_open=True),  # the PTX may as well be Triton's
            Planted("too_much_shared_memory", Cause.RESOURCE),
            Planted("another_text_every_time", Cause.UNEXPLAINED),
        ),
    ),
    Project("luck", (Planted("one_time_in_five", Cause.FLAKY),)),
    Project(
        "hangs",
        (
            Planted("locks_in_both_orders", Cause.PROJECT),
            Planted("waits_for_a_count", Cause.PROJECT),
        ),
    ),
    Project(
        "bare",
        (
            Planted("no_c_compiler", Cause.ENVIRONMENT),
            Planted("library_that_lacks", Cause.ENVIRONMENT),
            Planted("package_that_lacks", Cause.ENVIRONMENT, may_stay_open=True),  # reads like a misspelt name
            Planted("more_memory_than_allowed", Cause.RESOURCE),
        ),
    ),
    Project("old_ptxas", (Planted("older_than_the_gpu", Cause.TOOLCHAIN),)),
    Project("old_driver", (Planted("older_than_the_runtime", Cause.DRIVER),), driver="470.57.02 11040"),
    Project("kernels_that_stray", (Planted("illegal_address", Cause.PROJECT),)),
    Project("broken_gpu", (Planted("off_the_bus", Cause.INFRA),)),
)
