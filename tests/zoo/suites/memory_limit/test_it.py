import threading
def test_before(): pass
def test_takes_much():
    much = [b"x" * 20_000_000 for _ in range(30)]
    threading.Event().wait()
    assert much
def test_after(): pass
