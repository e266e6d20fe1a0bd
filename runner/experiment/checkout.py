"""The project at another commit: a git work tree beside the results, so that the user's checkout is not touched."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from runner.errors import UsageError


@dataclass(frozen=True)
class Checkouts:
    """Work trees of a project's other commits.

    Attributes:
        root: the project's root, in a git checkout.
        out: the output folder; work trees and their environments lie in `base/` of it.
    """

    root: Path
    out: Path

    def __enter__(self) -> Self:
        """Nothing is made before it is asked for."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the work trees away; git then knows of none."""
        self.remove()

    def resolve(self, revision: str) -> str:
        """The commit that a revision names.

        Raises:
            UsageError: the project is no git checkout, or has no such commit.
        """
        try:
            return self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        except subprocess.CalledProcessError as error:
            raise UsageError(
                f"{self.root} has no commit {revision!r}.",
                remedy="Name a commit that is there; a shallow clone may need git fetch --unshallow first.",
            ) from error
        except OSError as error:
            raise UsageError(
                f"git could not be run: {error.strerror}.", remedy="Install git, or leave --base."
            ) from error

    def get(self, commit: str) -> tuple[Path, Path]:
        """The project's root in a work tree of that commit, made when it is not there, and where environments go."""
        folder = (self.out / "base" / commit[:12]).absolute()
        tree, store = folder / "tree", folder / "environments"
        if not (folder / "complete").exists():
            self._git("worktree", "prune")
            if not tree.exists():
                self._git("worktree", "add", "--detach", "--force", str(tree), commit)
            (folder / "complete").touch()
        within = Path(self._git("rev-parse", "--show-prefix"))
        return tree / within, store

    def remove(self) -> None:
        """Take the work trees away again; git then knows of none."""
        for tree in (self.out / "base").glob("*/tree"):
            subprocess.run(
                ["git", "worktree", "remove", "--force", str(tree.absolute())],
                cwd=self.root,
                check=False,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            (tree.parent / "complete").unlink(missing_ok=True)

    def _git(self, *words: str) -> str:
        command = ["git", *words]
        done = subprocess.run(command, cwd=self.root, check=True, text=True, capture_output=True)
        return done.stdout.strip()
