import signal; signal.raise_signal(signal.SIGABRT)
def test_x(): pass
