"""Failures to contrasts, within a time budget, and the control suite."""
