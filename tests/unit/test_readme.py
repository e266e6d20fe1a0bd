"""What the README shows must be true: its matrix file is valid, its commands exist, its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.cli import build_parser
from runner.plan.read import read_matrix

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_the_matrix_file_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "matrix.yml"
    file.write_text(blocks("yaml")[0], encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "mine"\nversion = "1"\n')
    (tmp_path / "tests").mkdir()
    assert [str(problem) for problem in read_matrix(file).problems] == []


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`triton-compat (\w+)", README))))
def test_each_command_exists(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([command, "--help"])
    assert ended.value.code == 0
    assert command in capsys.readouterr().out


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", README))))
def test_each_link_into_the_repository_leads_somewhere(target: str) -> None:
    assert target.startswith("https://") or (ROOT / target).exists()


def test_continuous_integration_calls_the_test_command() -> None:
    called = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.search(r"^python3 noxfile\.py -s lint tests$", README, re.MULTILINE)
    assert re.search(r"^exec python3 noxfile\.py -s lint tests$", called, re.MULTILINE)
