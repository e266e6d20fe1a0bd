import signal; signal.raise_signal(signal.SIGBUS)
def test_x(): pass
