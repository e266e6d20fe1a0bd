"""What the compiler worked on when it failed, as a part of a report: the files, and how they show it again."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runner.model.contrast import Dump
from runner.report.escape import code, fenced, prose
from runner.report.shell import command

FOLDER = "ir"
"""Where the files lie beside the report."""
_HOPPER = 90
_MOST_LINES = 10
_SAYS = re.compile(
    r"Assertion .{1,2000} failed|LLVM ERROR: |\berror: |Pipeline failed while executing|\bptxas\b.{0,200}: "
)
_COMPILED_ON = {".ttir", ".ttgir"}


def compiler_files(dump: Dump) -> Iterator[str]:
    """Lines of Markdown."""
    yield "## What the compiler worked on"
    yield ""
    yield f"One more run of the same test left it in `{FOLDER}/`. No file there names this machine."
    yield ""
    if dump.reproducer is not None:
        path = f"{FOLDER}/{dump.reproducer}"
        yield (
            f"{code(path)} is the module before the stage that failed, with the passes of that stage, for a "
            "`triton-opt` that was built with this Triton:"
        )
        yield ""
        yield fenced(command(["triton-opt", "--run-reproducer", path]))
        yield ""
    if dump.stages:
        yield f"The kernel after each stage that came to an end: {', '.join(code(name) for name in dump.stages)}."
        if words := _again(dump):
            yield "No project code is needed to go on from the last of them:"
            yield ""
            yield fenced(words)
        yield ""
    for sentence in dump.left_out:
        yield f"Left out: {prose(sentence)}."
        yield ""


def compiler_said(output: str | None) -> str:
    """The lines in which the compiler and its tools say what went wrong, of all that a test printed; "" for none."""
    return "\n".join([row for row in (output or "").splitlines() if _SAYS.search(row)][:_MOST_LINES])


def _again(dump: Dump) -> str | None:
    """The command that goes on from the last stage; None where no tool takes it, or the target is not known."""
    path, suffix = f"{FOLDER}/{dump.stages[-1]}", "." + dump.stages[-1].rpartition(".")[2]
    if dump.architecture is None:
        return None
    if suffix in _COMPILED_ON:
        options = f', options={{"num_warps": {dump.warps}}}' if suffix == ".ttir" and dump.warps else ""
        script = (
            "import triton; from triton.backends.compiler import GPUTarget; "
            f'triton.compile("{path}", target=GPUTarget("cuda", {dump.architecture}, 32){options})'
        )
        return command(["python", "-c", script])
    if suffix == ".ptx":
        name = f"sm_{dump.architecture}" + ("a" if dump.architecture >= _HOPPER else "")
        return command(["ptxas", "-v", f"--gpu-name={name}", path, "-o", "kernel.cubin"])
    return None
