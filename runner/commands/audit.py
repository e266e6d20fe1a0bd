"""`triton-compat audit [PYTHON]`: every extension module of an environment, and what it does to the GIL."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from rich.console import Console

from runner.environment.audit import audit
from runner.errors import UsageError
from runner.report.audit import render


def run(options: argparse.Namespace) -> int:
    """Print the audit as a table or as JSON; exit 1 when a module switches the GIL on and `--strict` is given."""
    python = _interpreter(options.python, options.out / "environments")
    answer = audit(
        python,
        environ=os.environ,
        caches=[cache.resolve() for cache in options.cache],
        side_by_side=os.cpu_count() or 2,
    )
    if options.json:
        sys.stdout.write(answer.to_json())
    else:
        Console().print(render(answer))
    return 1 if options.strict and answer.switching else 0


def _interpreter(named: str | None, environments: Path) -> Path:
    """The Python of a folder, of an environment of the last run by its id, or a Python by path or name."""
    if named is None:
        return Path(sys.executable)
    for folder in (Path(named), environments / named):
        if (folder / "bin" / "python").exists():
            return folder / "bin" / "python"
    found = shutil.which(named)
    if found is None:
        made = sorted(path.name for path in environments.glob("*") if (path / "bin" / "python").exists())
        raise UsageError(
            f"{named} is neither a Python nor the folder of an environment.",
            remedy=f"Environments here are {', '.join(made)}." if made else "Name the path of a Python.",
        )
    return Path(found)
