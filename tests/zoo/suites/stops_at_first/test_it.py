def test_a(): assert 0
def test_b(): pass
def test_c(): assert 0
def test_d(): pass
