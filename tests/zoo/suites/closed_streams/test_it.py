import os
def test_closes():
    os.close(0)
    os.close(1)
    os.close(2)
def test_after(): pass
