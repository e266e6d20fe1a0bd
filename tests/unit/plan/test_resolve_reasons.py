from __future__ import annotations

from dataclasses import replace

import pytest
from packaging.version import Version

from runner.model.cell import PythonBuild
from runner.plan.index_page import IndexFile, IndexPage
from runner.plan.resolve_direct import only_fitting
from runner.plan.resolve_reasons import bounded, explanation, why_no_wheel
from runner.plan.wheels import Platform, Target

PLATFORM = Platform("x86_64", (2, 28))
LINUX = "manylinux_2_28_x86_64"


def target(python: str) -> Target:
    return Target(PythonBuild.parse(python), PLATFORM)


def page(*files: str | IndexFile) -> IndexPage:
    return IndexPage("triton", tuple(published(file) if isinstance(file, str) else file for file in files))


def published(filename: str, requires_python: str | None = None, yanked: str | None = None) -> IndexFile:
    return IndexFile(filename, "", None, None, requires_python, yanked, False)


TRITON = page(
    f"triton-3.3.0-cp313-cp313t-{LINUX}.whl",
    f"triton-3.3.0-cp313-cp313-{LINUX}.whl",
    f"triton-3.7.0-cp313-cp313t-{LINUX}.whl",
    f"triton-3.7.0-cp314-cp314t-{LINUX}.whl",
    f"triton-3.8.0-cp313-cp313-{LINUX}.whl",
    f"triton-3.9.0-cp311-cp311-{LINUX}.whl",
    f"triton-3.9.0-cp312-abi3-{LINUX}.whl",
    f"triton-3.9.0-cp314-cp314t-{LINUX}.whl",
    f"triton-3.9.0-cp315-cp315t-{LINUX}.whl",
    "triton-3.9.0-pp39-pypy39_pp73-win_amd64.whl",
)


@pytest.mark.parametrize(
    ("version", "python", "sentence"),
    [
        (
            "3.9.0",
            "3.13t",
            (
                "triton 3.9.0 has no wheel for cp313t (it has cp314t, cp315t, cp311, cp312-abi3); "
                "3.7.0 is the last triton with cp313t wheels"
            ),
        ),
        (
            "3.3.0",
            "3.14t",
            "triton 3.3.0 has no wheel for cp314t (it has cp313t, cp313); 3.7.0 is the first triton with cp314t wheels",
        ),
        (
            "3.8.0",
            "3.14t",
            (
                "triton 3.8.0 has no wheel for cp314t (it has cp313); 3.7.0 before it and 3.9.0 after it have cp314t "
                "wheels"
            ),
        ),
        (
            "3.7.0",
            "3.10",
            (
                "triton 3.7.0 has no wheel for cp310 (it has cp313t, cp314t); "
                "no release of triton has a wheel for cp310 on Linux x86_64 with glibc 2.28"
            ),
        ),
    ],
)
def test_a_missing_wheel_names_its_tags_and_the_nearest_release(version: str, python: str, sentence: str) -> None:
    assert why_no_wheel(TRITON, Version(version), target(python)) == sentence


def test_requires_python_is_said() -> None:
    found = page(
        published(f"triton-3.2.0-cp312-abi3-{LINUX}.whl", requires_python="<3.14"),
        f"triton-3.5.0-cp314-cp314-{LINUX}.whl",
    )
    sentence = "triton 3.2.0 requires Python <3.14; 3.5.0 is the first triton with cp314 wheels"
    assert why_no_wheel(found, Version("3.2.0"), target("3.14")) == sentence


def test_a_yanked_release_says_why() -> None:
    found = page(
        published(f"triton-3.2.0-cp313-cp313-{LINUX}.whl", yanked="breaks\n`everything`"),
        f"triton-3.1.0-cp313-cp313-{LINUX}.whl",
    )
    sentence = "triton 3.2.0 was yanked (breaks `everything`); 3.1.0 is the last triton with cp313 wheels"
    assert why_no_wheel(found, Version("3.2.0"), target("3.13")) == sentence


def test_source_alone_and_other_platforms_are_said() -> None:
    found = page("triton-1.0.tar.gz", "triton-2.0-cp313-cp313-win_amd64.whl")
    nothing = "no release of triton has a wheel for cp313 on Linux x86_64 with glibc 2.28"
    assert why_no_wheel(found, Version("1.0"), target("3.13")) == f"triton 1.0 has no wheels, only source; {nothing}"
    assert why_no_wheel(found, Version("2.0"), target("3.13")) == (
        f"triton 2.0 has no wheel for Linux x86_64 with glibc 2.28 (it has win_amd64); {nothing}"
    )


def test_the_constraint_leaves_exactly_the_releases_that_fit() -> None:
    assert only_fitting(TRITON, target("3.13t")) == "triton>=3.3.0,<=3.7.0"
    assert only_fitting(TRITON, target("3.14t")) == "triton>=3.7.0,<=3.9.0,!=3.8.0"
    assert only_fitting(TRITON, target("3.10")) == "triton<0"


def test_a_bound_is_never_a_prerelease() -> None:
    early = replace(TRITON, files=(*TRITON.files, published(f"triton-4.0rc1-cp313-cp313t-{LINUX}.whl")))
    assert only_fitting(early, target("3.13t")) == "triton>=3.3.0,<=3.7.0"


def test_text_is_one_bounded_printable_line() -> None:
    assert bounded("a\x1b[31m\n b\u202e  c") == "a [31m b c"
    assert bounded("word " * 300, 21) == "word word word word…"


def test_the_explanation_is_the_reason_alone() -> None:
    text = (
        "error: No solution found when resolving dependencies\n"
        "  cause: Because torch==1 depends on triton{sys_platform == 'linux'}==3 and you require triton==4, we can "
        "conclude that your requirements are unsatisfiable.\n\nhint: something else"
    )
    assert explanation(text) == "torch==1 depends on triton==3 and you require triton==4"
