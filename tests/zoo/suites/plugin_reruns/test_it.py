import os
SEEN = []
def test_flaky():
    SEEN.append(1)
    assert len(SEEN) > 1
def test_dies(): os.abort()
def test_after(): pass
