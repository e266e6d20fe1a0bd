"""One module for each command: gather the effects (clock, environment, network, disk), call the floors, print."""

from __future__ import annotations

import argparse
from importlib import import_module


def run(options: argparse.Namespace) -> int:
    """Run the command that was parsed; its module is imported only now, so that no command pays for another."""
    module = import_module(f"runner.commands.{options.command}")
    status: int = module.run(options)
    return status
