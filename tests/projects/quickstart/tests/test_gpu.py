"""The kernels on a real SM90 GPU, against torch."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import tinykernels
from tinykernels.layer_norm import layer_norm_kernel

THREADS = 8


@pytest.fixture(scope="module")
def torch(gpu):
    """torch, where the kernels can run; with fixed random numbers."""
    import torch

    torch.manual_seed(0)
    return torch


@pytest.mark.parametrize("size", [1, 1023, 1024, 100_003])
def test_add(torch, gpu, size):
    x, y = torch.randn(2, size, device=gpu)
    torch.testing.assert_close(tinykernels.add(x, y), x + y, rtol=0, atol=0)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (37, 781), (4, 4096)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_softmax(torch, gpu, rows, columns, dtype):
    x = torch.randn(rows, columns, device=gpu, dtype=getattr(torch, dtype))
    torch.testing.assert_close(tinykernels.softmax(x), torch.softmax(x, dim=1))


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (100, 130, 70), (512, 384, 1024)])
def test_matmul(torch, gpu, m, n, k):
    a = torch.randn(m, k, device=gpu, dtype=torch.float16)
    b = torch.randn(k, n, device=gpu, dtype=torch.float16)
    expected = (a.double() @ b.double()).half()
    torch.testing.assert_close(tinykernels.matmul(a, b), expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("rows", "columns"), [(1, 64), (33, 1000), (16, 5000)])
def test_layer_norm(torch, gpu, rows, columns):
    x = torch.randn(rows, columns, device=gpu) * 3 + 1
    weight, bias = torch.randn(2, columns, device=gpu)
    expected = torch.nn.functional.layer_norm(x, (columns,), weight, bias)
    torch.testing.assert_close(tinykernels.layer_norm(x, weight, bias), expected, rtol=1e-4, atol=1e-4)
    assert layer_norm_kernel.best_config in layer_norm_kernel.configs


@pytest.mark.parametrize("bins", [1, 10, 1000])
def test_histogram(torch, gpu, bins):
    values = torch.randint(-1, bins + 1, (100_003,), device=gpu, dtype=torch.int32)
    inside = values[(values >= 0) & (values < bins)]
    expected = torch.bincount(inside, minlength=bins).int()
    torch.testing.assert_close(tinykernels.histogram(values, bins), expected, rtol=0, atol=0)


def test_threads_launch_together(torch, gpu):
    inputs = [torch.randn(2, 1000 + thread, device=gpu) for thread in range(THREADS)]
    barrier = threading.Barrier(THREADS)

    def add_often(pair):
        barrier.wait()
        return [tinykernels.add(*pair) for _ in range(50)]

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(add_often, inputs))
    for (x, y), sums in zip(inputs, results):
        for total in sums:
            torch.testing.assert_close(total, x + y, rtol=0, atol=0)
