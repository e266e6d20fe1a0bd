def test_loud():
    print("y" * 50_000_000)
    assert False
def test_after(): pass
