import ctypes, pytest
@pytest.fixture
def killer():
    yield
    ctypes.string_at(0)
def test_dies(killer): pass
def test_after(): pass
