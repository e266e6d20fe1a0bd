def test_first_of_session(of_session): pass
def test_last_of_session(): pass
