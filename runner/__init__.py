"""Triton Compatibility Matrix: a project's Triton tests over Python, GIL mode and Triton, and why a cell fails."""

__version__ = "0.1.0"
