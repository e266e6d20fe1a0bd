"""`python -m runner` is `triton-compat`."""

from runner.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
