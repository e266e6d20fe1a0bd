import ctypes, mmap, os, platform, signal
CODE = {"x86_64": bytes.fromhex("0f0bc3")}
def test_before(): pass
def test_dies():
    """The processor itself objects to an instruction that does not exist; where we know no such instruction the signal is sent."""
    code = CODE.get(platform.machine())
    if code is None:
        os.kill(os.getpid(), signal.SIGILL)
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
def test_after(): pass
