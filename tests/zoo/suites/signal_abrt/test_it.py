import ctypes, os, signal
def test_before(): pass
def test_dies():
    os.write(2, b"kernel.cu:7: Assertion `x < n' failed.\n"); os.abort()
def test_after(): pass
