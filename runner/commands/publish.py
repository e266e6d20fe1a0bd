"""`triton-compat publish`: the comment, the job summary and the outputs on GitHub; its exit status is the verdict."""

from __future__ import annotations

import argparse
import os
import secrets
import time
from datetime import UTC, datetime

from runner import __version__
from runner.errors import GitHubError
from runner.github.api import GitHub, open_session
from runner.github.event import Context
from runner.github.planned import read_payload
from runner.github.publish import CommentMode, Wishes, publish


def run(options: argparse.Namespace) -> int:
    """Publish; exit 0 PASS, 1 FAIL, 3 CANNOT TELL, and with --strict 20 for a PASS that could not be published."""
    wishes = Wishes(
        comment=CommentMode(options.comment),
        author=options.author,
        check=options.check,
        annotations=options.annotations,
    )
    published = publish(
        options.out,
        os.environ,
        read_payload(os.environ),
        connect,
        wishes=wishes,
        now=datetime.now(UTC),
        say=lambda text: print(text, flush=True),
        delimiter=f"triton-compat-{secrets.token_hex(16)}",
    )
    return published.exit_code(strict=options.strict)


def connect(context: Context) -> GitHub:
    """A client with the job's token.

    Raises:
        GitHubError: there is none.
    """
    token = os.environ.get("TRITON_COMPAT_TOKEN") or os.environ.get("GITHUB_TOKEN")
    if not token:
        raise GitHubError(
            "There is no token: TRITON_COMPAT_TOKEN and GITHUB_TOKEN are not set.",
            remedy="Give the action `token: ${{ github.token }}` (its default), or set `comment: off`.",
        )
    session = open_session(token, pause=time.sleep, user_agent=f"triton-compat/{__version__}")
    return GitHub(session, context.api_url, context.repository)
