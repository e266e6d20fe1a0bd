import ctypes, mmap, os, platform, signal
CODE = {"x86_64": bytes.fromhex("31d231c931c0f7f1c3")}
def test_before(): pass
def test_dies():
    """The processor itself objects to a division by zero; where we know no such instruction the signal is sent."""
    code = CODE.get(platform.machine())
    if code is None:
        os.kill(os.getpid(), signal.SIGFPE)
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
def test_after(): pass
