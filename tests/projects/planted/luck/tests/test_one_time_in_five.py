"""Fails in 20 % of its runs, by a sequence of draws that is the same whenever the sequence is begun anew."""

import fcntl
import hashlib
import pathlib

DRAWN = pathlib.Path(__file__).with_name("drawn")


def draw():
    with DRAWN.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        number = file.tell()
        file.write(b".")
    return hashlib.sha256(b"2255 %d" % number).digest()[0] / 256


def test_planted():
    assert draw() >= 0.2, "bad luck"
