def test_first_of_module(of_module): pass
def test_last_of_module(): pass
