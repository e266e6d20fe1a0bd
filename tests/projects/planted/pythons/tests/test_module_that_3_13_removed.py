import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import imghdr


def test_planted():
    assert imghdr.what(None, b"\x89PNG\r\n\x1a\n") == "png"
