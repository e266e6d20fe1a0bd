import ctypes, pytest
@pytest.fixture(scope="package")
def of_package():
    yield
    ctypes.string_at(0)
