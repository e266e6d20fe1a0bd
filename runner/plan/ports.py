"""The two things that making a plan needs from outside: what releases exist, and what an environment resolves to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.model.cell import PythonBuild
from runner.model.plan import Pin


@dataclass(frozen=True)
class EnvironmentRequest:
    """What one environment must hold.

    Attributes:
        python: the build whose wheels count.
        triton: exact release.
        torch: exact release, or None for none.
        requirements: further PEP 508 requirements from the index (the project's, and pytest).
        local: the user's folders that are installed too; their own dependencies count.
        extras: for each of `local` its extras, such as `[test]`, or ``.
    """

    python: PythonBuild
    triton: str
    torch: str | None
    requirements: tuple[str, ...] = ()
    local: tuple[Path, ...] = ()
    extras: tuple[str, ...] = ()


@dataclass(frozen=True)
class Resolution:
    """What a request came to: either pins, every one with a wheel for exactly that interpreter, or why there is none.

    Attributes:
        pins: in the order of their names; empty when unavailable.
        unavailable: one sentence that names the package, its tags, and the nearest version that would do; or None.
    """

    pins: tuple[Pin, ...] = ()
    unavailable: str | None = None


class Catalogue(Protocol):
    """Which releases exist. Raises IndexUnreachableError when the index does not answer and nothing is cached."""

    def triton_releases(self) -> tuple[str, ...]:
        """Final releases that are not yanked, oldest first."""
        ...

    def torch_releases(self) -> tuple[str, ...]:
        """Final releases that are not yanked, oldest first."""
        ...

    def torch_matching(self, triton: str) -> str | None:
        """The newest torch release that pins exactly that Triton, or None."""
        ...


class Resolver(Protocol):
    """Turns requests into resolutions, in the same order. Raises IndexUnreachableError, never "no wheel" for it."""

    def resolve(self, requests: Sequence[EnvironmentRequest]) -> tuple[Resolution, ...]:
        """Resolve all requests (they may share work and run side by side)."""
        ...
