"""Resolutions on disk, each valid only while the index pages it was made from are unchanged."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from runner.errors import DocumentError
from runner.model.document import Document
from runner.model.plan import Pin
from runner.plan.index import MAX_AGE_SECONDS, NoSuchProjectError, PackageIndex
from runner.plan.ports import Resolution


class _KeptResolution(Document):
    """A resolution and what it rests on.

    Attributes:
        made_at: seconds since the epoch.
        pages: project to the content hash of its page.
        complete: `pages` are all that could change the answer. uv's refusals rest on pages that are not known.
        pins, unavailable: as in `Resolution`.
    """

    SCHEMA = "triton-compat/resolution/1"

    made_at: float
    pages: dict[str, str]
    complete: bool
    pins: tuple[Pin, ...]
    unavailable: str | None


class ResolutionCache:
    """Keeps resolutions in the index's cache folder. What cannot be read is made anew.

    Args:
        index: whose pages decide whether an entry still holds.
        clock: seconds since the epoch.
    """

    def __init__(self, index: PackageIndex, clock: Callable[[], float] = time.time) -> None:
        self._index = index
        self._folder = index.cache_folder / "resolutions-1"
        self._clock = clock

    def read(self, key: Sequence[str]) -> Resolution | None:
        """The resolution kept for a key, if every page it was made from still says the same.

        Raises:
            IndexUnreachableError: the index does not answer and a page is not cached.
        """
        try:
            kept = _KeptResolution.read(self._path(key))
        except DocumentError:
            return None
        is_young = 0 <= self._clock() - kept.made_at < MAX_AGE_SECONDS
        if not (kept.complete or is_young or self._index.offline or self._index.is_down):
            return None
        try:
            unchanged = all(self._index.page(name).content_hash == known for name, known in kept.pages.items())
        except NoSuchProjectError:
            return None
        return Resolution(kept.pins, kept.unavailable) if unchanged else None

    def write(self, key: Sequence[str], resolution: Resolution, projects: Iterable[str], *, complete: bool) -> None:
        """Keep a resolution.

        Args:
            key: all that was asked for.
            resolution: the answer.
            projects: whose pages it was made from.
            complete: whether those are all that could change it.
        """
        _KeptResolution(
            made_at=self._clock(),
            pages={name: self._index.page(name).content_hash for name in sorted(set(projects))},
            complete=complete,
            pins=resolution.pins,
            unavailable=resolution.unavailable,
        ).write(self._path(key))

    def _path(self, key: Sequence[str]) -> Path:
        return self._folder / f"{hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:32]}.json"
