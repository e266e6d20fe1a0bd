import ctypes, os, signal
def test_before(): pass
def test_dies():
    os.kill(os.getpid(), signal.SIGBUS)
def test_after(): pass
