"""The signatures by which a command reads failures: the shipped ones, those of the matrix file, those of --rules."""

from __future__ import annotations

import argparse
from pathlib import Path

from runner.errors import UsageError
from runner.evidence.rulefile import read_rules, with_user_rules
from runner.evidence.signatures import Rules
from runner.model.document import read_regular
from runner.model.plan import Plan, RuleFile

MOST_BYTES = 1024 * 1024


def rules_of(plan: Plan, options: argparse.Namespace) -> Rules:
    """What is named last is read first: --rules, then the matrix file's, then the shipped ones.

    Raises:
        UsageError: a file of --rules cannot be read.
        MatrixFileError: a rule file has mistakes; all are named, each with its place.
    """
    named = (read_rule_file(path, str(path)) for path in options.rules)
    return with_user_rules((*plan.signatures, *named))


def read_rule_file(path: Path, name: str) -> RuleFile:
    """One rule file without mistakes.

    Raises:
        UsageError: it cannot be read.
        MatrixFileError: it has mistakes; all are named, each with its place.
    """
    remedy = "Name a file of signatures; docs/attribution.md describes its format."
    try:
        text = read_regular(path, MOST_BYTES).decode("utf-8")
    except OSError as error:
        raise UsageError(f"{name} could not be read: {error.strerror or error}.", remedy=remedy) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not text: {error}.", remedy=remedy) from error
    read_rules(text, name)
    return RuleFile(name=name, text=text)
