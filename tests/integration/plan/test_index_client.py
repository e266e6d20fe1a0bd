from __future__ import annotations

import base64
import socket
from pathlib import Path
from typing import Any

import pytest

from runner.errors import IndexUnreachableError
from runner.plan.index import NoSuchProjectError, PackageIndex
from tests.integration.plan.small_index import SmallIndex


class Clock:
    """Seconds since the epoch, moved by the test."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def client(small_index: SmallIndex, folder: Path, **options: Any) -> PackageIndex:
    settings: dict[str, Any] = {"url": small_index.url, "retries": 0, "timeout": (2.0, 2.0)} | options
    return PackageIndex(cache=folder, **settings)


def refused_url() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/simple/"


def test_a_page_holds_what_the_index_says(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl", requires_python=">=3.9")
    small_index.publish("demo-1.1.tar.gz", yanked="broken")
    page = client(small_index, tmp_path).page("Demo")
    wheel, source = page.files
    assert (wheel.filename, wheel.requires_python, wheel.yanked) == ("demo-1.0-py3-none-any.whl", ">=3.9", None)
    assert wheel.size == len(small_index.bodies["demo-1.0-py3-none-any.whl"])
    assert wheel.url == small_index.url.replace("simple", "files") + "demo-1.0-py3-none-any.whl"
    assert source.yanked == "broken"


def test_an_html_index_is_read_too(small_index: SmallIndex, tmp_path: Path) -> None:
    html = b'<a href="/f/demo-1.0-py3-none-any.whl#sha256=ab" data-requires-python="&gt;=3.9" data-yanked="">demo</a>'
    small_index.answers["/simple/demo/"] = (200, "text/html", html)
    (file,) = client(small_index, tmp_path).page("demo").files
    assert (file.requires_python, file.yanked, file.sha256) == (">=3.9", "", "ab")


def test_a_young_page_is_used_unasked_and_an_old_one_is_not(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    clock = Clock()
    client(small_index, tmp_path, clock=clock).page("demo")
    small_index.publish("demo-1.1-py3-none-any.whl")
    clock.now += 599
    assert len(client(small_index, tmp_path, clock=clock).page("demo").files) == 1
    assert len(client(small_index, tmp_path, clock=clock, refresh=True).page("demo").files) == 2
    small_index.publish("demo-1.2-py3-none-any.whl")
    clock.now += 601
    assert len(client(small_index, tmp_path, clock=clock).page("demo").files) == 3
    assert small_index.asked("demo") == [200, 200, 200]


def test_a_page_from_the_future_is_asked_for_again(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    clock = Clock()
    client(small_index, tmp_path, clock=clock).page("demo")
    clock.now -= 86_400
    client(small_index, tmp_path, clock=clock).page("demo")
    assert small_index.asked("demo") == [200, 200]


def test_an_unchanged_page_with_an_etag_is_not_sent_again(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.etags = True
    small_index.publish("demo-1.0-py3-none-any.whl")
    clock = Clock()
    first = client(small_index, tmp_path, clock=clock).page("demo")
    clock.now += 601
    assert client(small_index, tmp_path, clock=clock).page("demo") == first
    clock.now += 599
    assert client(small_index, tmp_path, clock=clock).page("demo") == first
    assert small_index.asked("demo") == [200, 304]
    clock.now += 601
    small_index.publish("demo-1.1-py3-none-any.whl")
    assert len(client(small_index, tmp_path, clock=clock).page("demo").files) == 2


def test_one_run_asks_once(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    index = client(small_index, tmp_path, max_age=0)
    assert index.page("demo") is index.page("DEMO")
    assert small_index.asked("demo") == [200]


def test_a_project_that_does_not_exist_is_not_an_unreachable_index(small_index: SmallIndex, tmp_path: Path) -> None:
    with pytest.raises(NoSuchProjectError, match=f"^{small_index.url} has no project named demo."):
        client(small_index, tmp_path).page("demo")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((500, "text/plain", b"oops"), "it answered 500 Internal Server Error"),
        ((503, "text/plain", b"busy"), "it answered 503 Service Unavailable"),
        ((401, "text/plain", b""), r"it answered 401 Unauthorized \(it wants other credentials\)"),
        ((200, "application/vnd.pypi.simple.v1+json", b"{garbage"), "not a page of the simple API"),
        ((200, "application/vnd.pypi.simple.v1+json", b'["list"]'), "not a page of the simple API"),
        ((200, "application/vnd.pypi.simple.v1+json", b'{"meta": {"api-version": "9.0"}, "files": []}'), "not a page"),
        ((200, "image/png", b"\x89PNG"), "not a page of the simple API"),
        ((200, "text/html", b"<html>Please log in to this network</html>"), "a page that lists no files"),
    ],
)
def test_an_answer_that_means_nothing_is_an_unreachable_index(
    small_index: SmallIndex, tmp_path: Path, answer: tuple[int, str, bytes], why: str
) -> None:
    small_index.answers["/simple/demo/"] = answer
    with pytest.raises(IndexUnreachableError, match=why) as caught:
        client(small_index, tmp_path).page("demo")
    assert "demo" in caught.value.message


def test_a_busy_server_is_asked_again(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.answers["/simple/demo/"] = (503, "text/plain", b"busy")
    with pytest.raises(IndexUnreachableError):
        client(small_index, tmp_path, retries=1).page("demo")
    assert small_index.asked("demo") == [503, 503]


def test_no_answer_in_time_is_an_unreachable_index(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.hang.add("/simple/demo/")
    with pytest.raises(IndexUnreachableError, match="could not be asked for demo: it did not answer in time"):
        client(small_index, tmp_path, timeout=(2.0, 0.1)).page("demo")


def test_a_refused_connection_is_said_once_and_without_credentials(tmp_path: Path) -> None:
    url = refused_url()
    index = PackageIndex(url.replace("//", "//user:s3cret@"), cache=tmp_path, retries=0)
    with pytest.raises(
        IndexUnreachableError, match=f"^The package index {url} could not be .* connection refused"
    ) as e:
        index.page("demo")
    assert index.is_down
    assert "s3cret" not in str(e.value)


def test_a_cached_page_stands_in_for_a_dead_index_and_the_user_is_told(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    client(small_index, tmp_path).page("demo")
    small_index.answers["/simple/demo/"] = (500, "text/plain", b"")
    index = client(small_index, tmp_path, refresh=True)
    assert len(index.page("demo").files) == 1
    (notice,) = index.notices
    assert "500" in notice
    assert "Cached pages are used instead" in notice


def test_offline_uses_old_pages_and_asks_nobody(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    clock = Clock()
    client(small_index, tmp_path, clock=clock).page("demo")
    clock.now += 10_000_000
    offline = client(small_index, tmp_path, clock=clock, offline=True, refresh=True)
    assert len(offline.page("demo").files) == 1
    assert offline.notices == []
    with pytest.raises(IndexUnreachableError, match="Offline, and the cache holds no page of the project other"):
        offline.page("other")
    assert len(small_index.requests) == 1


def test_credentials_go_to_the_index_and_are_not_kept_on_disk(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    index = client(small_index, tmp_path, url=small_index.url.replace("//", "//user:s3cret@"))
    page = index.page("demo")
    assert small_index.headers[-1]["Authorization"] == "Basic " + base64.b64encode(b"user:s3cret").decode()
    assert "s3cret" not in page.files[0].url
    assert [path for path in tmp_path.rglob("*.json") if "s3cret" in path.read_text()] == []
    index.session.get(small_index.url.replace("127.0.0.1", "localhost") + "demo/")
    assert "Authorization" not in small_index.headers[-1]


def test_a_cache_that_cannot_be_written_is_said_and_costs_no_plan(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish("demo-1.0-py3-none-any.whl")
    (tmp_path / "home").write_text("a file, so that nothing can be made below it, whoever runs this test")
    index = client(small_index, tmp_path / "home" / "cache")
    assert [file.filename for file in index.page("demo").files] == ["demo-1.0-py3-none-any.whl"]
    (notice,) = index.notices
    assert notice.startswith(f"The cache {tmp_path}/home/cache cannot be written (Not a directory)")
    assert "XDG_CACHE_HOME" in notice
