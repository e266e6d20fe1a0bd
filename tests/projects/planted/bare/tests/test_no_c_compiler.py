def test_planted():
    from triton.backends.nvidia.driver import CudaUtils

    assert CudaUtils()
