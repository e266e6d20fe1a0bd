def test_planted():
    assert sum([1, 2]) == 4
