import ctypes


def test_planted():
    assert ctypes.CDLL("libnvshmem_host.so.3")
