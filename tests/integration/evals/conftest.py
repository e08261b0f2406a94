from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from kettle import QUESTIONS

from mkdocs_roaming.cli import main

Roaming = Callable[..., Result]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A file with five questions about Kettle, one of them unanswerable."""
    file = tmp_path / "questions.yml"
    file.write_text(QUESTIONS, "utf-8")
    return file


@pytest.fixture
def roaming() -> Roaming:
    """Run the command line."""
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])
