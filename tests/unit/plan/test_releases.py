from __future__ import annotations

from collections.abc import Callable

import pytest

from runner.errors import ResolutionError
from runner.plan.releases import Choice, Releases, TorchWord, torch_choice, triton_choice

KNOWN = ("3.2.0", "3.3.0", "3.3.1", "3.7.0", "3.7.1", "3.10.0")


class Listed:
    def __init__(self) -> None:
        self.asked = 0
        self.matched: list[str] = []

    def triton_releases(self) -> tuple[str, ...]:
        self.asked += 1
        return KNOWN

    def torch_releases(self) -> tuple[str, ...]:
        return ("2.6.0", "2.12.0")

    def torch_matching(self, triton: str) -> str | None:
        self.matched.append(triton)
        return {"3.7.0": "2.12.0"}.get(triton)


@pytest.mark.parametrize(
    ("text", "picked"),
    [
        ("3.7.0", ("3.7.0",)),
        ("3.7", ("3.7.0",)),
        ("3.10", ("3.10.0",)),
        ("latest", ("3.10.0",)),
        ("latest-0", ("3.10.0",)),
        ("latest-2", ("3.7.0",)),
        ("latest-9", ()),
        (">=3.3,<3.8", ("3.3.0", "3.3.1", "3.7.0", "3.7.1")),
        ("==3.7.*", ("3.7.0", "3.7.1")),
        ("!=3.3.0,<3.7", ("3.2.0", "3.3.1")),
        ("<3", ()),
        ("3.7.0rc1", ()),
    ],
)
def test_what_a_choice_comes_to(text: str, picked: tuple[str, ...]) -> None:
    assert Choice.parse(text).pick(KNOWN) == picked


@pytest.mark.parametrize(
    ("read", "text", "said"),
    [
        (triton_choice, "newest", "is not a release"),
        (triton_choice, "lastest", "did you mean 'latest'"),
        (triton_choice, "matched", "a choice of torch"),
        (triton_choice, ">=3.3,<", "is not a release"),
        (torch_choice, "matchd", "did you mean 'matched'"),
        (torch_choice, "None", "did you mean 'none'"),
    ],
)
def test_wrong_choices(read: Callable[[str], object], text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(text)


def test_the_words_of_torch() -> None:
    releases = Releases(Listed())
    assert releases.torch(TorchWord.NONE, "3.7.0") == (None,)
    assert releases.torch(TorchWord.MATCHED, "3.7.0") == ("2.12.0",)
    assert releases.torch(TorchWord.MATCHED, "3.2.0") == (None,)
    assert releases.torch(Choice.parse("2.6"), "3.7.0") == ("2.6.0",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("3.7.9", "no release of triton is 3.7.9; the nearest final release is 3.7.1"),
        ("3.11.0", "no release of triton is 3.11.0; the nearest final release is 3.10.0"),
        ("99", "no release of triton is 99; the nearest final release is 3.10.0"),
        ("1.9", "no release of triton is 1.9; the nearest final release is 3.2.0"),
        ("3.3.0rc1", "no release of triton is 3.3.0rc1; the nearest final release is 3.3.0"),
        ("<3", "no release of triton is <3; the final releases go from 3.2.0 to 3.10.0 (6 in all)"),
        ("latest-6", "no release of triton is latest-6; the final releases go from 3.2.0 to 3.10.0 (6 in all)"),
    ],
)
def test_a_release_that_does_not_exist_names_the_nearest(text: str, said: str) -> None:
    with pytest.raises(ResolutionError) as caught:
        Releases(Listed()).triton(Choice.parse(text))
    assert caught.value.message == said


def test_the_catalogue_is_asked_once() -> None:
    listed = Listed()
    releases = Releases(listed)
    for text in ("latest", "3.7.0", "<3.7"):
        releases.triton(Choice.parse(text))
    for triton in ("3.7.0", "3.7.0", "3.2.0", "3.2.0"):
        releases.torch(TorchWord.MATCHED, triton)
    assert listed.asked == 1
    assert listed.matched == ["3.7.0", "3.2.0"]


def test_two_ways_to_write_one_release_are_equal() -> None:
    assert Choice.parse("3.7").canonical == Choice.parse("3.7.0").canonical
    assert Choice.parse("3.10").canonical != Choice.parse("3.1").canonical
    assert Choice.parse(">=3, <4").canonical == Choice.parse("<4,>=3").canonical
    assert Choice.parse("latest").canonical == Choice.parse("latest-0").canonical
