"""Triton Compatibility Matrix: a project's Triton tests over Python, GIL mode and Triton, and why a cell fails."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("triton-compat")
except PackageNotFoundError:  # a checkout that is imported without having been installed
    __version__ = "0+unknown"
