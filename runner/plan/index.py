"""A client of the package index: pages of projects, cached, revalidated, and honest about where they came from."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import platformdirs
import pypi_simple
import requests
from packaging.utils import canonicalize_name
from requests.adapters import HTTPAdapter
from requests.auth import HTTPBasicAuth
from requests.utils import get_auth_from_url
from urllib3.util import Retry

from runner.errors import IndexUnreachableError, ResolutionError, UsageError
from runner.plan.index_page import CachedPage, IndexFile, IndexPage, PageCache
from runner.plan.index_reasons import refusal, why_failed, without_credentials

MAX_AGE_SECONDS = 600.0
"""A page that was fetched within this time is used unasked; uv's own default for pages."""

_CONNECT_AND_READ_SECONDS = (10.0, 30.0)
_BUSY = (429, 500, 502, 503, 504)


class NoSuchProjectError(ResolutionError):
    """The index answered, and has no project of that name."""

    remedy = "Correct the name in the matrix file or the project's dependencies, or name the index that has it."


def index_url(environ: Mapping[str, str]) -> str:
    """The index that pip and uv would ask: UV_DEFAULT_INDEX, UV_INDEX_URL, PIP_INDEX_URL, else the public one."""
    for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"):
        # uv allows `name=url` for an index that has a name; an address begins with its scheme.
        url = re.sub(r"^[\w.-]+=(?=[a-z]+://)", "", environ.get(name, "").strip())
        if url:
            return url
    return pypi_simple.PYPI_SIMPLE_ENDPOINT


def _why_unwritable(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


class PackageIndex:
    """Pages of an index in the simple API (JSON; HTML where the index has nothing else). Safe to share by threads.

    Args:
        url: base address; may hold credentials, which no message shows.
        cache: folder for pages and what is made from them; by default in the user's cache folder.
        offline: never ask the index; use what is cached, however old.
        refresh: ask the index for every page once, however young the cached one is.
        max_age: seconds for which a cached page is used without asking.
        timeout: seconds to connect and seconds between two bytes.
        retries: how often a request that failed or met a busy server is sent again.
        clock: seconds since the epoch.

    Raises:
        UsageError: the address is not one of http or https.

    Attributes:
        notices: sentences the user must see, such as that a page is a cached copy because the index is down.
    """

    def __init__(
        self,
        url: str,
        *,
        cache: Path | None = None,
        offline: bool = False,
        refresh: bool = False,
        max_age: float = MAX_AGE_SECONDS,
        timeout: tuple[float, float] = _CONNECT_AND_READ_SECONDS,
        retries: int = 3,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise UsageError(
                f"The package index {without_credentials(url)[:200]} is not an http or https address.",
                remedy="Set UV_DEFAULT_INDEX to the address of a simple API; folders of wheels are not read.",
            )
        self.url = url
        self.offline = offline
        self.notices: list[str] = []
        self.cache_folder = (cache or platformdirs.user_cache_path("triton-compat") / "index").absolute()
        if not offline and (problem := _why_unwritable(self.cache_folder)) is not None:
            # Containers often have no writable home; that costs time at every plan, and is no reason not to plan.
            instead = tempfile.mkdtemp(prefix="triton-compat-index-")
            weakref.finalize(self, shutil.rmtree, instead, ignore_errors=True)
            self.notices.append(
                f"The cache {self.cache_folder} cannot be written ({problem}), so nothing is kept for the next plan;"
                " XDG_CACHE_HOME names another place."
            )
            self.cache_folder = Path(instead)
        self.session = requests.Session()
        policy = Retry(
            total=retries,
            backoff_factor=0.3,
            status_forcelist=_BUSY,
            raise_on_status=False,
            respect_retry_after_header=False,  # a busy server may ask for an hour
        )
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=policy, pool_maxsize=16))
        user_and_password = get_auth_from_url(url)
        if any(user_and_password):
            self.session.auth = _AuthForOneHost(urlsplit(url).hostname, *user_and_password)
        self._client = pypi_simple.PyPISimple(without_credentials(url), session=self.session)
        self._cache = PageCache(self.cache_folder, without_credentials(url))
        self._refresh = refresh
        self._max_age = max_age
        self._timeout = timeout
        self._clock = clock
        self._pages: dict[str, IndexPage] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._down: str | None = None

    @property
    def shown_url(self) -> str:
        """The address for messages."""
        return without_credentials(self.url)

    @property
    def is_down(self) -> bool:
        """Whether this index could not be connected to, so that asking again in this run is pointless."""
        return self._down is not None

    def page(self, project: str, *, refresh: bool = False) -> IndexPage:
        """Every file of one project.

        Args:
            project: any spelling of its name.
            refresh: ask the index even when a young page is at hand.

        Raises:
            NoSuchProjectError: the index answered that it has no such project.
            IndexUnreachableError: it did not answer in a way that means anything, and there is no cached copy.
        """
        name = canonicalize_name(project)
        with self._lock:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            if refresh or name not in self._pages:
                self._pages[name] = self._read(name, refresh=refresh or self._refresh)
            return self._pages[name]

    def metadata(self, file: IndexFile) -> bytes | None:
        """A wheel's METADATA where the index serves it on its own (PEP 658), else None.

        Raises:
            IndexUnreachableError: the index says that it has it and does not give it.
        """
        if not file.has_metadata:
            return None
        try:
            response = self.session.get(file.url + ".metadata", timeout=self._timeout)
            response.raise_for_status()
        except requests.RequestException as error:
            raise self._unreachable(file.filename, why_failed(error)) from error
        return response.content

    def notice(self, sentence: str) -> None:
        """Add a sentence for the user, once."""
        with self._lock:
            if sentence not in self.notices:
                self.notices.append(sentence)

    def _read(self, name: str, *, refresh: bool) -> IndexPage:
        cached = self._cache.read(name)
        if self.offline:
            if cached is None:
                raise IndexUnreachableError(
                    f"Offline, and the cache holds no page of the project {name}.",
                    remedy="Run once without --offline where the package index is reachable.",
                )
            return cached.page
        if cached is not None and not refresh and 0 <= self._clock() - cached.fetched_at < self._max_age:
            return cached.page
        try:
            fetched = self._fetch(name, cached)
        except IndexUnreachableError as error:
            if cached is None:
                raise
            self.notice(f"{error.message} Cached pages are used instead; they may miss new releases.")
            return cached.page
        self._cache.write(name, fetched)
        return fetched.page

    def _fetch(self, name: str, cached: CachedPage | None) -> CachedPage:
        if self._down is not None:
            raise self._unreachable(name, self._down)
        headers = {"Accept": pypi_simple.ACCEPT_JSON_PREFERRED, **(cached.conditions if cached else {})}
        try:
            response = self.session.get(self._client.get_project_url(name), headers=headers, timeout=self._timeout)
        except requests.RequestException as error:
            why = why_failed(error)
            if isinstance(error, (requests.ConnectionError, requests.Timeout)):
                self._down = why
            raise self._unreachable(name, why) from error
        if response.status_code == requests.codes.not_found:
            raise NoSuchProjectError(f"{self.shown_url} has no project named {name}.")
        if response.status_code == requests.codes.not_modified and cached is not None:
            return replace(cached, fetched_at=self._clock())
        if response.status_code != requests.codes.ok:
            raise self._unreachable(name, refusal(response))
        body = hashlib.sha256(response.content).hexdigest()
        is_same = cached is not None and cached.body_sha256 == body
        return CachedPage(
            page=cached.page if cached is not None and is_same else self._parse(name, response),
            fetched_at=self._clock(),
            body_sha256=body,
            etag=response.headers.get("ETag"),
            last_modified=response.headers.get("Last-Modified"),
        )

    def _parse(self, name: str, response: requests.Response) -> IndexPage:
        try:
            parsed = pypi_simple.ProjectPage.from_response(response, name)
        except Exception as error:  # whatever a parser of foreign bytes raises means the same here
            raise self._unreachable(name, "it answered something that is not a page of the simple API") from error
        page = IndexPage.of(name, parsed)
        if not page.files and "json" not in response.headers.get("Content-Type", ""):
            # A login page or a proxy's error page is HTML without files, and must not read as "no wheel".
            raise self._unreachable(name, "it answered a page that lists no files")
        return page

    def _unreachable(self, name: str, why: str) -> IndexUnreachableError:
        return IndexUnreachableError(f"The package index {self.shown_url} could not be asked for {name}: {why}.")


class _AuthForOneHost(HTTPBasicAuth):
    """The index's credentials, for its own pages and files; links to other hosts do not get them."""

    def __init__(self, host: str | None, username: str, password: str) -> None:
        super().__init__(username, password)
        self._host = host

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        is_ours = urlsplit(request.url or "").hostname == self._host
        if is_ours:
            super().__call__(request)  # type: ignore[no-untyped-call]  # requests' stubs leave it untyped
        return request
