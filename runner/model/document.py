"""Documents: the versioned JSON files between the stages, read strictly and written whole."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from runner.errors import DocumentError

D = TypeVar("D", bound="Document")
MOST_BYTES = 1024**3
"""Most bytes of a document that is read."""


class Value(BaseModel):
    """Base of everything in a document: frozen, and a word that it does not know is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, ser_json_inf_nan="null")


class Document(Value):
    """A file with a versioned schema.

    A subclass sets `SCHEMA` to its version, for example `triton-compat/plan/1`, and `WRITER` to the command that
    writes it, for the sentence on what to do about a damaged one.
    """

    SCHEMA: ClassVar[str]
    WRITER: ClassVar[str] = "the stage that writes this file"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read and validate one document.

        Raises:
            DocumentError: the file is missing, is no regular file, has more than `MOST_BYTES`, is not JSON, is of
            another schema version, or does not fit the schema.
        """
        try:
            text = read_regular(path, MOST_BYTES).decode("utf-8")
        except OSError as error:
            raise cls._refused(f"{path} could not be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise cls._refused(f"{path} is not text: {error}") from error
        return cls.parse(text, str(path))

    @classmethod
    def parse(cls, text: str, name: str) -> Self:
        """Validate the text of one document; `name` is what an error calls it.

        Raises:
            DocumentError: as for `read`.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:  # brackets within brackets, a hundred thousand deep
            raise cls._refused(f"{name} is not JSON: {error}") from error
        found = data.pop("schema", None) if isinstance(data, dict) else None
        if found != cls.SCHEMA:
            raise cls._refused(f"{name} has schema {found!r:.100}; this triton-compat reads {cls.SCHEMA!r}.")
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            where = f"{'.'.join(map(str, first['loc'])):.200}: " if first["loc"] else ""
            what = first["msg"].removeprefix("Value error, ")
            raise cls._refused(f"{name} does not fit {cls.SCHEMA}: {where}{what:.300}") from error

    @classmethod
    def _refused(cls, message: str) -> DocumentError:
        return DocumentError(message, remedy=f"Run {cls.WRITER} again with this version of triton-compat.")

    def to_json(self) -> str:
        """The document as it stands in its file: indented, in the order of its fields, `schema` first."""
        # pydantic's own writer: several times faster than json's with an indent, and a result can be long.
        body = self.model_dump_json(indent=1).removeprefix("{")
        return f'{{\n "schema": {json.dumps(self.SCHEMA)},{body}\n'

    def write(self, path: Path) -> None:
        """Write the document so that a reader finds the old file or the whole new one."""
        write_whole(path, self.to_json())


def read_regular(path: Path, most: int) -> bytes:
    """What a file holds; links are followed.

    A test can put a pipe or a device where a file is expected: reading one may never begin, or never end.

    Raises:
        OSError: it cannot be read, it is no regular file, or it has more than `most` bytes; `strerror` says which.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb") as stream:  # noqa: PTH123
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        # The size first, so that what is too large never comes into memory; then what was added meanwhile.
        content = b"" if found.st_size > most else stream.read(most + 1)
    if max(found.st_size, len(content)) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return content


def hide_from_git(folder: Path) -> None:
    """Keep git from listing what we put into a folder: it may stand below the user's project. Made when missing."""
    if not (ignore := folder / ".gitignore").exists():
        write_whole(ignore, "*\n")


def write_whole(path: Path, text: str | Iterable[str]) -> None:
    """Write a text file aside, then rename it into place: an interrupted write leaves the old file.

    The text may come in parts, so that a long one need not be in memory as a whole.
    Lone surrogates (a test's name can hold them) are written as escapes rather than failing the write.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.writelines((text,) if isinstance(text, str) else text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(aside, 0o644)  # noqa: PTH101 - mkstemp's 0600 would hide reports from other users of a shared runner
        os.replace(aside, path)  # noqa: PTH105 - the rename is the point; os says it plainly
    except BaseException:
        with contextlib.suppress(OSError):
            Path(aside).unlink()
        raise
