import os
def test_loud():
    block = b"x" * 1048576
    for _ in range(1024):
        os.write(1, block)
def test_after(): pass
