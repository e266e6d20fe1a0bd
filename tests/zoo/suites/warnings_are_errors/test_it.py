import threading, warnings, pytest
def test_warns(): warnings.warn("beware")
@pytest.fixture
def warning(): warnings.warn("beware")
def test_fixture_warns(warning): pass
def test_thread_raises():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
def test_after(): pass
