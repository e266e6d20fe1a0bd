from __future__ import annotations

import pytest
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from runner.errors import UsageError
from runner.plan.index import PackageIndex, index_url


@pytest.mark.parametrize(
    ("environ", "url"),
    [
        ({}, PYPI_SIMPLE_ENDPOINT),
        ({"PIP_INDEX_URL": "https://pip.invalid"}, "https://pip.invalid"),
        ({"PIP_INDEX_URL": "https://pip.invalid", "UV_INDEX_URL": "https://uv.invalid"}, "https://uv.invalid"),
        ({"UV_INDEX_URL": "https://old.invalid", "UV_DEFAULT_INDEX": "https://new.invalid"}, "https://new.invalid"),
        ({"UV_DEFAULT_INDEX": " ", "PIP_INDEX_URL": "https://pip.invalid"}, "https://pip.invalid"),
        ({"UV_DEFAULT_INDEX": "corp=https://u:p@corp.invalid/simple"}, "https://u:p@corp.invalid/simple"),
    ],
)
def test_the_index_is_the_one_that_uv_and_pip_would_ask(environ: dict[str, str], url: str) -> None:
    assert index_url(environ) == url


def test_a_folder_is_no_index() -> None:
    with pytest.raises(UsageError, match="not an http or https address"):
        PackageIndex("file:///srv/wheels")
