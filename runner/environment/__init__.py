"""Plan entry to a Python that is ready: interpreters, environments made by uv, fingerprints, reuse."""
