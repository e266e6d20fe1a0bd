"""Six tests in this order: two that end their process stand among four that pass."""

import ctypes
import os


def test_1_passes():
    assert 1 + 1 == 2


def test_2_passes():
    assert "a" < "b"


def test_3_segfaults():
    ctypes.string_at(0)


def test_4_passes():
    assert [*range(3)] == [0, 1, 2]


def test_5_exits_with_status_0():
    # To whoever looks at the exit status alone, this run was a success.
    os._exit(0)


def test_6_passes():
    assert not []
