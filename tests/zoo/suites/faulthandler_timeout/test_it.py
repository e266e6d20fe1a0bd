def test_before(): pass
def test_hangs():
    while True: pass
def test_after(): pass
