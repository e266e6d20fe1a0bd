"""The stand-in by itself, for workflows that run elsewhere: `python -m tests.github_server 7=<head sha> ...`.

Prints its address; when its standard input closes, prints the comments, requests and misfits as JSON.
"""

from __future__ import annotations

import json
import sys

from tests.github_server.server import GitHubServer
from tests.github_server.state import Pull


def main() -> None:
    """Serve the pull requests that the arguments name."""
    with GitHubServer() as server:
        for argument in sys.argv[1:]:
            number, _, head = argument.partition("=")
            server.state.pulls[int(number)] = Pull(int(number), head)
        print(server.url, flush=True)  # noqa: T201
        sys.stdin.read()
        comments = [{"issue": c.issue, "login": c.login, "body": c.body} for c in server.state.comments.values()]
        print(json.dumps({"comments": comments, "requests": server.requests, "misfits": server.misfits}))  # noqa: T201


if __name__ == "__main__":
    main()
