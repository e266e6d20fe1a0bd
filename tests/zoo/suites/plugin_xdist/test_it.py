import os
def test_before(): pass
def test_dies(): os.abort()
def test_after(): pass
def test_fails(): assert not os.environ.get("PYTEST_XDIST_WORKER"), 1; assert 0
