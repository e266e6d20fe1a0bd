import ctypes, threading
def test_before(): pass
def test_dies():
    thread = threading.Thread(target=ctypes.string_at, args=(0,))
    thread.start()
    thread.join()
def test_after(): pass
