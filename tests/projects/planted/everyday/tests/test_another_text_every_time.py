import os


def test_planted():
    raise RuntimeError("".join(chr(97 + byte % 26) for byte in os.urandom(12)))
