"""One sticky comment on a pull request, right under races.

GitHub has no conditional update: a slow run can overwrite what a newer run wrote in the meantime, and reading back
does not help the newer one, which has gone. Two things are atomic: a comment once created is lost to no overwrite,
and a reaction answers 201 to the one who set it and 200 to everybody else. So:

- whoever changes the oldest of our comments (the keeper) holds the reaction on it while it does;
- whoever finds it held leaves its state as a comment of its own and tries once more;
- the holder moves the newest state into the keeper, deletes the others, lets go, and lists again.

A run that fails to get hold of the keeper has its comment standing before the holder's last list, so the holder finds
it: one comment remains, and it shows the newest run. Nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Any

from runner.errors import GitHubError
from runner.github.api import GitHub, LostAnswerError
from runner.github.stamp import Stamp

BOT = "github-actions[bot]"
_READ = "pull-requests: read"
_WRITE = "pull-requests: write"
_HELD = "eyes"
_ABANDONED = 15 * 60
"""Seconds after which a reaction was left behind by a run that was killed: longer than one can hold it."""
_ROUNDS = 25
_LOST = 3


class Settled(StrEnum):
    """What became of the comment."""

    WRITTEN = "written"
    LEFT_TO_OTHER = "left to the other run that is writing"
    SUPERSEDED = "a newer run's comment stands"
    OUTDATED = "the commit is no longer the head of the pull request"
    NOT_WANTED = "no comment is wanted"
    NO_PULL = "no open pull request has this commit as its head"


@dataclass(frozen=True)
class Comment:
    """A comment of ours as it stands on GitHub."""

    id: int
    body: str
    url: str
    stamp: Stamp


@dataclass(frozen=True)
class Publication:
    """What became of the comment and where it is; `url` is None where there is none."""

    settled: Settled
    url: str | None = None


def publish_comment(
    github: GitHub, pull: int, text: str, stamp: Stamp, *, create: bool = True, author: str = BOT
) -> Publication:
    """Bring the pull request's one comment to the newest state.

    Args:
        github: the repository.
        pull: number of the pull request.
        text: Markdown; the marker is put before it.
        stamp: which matrix, commit and run this is.
        create: make a comment where there is none; one that exists is always brought up to date.
        author: login under which the token writes. A wrong one costs a comment that is deleted at once, since the
            answer to the first creation says the right one.

    Raises:
        GitHubError: with what to do about it.
    """
    head = github.get(f"/pulls/{pull}", needs=_READ)["head"]["sha"]
    if head != stamp.head:
        return Publication(Settled.OUTDATED)
    return _Writer(github, pull, f"{stamp}\n{text}", stamp, author).settle(create=create)


class _Writer:
    """One run's part in keeping the comment."""

    def __init__(self, github: GitHub, pull: int, body: str, stamp: Stamp, author: str) -> None:
        self._github = github
        self._pull = pull
        self._body = body
        self._stamp = stamp
        self._author = author
        self._lost = 0

    def settle(self, *, create: bool) -> Publication:
        for _ in range(_ROUNDS):
            ours = self._list()
            if not ours:
                if not create:
                    return Publication(Settled.NOT_WANTED)
                self._create()
                continue
            keeper, newest = ours[0], _newest(ours)
            is_told = newest.stamp.age >= self._stamp.age
            if is_told and len(ours) == 1:
                written = newest.stamp.age == self._stamp.age
                return Publication(Settled.WRITTEN if written else Settled.SUPERSEDED, keeper.url)
            with self._held(keeper) as held:
                if held:
                    self._merge(keeper.id)
            if not held:
                if is_told:
                    return Publication(Settled.LEFT_TO_OTHER, keeper.url)
                self._create()
        raise GitHubError(
            f"The comment on pull request {self._pull} did not come to rest: other runs keep changing it.",
            remedy="Give the workflow a `concurrency` group for each pull request. The verdict is not affected.",
        )

    def _list(self) -> list[Comment]:
        """Our comments for this matrix, oldest first; a stranger's never, whatever it says."""
        found = self._github.pages(f"/issues/{self._pull}/comments", needs=_READ)
        ours = [
            Comment(item["id"], item["body"], item["html_url"], stamp)
            for item in found
            if (item.get("user") or {}).get("login") == self._author
            and (stamp := Stamp.read(item.get("body") or "")) is not None
            and stamp.of == self._stamp.of
        ]
        return sorted(ours, key=lambda comment: comment.id)

    def _create(self) -> None:
        """Leave our state as a comment of its own. A lost answer is no error yet: the next list shows what is there."""
        try:
            made = self._github.post(f"/issues/{self._pull}/comments", {"body": self._body}, needs=_WRITE)
        except LostAnswerError:
            self._lost += 1
            if self._lost >= _LOST:
                raise
            return
        self._author = (made.body.get("user") or {}).get("login") or self._author

    def _merge(self, keeper_id: int) -> None:
        """With the keeper held: put the newest state into it and delete the other comments."""
        ours = self._list()
        keeper = next((comment for comment in ours if comment.id == keeper_id), None)
        if keeper is None or keeper is not ours[0]:
            return
        newest = _newest(ours)
        body = self._body if self._stamp.age > newest.stamp.age else newest.body
        if body != keeper.body:
            try:
                self._github.patch(f"/issues/comments/{keeper.id}", {"body": body}, needs=_WRITE)
            except GitHubError as error:
                if error.status in {404, 410}:  # a person deleted it; the next round begins anew
                    return
                raise
        for double in ours[1:]:
            self._github.delete(f"/issues/comments/{double.id}", needs=_WRITE)

    @contextmanager
    def _held(self, keeper: Comment) -> Iterator[bool]:
        """Hold the keeper if nobody else does; whether it is held."""
        path = f"/issues/comments/{keeper.id}/reactions"
        held, reaction = self._hold(path)
        try:
            yield held
        finally:
            if held and reaction is not None:
                # It ages and is then taken for abandoned, so that a failure here costs nothing but a double.
                with suppress(GitHubError):
                    self._github.delete(f"{path}/{reaction}", needs=_WRITE)

    def _hold(self, path: str) -> tuple[bool, int | None]:
        for _ in range(2):
            try:
                made = self._github.post(path, {"content": _HELD}, needs=_WRITE)
            except LostAnswerError:
                # Whose it is cannot be told any more. Taking it for ours can at worst lose a race; not doing so
                # would leave a reaction that keeps every later run from writing.
                found = self._github.pages(path, needs=_READ, params={"content": _HELD})
                ours = [item["id"] for item in found if (item.get("user") or {}).get("login") == self._author]
                return True, next(iter(ours), None)
            except GitHubError as error:
                if error.status in {403, 404, 410, 422}:
                    return True, None  # no reactions here, or no such comment any more: go on without
                raise
            if made.status == 201:  # noqa: PLR2004
                return True, made.body["id"]
            if not _is_abandoned(made.body, made.date):
                return False, None
            # Deleted by its number: a reaction that another run has set since then has a number of its own.
            self._github.delete(f"{path}/{made.body['id']}", needs=_WRITE)
        return False, None


def _newest(ours: list[Comment]) -> Comment:
    """The newest state; of equal ones the oldest comment."""
    return max(ours, key=lambda comment: (comment.stamp.age, -comment.id))


def _is_abandoned(reaction: dict[str, Any], date: str) -> bool:
    """Whether a reaction is older than any run can hold it, by GitHub's own clock."""
    try:
        age = parsedate_to_datetime(date) - datetime.fromisoformat(reaction["created_at"])
    except (ValueError, TypeError, KeyError):
        return False
    return age.total_seconds() > _ABANDONED
