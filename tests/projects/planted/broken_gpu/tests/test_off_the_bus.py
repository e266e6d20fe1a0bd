import os


def test_planted():
    with open(os.environ["STUB_MACHINE"], "a") as machine:  # the stub's way of losing the GPU
        machine.write("xid 79\n")
    raise RuntimeError("GPU is lost")
