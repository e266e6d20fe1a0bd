"""Fixtures of all tests."""

import pytest
from sm90 import missing_for_gpu_tests


@pytest.fixture(scope="session")
def gpu():
    """The device that the kernels run on; skips where there is no SM90 GPU, and says what is missing."""
    if missing := missing_for_gpu_tests():
        pytest.skip(missing)
    return "cuda"


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """A Triton cache of this test's own, so that the compiler really runs. Yields its folder."""
    cache = tmp_path / "triton-cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(cache))
    return cache
