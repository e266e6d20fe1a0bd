"""The package index for commands that plan further environments; no command of its own."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from runner import __version__
from runner.environment.probe import probe
from runner.experiment.neighbours import Index
from runner.model.cell import PythonBuild
from runner.plan.catalogue import make_catalogue
from runner.plan.index import PackageIndex, index_url
from runner.plan.resolve import make_resolver


def open_index(*, offline: bool) -> Index:
    """The index that this machine's variables name."""
    pages = PackageIndex(index_url(os.environ), offline=offline)
    return Index(
        catalogue=make_catalogue(pages),
        resolver=make_resolver(pages, environ=os.environ),
        probe=_probe,
        now=datetime.now(UTC),
        tool=__version__,
    )


def _probe(executable: Path) -> PythonBuild:
    found = probe(executable, "the matrix file")
    return PythonBuild.parse(found.version + ("t" if found.free_threaded else ""))
