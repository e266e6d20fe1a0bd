import os, pytest
@pytest.mark.parametrize("n", range(10000))
def test_many(n):
    if n == 7000:
        os.abort()
