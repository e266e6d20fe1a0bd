import ctypes, os, signal, threading
def test_before(): pass
def test_hangs():

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True: pass
def test_after(): pass
