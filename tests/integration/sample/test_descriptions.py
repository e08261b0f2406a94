"""The file of descriptions of the sample site."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from mkdocs_roaming.cli import main
from mkdocs_roaming.library.targets import open_library

FILE = Path(__file__).parents[3] / "sample_site" / "descriptions.json"


def test_every_section_has_a_current_description(sample: Path) -> None:
    """Otherwise describe the changed sections again; docs/guides/descriptions.md says how."""
    checked = CliRunner().invoke(main, ["describe", str(sample), "--file", str(FILE), "--check"])
    assert checked.exit_code == 0, checked.output


def test_described_section_is_found_by_words_that_it_does_not_contain(sample: Path) -> None:
    library = open_library(sample)
    (found, *_) = library.search("where is the audit log")
    assert found.title == "What is written down"
    section = library.sections.get(found.id)
    assert section is not None
    assert "audit" not in library.text(section)
