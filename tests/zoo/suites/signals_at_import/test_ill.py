import signal; signal.raise_signal(signal.SIGILL)
def test_x(): pass
