def test_raises(): raise MemoryError
def test_after(): pass
