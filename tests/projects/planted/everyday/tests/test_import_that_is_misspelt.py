import jsonn


def test_planted():
    assert jsonn
