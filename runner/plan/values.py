"""The single values of a matrix file: each function reads a text, or raises ValueError with a whole sentence."""

from __future__ import annotations

import datetime as dt
import re
import shlex
from pathlib import PurePosixPath

from packaging.requirements import InvalidRequirement, Requirement

from runner.model.cell import PythonBuild, is_safe_id
from runner.model.words import GilMode
from runner.plan.problems import quoted, suggestion

_DURATION = re.compile(
    r"(?:(?P<h>\d{1,4}(?:\.\d+)?)h)?(?:(?P<m>\d{1,6}(?:\.\d+)?)m)?(?:(?P<s>\d{1,8}(?:\.\d+)?)s?)?", re.ASCII
)
_LONGEST_NAME = 64
_LONGEST_SECONDS = 7 * 24 * 3600
_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,6})?)\s*(?P<unit>[A-Za-z]*)", re.ASCII)
_UNITS = {"": 1, "b": 1} | {
    letter + suffix: base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}
_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_PYTHON_LIKE = re.compile(r"(?:cp|py|python)?[ -]?3\.?(\d{1,2})(?:\.\d+)?[ +-]?(t|ft|nogil|free-?threaded)?", re.ASCII)
_FIRST_FREE_THREADED = (3, 13)

_OURS = {
    "PYTHON_GIL": "the gil axis sets it for each cell",
    "TRITON_CACHE_DIR": "every cell has its own, so that no cell reads what another compiled",
    "TORCHINDUCTOR_CACHE_DIR": "every cell has its own, so that no cell reads what another compiled",
    "TORCH_EXTENSIONS_DIR": "every cell has its own, so that no cell reads what another compiled",
}
"""Environment variables that a matrix cannot set, and why."""


def python_build(text: str) -> PythonBuild:
    """`3.12`, `3.13t`, `3.13.5t`."""
    try:
        build = PythonBuild.parse(text if text.isascii() else "")
    except ValueError as error:
        like = _PYTHON_LIKE.fullmatch(text.strip().lower())
        meant = f"; did you mean '3.{like[1]}{'t' if like[2] else ''}'?" if like else ", 3.13t or 3.13.5t"
        raise ValueError(f"{quoted(text)} is not a Python version such as 3.12{meant}") from error
    if build.free_threaded and build.minor < _FIRST_FREE_THREADED:
        raise ValueError(f"there is no free-threaded Python before 3.13, so no {quoted(text)}; did you mean '3.13t'?")
    return build


def gil_mode(text: str) -> GilMode:
    """`on`, `off`, `default`."""
    if text in tuple(GilMode):
        return GilMode(text)
    meant = _BOOLEANS.get(text.lower())
    if meant is not None:
        hint = f"; did you mean '{'on' if meant else 'off'}'?"
    else:
        hint = suggestion(text, [mode.value for mode in GilMode])
    raise ValueError(f"{quoted(text)} is not a GIL mode{hint}")


def duration(text: str) -> float:
    """Seconds from `90`, `30s`, `5m`, `1h` or `1h30m`."""
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{quoted(text)} is not a duration such as 90, 30s, 5m or 1h")
    parts = match.groupdict(default="0")
    seconds = float(parts["h"]) * 3600 + float(parts["m"]) * 60 + float(parts["s"])
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise ValueError(f"{quoted(text)} is no usable limit; a duration is more than 0 and at most 168h")
    return seconds


def size(text: str) -> int:
    """Bytes from `8GiB` (2^30), `512MB` (10^6) or a plain number."""
    match = _SIZE.fullmatch(text)
    if match is None or match["unit"].lower() not in _UNITS:
        letter = match["unit"][:1].lower() if match else ""
        meant = f"; did you mean '{match['number']}{letter.upper()}iB'?" if match and letter in {*"kmgt"} else ""
        raise ValueError(f"{quoted(text)} is not a size such as 8GiB or 512MB{meant}")
    found = int(float(match["number"]) * _UNITS[match["unit"].lower()])
    if found <= 0:
        raise ValueError(f"{quoted(text)} is no usable size; a size is more than 0")
    return found


def boolean(text: str) -> bool:
    """`true` or `false`, or another of YAML's words for them."""
    if text.lower() not in _BOOLEANS:
        raise ValueError(f"{quoted(text)} is neither true nor false{suggestion(text, ['true', 'false'])}")
    return _BOOLEANS[text.lower()]


def number(text: str, least: int, most: int) -> int:
    """A whole number between two bounds, both allowed."""
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not least <= int(text) <= most:
        raise ValueError(f"{quoted(text)} is not a whole number from {least} to {most}")
    return int(text)


def date(text: str) -> dt.date:
    """A day as `2027-01-31`."""
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text, re.ASCII):
            return dt.date.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{quoted(text)} is not a day of the calendar: {error}") from error
    raise ValueError(f"{quoted(text)} is not a date such as 2027-01-31")


def compute_capability(text: str) -> str:
    """`9.0`."""
    if re.fullmatch(r"\d{1,2}\.\d", text, re.ASCII):
        return text
    digits = re.fullmatch(r"(?:sm_?)?(\d{1,2}?)\.?(\d)?[a-z]?", text.lower(), re.ASCII)
    meant = f"; did you mean '{digits[1]}.{digits[2] or 0}'?" if digits else ""
    raise ValueError(f"{quoted(text)} is not a compute capability such as 9.0{meant}")


def link(text: str) -> str:
    """An http or https address."""
    if re.fullmatch(r"https?://[^\s/]+(/\S*)?", text):
        return text
    raise ValueError(f"{quoted(text)} is not a link such as https://example.org/known-failures/7")


def sentence(text: str) -> str:
    """Any text that says something."""
    return _printable(" ".join(text.split()), "text")


def label(text: str) -> str:
    """A runner's label."""
    return _printable(text, "runner label")


def path(text: str) -> str:
    """A path, as it was written."""
    return _printable(text, "path")


def glob(text: str) -> str:
    """A glob over ids."""
    return _printable(text, "glob")


def relative_folder(text: str) -> str:
    """A folder below the project's root, normalized."""
    if PurePosixPath(_printable(text, "path")).is_absolute():
        raise ValueError(f"{quoted(text)} must be relative to the project's root")
    return str(PurePosixPath(text))


def executable(text: str) -> str:
    """The path of a Python: absolute, or relative to the project's root."""
    if "/" not in _printable(text, "path") or text.startswith("~"):
        raise ValueError(f"{quoted(text)} must be a path such as /opt/conda/bin/python or .venv/bin/python")
    return text


def name(text: str) -> str:
    """A name that can be a part of file names."""
    if is_safe_id(text):
        return text
    raise ValueError(f"{quoted(text)} may hold letters, digits, '.', '-', '_' and '+' alone")


def environment_name(text: str) -> str:
    """The name of an existing Python; ids of other cells begin with `py3.`, so it cannot."""
    if text.startswith("py3."):
        raise ValueError(f"{quoted(text)} looks like the id of a planned cell; let the name not begin with 'py3.'")
    if len(text) > _LONGEST_NAME:
        raise ValueError(f"{quoted(text)} is longer than {_LONGEST_NAME} characters")
    return name(text)


def variable_name(text: str) -> str:
    """The name of an environment variable that a matrix may set."""
    if text in _OURS:
        raise ValueError(f"{text} cannot be set: {_OURS[text]}")
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII) is None:
        raise ValueError(f"{quoted(text)} is not the name of an environment variable")
    return text


def variable_value(text: str) -> str:
    """The value of an environment variable."""
    return passable(text, "environment variable")


def arguments(text: str) -> tuple[str, ...]:
    """One line of arguments, split as a shell would."""
    try:
        parts = shlex.split(passable(text, "argument"))
    except ValueError as error:
        raise ValueError(f"{quoted(text)} cannot be split into arguments: {error}") from error
    return tuple(parts)


def passable(text: str, what: str) -> str:
    """Text that a process can be given: no NUL, nothing that UTF-8 cannot say."""
    if "\0" in text or text.encode("utf-8", "replace").decode() != text:
        raise ValueError(f"{quoted(text)} holds a character that no {what} can have")
    return text


def is_folder(text: str) -> bool:
    """Whether something to install is a folder of the user's, rather than a requirement from the index."""
    place = text.partition("[")[0]
    return place.startswith((".", "/")) or ("/" in place and "@" not in place and ":" not in place)


def requirement(text: str) -> str:
    """A PEP 508 requirement from the index."""
    if "://" in text:
        raise ValueError(f"{quoted(text)} is a direct link; wheels come from the index, or name a local folder")
    try:
        return str(Requirement(text))
    except InvalidRequirement as error:
        said = str(error).partition("\n")[0]
        raise ValueError(f"{quoted(text)} is neither a requirement nor a folder such as ./kernels: {said}") from error


def _printable(text: str, what: str) -> str:
    if not text.strip():
        raise ValueError(f"a {what} cannot be empty")
    if not text.isprintable():
        raise ValueError(f"{quoted(text)} holds characters that no {what} can have")
    return text
