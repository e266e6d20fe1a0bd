import os


def test_planted():
    os._exit(3)
