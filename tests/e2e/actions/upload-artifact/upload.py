"""Keep an artifact as GitHub does: under its run, once, relative to the deepest folder that holds it all."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Copy what WANTED says into ARTIFACTS/<run>/NAME."""
    lines = [line.strip() for line in os.environ["WANTED"].splitlines() if line.strip()]
    wanted = [Path(line).absolute() for line in lines if not line.startswith("!")]
    left_out = [_pattern(Path(line[1:]).absolute()) for line in lines if line.startswith("!")]
    files = [
        file
        for path in wanted
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file() and not any(out.match(str(file)) for out in left_out)
    ]
    if os.environ["HIDDEN"] != "true":
        files = [file for file in files if not any(part.startswith(".") for part in file.relative_to(Path.cwd()).parts)]
    if not files:
        if os.environ["MISSING"] == "error":
            sys.exit("::error::No files were found with the provided path")
        return
    root = Path(os.path.commonpath([path.parent if path.is_file() else path for path in wanted]))
    artifact = Path(os.environ["ARTIFACTS"]) / os.environ["GITHUB_RUN_ID"] / os.environ["NAME"]
    if any(letter in artifact.name for letter in '":<>|*?\r\n\\/') or not artifact.name:
        sys.exit(f"::error::The artifact name is not valid: {artifact.name!r}")
    try:
        artifact.mkdir(parents=True)
    except FileExistsError:
        sys.exit(
            f"::error::(409) Conflict: an artifact with this name already exists on the workflow run: {artifact.name}"
        )
    for file in files:
        target = artifact / file.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)


def _pattern(path: Path) -> re.Pattern[str]:
    """A path with stars, and everything below it."""
    return re.compile(re.escape(str(path)).replace(r"\*", "[^/]*") + "(/|$)")


main()
