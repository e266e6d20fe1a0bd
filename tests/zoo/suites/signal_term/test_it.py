import ctypes, os, signal
def test_before(): pass
def test_dies():
    os.kill(os.getpid(), signal.SIGTERM)
def test_after(): pass
