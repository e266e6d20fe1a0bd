"""Ways to fail on an SM90 GPU, each with one cause: see the README."""

import os
import threading

import pytest
import torch
import triton
import triton.language as tl


@triton.jit
def add_one(x_ptr, y_ptr, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < size) + 1, mask=at < size)


@triton.jit
def store_far(x_ptr, distance, BLOCK: tl.constexpr):
    tl.store(x_ptr + distance.to(tl.int64) * 4096 + tl.arange(0, BLOCK), 1.0)


@triton.jit
def multiply(a_ptr, b_ptr, c_ptr, count, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for step in range(count):
        a = tl.load(a_ptr + step * SIZE + rows * SIZE * count + columns)
        b = tl.load(b_ptr + step * SIZE * SIZE + rows * SIZE + columns)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows * SIZE + columns, total)


@triton.jit
def multiply_by_sums(a_ptr, b_ptr, c_ptr, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    a, b = tl.load(a_ptr + rows * SIZE + columns), tl.load(b_ptr + rows * SIZE + columns)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    total += tl.sum(a[:, :, None] * b[None, :, :], 1)
    tl.store(c_ptr + rows * SIZE + columns, total)


@triton.jit
def check(x_ptr):
    tl.device_assert(tl.load(x_ptr) > 0, "not positive")


@triton.jit
def wait_for(flag_ptr):
    while tl.atomic_add(flag_ptr, 0) == 0:
        pass


@pytest.fixture
def x():
    return torch.arange(1000, dtype=torch.float32, device="cuda")


def test_passes(x):
    y = torch.empty_like(x)
    add_one[(8,)](x, y, x.numel(), BLOCK=128)
    assert torch.equal(y, x + 1)


def test_wrong_numbers(x):
    y = torch.zeros_like(x)
    add_one[(7,)](x, y, x.numel(), BLOCK=128)  # one block too few
    torch.testing.assert_close(y, x + 1)


def test_illegal_address(x):
    store_far[(1,)](x, 1 << 30, BLOCK=32)
    torch.cuda.synchronize()


def test_shared_memory():
    a = torch.ones((256, 1024), device="cuda")
    multiply[(1,)](a, a, torch.empty((256, 256), device="cuda"), 4, SIZE=256, num_stages=4, num_warps=8)


def test_out_of_memory():
    torch.empty(1 << 40, dtype=torch.float32, device="cuda")


def test_device_assert(monkeypatch):
    monkeypatch.setenv("TRITON_DEBUG", "1")
    check[(1,)](torch.zeros(1, device="cuda"), debug=True)
    torch.cuda.synchronize()


def test_hang():
    wait_for[(1,)](torch.zeros(1, dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()


def test_forked_child(x):
    """CUDA is up in the parent: a forked child cannot use it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            torch.ones(1, device="cuda")
            os.write(writer, b"worked")
        except RuntimeError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(reader, 10_000).decode()
    if said != "worked":
        raise RuntimeError(said)


def test_descriptor_of_before():
    assert tl._experimental_descriptor_load is not None


def test_sums_instead_of_dot():
    a = torch.eye(16, device="cuda")
    c = torch.empty_like(a)
    multiply_by_sums[(1,)](a, a, c, SIZE=16)
    torch.testing.assert_close(c, a)


def test_threads_share_a_tuned_kernel(x):
    configs = [triton.Config({"BLOCK": 64 << index}) for index in range(3)]
    tuned = triton.autotune(configs, key=["size"])(add_one)
    start, errors = threading.Barrier(8), []

    def call():
        y = torch.empty_like(x)
        start.wait()
        try:
            for size in range(500, 508):
                tuned[lambda meta: (triton.cdiv(size, meta["BLOCK"]),)](x, y, size)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
