"""The environment variables of the tests: as in an activated environment, with their own caches and no secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from runner.model.words import GilMode

TOKEN = "TRITON_COMPAT_CELL"  # noqa: S105 - the name of a variable that marks our processes
CACHES = {"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor", "TORCH_EXTENSIONS_DIR": "extensions"}

# What a runner of GitHub, another forge or a developer's shell holds and test code must never see.
_SECRET = re.compile(
    r"(GITHUB|ACTIONS|RUNNER|INPUT|BUILDKITE|CIRCLE|GITLAB|TWINE|UV_PUBLISH|POETRY_PYPI_TOKEN)_.*"
    r"|(GH|CI_JOB|CI_DEPLOY|NPM|NODE_AUTH|PYPI|CODECOV|SONAR|VAULT)(_ENTERPRISE)?(_API)?_(TOKEN|PASSWORD|KEY)"
    r"|UV_INDEX_.*_(USERNAME|PASSWORD)|SSH_AUTH_SOCK|SSH_AGENT_PID|GIT_ASKPASS|SSH_ASKPASS|NETRC"
)
# What belongs to the interpreter that runs this tool and would bend the tested one.
_OF_THE_TOOL = frozenset(
    {
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHON_GIL",
        "PYTHONEXECUTABLE",
        "__PYVENV_LAUNCHER__",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "PYTEST_ADDOPTS",  # the matrix file says how tests are run; its `env` may set these again
        "PYTEST_PLUGINS",
        "NOX_CURRENT_SESSION",
    }
)


def variables_for_tests(
    outer: Mapping[str, str],
    *,
    python: Path,
    gil: GilMode,
    free_threaded: bool,
    caches: Path,
    temporary: Path,
    token: str,
    user: Mapping[str, str],
) -> dict[str, str]:
    """Compose the variables of a worker.

    Args:
        outer: this process's own variables.
        python: the tested interpreter; its folder comes first on PATH.
        gil: the mode that is asked for.
        free_threaded: whether the build can switch the GIL at all. Other builds must not see PYTHON_GIL.
        caches: folder for the caches of what is compiled at run time; one of this cell alone.
        temporary: TMPDIR of this cell.
        token: marks every process that the tests start.
        user: the matrix file's `env`; it outranks all of the above but the GIL mode and the token.
    """
    kept = {name: value for name, value in outer.items() if not _SECRET.fullmatch(name) and name not in _OF_THE_TOOL}
    folder = str(python.parent)
    kept["PATH"] = folder + ":" + kept["PATH"] if kept.get("PATH") else folder
    if (python.parent.parent / "pyvenv.cfg").is_file():
        kept["VIRTUAL_ENV"] = str(python.parent.parent)
    else:
        kept.pop("VIRTUAL_ENV", None)
    kept.update({variable: str(caches / name) for variable, name in CACHES.items()})
    kept["TMPDIR"] = str(temporary)
    kept.update(user)
    kept.pop("PYTHON_GIL", None)
    if free_threaded and gil is not GilMode.DEFAULT:
        kept["PYTHON_GIL"] = "1" if gil is GilMode.ON else "0"
    kept[TOKEN] = token
    return kept
