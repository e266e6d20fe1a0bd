import os, pytest
@pytest.mark.parametrize("n", range(3000))
def test_many(n):
    if n == 2000:
        os.abort()
