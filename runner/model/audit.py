"""audit.json: what every extension module of an environment says about the GIL, and what importing it does."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from runner.model.document import Document, Value


class InitStyle(StrEnum):
    """How an extension module is initialised."""

    MULTI_PHASE = "multi-phase"
    """PEP 489: a definition with slots."""
    SINGLE_PHASE = "single-phase"
    """`PyModule_Create` within the initialiser."""
    UNKNOWN = "unknown"


class GilDeclaration(StrEnum):
    """What a module says about running without the GIL."""

    NOT_USED = "not-used"
    """`Py_MOD_GIL_NOT_USED`: it can run without."""
    USED = "used"
    """`Py_MOD_GIL_USED`, in words."""
    UNDECLARED = "undeclared"
    """It says nothing, which CPython takes for "used"."""
    UNKNOWN = "unknown"
    """It could not be read: the module did not load, or a build with the GIL does not keep it."""


class GilEffect(StrEnum):
    """What importing a module did to the GIL of a free-threaded build."""

    SWITCHES_ON = "switches on"
    NONE = "none"
    NOT_APPLICABLE = "not applicable"
    """The build has the GIL always."""
    UNKNOWN = "unknown"
    """It did not load, or something else had switched the GIL on before it."""


class AuditRow(Value):
    """One extension module, probed in a process of its own.

    Attributes:
        module: dotted name, such as `triton._C.libtriton`.
        file: relative to the environment's site-packages where it lies there, else absolute.
        distribution: what installed it; None for modules compiled at run time.
        run_time: found in a cache folder, compiled while something ran.
        importable: its file name fits this interpreter; False for another interpreter's.
        style, declares, effect: see their types.
        problem: why it could not be loaded, crashed or hung; None when it loaded.
    """

    module: str
    file: str
    distribution: str | None = None
    run_time: bool = False
    importable: bool = True
    style: InitStyle = InitStyle.UNKNOWN
    declares: GilDeclaration = GilDeclaration.UNKNOWN
    effect: GilEffect = GilEffect.UNKNOWN
    problem: str | None = None


class Audit(Document):
    """All extension modules of one environment, sorted by module.

    Attributes:
        executable: the Python that was asked.
        python: its `sys.version`, one line.
        soabi: such as `cpython-313t-x86_64-linux-gnu`.
        free_threaded: of the build.
        rows: see `AuditRow`.
    """

    SCHEMA: ClassVar[str] = "triton-compat/audit/1"

    executable: str
    python: str
    soabi: str | None
    free_threaded: bool
    rows: tuple[AuditRow, ...]

    @property
    def switching(self) -> tuple[AuditRow, ...]:
        """The modules whose import switches the GIL on."""
        return tuple(row for row in self.rows if row.effect is GilEffect.SWITCHES_ON)
