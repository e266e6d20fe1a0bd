import ctypes, pytest
def killer():
    yield
    ctypes.string_at(0)
of_class = pytest.fixture(scope="class")(killer)
of_module = pytest.fixture(scope="module")(killer)
of_session = pytest.fixture(scope="session")(killer)
