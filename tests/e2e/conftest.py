"""GitHub without GitHub: act runs the workflows on this machine, the stand-in answers, folders keep artifacts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.world import World
from tests.github_server.server import GitHubServer


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A user's repository with the README's workflows as they stand there; every test adds runs to it."""
    with GitHubServer() as server:
        yield World(tmp_path_factory.mktemp("world"), server)
    assert server.misfits == []


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Keep a comment or summary in the folder that `--keep` names; without it do nothing."""
    folder = request.config.getoption("--keep")

    def keep_it(name: str, text: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{name}.md").write_text(text, encoding="utf-8")

    return keep_it


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--keep", help="folder that gets each comment and summary as Markdown, to look at")
