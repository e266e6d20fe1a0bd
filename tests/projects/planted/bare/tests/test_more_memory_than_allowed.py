def test_planted():
    held = []
    while len(held) < 64:
        held.append(b"x" * (64 << 20))
    assert held
