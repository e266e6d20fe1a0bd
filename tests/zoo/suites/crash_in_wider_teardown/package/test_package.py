def test_first_of_package(of_package): pass
def test_last_of_package(): pass
