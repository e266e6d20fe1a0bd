"""The resolver and uv against a small index on a socket: what can go wrong, and what must be said."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from runner.errors import IndexUnreachableError, ResolutionError
from runner.model.cell import PythonBuild
from runner.plan.index import PackageIndex
from runner.plan.ports import EnvironmentRequest, Resolution
from runner.plan.resolve import make_resolver
from runner.plan.wheels import Platform
from tests.integration.plan.small_index import LINUX, SmallIndex

PLATFORM = Platform("x86_64", (2, 28))


class Planner:
    """Resolves against the small index, each time as a new run with the same caches."""

    def __init__(self, index: SmallIndex, folder: Path, environ: dict[str, str]) -> None:
        self.index, self.folder, self.environ = index, folder, environ
        self.notices: list[str] = []

    def resolve(self, *requests: EnvironmentRequest, offline: bool = False, max_age: float = 0) -> list[Resolution]:
        client = PackageIndex(
            self.index.url, cache=self.folder / "index", retries=0, timeout=(5, 5), offline=offline, max_age=max_age
        )
        try:
            return list(make_resolver(client, PLATFORM, self.environ).resolve(requests))
        finally:
            self.notices = client.notices

    def pins(self, request: EnvironmentRequest, **options: bool) -> list[str]:
        (found,) = self.resolve(request, **options)
        assert found.unavailable is None
        return [pin.filename for pin in found.pins]

    def unavailable(self, request: EnvironmentRequest) -> str:
        (found,) = self.resolve(request)
        assert found.pins == ()
        assert found.unavailable is not None
        return found.unavailable


@pytest.fixture
def planner(small_index: SmallIndex, tmp_path: Path, uv_environ: dict[str, str]) -> Planner:
    for abi in ("cp313-cp313", "cp313-cp313t"):
        small_index.publish(f"triton-3.7.0-{abi}-{LINUX}.whl")
    return Planner(small_index, tmp_path, uv_environ)


def ask(
    *requirements: str,
    python: str = "3.13t",
    triton: str = "3.7.0",
    torch: str | None = None,
    **local: tuple[Path, ...],
) -> EnvironmentRequest:
    return EnvironmentRequest(PythonBuild.parse(python), triton, torch, requirements)


def test_a_pin_carries_the_wheel_of_exactly_that_interpreter(planner: Planner) -> None:
    (found,) = planner.resolve(ask())
    (pin,) = found.pins
    assert (pin.name, pin.version, pin.filename) == ("triton", "3.7.0", f"triton-3.7.0-cp313-cp313t-{LINUX}.whl")
    assert pin.size == len(planner.index.bodies[pin.filename])
    assert pin.sha256 is not None
    assert planner.pins(ask(python="3.13")) == [f"triton-3.7.0-cp313-cp313-{LINUX}.whl"]


def test_a_direct_requirement_falls_back_to_the_last_release_with_a_wheel(planner: Planner) -> None:
    for version, abi in (("1.0", "cp313t"), ("1.0", "cp313"), ("2.0", "cp313")):
        planner.index.publish(f"num-{version}-cp313-{abi}-{LINUX}.whl")
    assert f"num-1.0-cp313-cp313t-{LINUX}.whl" in planner.pins(ask("num"))
    assert f"num-2.0-cp313-cp313-{LINUX}.whl" in planner.pins(ask("num", python="3.13"))
    assert planner.unavailable(ask("num>=2")) == (
        "num 2.0 has no wheel for cp313t (it has cp313); 1.0 is the last num with cp313t wheels"
    )


def test_a_requirement_of_a_requirement_falls_back_too(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["num"])
    for version, abi in (("1.0", "cp313t"), ("1.0", "cp313"), ("2.0", "cp313"), ("3.0", "cp313")):
        planner.index.publish(f"num-{version}-cp313-{abi}-{LINUX}.whl")
    assert planner.pins(ask("top"))[:2] == [f"num-1.0-cp313-cp313t-{LINUX}.whl", "top-1.0-py3-none-any.whl"]


def test_a_requirement_of_a_requirement_that_cannot_fall_back_is_named(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["num>=2"])
    for version, abi in (("1.0", "cp313t"), ("1.0", "cp313"), ("2.0", "cp313")):
        planner.index.publish(f"num-{version}-cp313-{abi}-{LINUX}.whl")
    sentence = planner.unavailable(ask("top"))
    assert sentence.startswith(
        "num 2.0 has no wheel for cp313t (it has cp313); 1.0 is the last num with cp313t wheels; "
        "the requirements do not go together: "
    )
    assert "top" in sentence
    assert "\n" not in sentence


def test_an_older_dependent_that_does_without_is_found(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl")
    planner.index.publish("top-2.0-py3-none-any.whl", requires=["num"])
    planner.index.publish(f"num-1.0-cp313-cp313-{LINUX}.whl")
    assert planner.pins(ask("top"))[0] == "top-1.0-py3-none-any.whl"


def test_source_is_never_built(planner: Planner) -> None:
    planner.index.publish("src-1.0.tar.gz")
    assert planner.unavailable(ask("src")).startswith("src 1.0 has no wheels, only source; no release of src")


def test_source_that_a_requirement_needs_is_never_built(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["src"])
    planner.index.publish("src-1.0-py3-none-any.whl")
    planner.index.publish("src-2.0.tar.gz")
    assert planner.pins(ask("top"))[0] == "src-1.0-py3-none-any.whl"


def test_two_requirements_on_one_project_are_taken_together(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.index.publish(f"num-2.0-cp313-cp313-{LINUX}.whl")
    assert planner.unavailable(ask("num>=2", "num<3")) == (
        "num 2.0 has no wheel for cp313t (it has cp313); 1.0 is the last num with cp313t wheels"
    )


def test_a_yanked_release_is_not_taken_and_is_named_when_asked_for(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.index.publish("num-1.1-py3-none-any.whl", yanked="wrong sums")
    assert planner.pins(ask("num"))[0] == "num-1.0-py3-none-any.whl"
    assert planner.unavailable(ask("num==1.1")) == (
        "num 1.1 was yanked (wrong sums); 1.0 is the last num with cp313t wheels"
    )


def test_a_yanked_release_that_a_dependent_pins_is_named(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["num==1.1"])
    planner.index.publish("num-1.1-py3-none-any.whl", yanked="wrong sums")
    assert "num==1.1 was yanked (reason: wrong sums)" in planner.unavailable(ask("top"))


def test_requires_python_is_obeyed_and_named(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl", requires_python=">=3.9")
    planner.index.publish("num-2.0-py3-none-any.whl", requires_python=">=3.14")
    assert planner.pins(ask("num"))[0] == "num-1.0-py3-none-any.whl"
    assert planner.unavailable(ask("num>=2")).startswith("num 2.0 requires Python >=3.14; 1.0 is the last num")


def test_a_requirement_whose_marker_does_not_hold_is_not_looked_up(planner: Planner) -> None:
    assert len(planner.pins(ask("nowhere; python_version < '3.12'", "never; sys_platform == 'win32'"))) == 1


def test_torch_that_wants_another_triton_is_said_by_its_own_metadata(planner: Planner) -> None:
    planner.index.publish(f"triton-3.6.0-cp313-cp313t-{LINUX}.whl")
    planner.index.publish(f"torch-2.12.0-cp313-cp313t-{LINUX}.whl", requires=["triton==3.7.0"])
    assert planner.unavailable(ask(triton="3.6.0", torch="2.12.0")) == (
        "torch 2.12.0 requires triton==3.7.0, which excludes triton 3.6.0"
    )


def test_requirements_that_exclude_each_other_are_unavailable_and_said(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.index.publish("num-2.0-py3-none-any.whl")
    assert planner.unavailable(ask("num<2", "num>=2")) == (
        "the requirements do not go together: you require num<2 and num>=2"
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (ask(triton="3.7.5"), r"No release of triton satisfies ==3.7.5; the nearest: 3.7.0 before it"),
        (ask(triton="3.0"), r"No release of triton satisfies ==3.0; the nearest: 3.7.0 after it"),
        (ask("nowhere"), "has no project named nowhere"),
        (ask("num = 1"), "matrix: 'num = 1' is no requirement"),
    ],
)
def test_what_does_not_exist_is_an_error_in_the_matrix(
    planner: Planner, request_: EnvironmentRequest, message: str
) -> None:
    with pytest.raises(ResolutionError, match=message):
        planner.resolve(request_)


def test_a_local_project_counts_with_its_extras_and_its_requires_python(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    folder = planner.folder / "mine"
    folder.mkdir()
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "mine"\nversion = "1"\nrequires-python = ">=3.13"\n'
        '[project.optional-dependencies]\ntest = ["num"]\n'
    )
    request = EnvironmentRequest(PythonBuild.parse("3.13t"), "3.7.0", None, (), (folder,), ("[test]",))
    assert planner.pins(request)[0] == "num-1.0-py3-none-any.whl"
    old = EnvironmentRequest(PythonBuild.parse("3.12"), "3.7.0", None, (), (folder,), ("[test]",))
    assert planner.unavailable(old) == "mine requires Python >=3.13, which excludes 3.12"


def test_dynamic_dependencies_are_read_from_the_build_backend(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.index.publish("num-2.0-py3-none-any.whl")
    folder = planner.folder / "mine"
    folder.mkdir()
    (folder / "backend.py").write_text(
        "from pathlib import Path\n"
        "def get_requires_for_build_wheel(config_settings=None): return []\n"
        "def prepare_metadata_for_build_wheel(folder, config_settings=None):\n"
        "    info = Path(folder, 'mine-1.dist-info'); info.mkdir()\n"
        "    needs = Path('needs.txt').read_text()\n"
        "    (info / 'METADATA').write_text('Metadata-Version: 2.2\\nName: mine\\nVersion: 1\\n'"
        "f'Requires-Dist: {needs}\\n')\n"
        "    return info.name\n"
        "def build_wheel(*args, **kwargs): raise SystemExit('only metadata is needed')\n"
        "def build_sdist(*args, **kwargs): raise SystemExit('only metadata is needed')\n"
    )
    (folder / "needs.txt").write_text("num<2")
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "mine"\nversion = "1"\ndynamic = ["dependencies"]\n'
    )
    request = EnvironmentRequest(PythonBuild.parse("3.13t"), "3.7.0", None, (), (folder,))
    assert planner.pins(request) == ["num-1.0-py3-none-any.whl", f"triton-3.7.0-cp313-cp313t-{LINUX}.whl"]
    (folder / "needs.txt").write_text("num>=2")
    assert planner.pins(request)[0] == "num-2.0-py3-none-any.whl"
    (folder / "backend.py").write_text("raise RuntimeError('torch must be installed first')\n")
    with pytest.raises(ResolutionError, match="torch must be installed first") as caught:
        planner.resolve(request)
    assert "pyproject.toml, not dynamically" in caught.value.remedy


def test_an_index_that_fails_is_never_no_wheel(planner: Planner) -> None:
    planner.index.answers["/simple/num/"] = (500, "text/plain", b"")
    with pytest.raises(IndexUnreachableError, match="could not be asked for num: it answered 500"):
        planner.resolve(ask("num"))


def test_an_index_that_fails_uv_alone_is_never_no_wheel(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["deep"])
    planner.index.answers["/simple/deep/"] = (500, "text/plain", b"")
    with pytest.raises(IndexUnreachableError, match=r"uv could not resolve .*top"):
        planner.resolve(ask("top"))


def test_one_failure_stops_all_requests(planner: Planner) -> None:
    planner.index.answers["/simple/num/"] = (500, "text/plain", b"")
    with pytest.raises(IndexUnreachableError):
        planner.resolve(*(ask("num", f"triton>=3.{minor}") for minor in range(7)))
    assert [thread for thread in threading.enumerate() if thread.name.startswith("ThreadPool")] == []


def test_the_second_run_asks_uv_for_nothing(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    first = planner.resolve(ask("num"), ask("num", python="3.13"))
    shutil.rmtree(planner.folder / "index" / "uv")
    asked = len(planner.index.requests)
    assert planner.resolve(ask("num"), ask("num", python="3.13"), max_age=600) == first
    assert planner.index.requests[asked:] == []


def test_offline_gives_the_same_answer_when_the_index_is_gone(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.index.publish("num-2.0-py3-none-any.whl")
    requests = (ask("num"), ask("num", python="3.13"), ask("num<2", "num>=2"), ask(python="3.12"))
    first = planner.resolve(*requests)
    planner.index.stop()
    assert planner.resolve(*requests, offline=True) == first
    assert planner.notices == []
    assert planner.resolve(*requests) == first
    assert any("Cached pages are used instead" in notice for notice in planner.notices)


def test_offline_without_what_is_needed_says_so(planner: Planner) -> None:
    with pytest.raises(IndexUnreachableError, match="Offline, and the cache holds no page of the project triton"):
        planner.resolve(ask(), offline=True)


def test_a_new_release_makes_the_resolution_anew(planner: Planner) -> None:
    planner.index.publish("num-1.0-py3-none-any.whl")
    assert planner.pins(ask("num"))[0] == "num-1.0-py3-none-any.whl"
    planner.index.publish("num-1.1-py3-none-any.whl")  # uv has the page without it in its cache
    assert planner.pins(ask("num"))[0] == "num-1.1-py3-none-any.whl"


def test_a_new_release_of_a_requirement_of_a_requirement_counts_too(planner: Planner) -> None:
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["num"])
    planner.index.publish("num-1.0-py3-none-any.whl")
    assert planner.pins(ask("top"))[0] == "num-1.0-py3-none-any.whl"
    planner.index.publish("num-1.1-py3-none-any.whl")
    assert planner.pins(ask("top"))[0] == "num-1.1-py3-none-any.whl"


def test_a_new_release_counts_where_only_a_later_request_of_the_run_needs_the_project(planner: Planner) -> None:
    planner.index.publish(f"triton-3.7.0-cp312-cp312-{LINUX}.whl")
    planner.index.publish("top-1.0-py3-none-any.whl", requires=["num; python_version >= '3.13'"])
    planner.index.publish("num-1.0-py3-none-any.whl")
    planner.resolve(ask("top"))
    planner.index.publish("num-1.1-py3-none-any.whl")
    client = PackageIndex(planner.index.url, cache=planner.folder / "index", retries=0, max_age=0)
    resolver = make_resolver(client, PLATFORM, planner.environ)
    resolver.resolve([ask("top", python="3.12")])
    (found,) = resolver.resolve([ask("top")])
    assert found.pins[0].filename == "num-1.1-py3-none-any.whl"


@pytest.mark.parametrize("damage", ["", "{", '{"schema": "triton-compat/resolution/1"}', "[]"])
def test_a_damaged_entry_is_made_anew(planner: Planner, damage: str) -> None:
    first = planner.resolve(ask())
    (path,) = (planner.folder / "index" / "resolutions-1").iterdir()
    path.write_text(damage)
    assert planner.resolve(ask()) == first
    assert path.read_text() != damage
