import ctypes, os, signal, threading
def test_before(): pass
def test_hangs():
    ctypes.PyDLL(None).pause()
def test_after(): pass
