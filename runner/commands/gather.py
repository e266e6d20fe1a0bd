"""`triton-compat gather`: results that other machines uploaded, into the output folder."""

from __future__ import annotations

import argparse

from runner.commands.results import Results, read_plan
from runner.github.commands import warning
from runner.github.gather import gather


def run(options: argparse.Namespace) -> int:
    """Copy the newest attempt of each planned cell; exit 0."""
    plan = read_plan(options.out)
    for remark in gather(plan, options.downloads, options.out):
        print(warning(remark))
    print(f"{len(Results(plan, options.out))} of {len(plan.cells)} cells have a result.")
    return 0
