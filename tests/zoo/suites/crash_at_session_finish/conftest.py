import ctypes
def pytest_sessionfinish():
    ctypes.string_at(0)
