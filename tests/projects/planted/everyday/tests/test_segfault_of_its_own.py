import ctypes


def test_planted():
    ctypes.string_at(0)
