import atexit, ctypes
atexit.register(ctypes.string_at, 0)
def test_fine(): pass
