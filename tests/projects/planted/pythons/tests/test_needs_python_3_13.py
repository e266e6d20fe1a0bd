import copy
from typing import NamedTuple


class Block(NamedTuple):
    size: int


def test_planted():
    assert copy.replace(Block(64), size=128).size == 128
