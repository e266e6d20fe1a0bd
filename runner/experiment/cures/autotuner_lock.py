"""A workaround as a pytest plugin: one lock around every autotuner, so that threads tune one after the other.

Triton's autotuner keeps the arguments of the call in hand on itself, so two calls at once take them from each other.
`pytest -p autotuner_lock` with this file's folder on PYTHONPATH, or its lines in a conftest.py.
"""

import functools
import threading

from triton.runtime.autotuner import Autotuner

_lock = threading.RLock()
_run = Autotuner.run


@functools.wraps(_run)
def _run_alone(self, *args, **kwargs):
    with _lock:
        return _run(self, *args, **kwargs)


Autotuner.run = _run_alone
