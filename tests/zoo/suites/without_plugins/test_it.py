import ctypes
def test_before(): pass
def test_dies(): ctypes.string_at(0)
def test_hangs():
    while True: pass
def test_after(): pass
