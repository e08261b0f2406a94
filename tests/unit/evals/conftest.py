from __future__ import annotations

from pathlib import Path

import pytest
from kettle import KETTLE, QUESTIONS

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import library_from_markdown


@pytest.fixture(scope="session")
def library() -> Library:
    """The Kettle documentation."""
    return library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A file with five questions about Kettle, one of them unanswerable."""
    file = tmp_path / "questions.yml"
    file.write_text(QUESTIONS, "utf-8")
    return file
