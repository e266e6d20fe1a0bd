import os, pytest
@pytest.mark.parametrize("x", ["a b", "x[1]", "line\nbreak", "a::b", "same"])
def test_p(x):
    if x == "a::b":
        os.abort()
def test_last(): pass
