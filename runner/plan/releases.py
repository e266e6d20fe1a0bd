"""Which releases of Triton and torch a matrix asks for, and which those are on the index today."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from runner.errors import ResolutionError
from runner.plan.ports import Catalogue
from runner.plan.problems import nearest, quoted

_LATEST = re.compile(r"latest(?:-(\d{1,3}))?", re.ASCII)


class TorchWord(StrEnum):
    """The two choices of torch that name no release."""

    MATCHED = "matched"
    """The newest torch that pins the cell's Triton."""
    NONE = "none"
    """No torch is installed."""


@dataclass(frozen=True)
class Choice:
    """An exact release, a range, `latest`, or `latest-N`: N releases before the latest.

    Attributes:
        text: as it was written.
        exact: set for an exact release.
        within: set for a range.
        behind: set for `latest` (0) and `latest-N`.
    """

    text: str
    exact: Version | None = None
    within: SpecifierSet | None = None
    behind: int | None = None

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Read one; ValueError with a sentence for anything else."""
        latest = _LATEST.fullmatch(text)
        if latest is not None:
            return cls(text, behind=int(latest[1] or 0))
        try:
            if text[:1] in {*"<>=!~"}:
                return cls(text, within=SpecifierSet(text))
            return cls(text, exact=Version(text))
        except (InvalidVersion, InvalidSpecifier) as error:
            word = nearest(text, ["latest", "latest-1", *TorchWord])
            meant = f"; did you mean {word!r}?" if word else ""
            said = "is not a release such as 3.7.0, a range such as '>=3.3,<3.8', latest or latest-2"
            raise ValueError(f"{quoted(text)} {said}{meant}") from error

    def pick(self, releases: Sequence[str]) -> tuple[str, ...]:
        """The releases it means, oldest first; empty when there is none. `releases` are oldest first."""
        if self.behind is not None:
            return (releases[-1 - self.behind],) if self.behind < len(releases) else ()
        return tuple(release for release in releases if self.admits(release))

    def admits(self, release: str) -> bool:
        """Whether an exact release or a range means this release (`latest` needs to know all releases)."""
        if self.exact is not None:
            return _version(release) == self.exact
        return self.within is not None and self.within.contains(_version(release))

    @property
    def canonical(self) -> str:
        """Equal for two ways to write the same: `3.7` and `3.7.0`."""
        if self.exact is not None:
            return re.sub(r"(?<=\d)(\.0)+$", "", str(self.exact))
        return str(self.within) if self.within is not None else f"latest-{self.behind}"


TorchChoice = Choice | TorchWord


def torch_choice(text: str) -> TorchChoice:
    """Read a choice of torch; ValueError with a sentence for anything else."""
    if text in tuple(TorchWord):
        return TorchWord(text)
    try:
        return Choice.parse(text)
    except ValueError as error:
        raise ValueError(
            str(error).replace("is not a release such as 3.7.0", "is not matched, none, a release")
        ) from error


def triton_choice(text: str) -> Choice:
    """Read a choice of Triton; ValueError with a sentence for anything else."""
    if text in tuple(TorchWord):
        raise ValueError(f"{text!r} is a choice of torch; triton takes a release, a range, latest or latest-2")
    return Choice.parse(text)


@dataclass(frozen=True)
class Releases:
    """What choices come to, by a catalogue that is asked once."""

    catalogue: Catalogue

    def triton(self, choice: Choice) -> tuple[str, ...]:
        """The Triton releases of a choice, oldest first.

        Raises:
            ResolutionError: there is none; the message names the nearest.
        """
        return self._pick("triton", choice, self._tritons)

    def torch(self, choice: TorchChoice, triton: str) -> tuple[str | None, ...]:
        """The torch releases of a choice beside that Triton; None for no torch, and for `matched` when none pins it.

        Raises:
            ResolutionError: there is none; the message names the nearest.
        """
        if choice is TorchWord.NONE:
            return (None,)
        if choice is TorchWord.MATCHED:
            return (self._matching(triton),)
        assert isinstance(choice, Choice)  # noqa: S101 - for the type checker: the two words are done
        return self._pick("torch", choice, self._torches)

    def means(self, project: str, choice: Choice, release: str | None) -> bool:
        """Whether a selector's choice means that release."""
        if release is None:
            return False
        if choice.behind is None:
            return choice.admits(release)
        known = self._tritons if project == "triton" else self._torches
        return release in choice.pick(known)

    def _pick(self, project: str, choice: Choice, releases: tuple[str, ...]) -> tuple[str, ...]:
        found = choice.pick(releases)
        if not found:
            raise ResolutionError(f"no release of {project} is {choice.text}; {_what_there_is(choice, releases)}")
        return found

    @functools.cached_property
    def _tritons(self) -> tuple[str, ...]:
        return self.catalogue.triton_releases()

    @functools.cached_property
    def _torches(self) -> tuple[str, ...]:
        return self.catalogue.torch_releases()

    @functools.cached_property
    def _matches(self) -> dict[str, str | None]:
        return {}

    def _matching(self, triton: str) -> str | None:
        if triton not in self._matches:
            self._matches[triton] = self.catalogue.torch_matching(triton)
        return self._matches[triton]


def _what_there_is(choice: Choice, releases: Sequence[str]) -> str:
    if not releases:
        return "the index has no final release at all"
    if choice.exact is not None:
        asked = choice.exact
        before = [release for release in releases if _version(release) < asked][-1:]
        after = [release for release in releases if _version(release) > asked][:1]
        near = min(before + after, key=lambda release: _distance(_version(release), asked))
        return f"the nearest final release is {near}"
    return f"the final releases go from {releases[0]} to {releases[-1]} ({len(releases)} in all)"


def _distance(one: Version, other: Version) -> tuple[int, int, int, int]:
    return (
        abs(one.epoch - other.epoch),
        abs(one.major - other.major),
        abs(one.minor - other.minor),
        abs(one.micro - other.micro),
    )


@functools.lru_cache(maxsize=4096)
def _version(text: str) -> Version:
    return Version(text)
