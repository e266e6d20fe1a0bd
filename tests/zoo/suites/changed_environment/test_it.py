import os
def test_clears():
    os.environ.clear()
def test_dies(): os.abort()
def test_after(): assert "TRITON_CACHE_DIR" in os.environ
