def test_a(): pass
def test_b(): pass
def test_c(): pass
