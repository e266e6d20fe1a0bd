import threading, pytest
@pytest.fixture
def slow():
    yield
    threading.Event().wait()
def test_hangs(slow): pass
def test_after(): pass
