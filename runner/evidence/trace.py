"""What stands in a traceback or a crash dump: frames, exceptions, the thread that died. Pure text, bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_TEXT = 256 * 1024
"""Characters of one text that are looked at: half from its start, where roots are, half from its end."""

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_FRAME = re.compile(
    r'^[ \t]{0,12}File "(?P<path>[^"\n]{1,500})", line \d{1,9},? in (?P<function>[^\n]{1,200}?)[ \t\r]*$'
    r"|^(?P<short>[^\s:\"']{1,300}\.pyx?):\d{1,9}: (?:in (?P<short_function>\S{1,200}))?",
    re.MULTILINE,
)
_DEFINITION = re.compile(r"^ {4}(?:async )?def (\w{1,200})\(", re.MULTILINE)
_SEPARATOR = re.compile(r"^(?:_ ){10,60}_?[ \t\r]*$", re.MULTILINE)
_KNOWN_PACKAGE = re.compile(
    r"/(?:[^/]{1,255}/){0,40}?(?P<tail>triton/(?:(?:runtime|compiler|language|backends|tools|experimental|profiler)/"
    r"|(?:__init__|testing|errors|knobs|_utils)\.py).{0,400}"
    r"|torch/(?:(?:_dynamo|_functorch|_inductor|autograd|cuda|distributed|nn|testing|utils|multiprocessing)/"
    r"|(?:__init__|_ops|_tensor|_utils|functional|library)\.py).{0,400}"
    r"|(?:_pytest|pluggy)/.{1,400})\Z"
)
"""Files of packages that stand in no folder for packages: a checkout, or a folder that is only on the path."""
_STANDARD = re.compile(r"/lib(?:64)?/python3\.\d{1,3}t?/(?P<tail>[^\n]{1,500})\Z")
_EXCEPTION = re.compile(
    r"^(?:E {1,8})?(?P<type>[A-Za-z_][\w.]{0,120}(?:Error|Exception|Interrupt|Exit|Failed|Failure|Warning))"
    r"(?::[ \t]{1,4}(?P<text>[^\n]{0,1000}))?[ \t\r]{0,8}$",
    re.MULTILINE,
)
_MARKED = re.compile(r"^>[ \t]{1,200}\S", re.MULTILINE)
_SHOWN = re.compile(r"^(?:>[ \t]|[ \t]{4})[^\n]{1,100000}", re.MULTILINE)
"""Source as pytest shows it, the line in question marked; what was raised has an E in front."""
_BELOW_A_FRAME = re.compile(
    r'^( {2}File "[^\n]{1,900}\n)( {4}[^\n]{0,2000}(?:\n {4}[^\n]{0,2000}){0,40})', re.MULTILINE
)
_VISIBLE = re.compile(r"\S")
_FATAL = re.compile(r"^(?:Fatal Python error: |(?:Current thread|Thread) 0x[0-9a-fA-F]{1,16})", re.MULTILINE)
_CURRENT = re.compile(r"^Current thread 0x[^\n]{1,120}\(most recent call first\):[ \t\r]*\n", re.MULTILINE)
_THREAD_END = re.compile(r"^(?:[ \t]{0,8}\n|Thread 0x|Extension modules:|Current thread's C stack)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a Python stack: where it stands, and in which function."""

    path: str
    function: str

    @property
    def is_triton(self) -> bool:
        """Whether the file belongs to Triton itself, wherever that is installed or checked out."""
        return self._package.startswith("triton/")

    @property
    def is_foreign(self) -> bool:
        """Whether the file belongs to the interpreter or to another installed package."""
        return self.path.startswith("<") or bool(self._package or self._standard)

    @property
    def is_plain(self) -> bool:
        """Whether the file belongs to the interpreter, to pytest or to what runs the tests: they wait for others."""
        runs_tests = self._package.startswith(("_pytest/", "pytest/", "pluggy/")) or "/_triton_compat/" in self.path
        return self.path.startswith("<") or runs_tests or (bool(self._standard) and not self._package)

    @property
    def file(self) -> str:
        """The file without what differs between machines, environments and checkouts."""
        return self._package or self._standard or "/".join(self.path.replace("\\", "/").split("/")[-2:])

    @property
    def label(self) -> str:
        """The frame without what differs between machines, environments and checkouts."""
        return self.file if self.function == "?" else f"{self.file}:{self.function}"

    @property
    def _standard(self) -> str:
        """The path below the folder of the standard library, or "" when the file is not in one."""
        match = _STANDARD.search(self.path)
        return match["tail"] if match else ""

    @property
    def _package(self) -> str:
        """The path below the folder that packages are installed in, or "" when the file is of no installed package."""
        path = self.path.replace("\\", "/")
        if "-packages/" in path:
            return path.rsplit("-packages/", 1)[-1]
        match = _KNOWN_PACKAGE.match(path)
        return match["tail"] if match else ""


def without_source(text: str) -> str:
    """The text with the source that tracebacks show made blank: what could be raised there is not what was.

    Every other character stays where it is.
    """
    if _MARKED.search(text) is not None:
        return _SHOWN.sub(_blank, text)
    return _BELOW_A_FRAME.sub(lambda match: match[1] + _blank(match, 2), text)


def _blank(match: re.Match[str], group: int = 0) -> str:
    return _VISIBLE.sub(" ", match[group])


def bounded(text: str) -> str:
    """The text without colours, cut in the middle when it is longer than `MAX_TEXT`."""
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]}\n...\n{text[-MAX_TEXT // 2 :]}"
    return _COLOUR.sub("", text) if "\x1b" in text else text


def crash_start(text: str) -> int | None:
    """Where a crash dump begins, or None when there is none."""
    match = _FATAL.search(text)
    return match.start() if match else None


def crashed_thread(text: str) -> list[Frame]:
    """Frames of the thread that died, innermost first; empty when the text holds no such dump."""
    match = _CURRENT.search(text)
    if match is None:
        return []
    end = _THREAD_END.search(text, match.end())
    return frames(text[match.end() : end.start() if end else len(text)])


def frames(text: str) -> list[Frame]:
    """All frames in the order of the text; of Python's own, faulthandler's and pytest's ways of writing them."""
    found, before = [], 0
    for match in _FRAME.finditer(text):
        path = match["path"] or match["short"]
        function = match["function"] or match["short_function"] or _shown_function(text[before : match.start()])
        found.append(Frame(path, function))
        before = match.end()
    return found


def _shown_function(block: str) -> str:
    """The function of a frame before which pytest shows its source, which is the only place where it names it."""
    for separator in _SEPARATOR.finditer(block):
        block = block[separator.end() :]
    shown = _DEFINITION.search(block)
    return shown[1] if shown else "?"


def importer_of_crash(text: str) -> str | None:
    """The file that was importing an extension module when the process died while that module was made, or None."""
    stack = crashed_thread(text)
    start = next((i for i, frame in enumerate(stack) if frame.function == "create_module"), None)
    if start is None:
        return None
    below = (frame.path for frame in stack[start:] if not _is_import_machinery(frame.path))
    return next(below, "")


def _is_import_machinery(path: str) -> bool:
    return path.startswith("<frozen importlib") or "/importlib/" in path


def last_exception(text: str) -> tuple[str, str] | None:
    """Type, without its module, and text of the last exception that is named in the text, or None."""
    last = None
    for match in _EXCEPTION.finditer(text):
        last = match
    return (last["type"].rsplit(".", 1)[-1], last["text"] or "") if last else None
