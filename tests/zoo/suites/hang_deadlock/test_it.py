import ctypes, os, signal, threading
def test_before(): pass
def test_hangs():

    a, b, ready = threading.Lock(), threading.Lock(), threading.Barrier(2)
    def take(first, second):
        with first:
            ready.wait()
            with second: pass
    threading.Thread(target=take, args=(b, a), daemon=True).start()
    take(a, b)
def test_after(): pass
