import ctypes, os, signal
def test_before(): pass
def test_dies():
    os.kill(os.getpid(), signal.SIGFPE)
def test_after(): pass
