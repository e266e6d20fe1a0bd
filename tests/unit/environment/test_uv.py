import pytest

from runner.environment.uv import uv_environ


def test_sources_pass_and_switches_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    passing = {
        "UV_DEFAULT_INDEX": "https://index.example/simple",
        "UV_INDEX_PRIVATE_PASSWORD": "secret",
        "UV_CACHE_DIR": "/cache",
        "HTTPS_PROXY": "http://proxy.example",
    }
    for name, value in passing.items():
        monkeypatch.setenv(name, value)
    stopped = ("UV_OVERRIDE", "UV_NO_BINARY", "UV_PYTHON", "PYTHON_GIL", "PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET")
    for name in stopped:
        monkeypatch.setenv(name, "x")
    environ = uv_environ()
    assert passing.items() <= environ.items()
    assert not environ.keys() & set(stopped)


def test_an_index_named_for_pip_alone_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UV_DEFAULT_INDEX", raising=False)
    monkeypatch.delenv("UV_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", "https://pip.example/simple")
    assert uv_environ()["UV_DEFAULT_INDEX"] == "https://pip.example/simple"
    monkeypatch.setenv("UV_INDEX_URL", "https://uv.example/simple")
    assert "UV_DEFAULT_INDEX" not in uv_environ()
