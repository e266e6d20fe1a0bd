"""Every error of ours: each class owns an exit code and a sentence on what to do.

Exit codes 0, 1 and 3 belong to the verdict (PASS, FAIL, CANNOT TELL); errors start at 10, so that a
workflow can tell "your kernels fail" from "this tool could not do its work".
"""

from __future__ import annotations

from typing import ClassVar


class TritonCompatError(Exception):
    """Base of all errors that a user can meet.

    Attributes:
        exit_code: what the process exits with.
        remedy: one sentence that says what to do; a raise may give a more exact one.
    """

    exit_code: ClassVar[int] = 10
    remedy: str = "Run the command again with --debug and report the traceback."

    def __init__(self, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        if remedy is not None:
            self.remedy = remedy

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.remedy}"

    @property
    def message(self) -> str:
        """What happened, without what to do."""
        return str(self.args[0])


class UsageError(TritonCompatError):
    """The command line asks for something that is not there."""

    exit_code = 11
    remedy = "See triton-compat --help for the commands and their options."


class MatrixFileError(TritonCompatError):
    """The matrix file has mistakes; the message lists all of them, each with its line."""

    exit_code = 12
    remedy = (
        "Correct the lines named above; triton-compat schema prints a JSON Schema that completes the file in editors."
    )


class IndexUnreachableError(TritonCompatError):
    """The package index did not answer. Never the same as "there is no wheel"."""

    exit_code = 13
    remedy = "Check network, proxy and UV_DEFAULT_INDEX or PIP_INDEX_URL; --offline plans from what the cache holds."


class ResolutionError(TritonCompatError):
    """A version or requirement of the matrix names nothing that exists."""

    exit_code = 14
    remedy = "Correct the version in the matrix file; the message names the nearest release that exists."


class InterpreterError(TritonCompatError):
    """An interpreter could not be made ready. A cell turns this into `unavailable: no interpreter`."""

    exit_code = 15
    remedy = "Install that Python, or name one under environment: in the matrix file; triton-compat doctor lists them."


class EnvironmentFailedError(TritonCompatError):
    """An environment could not be made although everything in it has wheels."""

    exit_code = 16
    remedy = "Read the installer's output above; delete the environment folder to make it anew."


class DocumentError(TritonCompatError):
    """A file that one stage left for the next is missing, damaged, or of another schema version."""

    exit_code = 17
    remedy = "Run the stage that writes this file again with this version of triton-compat."


class ExecutionError(TritonCompatError):
    """The supervisor could not run a cell at all (not: a test failed)."""

    exit_code = 18
    remedy = "Run triton-compat doctor; it checks what a cell needs on this machine."


class GitHubError(TritonCompatError):
    """GitHub did not do what was asked of it. The verdict stands all the same.

    Attributes:
        status: of the answer, or None when there was none.
    """

    exit_code = 20
    remedy = "The verdict is not affected; read it in the job summary. Run the job again to publish it."

    def __init__(self, message: str, *, remedy: str | None = None, status: int | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.status = status


class FileRefusedError(TritonCompatError):
    """The system refused a file: read-only, full, or not there."""

    exit_code = 19
    remedy = "Make it readable and writable, free some space, or choose another folder with --out."


class InterruptedRunError(TritonCompatError):
    """The user stopped the run. What had finished is kept."""

    exit_code = 130
    remedy = "Run the same command again: finished cells are kept and the rest is run."


class TerminatedRunError(InterruptedRunError):
    """Something else than a person at the keyboard stopped the run: a cancelled job, a batch system, `kill`."""

    exit_code = 143


class HungUpRunError(InterruptedRunError):
    """The terminal was closed, or the connection to it lost."""

    exit_code = 129
