"""Why there is no wheel, in one sentence that names the package, what it has, and the nearest version that would do."""

from __future__ import annotations

import re

from packaging.version import Version

from runner.plan.index_page import IndexFile, IndexPage
from runner.plan.wheels import Target, wheel_tags

_MOST_TAGS = 12
_MOST_CHARACTERS = 400


def why_no_wheel(page: IndexPage, version: Version, target: Target) -> str:
    """Why one release has nothing that the target can install, and which release does.

    Args:
        page: of the project.
        version: a release on that page for which `Target.best` found nothing.
        target: the build and platform.
    """
    files = page.releases[version]
    wheels = [file for file in files if file.is_wheel]
    usable = [file for file in wheels if target.platform.fits(file.filename)]
    name, abi = f"{page.project} {version}", target.python.abi_tag
    nearest = [file for file in usable if target.rank(file.filename) is not None] or usable
    excluding = {file.requires_python for file in nearest if not target.accepts(file.requires_python)}
    if all(file.yanked is not None for file in files):
        reason = next((file.yanked for file in files if file.yanked), "")
        why = f"{name} was yanked" + (f" ({bounded(reason, 120)})" if reason else "")
    elif not wheels:
        why = f"{name} has no wheels, only source"
    elif not usable:
        platforms = {tag.platform for file in wheels for tag in wheel_tags(file.filename)}
        why = f"{name} has no wheel for {target.platform} (it has {_listed(sorted(platforms))})"
    elif excluding:
        why = f"{name} requires Python {min(map(str, excluding))}"
    else:
        why = f"{name} has no wheel for {abi} (it has {_listed(_abis(usable))})"
    return f"{why}; {_nearest(page, version, target)}"


def bounded(text: str, most: int = _MOST_CHARACTERS) -> str:
    """One line of printable text of at most `most` characters, cut at a word."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0] + "…"


def explanation(stderr: str) -> str:
    """What uv says about requirements that do not go together, without its last, empty step."""
    text = bounded(stderr, 100_000)
    text = text[text.find("Because") :] if "Because" in text else text
    text = re.sub(r"(?<=\w)\{[^}]*\}", "", text)  # markers after a name
    text = re.split(r"\s*hint: ", text, maxsplit=1)[0]
    text = re.sub(r",? we can conclude that your requirements are unsatisfiable\.?$", "", text).rstrip(" .")
    return bounded(text.removeprefix("Because "))


def _nearest(page: IndexPage, version: Version, target: Target) -> str:
    fitting = [release for release in target.fitting_releases(page) if not release.is_prerelease]
    abi = target.python.abi_tag
    if not fitting:
        return f"no release of {page.project} has a wheel for {abi} on {target.platform}"
    older = [release for release in fitting if release < version]
    if not older:
        return f"{fitting[0]} is the first {page.project} with {abi} wheels"
    if older == fitting:
        return f"{older[-1]} is the last {page.project} with {abi} wheels"
    newer = fitting[len(older)]
    return f"{older[-1]} before it and {newer} after it have {abi} wheels"


def _abis(files: list[IndexFile]) -> list[str]:
    """`cp313t`, `cp312-abi3`, `py3-none`: free-threaded first, then in the order of Python versions."""
    labels = set()
    for file in files:
        for tag in wheel_tags(file.filename):
            if tag.interpreter.startswith(("cp", "py")):
                labels.add(tag.abi if tag.abi.startswith("cp") else f"{tag.interpreter}-{tag.abi}")
    return sorted(labels, key=lambda label: (not label.endswith("t"), [int(n) for n in re.findall(r"\d+", label)]))


def _listed(words: list[str]) -> str:
    rest = len(words) - _MOST_TAGS
    return ", ".join(words[:_MOST_TAGS]) + (f" and {rest} more" if rest > 0 else "")
