from kernels import launch, synchronize


def test_planted():
    launch("do_illegal")
    synchronize()
