"""Comments and summaries as pages to look at: `python -m tests.e2e.page FOLDER` writes an .html beside each .md."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cmarkgfm
from cmarkgfm.cmark import Options

# Much like GitHub shows them, in our own words of CSS. `comment` is as wide as a pull request's, `summary` as a run's.
STYLE = """
body { margin: 24px; background: #fff; color: #1f2328; font: 14px/1.5 system-ui, "Noto Color Emoji", sans-serif; }
main { border: 1px solid #d1d9e0; border-radius: 6px; padding: 16px; }
.comment { width: 734px; } .summary { width: 1010px; }
h2 { font-size: 21px; border-bottom: 1px solid #d1d9e0b3; padding-bottom: 6px; margin: 0 0 16px; }
h3 { font-size: 17px; margin: 24px 0 16px; }
p, ul, table, blockquote, details { margin: 0 0 16px; } ul { padding-left: 2em; }
table { border-collapse: collapse; display: block; max-width: 100%; width: max-content; overflow: auto; }
th, td { border: 1px solid #d1d9e0; padding: 6px 13px; } tr:nth-child(2n) td { background: #f6f8fa; }
code { background: #818b981f; border-radius: 6px; padding: .2em .4em; font: 85% ui-monospace, monospace; }
td code { white-space: break-spaces; overflow-wrap: break-word; }
a { color: #0969da; } blockquote { border-left: .25em solid #d1d9e0; color: #59636e; padding: 0 1em; }
"""


def render(markdown: str, *, kind: str) -> str:
    """One page; everything folded is open in it, so that it can be seen."""
    body = cmarkgfm.github_flavored_markdown_to_html(markdown, options=Options.CMARK_OPT_UNSAFE)
    opened = re.sub(r"<details>", "<details open>", body)
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><main class={kind}>{opened}</main>"


def main() -> None:
    """Write the pages."""
    for path in sorted(Path(sys.argv[1]).glob("*.md")):
        kind = "summary" if path.stem.endswith("-summary") else "comment"
        path.with_suffix(".html").write_text(render(path.read_text(encoding="utf-8"), kind=kind), encoding="utf-8")


if __name__ == "__main__":
    main()
