"""Pages of generators, from the whole page to Markdown."""

import json
import os
from pathlib import Path

import pytest

from mkdocs_roaming.html.converter import convert
from mkdocs_roaming.html.document import find_article

CASES = sorted((Path(__file__).parents[2] / "golden" / "generators").glob("*.html"))


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_page_of_generator_returns_expected_markdown_and_headings(case: Path) -> None:
    """UPDATE=1 writes both."""
    converted = convert(find_article(case.read_text("utf-8")), title="The nav's title")
    found = [[h.level, h.text, h.anchor, *([list(h.anchors)] if h.anchors else [])] for h in converted.headings]
    expected, headings = case.with_suffix(".md"), case.with_suffix(".json")
    if os.environ.get("UPDATE"):
        expected.write_text(converted.markdown, "utf-8", newline="\n")
        lines = ",\n".join(f"  {json.dumps(heading, ensure_ascii=False)}" for heading in found)
        headings.write_text(f"[\n{lines}\n]\n", "utf-8", newline="\n")
    assert converted.markdown == expected.read_text("utf-8")
    assert found == json.loads(headings.read_text("utf-8"))
