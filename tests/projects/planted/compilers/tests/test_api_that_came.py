def test_planted():
    import triton.language as tl

    assert tl.make_tensor_descriptor
