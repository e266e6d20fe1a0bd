"""Tests to attempts: the supervisor, its worker processes, the journal, deadlines, resume."""

from runner.execution.cell import Rules, finished_result, run_cell
from runner.execution.progress import Progress

__all__ = ["Progress", "Rules", "finished_result", "run_cell"]
