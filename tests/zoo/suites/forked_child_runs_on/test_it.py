import os
def test_forks():
    os.fork()  # the child returns from this test and goes on with the session as if it were the worker
def test_after(): pass
