class TestClass:
    def test_first_of_class(self, of_class): pass
    def test_last_of_class(self): pass
def test_after_class(): pass
