"""GitHub's stand-in: a real HTTP server on a socket with state, that enforces what GitHub enforces."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.github_server.description import MisfitError, Operation, find_operation
from tests.github_server.faults import Fault, Harm
from tests.github_server.operations import RULES, Elsewhere, RefusalError, Request
from tests.github_server.schedule import Turnstile
from tests.github_server.state import State, Token

_PAGE = 30
_LONGEST_PAGE = 100
STORAGE = "GET storage"
"""What faults call a download from the storage, which is another host than the API."""
_LOSES_THE_ANSWER = {Harm.LOST, Harm.TRUNCATED, Harm.SILENT_AFTER, Harm.APPLIED_THEN_STATUS}


class GitHubServer:
    """A context manager that serves one repository.

    Attributes:
        state: what it remembers; tests prepare and read it.
        tokens: who may ask; a request with another token is a 401.
        faults: what goes wrong on purpose.
        turnstile: the order of requests, when a test chooses one.
        misfits: requests and answers that do not fit GitHub's description; a test must end with none.
        requests: `Operation.name` of all that was asked.
    """

    def __init__(self, prefix: str = "") -> None:
        self.state = State()
        self.tokens: dict[str, Token] = {"token": Token()}
        self.faults: list[Fault] = []
        self.turnstile: Turnstile | None = None
        self.misfits: list[str] = []
        self.requests: list[str] = []
        self._prefix = prefix
        self._lock = threading.Lock()
        self._closing = threading.Event()
        handlers = [type("Handler", (kind,), {"stand_in": self}) for kind in (_Handler, _StorageHandler)]
        self._servers = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for handler in handlers]
        self._threads = [
            threading.Thread(target=server.serve_forever, daemon=True, kwargs={"poll_interval": 0.01})
            for server in self._servers
        ]

    @property
    def url(self) -> str:
        """What `GITHUB_API_URL` would be."""
        return f"http://127.0.0.1:{self._servers[0].server_address[1]}{self._prefix}"

    @property
    def storage_url(self) -> str:
        """Where archives are downloaded."""
        return f"http://127.0.0.1:{self._servers[1].server_address[1]}"

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()

    def handle(self, method: str, target: str, token_text: str, text: bytes) -> tuple[int, Any, dict[str, str]]:
        """One request: its status, body and headers. Raises _Broken where the connection is to break."""
        parts = urlsplit(target)
        path, query = parts.path.removeprefix(self._prefix), dict(parse_qsl(parts.query))
        operation = find_operation(method, path)
        if operation is None or operation.name not in RULES:
            self.misfits.append(f"{method} {path} is no operation of the stand-in")
            return 404, RefusalError(404, "Not Found").body, {}
        turn = self.turnstile.turn(token_text) if self.turnstile else nullcontext()
        with turn, self._lock:
            self.requests.append(operation.name)
            fault = next((fault for fault in self.faults if fault.strikes(operation.name)), None)
            if fault and fault.harm not in _LOSES_THE_ANSWER:
                return self._harmed(fault, (500, None, {}))
            answer = self._answer(operation, query, token_text, text, f"{self.url}{path}")
            return self._harmed(fault, answer) if fault else answer

    def handle_storage(self, target: str, token_text: str) -> tuple[int, Any, dict[str, str]]:
        """One download, for whoever has a signed address; as Azure's, it takes no token beside the signature."""
        signature = dict(parse_qsl(urlsplit(target).query)).get("sig", "")
        with self._lock:
            self.requests.append(STORAGE)
            answer: tuple[int, Any, dict[str, str]] = (403, {"message": "AuthenticationFailed"}, {})
            if token_text:
                self.misfits.append("the storage, which is another host, was sent a token")
                answer = (400, {"message": "InvalidAuthenticationInfo"}, {})
            elif (artifact := self.state.artifacts.get(self.state.signed.get(signature, 0))) is not None:
                answer = (200, artifact.content, {})
            fault = next((fault for fault in self.faults if fault.strikes(STORAGE)), None)
            return self._harmed(fault, answer) if fault else answer

    def _harmed(self, fault: Fault, answer: tuple[int, Any, dict[str, str]]) -> tuple[int, Any, dict[str, str]]:
        if fault.harm in {Harm.REFUSED, Harm.APPLIED_THEN_STATUS}:
            return fault.status, RefusalError(fault.status, fault.message).body, dict(fault.headers)
        raise _BrokenError(fault.harm, answer)

    def _answer(
        self, operation: Operation, query: Mapping[str, str], token_text: str, text: bytes, url: str
    ) -> tuple[int, Any, dict[str, str]]:
        rule, token = RULES[operation.name], self.tokens.get(token_text)
        if token is None:
            return 401, {"message": "Bad credentials", "documentation_url": "https://docs.github.com/rest"}, {}
        if not token.may(rule.permission, rule.access):
            message = "Resource not accessible by integration"
            headers = {"X-Accepted-GitHub-Permissions": f"{rule.permission.replace('-', '_')}={rule.access}"}
            return 403, RefusalError(403, message).body, headers
        headers = {}
        try:
            body = json.loads(text) if text else None
            operation.check_request(query, body)
            try:
                status, found = rule.act(Request(operation.arguments, query, body, token, url, self.state))
            except RefusalError as refusal:
                status, found = refusal.status, refusal.body
            if isinstance(found, Elsewhere):
                headers, found = {"Location": self.storage_url + found.address}, None
            if isinstance(found, list):
                found, headers = _page(found, query, url, rule.under)
            operation.check_answer(status, found)
        except (MisfitError, ValueError) as error:
            self.misfits.append(str(error))
            return 422, RefusalError(422, f"Invalid request.\n\n{error}").body, {}
        return status, found, headers

    def wait_for_the_end(self) -> None:
        """Keep a connection silent until the server is closed."""
        self._closing.wait()


class _BrokenError(Exception):
    def __init__(self, harm: Harm, answer: tuple[int, Any, dict[str, str]]) -> None:
        super().__init__(harm)
        self.harm = harm
        self.answer = answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one segment for an answer: in two, the second waits 40 ms for the first one's acknowledgement
    disable_nagle_algorithm = True
    stand_in: GitHubServer

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, BrokenPipeError):
            self.close_connection = True

    def _serve(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        try:
            answer = self.stand_in.handle(self.command, self.path, token, text)
        except _BrokenError as broken:
            self._break(broken)
            return
        self._send(*answer)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve  # noqa: N815 - the names that http.server calls

    def _send(self, status: int, body: Any, headers: dict[str, str], *, part: float = 1.0) -> None:
        text = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        kind = "application/zip" if isinstance(body, bytes) else "application/json; charset=utf-8"
        self.send_header("Content-Type", kind)
        if status != 204:
            self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[: int(len(text) * part)])

    def _break(self, broken: _BrokenError) -> None:
        self.close_connection = True
        if broken.harm in {Harm.SILENT, Harm.SILENT_AFTER}:
            self.stand_in.wait_for_the_end()
        elif broken.harm is Harm.TRUNCATED:
            self._send(*broken.answer, part=0.5)
        else:
            # With a linger time of 0 the kernel sends a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The stand-in's clock stands still."""
        return "Thu, 01 Jan 2026 12:00:00 GMT"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the signature is http.server's
        """Say nothing."""


class _StorageHandler(_Handler):
    """The storage of artifacts."""

    def _serve(self) -> None:
        try:
            answer = self.stand_in.handle_storage(self.path, self.headers.get("Authorization") or "")
        except _BrokenError as broken:
            self._break(broken)
            return
        self._send(*answer)

    do_GET = _serve  # noqa: N815 - the name that http.server calls


def _page(found: list[Any], query: Mapping[str, str], url: str, under: str | None) -> tuple[Any, dict[str, str]]:
    size, page = min(int(query.get("per_page", _PAGE)), _LONGEST_PAGE), int(query.get("page", 1))
    last = max(1, -(-len(found) // size))
    links = [
        f'<{url}?{urlencode({**query, "page": number})}>; rel="{name}"'
        for name, number, fits in (
            ("prev", page - 1, page > 1),
            ("next", page + 1, page < last),
            ("last", last, last > 1),
        )
        if fits
    ]
    part = found[(page - 1) * size : page * size]
    body = part if under is None else {"total_count": len(found), under: part}
    return body, {"Link": ", ".join(links)} if links else {}
