"""What the real package index says today about releases that exist and do not change."""

from __future__ import annotations

import os

import pytest

from runner.model.cell import PythonBuild
from runner.plan.catalogue import make_catalogue
from runner.plan.index import PackageIndex, index_url
from runner.plan.ports import EnvironmentRequest, Resolution
from runner.plan.resolve import make_resolver
from runner.plan.wheels import Platform

pytestmark = pytest.mark.network
PLATFORM = Platform("x86_64", (2, 34))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> PackageIndex:
    return PackageIndex(index_url(os.environ), cache=tmp_path_factory.mktemp("index"))


def resolve(index: PackageIndex, *requests: EnvironmentRequest) -> tuple[Resolution, ...]:
    return make_resolver(index, PLATFORM).resolve(requests)


def ask(python: str, triton: str, *requirements: str, torch: str | None = None) -> EnvironmentRequest:
    return EnvironmentRequest(PythonBuild.parse(python), triton, torch, requirements)


def test_torch_releases_belong_to_triton_releases(index: PackageIndex) -> None:
    catalogue = make_catalogue(index, PLATFORM)
    pairs = {
        "3.2.0": "2.6.0",
        "3.3.0": "2.7.0",
        "3.3.1": "2.7.1",
        "3.4.0": "2.8.0",
        "3.5.0": "2.9.0",
        "3.5.1": "2.9.1",
        "3.6.0": "2.11.0",
        "3.7.0": "2.12.0",
        "3.7.1": "2.13.0",
        "1.0.0": None,
    }
    assert {triton: catalogue.torch_matching(triton) for triton in pairs} == pairs
    # torch 2.14 and later accept a line of Triton (~=3.8.0): a later patch release of torch may join
    assert (catalogue.torch_matching("3.8.0") or "").startswith("2.14.")
    assert (catalogue.torch_matching("3.9.0") or "").startswith("2.15.")


def test_releases_are_oldest_first(index: PackageIndex) -> None:
    releases = make_catalogue(index, PLATFORM).triton_releases()
    known = ["3.2.0", "3.3.0", "3.3.1", "3.4.0", "3.5.0", "3.5.1", "3.6.0", "3.7.0", "3.7.1", "3.8.0", "3.9.0"]
    start = releases.index("3.2.0")
    assert [release for release in releases[start:] if release in known] == known


@pytest.mark.parametrize(
    ("python", "triton", "abi"),
    [
        ("3.13t", "3.3.1", "cp313-cp313t"),
        ("3.13t", "3.7.0", "cp313-cp313t"),
        ("3.13", "3.7.0", "cp313-cp313"),
        ("3.14t", "3.9.0", "cp314-cp314t"),
        ("3.15t", "3.9.0", "cp315-cp315t"),
        ("3.12", "3.9.0", "cp312-abi3"),
        ("3.14", "3.9.0", "cp312-abi3"),
        ("3.11", "3.9.0", "cp311-cp311"),
    ],
)
def test_triton_is_pinned_for_exactly_the_build(index: PackageIndex, python: str, triton: str, abi: str) -> None:
    (found,) = resolve(index, ask(python, triton))
    pins = {pin.name: pin for pin in found.pins}
    assert pins["triton"].filename.startswith(f"triton-{triton}-{abi}-manylinux")
    assert pins["triton"].size is not None
    assert len(pins["triton"].sha256 or "") == 64


@pytest.mark.parametrize(
    ("python", "triton", "start"),
    [
        ("3.13t", "3.9.0", "triton 3.9.0 has no wheel for cp313t (it has cp314t, cp315t, cp311, cp312-abi3); 3.7.0 "),
        (
            "3.14",
            "3.2.0",
            "triton 3.2.0 has no wheel for cp314 (it has cp39, cp310, cp311, cp312, cp313); 3.5.0 is the ",
        ),
        ("3.15t", "3.7.0", "triton 3.7.0 requires Python <3.15,>=3.10; 3.9.0 is the first triton with cp315t wheels"),
    ],
)
def test_a_missing_triton_is_explained(index: PackageIndex, python: str, triton: str, start: str) -> None:
    (found,) = resolve(index, ask(python, triton))
    assert (found.unavailable or "").startswith(start)


def test_numpy_for_3_13t_is_the_last_with_a_wheel(index: PackageIndex) -> None:
    unpinned, pinned = resolve(index, ask("3.13t", "3.7.0", "numpy"), ask("3.13t", "3.7.0", "numpy==2.5.0"))
    (numpy,) = (pin for pin in unpinned.pins if pin.name == "numpy")
    assert numpy.filename.startswith("numpy-2.4.")
    assert "-cp313-cp313t-" in numpy.filename
    assert pinned.unavailable is not None
    assert pinned.unavailable.startswith("numpy 2.5.0 has no wheel for cp313t (it has ")
    assert pinned.unavailable.endswith(f"; {numpy.version} is the last numpy with cp313t wheels")


def test_torch_on_3_13t_is_pinned_with_all_that_it_needs(index: PackageIndex) -> None:
    (found,) = resolve(index, ask("3.13t", "3.7.0", torch="2.12.0"))
    names = {pin.name: pin.filename for pin in found.pins}
    assert names["torch"] == "torch-2.12.0-cp313-cp313t-manylinux_2_28_x86_64.whl"
    assert {"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "sympy", "triton"} <= set(names)
    markupsafe = names["markupsafe"]  # its newest release has no cp313t wheel
    assert "-cp313-cp313t-" in markupsafe


def test_the_last_answer_stands_without_a_network(index: PackageIndex) -> None:
    requests = (ask("3.13t", "3.7.0", "numpy"), ask("3.13t", "3.9.0"))
    first = resolve(index, *requests)
    offline = PackageIndex(index.url, cache=index.cache_folder, offline=True)
    assert resolve(offline, *requests) == first
