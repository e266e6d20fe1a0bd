import ctypes, os, signal
def test_before(): pass
def test_dies():
    ctypes.string_at(0)
def test_after(): pass
