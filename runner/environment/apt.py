"""Debian source packages through a private apt: as any user, without touching the system's apt, signatures checked."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from runner.environment.process import run
from runner.environment.refusals import recall, remember
from runner.errors import InterpreterError
from runner.model.document import write_whole

RELEASE = "trixie"
"""The Debian release whose sources are used, whatever release the machine itself runs."""

_SOURCES = (Path("/etc/apt/sources.list"), Path("/etc/apt/sources.list.d"))
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_UPDATE_SECONDS, _DOWNLOAD_SECONDS, _ASK_SECONDS = 180.0, 600.0, 60.0
_INDEX_AGE_SECONDS = 86_400.0


@dataclass(frozen=True)
class SourcePackage:
    """A source package that exists.

    Attributes:
        name: `python3.13`.
        release: the upstream release, `3.13.5`.
        version: Debian's, `3.13.5-2+deb13u5`.
    """

    name: str
    release: str
    version: str


def mirrors(sources: tuple[Path, ...] = _SOURCES) -> tuple[str, ...]:
    """The archives that the machine's own apt reads, in either format, without those of security updates.

    Args:
        sources: source files, or folders of them (`*.list` and `*.sources`).
    """
    files = [path for source in sources for path in (sorted(source.glob("*")) if source.is_dir() else [source])]
    found: list[str] = []
    for file in files:
        if file.suffix not in {".list", ".sources"} or not file.is_file():
            continue
        text = file.read_text(encoding="utf-8", errors="replace")
        found += _deb822(text) if file.suffix == ".sources" else _one_line(text)
    return tuple(dict.fromkeys(found))


def _one_line(text: str) -> list[str]:
    line = re.compile(r"^\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s*)?(?P<uri>\S+)\s+(?P<suite>\S+)", re.MULTILINE)
    return [match["uri"] for match in line.finditer(text) if "security" not in match["suite"]]


def _deb822(text: str) -> list[str]:
    found: list[str] = []
    kept = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", kept):
        fields = {
            match["name"].lower(): match["value"].split()
            for match in re.finditer(r"^(?P<name>[\w-]+):(?P<value>.*(?:\n[ \t]+.*)*)", stanza, re.MULTILINE)
        }
        if fields.get("enabled") == ["no"] or any("security" in suite for suite in fields.get("suites", [])):
            continue
        found += fields.get("uris", [])
    return found


class PrivateApt:
    """An apt with its own sources, index and cache below one folder; the system's settings for proxies still hold."""

    def __init__(self, folder: Path, *, keyring: Path = _KEYRING, archives: tuple[str, ...] | None = None) -> None:
        """Write its configuration.

        Raises:
            InterpreterError: there is no apt here, no keyring of Debian's, or no mirror to take the sources from.
        """
        if missing := [program for program in ("apt-get", "apt-cache") if shutil.which(program) is None]:
            raise InterpreterError(f"this machine has no {missing[0]}")
        if not keyring.is_file():
            raise InterpreterError(f"{keyring} is not there (package debian-archive-keyring): nothing to check with")
        archives = mirrors() if archives is None else archives
        if not archives:
            raise InterpreterError("the apt sources of this machine name no mirror")
        if re.search(r"[\s\"]", str(folder)):
            raise InterpreterError(f"apt cannot work in {str(folder)!r}: its name has spaces or quotes")
        self.folder, self.lists = folder, folder / "lists"
        for needed in (self.lists / "partial", folder / "cache" / "archives" / "partial"):
            needed.mkdir(parents=True, exist_ok=True)
        lines = [f"deb-src [signed-by={keyring}] {archive} {RELEASE} main\n" for archive in archives]
        self.configuration = folder / "apt.conf"
        write_whole(folder / "sources.list", "".join(lines))
        write_whole(self.configuration, self._configuration())

    def _configuration(self) -> str:
        # -c is read after the system's own files, so this wins. Their hooks are for the system's index, not for ours.
        lines = [
            "#clear APT::Update::Pre-Invoke;",
            "#clear APT::Update::Post-Invoke;",
            "#clear APT::Update::Post-Invoke-Success;",
            f'Dir::Etc::SourceList "{self.folder / "sources.list"}";',
            'Dir::Etc::SourceParts "/dev/null";',
            f'Dir::State::Lists "{self.lists}";',
            f'Dir::Cache "{self.folder / "cache"}";',
            'Acquire::Languages "none";',
            'Acquire::Retries "2";',
            'Acquire::http::Timeout "20";',
            'Acquire::https::Timeout "20";',
            'Acquire::AllowInsecureRepositories "false";',
            'APT::Get::AllowUnauthenticated "false";',
        ]
        if os.geteuid() == 0:
            # As root apt downloads as the user _apt, who cannot write into a folder below root's home.
            lines.append('APT::Sandbox::User "root";')
        return "\n".join(lines) + "\n"

    def update(self) -> str | None:
        """Fetch the index of source packages, unless it was fetched within a day.

        Returns:
            What went wrong with a mirror, or None. Of several mirrors another may have answered.
        """
        stamp = self.folder / "updated"
        if stamp.is_file() and time.time() - stamp.stat().st_mtime < _INDEX_AGE_SECONDS:
            return None
        note = self.folder / "refused"
        if reason := recall(note):
            return reason
        finished = run(
            ["apt-get", "-c", self.configuration, "-q", "-o", "APT::Update::Error-Mode=any", "update"],
            timeout=_UPDATE_SECONDS,
        )
        if finished.code != 0:
            reason = f"apt-get update {finished.end}: {'; '.join(finished.last_lines(4).splitlines())}"
            remember(note, reason, finished.seconds)
            return reason
        stamp.touch()
        return None

    def find(self, name: str) -> SourcePackage:
        """The newest source package of that name in the index.

        Raises:
            InterpreterError: there is none.
        """
        finished = run(["apt-cache", "-c", self.configuration, "showsrc", "--only-source", name], timeout=_ASK_SECONDS)
        versions = re.findall(r"^Version: (\S+)$", finished.output, re.MULTILINE)
        if not versions:
            raise InterpreterError(f"Debian {RELEASE} has no source package {name}")
        # Of several mirrors each may carry one; apt-get takes the newest, which it lists last or alone.
        version = str(versions[-1])
        release = re.sub(r"^\d+:|-[^-]*$", "", version)
        return SourcePackage(name, release, version)

    def download(self, package: SourcePackage) -> Path:
        """Download the upstream archive of a source package into a folder of its own, unless it is there.

        apt checks its digest against the signed index, whether it was there or not.

        Raises:
            InterpreterError: it did not come.
        """
        folder = self.folder / "sources" / f"{package.name}-{package.version}"
        folder.mkdir(parents=True, exist_ok=True)
        finished = run(
            [
                *("apt-get", "-c", self.configuration, "-q", "source", "--download-only", "--tar-only"),
                f"{package.name}={package.version}",
            ],
            timeout=_DOWNLOAD_SECONDS,
            cwd=folder,
        )
        archives = sorted(folder.glob("*.orig.tar.*"))
        if finished.code != 0 or not archives:
            raise InterpreterError(f"apt-get source {finished.end}: {'; '.join(finished.last_lines(4).splitlines())}")
        return archives[0]
