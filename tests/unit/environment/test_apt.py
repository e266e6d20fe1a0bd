from pathlib import Path

import pytest

from runner.environment.apt import mirrors

DEB822 = """\
Types: deb
# http://commented.example/debian
URIs: http://first.example/debian
 http://second.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://first.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""

ONE_LINE = """\
# deb http://commented.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://third.example/debian bookworm main
deb-src http://first.example/debian bookworm main
deb http://third.example/debian-security bookworm-security main
"""


def test_archives_of_both_formats_are_read_once_each_without_security(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (parts / "debian.sources").write_text(DEB822)
    (parts / "old.sources.disabled").write_text(DEB822.replace("first", "ignored"))
    (tmp_path / "sources.list").write_text(ONE_LINE)
    assert mirrors((tmp_path / "sources.list", parts)) == (
        "http://third.example/debian",
        "http://first.example/debian",
        "http://second.example/debian",
    )


def test_a_machine_without_apt_sources_has_no_mirror(tmp_path: Path) -> None:
    assert mirrors((tmp_path / "sources.list", tmp_path / "sources.list.d")) == ()


@pytest.mark.parametrize("enabled", ["no", "yes"])
def test_a_stanza_that_is_switched_off_does_not_count(tmp_path: Path, enabled: str) -> None:
    file = tmp_path / "a.sources"
    file.write_text(f"Types: deb\nURIs: http://a.example/debian\nSuites: sid\nComponents: main\nEnabled: {enabled}\n")
    assert mirrors((file,)) == (() if enabled == "no" else ("http://a.example/debian",))
