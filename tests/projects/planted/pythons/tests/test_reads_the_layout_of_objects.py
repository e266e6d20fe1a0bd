"""The first field of an object is its reference count, but not in a free-threaded build."""

import ctypes
import sys


def test_planted():
    thing = []
    seen = ctypes.c_ssize_t.from_address(id(thing)).value
    counted = sys.getrefcount(thing) - 1  # without its own argument
    assert seen == counted
