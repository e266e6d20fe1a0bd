"""A file of its own that has nothing to do with the helper, and must keep its result."""


def test_arithmetic():
    assert 6 * 7 == 42
