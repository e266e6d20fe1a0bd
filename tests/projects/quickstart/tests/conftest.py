"""Fixtures of all tests."""

import pytest
from sm90 import missing_for_gpu_tests


@pytest.fixture(scope="session")
def gpu():
    """The device that the kernels run on; skips where there is no SM90 GPU, and says what is missing."""
    if missing := missing_for_gpu_tests():
        pytest.skip(missing)
    return "cuda"
