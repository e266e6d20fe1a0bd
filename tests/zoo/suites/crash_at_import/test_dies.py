import ctypes; ctypes.string_at(0)
def test_x(): pass
