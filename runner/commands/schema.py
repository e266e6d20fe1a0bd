"""`triton-compat schema`: the JSON Schema of matrix files, for editors."""

from __future__ import annotations

import argparse
import sys

from runner.plan.schema import schema_text


def run(_: argparse.Namespace) -> int:
    """Print it; exit 0."""
    sys.stdout.write(schema_text())
    return 0
