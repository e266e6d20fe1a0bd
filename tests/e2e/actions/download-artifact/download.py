"""Bring artifacts as GitHub does: one by its name, or each that fits a pattern into a folder of its own."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Copy out of ARTIFACTS/<run>."""
    run, target = os.environ["RUN"], Path(os.environ["TARGET"])
    if run != os.environ["GITHUB_RUN_ID"] and not os.environ["TOKEN"]:
        sys.exit("::error::Another run's artifacts need github-token")
    kept = Path(os.environ["ARTIFACTS"]) / run
    if name := os.environ["NAME"]:
        if not (kept / name).is_dir():
            sys.exit(f"::error::Unable to download artifact(s): Artifact not found for name: {name}")
        shutil.copytree(kept / name, target, dirs_exist_ok=True)
        return
    target.mkdir(parents=True, exist_ok=True)
    for artifact in kept.glob(os.environ["PATTERN"]):
        shutil.copytree(artifact, target / artifact.name, dirs_exist_ok=True)


main()
