"""A running package index, and an environment for uv that touches nothing of the user's."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.plan.small_index import Server, SmallIndex


@pytest.fixture
def small_index() -> Iterator[SmallIndex]:
    """A running index without projects."""
    index = SmallIndex()
    server = Server(index)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with contextlib.ExitStack() as at_end:
        for step in (thread.join, server.server_close, server.shutdown, index.over.set):
            at_end.callback(step)
        index.stop = at_end.close
        yield index


@pytest.fixture
def uv_environ(tmp_path: Path) -> dict[str, str]:
    """An environment in which uv finds nothing of the user's and gives up soon."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "UV_HTTP_RETRIES": "0",
        "UV_HTTP_TIMEOUT": "5",
        "UV_EXCLUDE_NEWER": "2001-01-01",  # must not reach uv: it would hide every release
    }
