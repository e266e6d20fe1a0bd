def test_planted():
    from triton.compiler.compiler import AttrsDescriptor

    assert AttrsDescriptor
