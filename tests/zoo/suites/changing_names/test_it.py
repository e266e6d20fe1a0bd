import os, pytest
def test_a(): pass
def test_dies(): os.abort()
@pytest.mark.parametrize("x", [1], ids=[f"pid-{os.getpid()}"])
def test_named_by_chance(x): pass
