"""The stamp of a complete environment: written last, so a folder without one is half-made."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from runner.environment.contents import STAMP, Contents
from runner.environment.probe import Interpreter
from runner.errors import DocumentError
from runner.model.document import Document, Value


class UsedInterpreter(Value):
    """The interpreter from which an environment was made, and what would change if it were replaced.

    Attributes:
        executable: path.
        version: `3.13.5t`.
        size: bytes.
        changed: time of last change in nanoseconds.
    """

    executable: str
    version: str
    size: int
    changed: int

    @classmethod
    def of(cls, interpreter: Interpreter) -> Self:
        """As it stands now."""
        state = interpreter.executable.stat()
        return cls(
            executable=str(interpreter.executable),
            version=interpreter.name,
            size=state.st_size,
            changed=state.st_mtime_ns,
        )

    @property
    def is_unchanged(self) -> bool:
        """Whether the same file is still there."""
        try:
            state = Path(self.executable).stat()
        except OSError:
            return False
        return (state.st_size, state.st_mtime_ns) == (self.size, self.changed)


class Stamp(Document):
    """What a complete environment was made from, and what it held then.

    Attributes:
        fingerprint: of the `PlannedEnvironment`.
        interpreter: see `UsedInterpreter`.
        local: for each local folder its sources, as `sources_of` gives them.
        contents: see `Contents`.
    """

    SCHEMA: ClassVar[str] = "triton-compat/environment/1"

    fingerprint: str
    interpreter: UsedInterpreter
    local: dict[str, dict[str, str]]
    contents: Contents


def read_stamp(folder: Path) -> Stamp | None:
    """The stamp of an environment's folder, or None when it has none that can be read."""
    try:
        return Stamp.read(folder / STAMP)
    except DocumentError:
        return None
