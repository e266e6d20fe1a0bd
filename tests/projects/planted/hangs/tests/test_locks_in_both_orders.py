import threading


def test_planted():
    kernels, buffers = threading.Lock(), threading.Lock()
    both_hold_one = threading.Barrier(2)

    def take(first, second):
        with first:
            both_hold_one.wait()
            with second:
                pass

    other = threading.Thread(target=take, args=(buffers, kernels), daemon=True)
    other.start()
    take(kernels, buffers)
