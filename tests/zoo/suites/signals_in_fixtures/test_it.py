import signal, pytest
SIGNALS = ["SIGABRT", "SIGBUS", "SIGFPE", "SIGILL"]
@pytest.fixture
def dies_before(name):
    signal.raise_signal(getattr(signal, name))
@pytest.fixture
def dies_after(name):
    yield
    signal.raise_signal(getattr(signal, name))
@pytest.mark.parametrize("name", SIGNALS)
def test_setup(dies_before): pass
@pytest.mark.parametrize("name", SIGNALS)
def test_teardown(dies_after): pass
def test_after(): pass
