import ctypes, os, signal, threading
def test_before(): pass
def test_hangs():

    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True: pass
def test_after(): pass
