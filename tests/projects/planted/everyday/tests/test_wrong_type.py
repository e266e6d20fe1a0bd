def scale(x):
    return x * None


def test_planted():
    assert scale(2) == 4
