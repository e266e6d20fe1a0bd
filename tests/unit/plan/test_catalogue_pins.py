from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from runner.plan.catalogue_pins import is_made_for, required_triton

WHEEL = "torch-2.12.0-cp312-cp312-manylinux_2_28_x86_64.whl"


def metadata(*requirements: str) -> bytes:
    lines = ["Metadata-Version: 2.4", "Name: torch", "Version: 2.12.0", *(f"Requires-Dist: {r}" for r in requirements)]
    return "\n".join([*lines, "", "make triton==1.0"]).encode()


@pytest.mark.parametrize(
    ("requirements", "wheel", "accepted"),
    [
        (['triton==3.7.0; platform_system == "Linux"', "sympy"], WHEEL, "==3.7.0"),
        (["sympy", 'triton~=3.9.0; platform_system == "Linux" and python_version < "3.16"'], WHEEL, "~=3.9.0"),
        (['triton==3.7.0; platform_system == "Windows"'], WHEEL, None),
        (['triton==3.1.0; python_version < "3.12"', 'triton==3.2.0; python_version >= "3.12"'], WHEEL, "==3.2.0"),
        (['triton==3.7.0; platform_machine == "x86_64"'], WHEEL.replace("x86_64", "aarch64"), None),
        (['triton==3.7.0; extra == "all"'], WHEEL, None),
        (["tritonclient==2.0"], WHEEL, None),
        ([], WHEEL, None),
    ],
)
def test_the_requirement_on_triton_is_the_one_whose_marker_holds(
    requirements: list[str], wheel: str, accepted: str | None
) -> None:
    found = required_triton(metadata(*requirements), wheel)
    assert (None if found is None else str(found)) == accepted


@pytest.mark.parametrize(
    ("triton", "accepted", "is_partner"),
    [
        ("3.7.0", "==3.7.0", True),
        ("3.7.1", "==3.7.0", False),
        ("3.9.0", "~=3.9.0", True),
        ("3.9.4", "~=3.9.0", True),
        ("3.8.0", "~=3.9.0", False),
        ("3.9.0", "~=3.7", False),
        ("3.9.0", ">=3.5", False),
        ("3.9.0", ">=3.9,<3.10", True),
        ("3.9.0", "", False),
    ],
)
def test_torch_is_made_for_a_triton_that_it_holds_to(triton: str, accepted: str, is_partner: bool) -> None:
    assert is_made_for(Version(triton), SpecifierSet(accepted)) is is_partner
