"""A real package index on a socket: the JSON simple API over real, small wheels that the tests make."""

from __future__ import annotations

import hashlib
import io
import json
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LINUX = "manylinux_2_17_x86_64"


def make_wheel(filename: str, requires: Sequence[str], requires_python: str | None) -> bytes:
    """A wheel that installs: one module, METADATA, WHEEL and RECORD."""
    name, version, *tag = filename.removesuffix(".whl").split("-")
    info = f"{name}-{version}.dist-info"
    fields = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    fields += [f"Requires-Python: {requires_python}"] if requires_python else []
    fields += [f"Requires-Dist: {requirement}" for requirement in requires]
    files = {
        f"{name}.py": f"version = {version!r}\n",
        f"{info}/METADATA": "\n".join(fields) + "\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {'-'.join(tag)}\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return stream.getvalue()


@dataclass
class SmallIndex:
    """What the server serves, and what it was asked.

    Attributes:
        url: base address of the simple API.
        pages: project to the files on its page.
        bodies: file name to its bytes.
        answers: path to (status, content type, body) that is answered instead.
        etags: whether pages carry an ETag.
        hang: paths that get no answer until the test is over.
        stop: takes the server away: connections are refused from then on.
        requests: (path, status) of every request, in order.
    """

    url: str = ""
    pages: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    bodies: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, tuple[int, str, bytes]] = field(default_factory=dict)
    etags: bool = False
    hang: set[str] = field(default_factory=set)
    stop: Callable[[], None] = lambda: None
    requests: list[tuple[str, int]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    def publish(
        self,
        filename: str,
        *,
        requires: Sequence[str] = (),
        requires_python: str | None = None,
        yanked: str | bool = False,
    ) -> None:
        """Put a wheel (or, by its name, an empty source distribution) on its project's page."""
        body = make_wheel(filename, requires, requires_python) if filename.endswith(".whl") else b""
        project = filename.split("-", maxsplit=1)[0].replace("_", "-")
        self.bodies[filename] = body
        self.pages.setdefault(project, []).append(
            {
                "filename": filename,
                "url": f"../../files/{filename}",
                "hashes": {"sha256": hashlib.sha256(body).hexdigest()},
                "requires-python": requires_python,
                "size": len(body),
                "yanked": yanked,
            }
        )

    def asked(self, project: str) -> list[int]:
        """The statuses that requests for a project's page were answered with."""
        return [status for path, status in self.requests if path == f"/simple/{project}/"]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: SmallIndex

    def do_HEAD(self) -> None:
        self._answer(*self._choose())

    def do_GET(self) -> None:
        self._answer(*self._choose())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass

    def _choose(self) -> tuple[int, str, bytes, dict[str, str]]:
        index, parts = self.index, self.path.strip("/").split("/")
        index.headers.append(dict(self.headers))
        if self.path in index.hang:
            index.over.wait()
            self.close_connection = True
        if self.path in index.answers:
            return *index.answers[self.path], {}
        if parts[0] == "simple" and len(parts) == 2 and parts[1] in index.pages:
            body = json.dumps({"meta": {"api-version": "1.1"}, "name": parts[1], "files": index.pages[parts[1]]})
            etag = f'"{hashlib.sha256(body.encode()).hexdigest()[:16]}"'
            if index.etags and self.headers.get("If-None-Match") == etag:
                return 304, "", b"", {"ETag": etag}
            extra = {"ETag": etag} if index.etags else {}
            return 200, "application/vnd.pypi.simple.v1+json", body.encode(), extra
        if parts[0] == "files" and parts[-1] in index.bodies:
            return self._file(index.bodies[parts[-1]])
        return 404, "text/plain", b"not found", {}

    def _file(self, body: bytes) -> tuple[int, str, bytes, dict[str, str]]:
        kind, wanted = "application/octet-stream", self.headers.get("Range")
        if wanted is None:
            return 200, kind, body, {"Accept-Ranges": "bytes"}
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(len(body) - int(last), 0)
        end = min(int(last), len(body) - 1) if first and last else len(body) - 1
        return 206, kind, body[start : end + 1], {"Content-Range": f"bytes {start}-{end}/{len(body)}"}

    def _answer(self, status: int, kind: str, body: bytes, headers: dict[str, str]) -> None:
        self.index.requests.append((self.path, status))
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """The index on a free port of this machine."""

    daemon_threads = True

    def __init__(self, index: SmallIndex) -> None:
        super().__init__(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"index": index}))
        index.url = f"http://127.0.0.1:{self.server_address[1]}/simple/"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gave up waiting is what some tests are about."""
