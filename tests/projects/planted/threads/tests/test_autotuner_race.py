import threading

import triton
import triton.language as tl

waiting = threading.Event()


def benchmark(call, quantiles=None, **_):
    waiting.wait(0.001)
    return [1.0, 1.0, 1.0]


@triton.jit
def kernel(x_ptr, size, BLOCK: tl.constexpr):
    tl.store(x_ptr, size)


def test_planted():
    configs = [triton.Config({"BLOCK": 32 << i}) for i in range(3)]
    tuned = triton.autotune(configs, key=["size"], do_bench=benchmark)(kernel)
    kernel.run = lambda *_, **__: None
    start, errors = threading.Barrier(8), []

    def call(index):
        start.wait()
        try:
            for size in range(8):
                tuned[(1,)](None, 100 * index + size)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
