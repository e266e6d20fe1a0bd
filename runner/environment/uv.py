"""uv, run so that the caller's environment says where packages come from and nothing else of it changes the result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import uv

from runner.environment.process import Finished, clean_environ, run

# Where packages and Pythons come from and how the network is reached. Everything else that uv reads from the
# environment (constraints, overrides, resolution, build switches, another Python) would make a different environment
# than the plan's, and is left out; so is the user's uv.toml, by --no-config.
_SOURCES = (
    "UV_CACHE_DIR",
    "UV_CREDENTIALS_DIR",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_HTTP_CONNECT_TIMEOUT",
    "UV_HTTP_RETRIES",
    "UV_HTTP_TIMEOUT",
    "UV_INDEX",
    "UV_INDEX_STRATEGY",
    "UV_INDEX_URL",
    "UV_INSECURE_HOST",
    "UV_INSTALLER_GITHUB_BASE_URL",
    "UV_KEYRING_PROVIDER",
    "UV_NATIVE_TLS",
    "UV_NO_INDEX",
    "UV_OFFLINE",
    "UV_PYTHON_DOWNLOADS",
    "UV_PYTHON_DOWNLOADS_JSON_URL",
    "UV_PYTHON_INSTALL_DIR",
    "UV_PYTHON_INSTALL_MIRROR",
    "UV_SYSTEM_CERTS",
)
_INDEX = ("UV_DEFAULT_INDEX", "UV_INDEX_URL")


def uv_environ() -> dict[str, str]:
    """The environment variables for uv. An index that is named for pip alone counts as well, as it does in the plan."""
    credentials = [name for name in os.environ if name.startswith("UV_INDEX_")]
    environ = clean_environ(keep=(*_SOURCES, *credentials))
    pip_index = os.environ.get("PIP_INDEX_URL")
    if pip_index and not any(name in environ for name in _INDEX):
        environ["UV_DEFAULT_INDEX"] = pip_index
    # An in-tree .python-version or VIRTUAL_ENV never chooses for us: every call names its Python.
    environ["UV_NO_PROGRESS"] = "1"
    return environ


def run_uv(
    *arguments: str | Path,
    timeout: float,
    offline: bool = False,
    cwd: Path | None = None,
    inherit: Sequence[int] = (),
    more: dict[str, str] | None = None,
) -> Finished:
    """Run uv.

    Args:
        arguments: after `uv`.
        timeout: seconds.
        offline: use what uv's cache holds, and no network.
        cwd: where it starts.
        inherit: file descriptors that stay open in it.
        more: further environment variables.

    Raises:
        OSError: uv could not be started.
    """
    switches = ["--no-config", "--color", "never", *(["--offline"] if offline else [])]
    return run(
        [uv.find_uv_bin(), *arguments, *switches],
        timeout=timeout,
        environ=uv_environ() | (more or {}),
        cwd=cwd,
        inherit=inherit,
    )
