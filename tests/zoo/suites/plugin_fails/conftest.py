import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if item.name == "test_b":
        raise RuntimeError("a bug of a plugin")
