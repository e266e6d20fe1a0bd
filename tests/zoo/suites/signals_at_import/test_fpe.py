import signal; signal.raise_signal(signal.SIGFPE)
def test_x(): pass
