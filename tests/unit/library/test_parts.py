"""Parts of long sections: what belongs together, and the marks of what is left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from mkdocs_roaming.library.snippets import Part, cut_best_part, describe_rest
from mkdocs_roaming.search.ranking import parse_query

CASES = yaml.safe_load((Path(__file__).parents[2] / "golden" / "passages" / "parts.yml").read_text("utf-8"))
ROPES = "\n\n".join(f"Rope {at} of the boat is red." for at in range(40))
FILLERS = {
    "{ropes}": ROPES,
    "{commands}": "\n".join(["boat --red"] * 40),
    "{notes}": "\n".join(f"> **Rope {at}**\n>\n> It is red.\n>" for at in range(30)),
    "{rows}": "\n".join(f"| rope{at} | red |" for at in range(60)),
    "{items}": "\n".join(f"  - `rope{at}`: it is red" for at in range(40)),
    "{pairs}": "\n\n".join(f"- **rope {at}**: it is thick and no part of a `shroud` or `stay`" for at in range(40)),
    "{words}": "Rope. " * 40,
}


def cut(markdown: str, query: str, max_chars: int = 400) -> Part:
    return cut_best_part(markdown, parse_query(query, "en"), "en", max_chars)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_part_of_section(case: dict[str, Any]) -> None:
    markdown = case["text"]
    for name, filler in FILLERS.items():
        markdown = markdown.replace(name, filler)
    text = cut(markdown, case["query"], case.get("max_chars", 400)).text
    assert text.startswith(case.get("begins", ""))
    for pattern in case["matches"]:
        assert re.search(pattern, text, re.MULTILINE), text
    for pattern in case.get("excludes", ()):
        assert not re.search(pattern, text, re.MULTILINE)


@pytest.mark.parametrize("max_chars", [60, 120, 240, 480])
@pytest.mark.parametrize(
    "beginning", ["All about ropes.", "All about ropes. " * 14, "- one\n\n- two\n\n- three", "```sh\nboat\n```"]
)
def test_part_begins_with_the_heading(beginning: str, max_chars: int) -> None:
    text = cut(f"## Ropes\n\n{beginning}\n\n{ROPES}\n\nThe shroud has 12 mm.\n\n{ROPES}", "the shroud", max_chars).text
    assert text.startswith("## Ropes\n\n")


def test_source_is_the_part_as_the_section_contains_it() -> None:
    markdown = f"## Ropes\n\n{ROPES}\n\nThe shroud has 12 mm.\n\n{ROPES}"
    source = cut(markdown, "shroud").source
    assert source in markdown
    assert "The shroud has 12 mm." in source


def test_rest_is_described_by_its_size_and_the_beginning_of_its_blocks() -> None:
    rest = "It is *red*, and longer than all the other ropes of the boat.\n\n```sh\nboat --red\n```\n\n- one\n- two\n\nEnd.\n"
    assert re.fullmatch(
        r"… \d+ tokens more: It is \*?red\*?, and longer than all the… · boat --red · one two\n", describe_rest(rest)
    )
