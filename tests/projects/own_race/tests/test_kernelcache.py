"""The cache from one thread and from eight."""

import threading
from concurrent.futures import ThreadPoolExecutor

from kernelcache import KernelCache

THREADS = 8
BLOCKS = (32, 64, 128, 256, 512, 1024, 2048, 4096)


def run_in_threads(work):
    """Calls `work(thread)` in eight threads that start together, and raises what the first of them raised."""
    barrier = threading.Barrier(THREADS)

    def started_together(thread):
        barrier.wait()
        return work(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started_together, range(THREADS)))


def test_one_thread():
    cache = KernelCache(limit=2)
    for block in BLOCKS * 2:
        assert cache.get(block).asm["cubin"]
    assert len(cache.kernels) == 2
    assert cache.uses == dict.fromkeys(BLOCKS, 2)


def test_threads_count_every_use():
    cache, rounds = KernelCache(limit=2), 50_000
    cache.uses[BLOCKS[0]] = 0

    def work(_):
        for _ in range(rounds):
            cache.count(BLOCKS[0])

    run_in_threads(work)
    assert cache.uses == {BLOCKS[0]: THREADS * rounds}


def test_threads_get_kernels():
    cache = KernelCache(limit=2)

    def work(thread):
        for turn in range(4 * len(BLOCKS)):
            assert cache.get(BLOCKS[(thread + turn) % len(BLOCKS)]).asm["cubin"]

    run_in_threads(work)


shared = KernelCache(limit=2)
shared.uses[BLOCKS[0]] = 0


def test_uses_of_a_shared_cache_grow():
    """Passes by itself; in several threads at once a lost count takes others back."""
    for _ in range(100_000):
        before = shared.uses[BLOCKS[0]]
        shared.count(BLOCKS[0])
        assert shared.uses[BLOCKS[0]] > before


def test_a_shared_cache_gives_kernels():
    """Passes by itself; in several threads at once two evict the same kernel."""
    for block in BLOCKS:
        assert shared.get(block).asm["cubin"]
