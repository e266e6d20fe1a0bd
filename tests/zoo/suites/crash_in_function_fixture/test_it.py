import ctypes, pytest
@pytest.fixture(scope="function")
def killer():
    ctypes.string_at(0)
def test_before(): pass
def test_dies(killer): pass
def test_after(): pass
