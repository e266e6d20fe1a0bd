import unittest
class T(unittest.TestCase):
    def test_u(self): pass
    def test_f(self): self.fail("no")
    @unittest.skip("why")
    def test_s(self): pass
    @unittest.expectedFailure
    def test_x(self): self.fail()
