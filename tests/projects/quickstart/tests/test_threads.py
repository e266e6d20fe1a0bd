"""Eight threads that compile at the same time, against the same work in one thread."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sm90 import add_variant, histogram_variant, softmax_variant

THREADS = 8
BLOCKS = (256, 512)


def compile_together(variants, start_together):
    """Compiles each variant in a thread of its own and returns their PTX and their cubin, in order."""

    def compile_one(variant):
        start_together.wait()
        asm = variant.compile().asm
        return asm["ptx"], asm["cubin"]

    with ThreadPoolExecutor(len(variants)) as pool:
        return list(pool.map(compile_one, variants))
