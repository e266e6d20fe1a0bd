"""The package by itself, in a fresh interpreter."""

import subprocess
import sys


def test_import_needs_neither_torch_nor_gpu():
    program = "import sys, tinykernels; print([name for name in ('torch', 'cuda_utils') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_every_autotuner_config_is_distinct():
    from tinykernels.layer_norm import layer_norm_kernel

    configs = [str(config) for config in layer_norm_kernel.configs]
    assert len(configs) > 1
    assert len(set(configs)) == len(configs)
