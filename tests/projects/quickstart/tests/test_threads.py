"""Eight threads that compile at the same time, against the same work in one thread."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from variants import add_variant, histogram_variant, softmax_variant

THREADS = 8
DISTINCT = [
    make(block, num_warps)
    for make in (add_variant, softmax_variant)
    for block, num_warps in ((512, 2), (512, 4), (2048, 4), (2048, 8))
]
SAME = [histogram_variant(block=512)] * THREADS


@pytest.fixture
def compile_into(tmp_path, monkeypatch):
    """Compiles variants with a mapping function into a Triton cache of their own.

    Returns each variant's PTX and cubin, and the number of cubins that the cache has afterwards.
    """

    def compile_all(variants, cache_name, mapping):
        cache = tmp_path / cache_name
        monkeypatch.setenv("TRITON_CACHE_DIR", str(cache))
        results = [compiled.asm for compiled in mapping(lambda variant: variant.compile(), variants)]
        return [(asm["ptx"], asm["cubin"]) for asm in results], len(list(cache.rglob("*.cubin")))

    return compile_all


def in_threads(function, arguments):
    """Like `map`, with one thread per argument, all of which start at once. The first exception is raised."""
    barrier = threading.Barrier(len(arguments))

    def started_together(argument):
        barrier.wait()
        return function(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(started_together, arguments))


@pytest.mark.parametrize(("variants", "cubins"), [(DISTINCT, THREADS), (SAME, 1)], ids=["distinct", "same"])
def test_threads_compile_what_one_thread_compiles(compile_into, variants, cubins):
    # The threads come first: by then nothing has parsed these kernels, and they share that step too.
    together = compile_into(variants, "threads", in_threads)
    alone = compile_into(variants, "one-thread", map)
    assert together == alone
    assert together[1] == cubins
