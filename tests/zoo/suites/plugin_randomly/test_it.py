import os, random, pytest
@pytest.mark.parametrize("n", range(40))
def test_n(n):
    random.random()
    if n in (7, 23):
        os._exit(0)
