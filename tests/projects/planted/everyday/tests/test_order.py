state = []


def test_leaves_something_behind():
    state.append(1)


def test_planted():
    assert not state, "somebody was here before"
