import einops


def test_planted():
    assert einops
