"""A small library to be asked about, question files, and the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.library import Library, library_from_markdown

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))  # messages_api

KETTLE = TESTS / "golden" / "answer" / "kettle.md"

QUESTIONS = """\
questions:
  - ask: Which port is the default?
    sections: [settings#server]
    contains: ['8642']
  - ask: at which temperature does water boil by default
    sections: [settings#boiling]
    contains: ['96.5']
  - ask: how long are old logs kept
    sections: [settings#logs]
    contains: [19 days]
  - ask: whistle needs a sealed lid, WhistleError
    sections: [troubleshooting#it-does-not-whistle]
  - ask: Is there a blue teapot for left-handed sailors?
    answerable: false
"""

Roaming = Callable[..., Result]


@pytest.fixture(scope="session")
def library() -> Library:
    """The docs of Kettle: five pages, eleven sections."""
    return library_from_markdown(KETTLE.read_text("utf-8"), name="Kettle", url="https://kettle.example/")


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Five questions about Kettle, one of them without an answer."""
    file = tmp_path / "questions.yml"
    file.write_text(QUESTIONS, "utf-8")
    return file


@pytest.fixture
def roaming() -> Roaming:
    """Run the command line."""
    return lambda *arguments: CliRunner().invoke(main, [str(argument) for argument in arguments])
