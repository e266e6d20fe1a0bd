"""Start of a worker process: `python .../_triton_compat/__main__.py CHANNEL ORDERS DUMP BOARD START PARENT`.

The arguments are five inherited descriptors and the pid of the supervisor.

Run by path, so that nothing of ours is installed where the tests run. The script's own folder is taken off the
import path again before any user code runs: tests see the path that the bare `pytest` command gives them.
"""

import importlib
import os
import sys


def main() -> int:
    """Import the worker from beside this file, put the import path back in order, run."""
    here = os.path.dirname(os.path.abspath(__file__))
    before = [entry for entry in sys.path if entry != here]
    sys.path[:] = [os.path.dirname(here), *before]
    worker = importlib.import_module("_triton_compat.worker")
    sys.path[:] = before
    code: int = worker.main(sys.argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main())
