"""From an output folder to GitHub: job summary, outputs, annotations, one comment, and if wanted a check run.

The verdict is the thing; how it is told comes second. Whatever GitHub refuses is said in words and hides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from runner.errors import GitHubError
from runner.github.api import GitHub
from runner.github.body import Tested, render_comment, render_summary
from runner.github.check import write_check
from runner.github.commands import annotate, append, outputs, verdict_outputs, warning
from runner.github.comment import BOT, Publication, Settled, publish_comment
from runner.github.documents import Documents, read_documents
from runner.github.event import Context, Mode, read_context
from runner.github.links import find_jobs, find_pull
from runner.github.stamp import Stamp, identity
from runner.github.tested import describe
from runner.model.plan import Plan
from runner.model.verdict import Verdict
from runner.model.words import Cause, Status, VerdictWord
from runner.report.escape import line

Say = Callable[[str], None]


class CommentMode(StrEnum):
    """When a pull request gets a comment. One that stands there is brought up to date whatever the mode, but `off`."""

    ALWAYS = "always"
    CHANGES = "changes"
    """When the pull request itself makes something worse, as far as its baseline tells."""
    PROBLEMS = "problems"
    """When the verdict is not PASS."""
    OFF = "off"


@dataclass(frozen=True)
class Wishes:
    """What the user set.

    Attributes:
        comment: see `CommentMode`.
        author: login under which the token writes.
        check: also write a check run.
        annotations: also print annotations at the failing lines.
    """

    comment: CommentMode = CommentMode.ALWAYS
    author: str = BOT
    check: bool = False
    annotations: bool = True


@dataclass(frozen=True)
class Published:
    """What became of it.

    Attributes:
        verdict: as judged.
        comment: what became of the comment; None when none was tried.
        problems: what GitHub refused; each with what to do.
    """

    verdict: Verdict
    comment: Publication | None
    problems: tuple[GitHubError, ...]

    def exit_code(self, *, strict: bool) -> int:
        """The verdict's own; with `strict` a PASS that could not be published is an error of ours."""
        own = self.verdict.verdict.exit_code
        return GitHubError.exit_code if strict and self.problems and own == 0 else own


def publish(
    out: Path,
    environ: Mapping[str, str],
    payload: Mapping[str, Any],
    connect: Callable[[Context], GitHub],
    *,
    wishes: Wishes,
    now: datetime,
    say: Say,
    delimiter: str,
) -> Published:
    """Publish what lies in an output folder.

    Args:
        out: with plan.json, verdict.json and cells/.
        environ: the job's variables.
        payload: the event.
        connect: a client for the repository of a context; GitHubError when there is no token.
        wishes: what the user set.
        now: tells the baseline's age.
        say: prints one line into the job's log.
        delimiter: for `GITHUB_OUTPUT`; nobody can have foreseen it.

    Raises:
        UsageError: this is no job of GitHub Actions.
        DocumentError: plan or verdict cannot be read.
    """
    context = read_context(environ, payload)
    documents = read_documents(out)
    if path := environ.get("GITHUB_OUTPUT"):
        append(Path(path), outputs(verdict_outputs(documents.verdict, out), delimiter))
    say(line(documents.verdict.sentence, 1000))
    for remark in documents.remarks:
        say(warning(line(remark, 500)))
    tested = describe(context, documents, now)
    teller = _Teller(context, documents, tested, wishes, say, environ)
    teller.say_where()
    teller.write(connect)
    return Published(documents.verdict, teller.publication, tuple(teller.problems))


class _Teller:
    """Tells one verdict in several places and collects what went wrong on the way."""

    def __init__(
        self,
        context: Context,
        documents: Documents,
        tested: Tested,
        wishes: Wishes,
        say: Say,
        environ: Mapping[str, str],
    ) -> None:
        self._context = context
        self._documents = documents
        self._wishes = wishes
        self._say = say
        self._environ = environ
        self._tested = tested
        self._places = (
            annotate(documents.plan, documents.results, documents.verdict, project_folder(documents.plan, environ))
            # The end of another run has another commit checked out, or none.
            if wishes.annotations and context.event != "workflow_run"
            else ()
        )
        self.publication: Publication | None = None
        self.problems: list[GitHubError] = []

    def say_where(self) -> None:
        """Annotations at the failing lines, which need no token."""
        for place in self._places:
            self._say(str(place))

    def write(self, connect: Callable[[Context], GitHub]) -> None:
        """Links, summary, comment and check, in this order: the summary does not wait for the comment."""
        github = self._try(lambda: connect(self._context)) if self._wants_github() else None
        if github is not None:
            jobs = self._try(lambda: find_jobs(github, self._context, self._documents.plan), quiet=True)
            self._tested = replace(self._tested, jobs=jobs or {})
        self._summarize(self._render(render_summary))
        if github is not None and self._wishes.comment is not CommentMode.OFF:
            self.publication = self._try(lambda: self._comment(github))
        if github is not None and self._wishes.check:
            self._try(lambda: self._check(github))
        self._account()

    def _wants_github(self) -> bool:
        comment = self._wishes.comment is not CommentMode.OFF and self._context.mode is not Mode.SUMMARY
        return comment or self._wishes.check

    def _comment(self, github: GitHub) -> Publication | None:
        context, documents = self._context, self._documents
        if context.mode is Mode.SUMMARY:
            return None
        pull = context.pull if context.mode is Mode.COMMENT else find_pull(github, context)
        if pull is None:
            return Publication(Settled.NO_PULL)
        stamp = Stamp(identity(documents.plan.matrix, context.workflow), context.head, context.number, context.attempt)
        return publish_comment(
            github,
            pull,
            self._render(render_comment),
            stamp,
            create=wants_comment(self._wishes.comment, documents.verdict),
            author=self._wishes.author,
        )

    def _check(self, github: GitHub) -> None:
        documents = self._documents
        text = self._render(render_comment)
        write_check(github, self._context, documents.plan.matrix, documents.verdict, text, self._places)

    def _render(self, render: Callable[..., str]) -> str:
        documents = self._documents
        return render(documents.plan, documents.results, documents.verdict, self._tested, documents.races)

    def _try(self, act: Callable[[], Any], *, quiet: bool = False) -> Any:
        """What `act` returns, or None when GitHub refused: that is a problem to report, not the end."""
        try:
            return act()
        except GitHubError as error:
            if not quiet:
                self.problems.append(error)
            return None

    def _account(self) -> None:
        """Say in log and summary what became of the comment, and what went wrong."""
        if self.publication is not None:
            self._say(line(f"Comment: {self.publication.settled.value}. {self.publication.url or ''}".strip(), 500))
        elif self._context.why and self._wishes.comment is not CommentMode.OFF:
            self._say(line(f"No comment: {self._context.why}.", 500))
        for problem in self.problems:
            said = line(f"Could not be published: {problem.message} {problem.remedy}".replace("\n", " "), 1500)
            self._say(warning(said))
            self._summarize(f"\n> ⚠️ `{said.replace('`', '')}`\n")

    def _summarize(self, text: str) -> None:
        if path := self._environ.get("GITHUB_STEP_SUMMARY"):
            append(Path(path), text)


def wants_comment(mode: CommentMode, verdict: Verdict) -> bool:
    """Whether a pull request that has no comment yet gets one."""
    if mode is CommentMode.ALWAYS:
        return True
    if mode is CommentMode.OFF or verdict.verdict is VerdictWord.PASS:
        return False
    if mode is CommentMode.PROBLEMS or verdict.verdict is VerdictWord.CANNOT_TELL:
        return True
    before = {cell for finding in verdict.findings if finding.cause is Cause.PRE_EXISTING for cell in finding.cells}
    other = {cell for finding in verdict.findings if finding.cause is not Cause.PRE_EXISTING for cell in finding.cells}
    failing = {cell.id for cell in verdict.cells if cell.status is Status.FAIL and not cell.expected}
    known = set(verdict.changes.failed_before) if verdict.changes is not None else set()
    return bool((failing & other | failing - before) - known)


def project_folder(plan: Plan, environ: Mapping[str, str]) -> str:
    """The project's root relative to the repository's; empty where it is the same or cannot be told."""
    root, workspace = PurePosixPath(plan.root), environ.get("GITHUB_WORKSPACE")
    if not workspace or not root.is_relative_to(workspace):
        return ""
    relative = str(root.relative_to(workspace))
    return "" if relative == "." else relative
