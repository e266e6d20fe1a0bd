"""Cut the stand-in's part out of GitHub's OpenAPI description: `python extract.py api.github.com.json`.

The description comes with npm's `@octokit/openapi` (MIT, see LICENSE-octokit.txt). Only the operations that this
project calls are kept, with the schemas they refer to, without prose and examples; the meaning is left as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

REPOSITORY = "/repos/{owner}/{repo}"
OPERATIONS: dict[str, tuple[str, ...]] = {
    "/issues/{issue_number}/comments": ("get", "post"),
    "/issues/comments/{comment_id}": ("get", "patch", "delete"),
    "/issues/comments/{comment_id}/reactions": ("get", "post"),
    "/issues/comments/{comment_id}/reactions/{reaction_id}": ("delete",),
    "/pulls": ("get",),
    "/pulls/{pull_number}": ("get",),
    "/actions/runs/{run_id}": ("get",),
    "/actions/runs/{run_id}/attempts/{attempt_number}/jobs": ("get",),
    "/actions/runs/{run_id}/artifacts": ("get",),
    "/actions/artifacts": ("get",),
    "/actions/artifacts/{artifact_id}/{archive_format}": ("get",),
    "/check-runs": ("post",),
    "/check-runs/{check_run_id}": ("patch",),
    "/commits/{ref}/check-runs": ("get",),
}
_PROSE = frozenset({"description", "summary", "example", "examples", "externalDocs", "x-github", "tags", "title"})


def without_prose(node: Any, *, names: bool = False) -> Any:
    """The same document without what only people read. `names`: the keys are names of properties, so all stay."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if isinstance(node, dict):
        kept = {key: value for key, value in node.items() if names or key not in _PROSE or not is_prose(key, value)}
        return {key: without_prose(value, names=key in {"properties", "responses"}) for key, value in kept.items()}
    return node


def is_prose(key: str, value: Any) -> bool:
    """Whether the value is text for people and not, say, the schema of a property that is called `description`."""
    return isinstance(value, (str, list)) or key in {"example", "examples", "externalDocs", "x-github"}


def references(node: Any) -> set[str]:
    """Every `$ref` in a document."""
    if isinstance(node, list):
        return set().union(*map(references, node))
    if isinstance(node, dict):
        own = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return own.union(*(references(value) for value in node.values()))
    return set()


def extract(whole: dict[str, Any]) -> dict[str, Any]:
    """The part of the description that holds `OPERATIONS` and all that they refer to."""
    paths = {
        REPOSITORY + path: {method: without_prose(whole["paths"][REPOSITORY + path][method]) for method in methods}
        for path, methods in OPERATIONS.items()
    }
    components: dict[str, dict[str, Any]] = {}
    waiting = references(paths)
    while waiting:
        _, _, kind, name = waiting.pop().split("/")
        if name not in components.setdefault(kind, {}):
            components[kind][name] = without_prose(whole["components"][kind][name])
            waiting |= references(components[kind][name])
    return {
        "openapi": whole["openapi"],
        "info": {"title": whole["info"]["title"], "version": whole["info"]["version"]},
        "paths": paths,
        "components": {kind: dict(sorted(parts.items())) for kind, parts in sorted(components.items())},
    }


if __name__ == "__main__":
    source = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    target = Path(__file__).with_name("openapi.json")
    target.write_text(json.dumps(extract(source), indent=1) + "\n", encoding="utf-8")
