import ctypes, os, signal
def test_child():
    pid = os.fork()
    if not pid:
        ctypes.string_at(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGSEGV
def test_after(): pass
