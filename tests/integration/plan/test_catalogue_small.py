"""The catalogue against a small index on a socket."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import IndexUnreachableError
from runner.plan.catalogue import IndexCatalogue, make_catalogue
from runner.plan.index import PackageIndex
from runner.plan.wheels import Platform
from tests.integration.plan.small_index import LINUX, SmallIndex, make_wheel


def catalogue(
    small_index: SmallIndex, folder: Path, *, offline: bool = False, machine: str = "x86_64"
) -> IndexCatalogue:
    index = PackageIndex(small_index.url, cache=folder, retries=0, timeout=(5, 5), offline=offline, max_age=0)
    return make_catalogue(index, Platform(machine, (2, 28)))


def test_releases_are_final_have_a_wheel_here_and_are_not_wholly_yanked(
    small_index: SmallIndex, tmp_path: Path
) -> None:
    for version in ("3.10.0", "3.9.0", "4.0.0rc1", "4.0.0.dev3", "3.8.0+local"):
        small_index.publish(f"triton-{version}-cp313-cp313-{LINUX}.whl")
    small_index.publish("triton-3.7.0.tar.gz")
    small_index.publish("triton-3.6.0-cp313-cp313-win_amd64.whl")
    small_index.publish(f"triton-3.5.0-cp313-cp313-{LINUX}.whl", yanked=True)
    small_index.publish(f"triton-3.4.0-cp313-cp313-{LINUX}.whl", yanked=True)
    small_index.publish(f"triton-3.4.0-cp313-cp313t-{LINUX}.whl")
    small_index.publish("triton-3.3.0-cp313-cp313-manylinux_2_17_aarch64.whl")
    assert catalogue(small_index, tmp_path).triton_releases() == ("3.4.0", "3.9.0", "3.10.0")
    assert catalogue(small_index, tmp_path, machine="aarch64").triton_releases() == ("3.3.0",)


def publish_torches(small_index: SmallIndex) -> None:
    for version, requires in {
        "2.11.0": "triton==3.6.0",
        "2.12.0": "triton==3.7.0; platform_system == 'Linux'",
        "2.12.1": "triton==3.7.0; platform_system == 'Linux'",
        "2.13.0": "triton==3.7.0; platform_system == 'Windows'",
        "2.14.0": "triton~=3.8.0",
    }.items():
        small_index.publish(f"torch-{version}-cp313-cp313-{LINUX}.whl", requires=[requires])


def test_the_newest_torch_that_asks_for_a_triton_is_read_from_wheels_and_kept(
    small_index: SmallIndex, tmp_path: Path
) -> None:
    publish_torches(small_index)
    found = catalogue(small_index, tmp_path)
    wanted = ("3.6.0", "3.7.0", "3.8.0", "3.8.1", "3.9.0")
    expected = ["2.11.0", "2.12.1", "2.14.0", "2.14.0", None]
    assert [found.torch_matching(triton) for triton in wanted] == expected
    downloads = [status for path, status in small_index.requests if path.startswith("/files/")]
    assert set(downloads) == {206}
    small_index.stop()
    again = catalogue(small_index, tmp_path, offline=True)
    assert [again.torch_matching(triton) for triton in wanted] == expected


def test_a_wheel_that_was_replaced_is_read_again(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.publish(f"torch-2.0-cp313-cp313-{LINUX}.whl", requires=["triton==3.6.0"])
    assert catalogue(small_index, tmp_path).torch_matching("3.6.0") == "2.0"
    small_index.pages.clear()
    small_index.publish(f"torch-2.0-cp313-cp313-{LINUX}.whl", requires=["triton==3.7.0"])
    assert catalogue(small_index, tmp_path).torch_matching("3.6.0") is None


def test_metadata_that_the_index_serves_on_its_own_is_preferred(small_index: SmallIndex, tmp_path: Path) -> None:
    name = f"torch-2.0-cp313-cp313-{LINUX}.whl"
    small_index.publish(name)
    small_index.pages["torch"][0]["core-metadata"] = True
    text = b"Metadata-Version: 2.1\nName: torch\nVersion: 2.0\nRequires-Dist: triton==3.6.0\n"
    small_index.answers[f"/files/{name}.metadata"] = (200, "text/plain", text)
    assert catalogue(small_index, tmp_path).torch_matching("3.6.0") == "2.0"
    assert [path for path, _ in small_index.requests if path.endswith(".whl")] == []


@pytest.mark.parametrize("body", [b"not a zip archive", make_wheel("other-1.0-py3-none-any.whl", (), None)])
def test_a_wheel_that_cannot_be_read_is_an_error_that_names_it(
    small_index: SmallIndex, tmp_path: Path, body: bytes
) -> None:
    publish_torches(small_index)
    small_index.bodies[f"torch-2.14.0-cp313-cp313-{LINUX}.whl"] = body
    with pytest.raises(IndexUnreachableError, match=r"The metadata of torch-2\.14\.0-cp313-cp313-.* could not be read"):
        catalogue(small_index, tmp_path).torch_matching("3.6.0")


def test_offline_without_the_metadata_says_so(small_index: SmallIndex, tmp_path: Path) -> None:
    publish_torches(small_index)
    catalogue(small_index, tmp_path).torch_releases()
    with pytest.raises(IndexUnreachableError, match="the cache does not say which Triton torch"):
        catalogue(small_index, tmp_path, offline=True).torch_matching("3.6.0")
