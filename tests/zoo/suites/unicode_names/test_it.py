def test_ä(): pass
def test_after(): pass
